"""The choice of a passage: what it is made of, its loss, and that a policy learns it. A policy that chooses passages: its loss, its rows, and that training makes it choose better."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import asyncio
import json
from dataclasses import replace

import torch

from bookwheel.lab.tasks import GoldEvidence, Sample, SampleDocument
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.step import PolicyOptimizer
from bookwheel.lab.training.toys import KEYS, toy_samples
from bookwheel.lab.training.warmstart import (
    ClaimOption,
    Lesson,
    LessonFile,
    PassageOption,
    build_lesson,
    build_rows,
    choice_loss,
    compute_log_odds,
    ideal_rows,
    ideal_trace,
    is_chosen_right,
    lesson_loss,
)
from bookwheel.lab.training.workflows import reading
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.question_scorer import QuestionScorer
from bookwheel.text.tokens import WordTokenizer

PLAN = Plan(prompts="tiny", language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, question_tokens=8)


def rows_of_loop(sample, policy, oracle):
    return ideal_rows(sample, PolicyModel(policy), PLAN, oracle)


def test_who_replies_like_the_ideal_trace_answers_right(still_policy):
    """The prompts of the trace are, message for message, those of the reading loop."""
    for sample in toy_samples(tokens=96, count=8, seed=5):
        reader = PolicyModel(still_policy)
        replies = dict(ideal_trace(sample, reader, PLAN, ideal_memories))
        model = ScriptedModel(lambda messages, told=replies: told[tuple(messages)], tokenizer=reader.tokenizer)
        episode = asyncio.run(reading(PLAN)(model, sample))
        assert sample.score(episode.answer).score == 1.0
        assert model.calls == len(replies) == 7


def test_rows_train_the_reply_and_its_end_alone(still_policy):
    (sample,) = toy_samples(tokens=64, count=1, seed=5)
    rows = rows_of_loop(sample, still_policy, ideal_memories)
    tokenizer = still_policy.tokenizer
    said = [tokenizer.decode([i for i, own in zip(row.ids, row.trained, strict=True) if own]) for row in rows]
    key, value = sample.question.split()[0], sample.golds[0]
    assert len(rows) == 5
    assert sorted(set(said)) == sorted({"same <|end|>", f"{key} has {value} <|end|>", f"{value} <|end|>"})
    assert said[-1] == f"{value} <|end|>"


def test_an_ideal_memory_over_the_limit_says_so(still_policy):
    (sample,) = toy_samples(tokens=64, count=1, seed=5)

    def wordy(sample, chunks):
        return ["oak has red " * 9 for _ in chunks]

    with pytest.raises(ConfigError, match="memory_tokens"):
        rows_of_loop(sample, still_policy, wordy)


WORDS = WordTokenizer()
PASSAGE_PLAN = Plan(chunk_tokens=90, memory_tokens=80, prompts="small", least_gain=0.8)
FACT = "The new clock was made in\nHamburg."
TEXT = (
    "The old clock was made in Lyme. Nobody knows when. It was sold.\n\n"
    + "Rain fell on the mole. The gulls were loud. " * 8
    + f"\n\nA boat came at noon. {FACT} It is the best clock on the coast. The town is proud of it.\n\n"
    + "Rain fell again. The clock of the church stood still. " * 6
)
START = TEXT.index(FACT)
SAMPLE = Sample(
    id="clock-1",
    task="mine",
    question="Where was the new clock made?",
    golds=("Hamburg", "in Hamburg"),
    document=SampleDocument("mine", [TEXT]),
    metric="contains",
    length=300,
    tokens=300,
    seed=1,
    evidence=(GoldEvidence(start=START, end=START + len(FACT), note=FACT),),
)


def passages(sample: Sample = SAMPLE, plan: Plan = PASSAGE_PLAN) -> list[PassageOption]:
    return list(build_lesson(sample, WORDS, plan).passages)


def many() -> list[list[PassageOption]]:
    """The choices of sixty samples that differ in their names alone, and so in what is drawn for them."""
    return [passages(replace(SAMPLE, id=f"clock-{at}")) for at in range(60)]


def test_a_right_passage_holds_the_answer_and_no_wrong_one_does() -> None:
    for choice in many():
        assert all("Hamburg" in one.text for one in choice if one.is_right)
        assert not any("Hamburg" in one.text for one in choice if not one.is_right)
        assert sum(one.is_right for one in choice) <= 1


def test_some_questions_are_shown_no_passage_with_the_answer() -> None:
    unanswered = sum(not any(one.is_right for one in choice) for choice in many())
    assert 3 < unanswered < 25


def test_wrong_passages_are_those_that_share_words_with_the_question() -> None:
    wrong = {one.text for choice in many() for one in choice if not one.is_right}
    assert any("The old clock was made in Lyme." in text for text in wrong)
    assert not any(text.startswith("Rain fell on the mole. The gulls were loud. Rain") for text in wrong)


def test_a_sample_poses_the_same_choice_every_time_and_another_something_else() -> None:
    assert passages() == passages()
    assert any(passages(replace(SAMPLE, id=f"clock-{at}")) != passages() for at in range(2, 20))


def test_a_fact_across_two_chunks_is_chosen_as_its_sentence() -> None:
    choices = [passages(replace(SAMPLE, id=f"clock-{at}"), replace(PASSAGE_PLAN, chunk_tokens=8)) for at in range(20)]
    assert " ".join(FACT.split()) in {one.text for choice in choices for one in choice if one.is_right}


def test_a_sample_without_evidence_cannot_teach() -> None:
    with pytest.raises(ConfigError, match="clock-1"):
        passages(replace(SAMPLE, evidence=()))


@pytest.fixture
def plan(tmp_path) -> Plan:
    """A plan whose prompts have the turn `answers`, and words for yes and no that the small policy knows."""
    path = tmp_path / "judging.toml"
    path.write_text(
        f"""language = "en"
blank = "none"
answer = "{{memory}} {{question}} answer"
yes = "{KEYS[0]}"
no = "{KEYS[1]}"
[update]
memory-first = "{{question}} {{memory}} {{section}} notes"
[turns]
about = "section {{section}} question"
answers = "section {{section}} question {{question}}"
short = "section {{section}} {{question}} answer"
supports = "section {{section}} {{question}} {{memory}}"
"""
    )
    return Plan(
        prompts=str(path), language="en", chunk_tokens=16, memory_tokens=8, answer_tokens=8, judgement_weight=1.0
    )


def test_the_loss_is_that_of_its_formula_and_rewards_right_log_odds() -> None:
    log_odds = torch.tensor([1.5, -0.5, 0.25], dtype=torch.float64)
    is_right = torch.tensor([True, False, False])
    chance, sigmoid = torch.softmax(log_odds, 0), torch.sigmoid(log_odds)
    expected = -chance[0].log() - sigmoid[0].log() / 2 - (1 - sigmoid[1:]).log().mean() / 2
    assert choice_loss(log_odds, is_right).item() == pytest.approx(expected.item())
    # Where none is right there is nothing to compare, and all are to be refused.
    none = torch.tensor([False, False, False])
    assert choice_loss(log_odds, none).item() == pytest.approx(-(1 - sigmoid).log().mean().item() / 2)
    assert choice_loss(log_odds[:1], is_right[:1]).item() == pytest.approx(-sigmoid[0].log().item() / 2)


def test_a_choice_is_right_by_the_best_verdict_or_by_taking_none() -> None:
    right, none = torch.tensor([False, True]), torch.tensor([False, False])
    assert is_chosen_right(torch.tensor([-2.0, -1.0]), right)
    assert not is_chosen_right(torch.tensor([1.0, 0.5]), right)
    assert is_chosen_right(torch.tensor([-2.0, -1.0]), none)
    assert not is_chosen_right(torch.tensor([-2.0, 0.1]), none)


def test_log_odds_are_those_of_the_way_of_reading(still_policy, plan) -> None:
    (sample,) = toy_samples(tokens=96, count=1, seed=5)
    model = PolicyModel(still_policy)
    lesson = build_lesson(sample, model.tokenizer, plan)
    log_odds = compute_log_odds(still_policy.score_frozen(build_rows([lesson], model, plan, "one").rows))
    scorer = QuestionScorer(model, prompts_for(plan, sample.question), sample.question)
    expected = [asyncio.run(scorer.judge(passage.text)) for passage in lesson.passages]
    assert log_odds.tolist() == pytest.approx(expected, abs=1e-5)
    assert len(set(log_odds.tolist())) > 1


FULL = Lesson(
    question="oak has",
    passages=(PassageOption(text="oak has red .", is_right=True), PassageOption(text="elm has blue .", is_right=False)),
    source="oak has red .",
    answer="red",
    claims=(
        ClaimOption(passage="oak has red .", question="oak has", text="red", is_right=True),
        ClaimOption(passage="oak has red .", question="", text="oak has blue .", is_right=False),
    ),
)


def test_a_lessons_loss_is_that_of_its_parts(still_policy, plan) -> None:
    model = PolicyModel(still_policy)
    rows = build_rows([FULL, replace(FULL, answer="", claims=())], model, plan, "two")
    logprobs = still_policy.score_frozen(rows.rows)
    log_odds, answer, claims = compute_log_odds(logprobs[:4]), logprobs[4:6], compute_log_odds(logprobs[6:10])
    assert rows.answer_tokens == (2, 0)
    choice = choice_loss(log_odds, torch.tensor([True, False])).item()
    borne_out = -torch.sigmoid(torch.stack((claims[0], -claims[1]))).log().mean().item()
    expected = 2 * choice - 0.3 * answer.sum().item() + borne_out
    told = lesson_loss(logprobs, rows)
    assert told.loss.item() == pytest.approx(expected / 2, abs=1e-5)
    assert told.choices == 2


def test_training_makes_right_choices_answers_and_claims_likelier(make_policy, plan) -> None:
    policy = make_policy()
    config = replace(TrainConfig(), samples=4)
    optimizer = PolicyOptimizer(policy, config, lambda _: 3e-3)
    model = PolicyModel(policy)
    lessons = [build_lesson(sample, model.tokenizer, plan) for sample in toy_samples(tokens=96, count=6, seed=5)]
    posed = [build_rows([one], model, plan, f"lesson {at}") for at, one in enumerate((*lessons, FULL))]
    first = optimizer.learn(posed)
    for _ in range(60):
        last = optimizer.learn(posed)
    assert last["loss"] < 0.25 * first["loss"]
    assert last["accuracy"] == 1.0


LAMP = "The lamp was lit in 1891 by Amos Thorne."
RECORD = {
    "passages": ["The lamp is green.", LAMP],
    "lessons": [
        {
            "question": "Who lit the lamp?",
            "shown": [1, 0],
            "right": [1],
            "answer": "Amos Thorne",
            "claims": [[1, "", "It was lit in 1892.", False]],
        },
        {"question": "Who sold the lamp?", "shown": [0, 1]},
    ],
}


def write(path, *records):
    path.write_text("\n".join(json.dumps(one) for one in records), encoding="utf-8")
    return path


def test_a_group_is_what_its_line_says(tmp_path):
    (group,) = LessonFile(write(tmp_path / "lessons.jsonl", RECORD), 0).draw(1, 0)
    assert group == (
        Lesson(
            question="Who lit the lamp?",
            passages=(
                PassageOption(text=LAMP, is_right=True),
                PassageOption(text="The lamp is green.", is_right=False),
            ),
            source=LAMP,
            answer="Amos Thorne",
            claims=(ClaimOption(passage=LAMP, question="", text="It was lit in 1892.", is_right=False),),
        ),
        Lesson(
            question="Who sold the lamp?",
            passages=(
                PassageOption(text="The lamp is green.", is_right=False),
                PassageOption(text=LAMP, is_right=False),
            ),
        ),
    )


def test_every_group_is_drawn_once_before_any_is_drawn_again(tmp_path):
    records = [RECORD | {"lessons": [{"question": str(at)}]} for at in range(7)]
    lessons = LessonFile(write(tmp_path / "lessons.jsonl", *records), 3)
    drawn = [group[0].question for step in range(7) for group in lessons.draw(3, step)]
    assert all(sorted(drawn[at : at + 7]) == sorted(map(str, range(7))) for at in (0, 7, 14))
    assert drawn[:7] != drawn[7:14]
    assert [group[0].question for group in lessons.draw(3, 2)] == drawn[6:9]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 1"),
        (json.dumps({"passages": []}), "lessons"),
        (json.dumps({"passages": ["a"], "lessons": [{"question": "b", "shown": [1]}]}), "passage that is not there"),
        ("", "no lessons"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(tmp_path, line, told):
    path = tmp_path / "lessons.jsonl"
    path.write_text(line)
    with pytest.raises(ConfigError, match=told):
        LessonFile(path, 0)
