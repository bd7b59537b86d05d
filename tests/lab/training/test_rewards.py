from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch")

from bookwheel.lab.tasks.base import GoldEvidence, Sample, SampleDocument
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.rewards import build_reward, overlong
from bookwheel.lab.training.workflows import Episode
from bookwheel.types import Chunk, Conversation, Finish, Memory, Reply, Step, Usage


def sample(golds=("red", "crimson")):
    return Sample(id="s", task="t", question="?", golds=golds, document=SampleDocument("d", ["x"]), metric="exact")


def episode(answer, lengths=(10,), text="", finish=Finish.STOP):
    replies = [Reply(text=text, finish=finish, usage=Usage(completion_tokens=length)) for length in lengths]
    told = tuple(Conversation(messages=(), reply=reply) for reply in replies)
    return Episode(conversations=told, answer=answer, limits=(100,) * len(told))


def test_by_default_the_answer_is_all_and_any_gold_counts():
    judge = build_reward(RewardSettings())
    assert [judge(episode(answer), sample()).score for answer in ("red", "Crimson", "the", "")] == [1, 1, 0, 0]
    assert judge(episode("red"), sample()).parts == {"answer": 1.0}


def test_a_box_earns_its_weight_and_the_answer_stays_apart():
    judge = build_reward(RewardSettings(boxed=0.1))
    result = judge(episode("blue", text=r"\boxed{blue}"), sample())
    assert (result.score, result.answer) == (0.1, 0.0)
    assert judge(episode("red", text="red"), sample()).score == 1.0


def test_long_replies_cost_more_and_more_near_their_limit():
    judge = build_reward(RewardSettings(overlong=0.5, overlong_share=0.2))
    assert judge(episode("red", (80,)), sample()).score == 1.0
    assert judge(episode("red", (90,)), sample()).score == pytest.approx(0.75)
    assert judge(episode("red", (90, 10)), sample()).score == pytest.approx(0.875)
    assert judge(episode("red", (3,), finish=Finish.LENGTH), sample()).score == pytest.approx(0.5)


def test_a_reply_costs_at_most_one_and_without_a_soft_part_only_at_its_limit():
    assert [overlong(length, 100, 0.2) for length in (100, 150)] == [1.0, 1.0]
    assert [overlong(length, 100, 0.0) for length in (99, 100)] == [0.0, 1.0]
    assert build_reward(RewardSettings(overlong=0.5))(episode("red", ()), sample()).score == 1.0


def test_a_sample_without_a_gold_cannot_be_judged():
    with pytest.raises(ConfigError, match="no gold answer"):
        build_reward(RewardSettings())(episode("x"), sample(golds=()))


def remembering(*memories):
    told = Conversation(messages=(), reply=Reply(text=""))
    texts = [Memory(text=text, tokens=1, limit=9) for text in ("", *memories)]
    steps = tuple(
        Step(
            chunk=Chunk(index=i, start=10 * i, end=10 * i + 10, text="", tokens=1),
            before=texts[i],
            after=texts[i + 1],
            conversation=told,
        )
        for i in range(len(memories))
    )
    return Episode(conversations=(), answer="blue", limits=(), steps=steps)


def test_what_was_noted_and_what_was_kept_are_told_apart():
    """The evidence ends in the second of three chunks."""
    judge = build_reward(RewardSettings(captured=0.2, kept=0.4))
    told = replace(sample(("red",)), evidence=(GoldEvidence(start=12, end=18, note="oak has red"),))
    parts = [
        judge(remembering(*memories), told).parts
        for memories in (
            ("", "oak has red", "oak has red"),
            ("", "it is red", "lost"),
            ("", "", "red at last"),
            ("red", "", ""),
        )
    ]
    assert [(one["captured"], one["kept"]) for one in parts] == [(1, 1), (1, 0), (0, 1), (0, 0)]
    assert judge(remembering("", "red", "red"), told).score == pytest.approx(0.6)
    at_the_end = replace(told, evidence=(GoldEvidence(start=12, end=20, note="oak has red"),))
    assert judge(remembering("", "red", "lost"), at_the_end).parts["captured"] == 1
    unread = replace(told, evidence=(GoldEvidence(start=90, end=99, note="oak has red"),))
    assert judge(remembering("", "lost", "red"), unread).parts["captured"] == 1
    twice = replace(told, evidence=(*told.evidence, GoldEvidence(start=22, end=28, note="elm has red")))
    found = [judge(remembering("", *memories), twice).parts for memories in (("red", "lost"), ("red", "red"))]
    assert [(one["captured"], one["kept"]) for one in found] == [(0.5, 0), (1, 1)]
    for alone in (RewardSettings(captured=0.2), RewardSettings(kept=0.4)):
        result = build_reward(alone)(remembering("", "red", "red"), told)
        assert result.score == pytest.approx(alone.captured + alone.kept)
    assert judge(remembering("", "red", "lost"), sample(("red",))).score == 0.0
