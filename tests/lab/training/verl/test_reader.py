import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

from bookwheel.journal import Journal
from bookwheel.lab.tasks import write_samples
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.generation import generate
from bookwheel.lab.training.toys import toy_samples
from bookwheel.lab.training.verl.reader import Reader, SampleNumbers, ServedPolicy, SessionSampler, build_rows
from bookwheel.lab.training.verl.settings import HELD_OUT, TRAIN
from bookwheel.lab.training.workflows import Episode
from bookwheel.types import Conversation, Message, Reply, TokenRecord

CONFIG = TrainConfig.from_tables(
    {
        "train": {
            "policy": {"path": "x"},
            "task": {"name": "toy-records", "tokens": 48, "count": 8},
            "evaluation": {"samples": 4},
        },
        "plan": {"prompts": "tiny", "language": "en", "question_tokens": 8, "chunk_tokens": 16, "memory_tokens": 8}
        | {"answer_tokens": 8},
    }
)


class Servers:
    """verl's client in front of a policy of this process."""

    def __init__(self, policy, *, logprobs=True):
        self.policy, self.logprobs, self.calls = policy, logprobs, []

    async def generate(self, request_id, *, prompt_ids, sampling_params):
        from bookwheel.lab.training.generation import GenerationRequest

        self.calls.append((request_id, tuple(prompt_ids), sampling_params))
        request = GenerationRequest(prompt=tuple(prompt_ids), limit=sampling_params["max_tokens"], seed=3)
        (result,) = generate(self.policy.model, [request], stop=self.policy.stop_ids)
        return SimpleNamespace(
            token_ids=result.ids,
            log_probs=result.logprobs if self.logprobs else None,
            extra_fields={"global_steps": 7},
        )


def reader_and_sampler(policy, **more):
    served = ServedPolicy(policy.tokenizer, policy.model.config, policy.model.generation_config)
    servers = Servers(policy, **more)
    sampling = {"temperature": 1.0, "top_p": 1.0, "top_k": -1}
    return (
        Reader(json.dumps({**CONFIG.to_json(), "data": ""}), served),
        SessionSampler(servers, "sample-a", sampling, served.stop_ids),
        servers,
    )


def test_a_session_is_the_workflows_conversations_with_the_ids_that_were_sent_and_sampled(still_policy):
    reader, sampler, servers = reader_and_sampler(still_policy)
    session = asyncio.run(reader.read(5, sampler, is_held_out=False))
    assert len(session.rows) == len(servers.calls) == 4
    assert [tuple(row.prompt) for row in session.rows] == [prompt for _, prompt, _ in servers.calls]
    assert all(len(row.response) == len(row.mask) == len(row.logprobs) for row in session.rows)
    assert all(set(row.mask) == {1} for row in session.rows)
    assert sampler.versions == [7] * 4
    assert session.result.parts["answer"] == session.result.answer


def test_all_sessions_of_a_sample_ask_one_server_under_the_limits_of_the_plan(still_policy):
    reader, sampler, servers = reader_and_sampler(still_policy)
    asyncio.run(reader.read(0, sampler, is_held_out=False))
    assert {name for name, _, _ in servers.calls} == {"sample-a"}
    assert servers.calls[0][2] == {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": -1,
        "logprobs": True,
        "max_tokens": CONFIG.plan.memory_tokens,
    }


def test_held_out_samples_are_others(still_policy):
    reader, sampler, servers = reader_and_sampler(still_policy)
    for is_held_out in (False, True):
        asyncio.run(reader.read(0, sampler, is_held_out=is_held_out))
    prompts = [prompt for _, prompt, _ in servers.calls]
    assert prompts[0] != prompts[4]


def test_a_server_without_log_probabilities_is_refused(still_policy):
    reader, sampler, _ = reader_and_sampler(still_policy, logprobs=False)
    with pytest.raises(ConfigError, match="no log-probabilities"):
        asyncio.run(reader.read(0, sampler, is_held_out=False))


def test_tool_output_between_two_replies_is_masked():
    def conversation(prompt, reply):
        record = TokenRecord(prompt=prompt, reply=reply, logprobs=(-0.5,) * len(reply))
        return Conversation(messages=(Message(role="user", content=""),), reply=Reply(text="", tokens=record))

    episode = Episode(
        conversations=(conversation((1, 2), (3, 4)), conversation((1, 2, 3, 4, 9, 9), (5,))), answer="", limits=(8, 8)
    )
    (row,) = build_rows(episode)
    assert (row.prompt, row.response, row.mask) == ([1, 2], [3, 4, 9, 9, 5], [1, 1, 0, 0, 1])
    assert row.logprobs == [-0.5, -0.5, 0.0, 0.0, -0.5]


TRAINING = {"samples": 4, "task": {"name": "hqa", "tokens": 64, "count": 12}, "evaluation": {"samples": 3}}


def open_numbers(files, **changes):
    tables = TrainConfig.from_tables({"train": TRAINING | changes}).to_json()
    config = {"bookwheel": json.dumps(tables | {"data": ""})}
    return SampleNumbers(data_files=files, config=config, tokenizer=None, max_samples=-1)


@pytest.mark.parametrize(("files", "count"), [(TRAIN, 12), (HELD_OUT, 3)])
def test_an_entry_names_a_sample_and_holds_no_document(files, count):
    numbers = open_numbers(files)
    assert len(numbers) == count
    entry = numbers[count - 1]
    assert (entry["index"], entry["is_held_out"], entry["data_source"]) == (count - 1, files == HELD_OUT, "hqa")
    assert len(str(entry)) < 250


def test_a_file_brings_its_own_number_of_samples(tmp_path):
    file = tmp_path / "mine.jsonl"
    write_samples(toy_samples(tokens=16, count=9, seed=0), file)
    task = {"file": str(file)}
    assert len(open_numbers(TRAIN, task=task)) + len(open_numbers(HELD_OUT, task=task)) == 9
    assert open_numbers(TRAIN, task=task)[0]["data_source"] == "mine"


def test_fewer_samples_than_a_batch_are_refused():
    with pytest.raises(ConfigError, match="12 samples to train on"):
        open_numbers(TRAIN, samples=64)


def test_a_rollout_of_every_so_many_steps_is_kept_as_a_reading(still_policy, tmp_path):
    served = ServedPolicy(still_policy.tokenizer, still_policy.model.config, still_policy.model.generation_config)
    kept = {}
    for keep in (7, 5):
        settings = {**replace(CONFIG, keep_rollouts=keep).to_json(), "data": "", "rollouts": str(tmp_path)}
        reader = Reader(json.dumps(settings), served)
        sampler = SessionSampler(Servers(still_policy), "a", {}, served.stop_ids)
        session = asyncio.run(reader.read(2, sampler, is_held_out=False))
        assert session.sample == toy_samples(tokens=48, count=8, seed=0)[2].id
        kept[keep] = session.reading
    assert kept[5] is None, "the servers had the weights of step 7"
    with Journal(tmp_path / "rollouts.sqlite") as journal:
        assert [one.id for one in journal.readings()] == [kept[7]]
