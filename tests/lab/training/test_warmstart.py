from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.toy_records import toy_records
from bookwheel.lab.training.warmstart import ideal_rows, ideal_trace
from bookwheel.lab.training.workflows import reading
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

PLAN = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, question_tokens=8)


def rows_of_loop(sample, policy, oracle):
    return ideal_rows(sample, PolicyModel(policy), PLAN, oracle)


def test_who_replies_like_the_ideal_trace_answers_right(still_policy):
    """The prompts of the trace are, message for message, those of the reading loop."""
    for sample in toy_records(tokens=96, count=8, seed=5):
        reader = PolicyModel(still_policy)
        replies = dict(ideal_trace(sample, reader, PLAN, ideal_memories))
        model = ScriptedModel(lambda messages, told=replies: told[tuple(messages)], tokenizer=reader.tokenizer)
        episode = asyncio.run(reading(PLAN)(model, sample))
        assert sample.score(episode.answer).score == 1.0
        assert model.calls == len(replies) == 7


def test_rows_train_the_reply_and_its_end_alone(still_policy):
    (sample,) = toy_records(tokens=64, count=1, seed=5)
    rows = rows_of_loop(sample, still_policy, ideal_memories)
    tokenizer = still_policy.tokenizer
    said = [tokenizer.decode([i for i, own in zip(row.ids, row.trained, strict=True) if own]) for row in rows]
    key, value = sample.question.split()[0], sample.golds[0]
    assert len(rows) == 5
    assert sorted(set(said)) == sorted({"same <|end|>", f"{key} has {value} <|end|>", f"{value} <|end|>"})
    assert said[-1] == f"{value} <|end|>"


def test_an_ideal_memory_over_the_limit_says_so(still_policy):
    (sample,) = toy_records(tokens=64, count=1, seed=5)

    def wordy(sample, chunks):
        return ["oak has red " * 9 for _ in chunks]

    with pytest.raises(ConfigError, match="memory_tokens"):
        rows_of_loop(sample, still_policy, wordy)
