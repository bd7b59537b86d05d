"""Rewards without labels, with a model whose likelihoods are known."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from known_reference import OTHER, TEXT, Reference, build_credit, likelihood, read_prompt, reply, sample, settings

from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training import targets
from bookwheel.lab.training.config import ROLLOUT, TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.likelihood import LikelihoodCredit, find_clozes, pose_own_words
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import (
    RewardResult,
    build_reward,
    measure_copied,
    measure_foreign,
    measure_shorthand,
)
from bookwheel.lab.training.rollouts import Group, Rollout, RolloutOutcome, RolloutSettings, roll_group, rows_of_groups
from bookwheel.lab.training.toys import toy_samples
from bookwheel.lab.training.trainer import Trainer
from bookwheel.lab.training.workflows import Episode
from bookwheel.plan import Plan, Sampling
from bookwheel.types import Chunk, Conversation, Memory, Message, Reply, Step, TokenRecord


def episode(*memories, section="wind blew over ."):
    record = TokenRecord(prompt=(1,), reply=(2,), logprobs=(-1.0,))
    said = Conversation(messages=(Message(role="user", content="?"),), reply=Reply(text="x", tokens=record))
    steps, before = [], Memory.blank(8)
    for index, text in enumerate(memories):
        after = Memory(text=text, tokens=len(text.split()), limit=8)
        chunk = Chunk(index=index, start=0, end=1, text=section, tokens=4)
        steps.append(Step(chunk=chunk, before=before, after=after, conversation=said))
        before = after
    talks = (said,) * (len(memories) + 1)
    return Episode(conversations=talks, answer="", limits=(8,) * len(talks), steps=tuple(steps))


def credited(*memories, **weights):
    credit = build_credit(**weights)
    return asyncio.run(credit.credit(RewardResult(score=1.0, answer=1.0), episode(*memories), sample()))


def test_the_last_memory_earns_what_it_recovers_of_the_text():
    full = credited("moss has grey", "elm has blue .", recovered=0.5)
    assert (full.score, full.answer) == (1.5, 1.0)
    assert full.parts["recovered_probability"] == pytest.approx(1.0)
    assert credited("elm has blue .", "moss has grey", recovered=0.5).score == pytest.approx(1.0)


def recovered(text, question, *memories):
    """R of each memory, of a document that says so."""
    credit, asked = build_credit(recovered=1.0), sample(question, text, golds=())
    nothing = RewardResult(score=0.0, answer=0.0)
    return [asyncio.run(credit.credit(nothing, episode(one), asked)).score for one in memories]


def test_a_memory_earns_by_what_a_sentence_leads_to():
    text = "oak near elm .\nwind blew over .\nelm has blue .\nash has red .\n"
    assert recovered(text, "oak near", "oak near elm", "elm has blue", "ash has red") == pytest.approx([0, 1, 0])


def test_a_memory_earns_by_the_state_that_the_reader_itself_keeps():
    text = "oak at mill .\nwind blew over .\noak at quay .\nash at barn .\n"
    assert recovered(text, "oak at", "oak at quay", "oak at mill", "mill and quay") == pytest.approx([1, 0, 1])


def test_where_nothing_is_to_be_scored_the_reward_stays_as_it_is():
    verdict = RewardResult(score=1.0, answer=1.0, parts={"answer": 1.0})
    asked = build_credit(recovered=1.0)
    assert asyncio.run(asked.credit(verdict, episode("wind"), sample("ivy has"))) == verdict, "no target"
    assert asyncio.run(asked.credit(verdict, episode(), sample())) == verdict, "no memory"
    assert asyncio.run(build_credit().credit(verdict, episode("elm has blue"), sample())) == verdict, "no weight"


@pytest.mark.parametrize(
    ("guess", "cost", "enough"),
    # From half of what the document tells on a wrong memory costs what a right one earns, as with R itself.
    [(0.1, 0.125, 0.12), (0.4, 0.8, 0.45), (0.45, 1.0, 0.51), (0.6, 1.0, 0.51)],
)
def test_writing_earns_more_than_silence_for_who_is_right_more_often_than_a_guess(guess, cost, enough):
    def trust(messages, text):
        notes = read_prompt(messages)[0]
        return [math.log(0.9 if word in notes.split() else guess if notes == "none" else 1e-9) for word in text.split()]

    credit = LikelihoodCredit(Reference(reply, likelihood=trust), (OTHER,), settings(recovered=1.0))
    nothing = RewardResult(score=0.0, answer=0.0)
    right, wrong, silent, other = (
        asyncio.run(credit.credit(nothing, episode(one), sample())).score
        for one in ("elm has blue", "elm has grey", "", "moss has pink")
    )
    assert (right, silent) == pytest.approx((1, 0))
    assert wrong == other == pytest.approx(-cost, abs=1e-3)
    assert enough * right + (1 - enough) * wrong > silent
    assert (enough - 0.02) * right + (1.02 - enough) * wrong < silent


def test_a_rollout_whose_memory_has_no_likelihood_is_lost():
    def tell(messages, text):
        return [math.nan] * len(text.split()) if "white" in messages[-1].content else likelihood(messages, text)

    async def read(memory, asked):
        return episode(memory)

    memories = iter(["elm has blue", "elm has white"])
    settled = RolloutSettings(
        model=SimpleNamespace(for_rollout=lambda seed, sampling: next(memories)),
        workflow=read,
        reward=build_reward(RewardSettings(answer=0.0)),
        sampling=ROLLOUT,
        seed=0,
        credits=[LikelihoodCredit(Reference(reply, likelihood=tell), (OTHER,), settings(recovered=1.0))],
    )
    right, lost = asyncio.run(roll_group(sample(), ["a", "b"], settled)).rollouts
    assert right.result.score == pytest.approx(1.0)
    assert (lost.outcome, lost.result) == (RolloutOutcome.UNSCORED, None)
    assert "BadReply: scripted gives a token of 'blue' the log-probability nan" in lost.error


def test_no_gold_answer_is_looked_at():
    credit = build_credit(recovered=1.0)
    blind = replace(sample(), golds=())
    result = asyncio.run(credit.credit(RewardResult(score=0.0, answer=0.0), episode("elm has blue ."), blind))
    assert result.score == pytest.approx(1.0)
    reward = build_reward(RewardSettings(answer=0.0))
    assert reward(episode("elm has blue ."), blind).score == 0.0
    assert reward(episode("elm has blue ."), sample()).score == 0.0
    with pytest.raises(ConfigError, match="no gold"):
        build_reward(RewardSettings())(episode("x"), blind)


def test_a_step_is_credited_with_what_is_gained_from_it_on():
    result = credited("wind", "elm has blue .", "elm has blue .", "elm has blue .", recovered=1.0, dense=1.0)
    assert result.gains == pytest.approx((1.0, 1.0, 0.0, 0.0, 0.0))
    lost = credited("elm has blue .", "elm has blue .", "wind", recovered=1.0, dense=1.0)
    assert lost.gains == pytest.approx((0.0, -1.0, -1.0, 0.0))
    assert credited("wind", "elm has blue .", recovered=1.0).gains == ()


def test_dense_credit_stands_beside_one_advantage_for_each_rollout():
    def rolled(name, score, gains):
        result = RewardResult(score=score, answer=score, gains=gains)
        return Rollout(
            id=name,
            sample=sample(),
            outcome=RolloutOutcome.SCORED,
            episode=episode(*["m"] * (len(gains) - 1)),
            result=result,
        )

    group = Group(sample=sample(), rollouts=(rolled("a", 1.0, (0.0, 1.0, 0.0)), rolled("b", 0.0, (0.5, 0.0, 0.0))))
    rows = rows_of_groups([group], settings().estimator, RewardSettings(dense=0.1))
    assert [row.advantage for row in rows] == pytest.approx([0.475, 0.55, 0.5, -0.475, -0.55, -0.5])
    assert [row.advantage for row in rows_of_groups([group], settings().estimator)] == [0.5] * 3 + [-0.5] * 3
    unjudged = rows_of_groups([group], settings().estimator, RewardSettings(answer=0.0, dense=0.1))
    assert [row.advantage for row in unjudged] == pytest.approx([0.475, 0.55, -0.475, -0.55])
    # Where some samples have no gold answer, theirs alone are not judged.
    blind = replace(group, sample=replace(group.sample, golds=()))
    mixed = rows_of_groups([group, blind], settings().estimator, RewardSettings(dense=0.1))
    assert [row.advantage for row in mixed] == pytest.approx(
        [0.475, 0.55, 0.5, -0.475, -0.55, -0.5, *[0.475, 0.55, -0.475, -0.55]]
    )


def test_a_cloze_asks_for_the_end_of_a_sentence_whose_beginning_stands_once():
    found = {one.cue: one.text for one in find_clozes(TEXT + "moss has pink .\n", Random(0), 9)}
    assert found == {"elm has": "blue", "wind blew": "over", "elm and": "ash"}
    long = " ".join(f"w{n}" for n in range(40)) + "."
    (one,) = find_clozes(long, Random(0), 1)
    assert one.text == "w36 w37 w38 w39"
    assert find_clozes("Two words. " + "x " * 80, Random(0), 9) == []


def test_a_cloze_replaces_question_and_gold_and_depends_on_the_runs_seed_alone():
    credit = build_credit(clozes=1.0)
    posed = [asyncio.run(credit.pose(sample(golds=()), number)) for number in range(12)]
    again = [asyncio.run(build_credit(clozes=1.0).pose(sample(golds=()), number)) for number in range(12)]
    assert posed == again
    assert len({one.question for one in posed}) > 1
    for one in posed:
        assert f"{one.question} {one.golds[0]}" in TEXT
        assert one.document == sample().document
    assert asyncio.run(build_credit(clozes=0.0).pose(sample(), 1)) == sample()
    share = [asyncio.run(build_credit(clozes=0.5).pose(sample(), n)).id != "s" for n in range(60)]
    assert 15 < sum(share) < 45


def test_of_clozes_the_one_is_asked_that_the_text_tells_and_not_a_hair_of_many_bits():
    def tell(messages, text):
        held = text in messages[-1].content.partition(" question ")[0].split()
        return [math.log((0.9 if held else 0.1) if text == "grey" else 1e-3 if held else 1e-9)]

    credit = LikelihoodCredit(Reference(reply, likelihood=tell), (OTHER,), settings(clozes=1.0))
    assert {asyncio.run(credit.pose(sample(golds=()), number)).golds for number in range(9)} == {("grey",)}


def test_a_cloze_of_a_warm_start_brings_its_own_evidence(make_policy, tmp_path):
    plan = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8)
    bare = sample(golds=())
    for name in range(5):
        posed = pose_own_words(bare, plan, str(name))
        (evidence,) = posed.evidence
        assert TEXT[evidence.start : evidence.end] == evidence.note
        assert evidence.note.startswith(f"{posed.question} {posed.golds[0]}")
        assert posed == pose_own_words(bare, plan, str(name))
    config = settings()
    warm = replace(config.warm_start, steps=3, samples=2, clozes=True)
    config = replace(config, plan=plan, steps=0, warm_start=warm, reward=RewardSettings(answer=0.0, recovered=1.0))
    assert not warm.needs_evidence
    records = []
    run = Trainer(
        make_policy(),
        [bare],
        build_reward(config.reward),
        config,
        folder=tmp_path / "run",
        oracle=ideal_memories,
        observe=records.append,
    )
    run.train()
    losses = [one["loss"] for one in records if one["kind"] == "warm"]
    assert len(losses) == 3
    with pytest.raises(ConfigError, match="no sentence"):
        pose_own_words(sample(text="Hm. "), plan, "0")


def test_a_sample_without_a_gold_answer_earns_by_its_memory_where_others_earn_by_their_answer():
    reward = build_reward(RewardSettings(recovered=1.0))
    assert "answer" not in reward(episode("x"), replace(sample(), golds=())).parts
    assert reward(episode("x"), sample()).parts["answer"] == 0.0


def test_words_that_need_no_document_are_not_asked_for():
    known = Reference(lambda _: "", likelihood=lambda messages, text: [-1.0] * len(text.split()))
    credit = LikelihoodCredit(known, (OTHER,), settings(clozes=1.0))
    assert asyncio.run(credit.pose(sample(), 0)) == sample()

    # Nobody could judge the question of one that nobody has labelled.
    posed = asyncio.run(credit.pose(sample(golds=()), 0))
    assert f"{posed.question} {posed.golds[0]}" in TEXT
    assert asyncio.run(credit.pose(sample(golds=(), text="Hm. "), 0)).golds == ()


def test_a_run_of_clozes_alone_needs_no_gold_answer(make_policy, tmp_path):
    samples = [replace(one, golds=()) for one in toy_samples(tokens=32, count=4, seed=0)]
    plan = {"prompts": "tiny", "language": "en", "question_tokens": 8, "chunk_tokens": 16, "memory_tokens": 8}
    run = {"steps": 2, "samples": 2, "group_size": 2, "patience": 9, "warmup_steps": 1, "keep_rollouts": 1}

    def train(clozes):
        task = {"name": "toy-records", "tokens": 32, "count": 4, "clozes": clozes}
        config = TrainConfig.from_tables({"plan": plan | {"answer_tokens": 8}, "train": run | {"task": task}})
        seen = []
        Trainer(
            make_policy(), samples, build_reward(config.reward), config, folder=tmp_path / "run", observe=seen.append
        ).train()
        return [one for one in seen if one["kind"] == "step"]

    with pytest.raises(ConfigError, match="4 samples have no gold answer"):
        train(0.5)
    steps = train(1.0)
    assert [one["failed"] for one in steps] == [0, 0]


def test_copies_of_the_last_section_and_other_scripts_cost():
    section = "the keeper wrote that the wind blew over the wall and the rain fell on stone"
    assert measure_copied(section, section) == 1.0
    assert measure_copied("the wind blew over the wall", section) == 0.0
    assert measure_copied("ada lit it ; the keeper wrote that the wind blew over", section) == pytest.approx(8 / 11)
    assert measure_copied("", section) == 0.0
    assert measure_foreign("лампа lamp", section) == pytest.approx(5 / 9)
    assert measure_foreign("123", section) == 0.0
    guarded = build_reward(RewardSettings(answer=0.0, length=0.1, copied=1.0, foreign=0.5))
    result = guarded(episode("лампа lamp", section=section), sample())
    assert result.score == pytest.approx(-0.1 * 2 / 8 - 0.5 * 5 / 9)
    assert result.parts["copied"] == 0.0


def test_words_that_nothing_that_was_read_has_cost():
    guarded = build_reward(RewardSettings(answer=0.0, shorthand=0.5))
    plain = guarded(episode("the wind", "the wind blew over", section="wind blew over ."), sample())
    short = guarded(episode("the wind", "the wnd blw over", section="wind blew over ."), sample())
    assert (plain.score, short.score) == (0.0, pytest.approx(-0.5 * 2 / 4))
    assert measure_shorthand("wind rain", ["the wind", "and rain"]) == 0.0, "any section that was read counts"
    assert measure_shorthand("winds rained", ["the wind", "and rain"]) == 0.0, "another form is no word of its own"
    assert measure_shorthand("", ["wind"]) == 0.0


def test_the_reference_stays_as_it_was(make_policy):
    policy = make_policy()
    model = PolicyModel(policy, plan=Plan(prompts="tiny", language="en"))
    asked = (Message(role="user", content="notes elm has blue question elm has answer"),)
    policy.freeze_reference()
    before = asyncio.run(model.likelihood(asked, "blue"))
    said = asyncio.run(model.reply(asked, limit=4, sampling=Sampling(temperature=0.0)))
    for weight in policy.trainable:
        weight.data.add_(0.05)
    assert asyncio.run(model.by_reference().likelihood(asked, "blue")).logprobs == pytest.approx(before.logprobs)
    assert asyncio.run(model.likelihood(asked, "blue")).logprobs != pytest.approx(before.logprobs)
    greedy = {"limit": 4, "sampling": Sampling(temperature=0.0)}
    assert asyncio.run(model.by_reference().reply(asked, **greedy)).tokens == said.tokens
    assert asyncio.run(model.reply(asked, **greedy)).tokens != said.tokens


@pytest.mark.parametrize(
    "changes", [{"staleness": 1}, {"workflow": "single"}], ids=["rollouts of older weights", "no memories"]
)
def test_settings_that_cannot_work_are_refused(changes):
    with pytest.raises(ConfigError, match=r"train\.reward\.recovered"):
        replace(settings(recovered=1.0), **changes)


def test_a_run_without_labels_goes_on_after_a_kill_with_the_same_metrics(make_policy, tmp_path, monkeypatch):
    # So short a warm start learns hairs alone.
    monkeypatch.setattr(targets, "_LEAST_NEED", 0.0)
    samples = toy_samples(tokens=32, count=6, seed=0)
    config = TrainConfig.from_tables(
        {
            "plan": {
                "prompts": "tiny",
                "language": "en",
                "question_tokens": 8,
                "chunk_tokens": 16,
                "memory_tokens": 8,
                "answer_tokens": 8,
            },
            "train": {
                "steps": 4,
                "samples": 2,
                "group_size": 3,
                "checkpoint_every": 2,
                "patience": 9,
                "learning_rate": 1e-3,
                "warmup_steps": 1,
                "loss": {"kl": 0.0},
                # A reference that says nothing leaves nothing to recover.
                "warm_start": {"steps": 40, "samples": 4, "learning_rate": 1e-2, "warmup_steps": 1},
                "reward": {"answer": 0.0, "recovered": 1.0, "dense": 0.5},
                "task": {"name": "toy-records", "tokens": 32, "count": 6, "clozes": 0.5},
            },
        }
    )

    def trained(folder, config, *, resume=False):
        records = []
        reward = build_reward(config.reward)
        told = {"folder": folder, "observe": records.append, "oracle": ideal_memories}
        Trainer(make_policy(), samples, reward, config, **told).train(resume=resume)
        return [{k: v for k, v in one.items() if k != "clock"} for one in records if one["kind"] == "step"]

    whole = trained(tmp_path / "whole", config)
    assert all("recovered_probability" in one and "recovered" not in one for one in whole)
    first = trained(tmp_path / "cut", replace(config, steps=2))
    rest = trained(tmp_path / "cut", config, resume=True)
    assert [*first, *rest] == whole
