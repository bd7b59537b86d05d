from __future__ import annotations

import pytest

pytest.importorskip("transformers")
pytest.importorskip("torch")

import asyncio

from bookwheel.errors import BadReply, InputError, WindowExceeded
from bookwheel.lab.training import policy_model as readers
from bookwheel.lab.training.generation import GenerationResult
from bookwheel.lab.training.policy_model import ChatCodec, PolicyModel, export_tokenizer
from bookwheel.lab.training.rows import rows_of
from bookwheel.lab.training.toys import toy_samples
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.loop import read
from bookwheel.text.tokens import FileTokenizer
from bookwheel.types import Answer, Conversation, Message, Step

torch = pytest.importorskip("torch")

PLAN = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, question_tokens=8)


def user(text):
    return Message(role="user", content=text)


async def events(model, sample):
    return [event async for event in read(sample.document, sample.question, model, PLAN)]


def test_the_common_reading_loop_reads_with_a_policy(still_policy):
    (sample,) = toy_samples(tokens=64, count=1, seed=3)
    *steps, answer = asyncio.run(events(PolicyModel(still_policy).for_rollout(1), sample))
    assert len(steps) == 4
    assert isinstance(answer, Answer)
    for event in (*steps, answer):
        record = event.conversation.reply.tokens
        assert len(record.reply) == len(record.logprobs) > 0
    assert "".join(step.chunk.text for step in steps if isinstance(step, Step)) == sample.text


def test_conversations_in_flight_are_sampled_together(still_policy, monkeypatch):
    sizes, plain = [], readers.generate

    def counted(model, requests, **how):
        sizes.append(len(requests))
        return plain(model, requests, **how)

    monkeypatch.setattr(readers, "generate", counted)
    reader = PolicyModel(still_policy)

    async def all_of():
        await asyncio.gather(
            *(events(reader.for_rollout(i), sample) for i, sample in enumerate(toy_samples(tokens=48, count=5, seed=1)))
        )

    asyncio.run(all_of())
    assert sizes == [5, 5, 5, 5]


@pytest.mark.parametrize(
    ("ids", "logprobs", "message"),
    [
        ([5, 6], [-1.0, float("nan")], "log-probability nan"),
        ([5, 6], [float("-inf"), -1.0], "log-probability -inf"),
        ([5, 6], [-1.0, 3.0], "log-probability 3"),
        ([5, 10**6], [-1.0, -1.0], "token id 1000000"),
        ([5, -1], [-1.0, -1.0], "token id -1"),
        ([5], [-1.0, -1.0], "1 ids and 2 log-probabilities"),
        ([5] * 4, [-1.0] * 4, "at most 3 tokens has 4"),
        ([], [], "0 ids"),
    ],
)
def test_a_reply_that_no_policy_can_have_given_fails_where_it_arrives(still_policy, ids, logprobs, message):
    class Odd:
        async def submit(self, request):
            return GenerationResult(ids=ids, logprobs=logprobs)

    model = PolicyModel(still_policy, sampler=Odd())
    with pytest.raises(BadReply, match=message):
        asyncio.run(model.reply([user("oak")], limit=3, sampling=Sampling()))


def test_the_rollouts_sampling_stands_whatever_the_plan_says(still_policy, monkeypatch):
    seen, plain = [], readers.generate
    monkeypatch.setattr(
        readers, "generate", lambda model, asked, **how: seen.extend(asked) or plain(model, asked, **how)
    )
    asyncio.run(
        PolicyModel(still_policy)
        .for_rollout(4)
        .reply([user("oak")], limit=3, sampling=Sampling(temperature=0.1, top_p=0.5))
    )
    assert [(one.temperature, one.top_p, one.seed) for one in seen] == [(1.0, 1.0, 4)]


def test_the_same_seed_says_the_same(still_policy):
    def say(seed):
        return asyncio.run(
            PolicyModel(still_policy).for_rollout(seed).reply([user("oak has")], limit=8, sampling=Sampling())
        ).text

    assert say(1) == say(1)
    assert len({say(seed) for seed in range(5)}) > 1


def test_turns_of_one_conversation_continue_id_for_id(still_policy):
    async def two_turns(model):
        messages = [user("oak has red")]
        first = await model.reply(messages, limit=8, sampling=Sampling())
        further = [*messages, Message(role="assistant", content=first.text), user("1 2")]
        second = await model.reply(further, limit=8, sampling=Sampling())
        return [
            Conversation(messages=tuple(messages), reply=first),
            Conversation(messages=tuple(further), reply=second),
        ]

    for seed in range(6):
        told = asyncio.run(two_turns(PolicyModel(still_policy).for_rollout(seed)))
        (row,) = rows_of(told, 1.0, "r")
        assert row.tokens == sum(len(one.reply.tokens.reply) for one in told)
        assert row.ids == told[1].reply.tokens.prompt + told[1].reply.tokens.reply


def test_a_prompt_beyond_the_window_is_refused_with_advice(still_policy):
    with pytest.raises(WindowExceeded, match="chunk_tokens"):
        asyncio.run(PolicyModel(still_policy).reply([user("oak " * 300)], limit=8, sampling=Sampling()))


def test_a_failure_while_sampling_reaches_everyone_who_waits(still_policy, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no such device")

    monkeypatch.setattr(readers, "generate", broken)
    reader = PolicyModel(still_policy)

    async def ask():
        asked = (reader.reply([user("oak")], limit=3, sampling=Sampling()) for _ in range(3))
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [str(error) for error in asyncio.run(ask())] == ["no such device"] * 3


def test_a_judgement_and_a_likelihood_are_the_probabilities_that_sampling_uses(still_policy):
    model = PolicyModel(still_policy)
    words = still_policy.tokenizer.get_vocab()
    one, other = [word for word in words if word.isalpha()][:2]

    async def score():
        asked = (user(one),)
        pair = await model.judge(asked, (one, other))
        return pair, await model.likelihood(asked, one), await model.likelihood(asked, f"{other} {one}")

    judgement, first, second = asyncio.run(score())
    assert judgement.logprobs[0] == pytest.approx(first.logprobs[0], abs=1e-5)
    assert judgement.logprobs[1] == pytest.approx(second.logprobs[0], abs=1e-5)
    assert len(second.logprobs) == 2
    prompt = model.encode_exchange((user(one),), "")[0]
    with torch.no_grad():
        logits = still_policy.model(torch.tensor([prompt])).logits[0, -1]
    assert judgement.logprobs[0] == pytest.approx(torch.log_softmax(logits, -1)[words[one]].item(), abs=1e-5)


def test_nothing_has_no_likelihood(still_policy):
    with pytest.raises(InputError, match="at least one token"):
        asyncio.run(PolicyModel(still_policy).likelihood((user("a"),), ""))


CHATS = (
    (Message(role="user", content="oak has red ."),),
    (Message(role="user", content=""),),
    (Message(role="user", content="oak <|reply|> has"), Message(role="assistant", content="red <|end|>")),
    (
        Message(role="user", content="calc ( 1 )"),
        Message(role="assistant", content="2"),
        Message(role="user", content="unknown wörds \n and  blanks"),
    ),
)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("chat", CHATS)
def test_ids_are_those_of_the_tokenizers_own_chat_call(still_policy, chat, closed):
    tokenizer = still_policy.tokenizer
    plain = [{"role": one.role, "content": one.content} for one in chat]
    whole = tokenizer.apply_chat_template(plain, add_generation_prompt=not closed, return_dict=False)
    assert ChatCodec(tokenizer).encode(chat, closed=closed) == tuple(whole)


def test_a_chat_that_many_ask_for_is_rendered_once(still_policy, monkeypatch):
    tokenizer, asked = still_policy.tokenizer, []
    plain = tokenizer.apply_chat_template

    def counted(chat, **options):
        asked.append(chat)
        return plain(chat, **options)

    monkeypatch.setattr(tokenizer, "apply_chat_template", counted)
    codec = ChatCodec(tokenizer)
    assert codec.encode(CHATS[0]) == codec.encode(list(CHATS[0]))
    assert len(asked) == 1
    assert codec.encode(CHATS[0], closed=True) != codec.encode(CHATS[0])
    assert codec.encode(CHATS[2]) != codec.encode(CHATS[0])


def test_a_chat_is_told_apart_by_its_roles(still_policy):
    codec = ChatCodec(still_policy.tokenizer)
    said = (Message(role="assistant", content="oak has red ."),)
    assert codec.encode(said, closed=True) != codec.encode(CHATS[0], closed=True)


def test_text_of_a_reply_has_no_special_tokens(still_policy):
    tokenizer = still_policy.tokenizer
    ids = tokenizer("oak has red <|end|>", add_special_tokens=False).input_ids
    codec = ChatCodec(tokenizer)
    assert codec.decode(ids) == codec.decode(tuple(ids)) == "oak has red"
    assert codec.decode(ids[:2]) == "oak has"


def test_a_scan_that_is_shared_says_what_an_own_one_says(still_policy, tmp_path):
    shared = export_tokenizer(still_policy.tokenizer, "policy")
    still_policy.tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    own = FileTokenizer(tmp_path / "tokenizer.json")
    for text in ("oak has red .\nthe wind blew over .\n", "fir has gold .", ""):
        scanned = own.scan(text)
        assert shared.scan(text) is shared.scan(text)
        for limit in range(12):
            assert shared.scan(text).fit(limit) == scanned.fit(limit)
        assert shared.scan(text).is_local == scanned.is_local
        for end in (*range(len(text) + 1), *range(len(text) + 1)):
            assert shared.scan(text).count(end) == scanned.count(end)
