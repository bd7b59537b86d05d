"""Lasting memories as ways of reading: what is to be forgotten is, and notes without replay keep it."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from perfect_reader import read_perfectly

from bookwheel import TextDocument
from bookwheel.lab.baselines.lasting import MEMORY, MEMORY_EDITS, NOTES, remember, split_sessions
from bookwheel.lab.tasks import make_samples
from bookwheel.lab.tasks.episodes import KINDS
from bookwheel.lab.tasks.imports.dialogues import adapt_locomo
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Answer

PLAN = Plan(chunk_tokens=600, memory_tokens=600, answer_tokens=100)


def run(document, question, way, script=read_perfectly):
    model = ScriptedModel(script, plan=PLAN)

    async def main():
        return [event async for event in way(document, question, model, PLAN)]

    *steps, answer = asyncio.run(main())
    assert isinstance(answer, Answer)
    return steps, answer.text, model


def draw(kind, language="en", seed=2):
    settings = {"tokens": 1600, "count": 1, "seed": seed, "tokenizer": WordTokenizer(), "language": language}
    return next(make_samples(f"episode_{kind}", **settings))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_perfect_reader_with_a_lasting_memory_is_right(kind, language) -> None:
    sample = draw(kind, language)
    steps, answer, _ = run(sample.document, sample.question, MEMORY.run)
    assert sample.score(answer).score == 1, answer
    assert [step.chunk.start for step in steps] == sorted(step.chunk.start for step in steps)
    assert steps[0].chunk.start == 0
    assert steps[-1].chunk.end == sample.document.length


@pytest.mark.parametrize(("language", "seed"), [("en", 2), ("zh", 2), ("zh", 12), ("zh", 13)])
def test_what_was_told_in_parts_is_answered_whole(language, seed) -> None:
    sample = draw("aggregate", language, seed)
    _, answer, _ = run(sample.document, sample.question, MEMORY.run)
    assert sample.score(answer).score == 1, answer


@pytest.mark.parametrize("kind", ["deletion", "absence"])
def test_notes_that_cannot_replay_keep_what_was_to_be_forgotten(kind) -> None:
    sample = draw(kind)
    _, answer, _ = run(sample.document, sample.question, NOTES.run)
    assert sample.score(answer).score == 0


def test_another_way_keeps_the_memory() -> None:
    text = "== Session 1, 3 March 2019 ==\nAda: The boat of Ada is called Tre.\n"
    steps, answer, _ = run(TextDocument(text), "What is the boat of Ada called?", MEMORY_EDITS.run, keyword_reader)
    assert "Tre" in answer
    assert len(steps) == 1


def test_sessions_are_found_in_the_layouts_of_ours_and_of_imports() -> None:
    text = (
        "== Session 1, 3 March 2019 ==\na\n[Session 2, 1:56 pm on 8 May, 2023]\nb\n"
        "[Session 3, 2023/05/20 (Sat) 02:21]\nc\n== 第4次谈话，2019年3月4日 ==\nd\n[Session 5, no date]\ne"
    )
    found = list(split_sessions(text))
    assert [(one.number, one.at[:10]) for one in found] == [
        (1, "2019-03-03"),
        (2, "2023-05-08"),
        (3, "2023-05-20"),
        (4, "2019-03-04"),
        (5, ""),
    ]
    assert "".join(one.text for one in found) == text
    assert [one.number for one in split_sessions("no heading")] == [0]


def test_a_session_that_nobody_had_is_no_fault() -> None:
    text = "== Session 1, 3 March 2019 ==\nAda: Please forget everything that was said in session 9.\n"
    steps, _, _ = run(TextDocument(text), "What is the name of Ada's boat?", partial(remember))
    assert len(steps) == 1


def test_conversations_of_others_go_in_with_their_dates() -> None:
    turns = {"dia_id": "D1:1", "speaker": "Ada", "text": "By the way, my boat is called Tre."}
    later = {"dia_id": "D2:1", "speaker": "Ada", "text": "My boat is called Vor now."}
    conversation = {
        "session_1": [turns],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [later],
        "session_2_date_time": "1:56 pm on 9 May, 2023",
    }
    asked = {"question": "What is the name of Ada's boat?", "answer": "Vor", "category": 4, "evidence": ["D2:1"]}
    (sample,) = adapt_locomo({"sample_id": "c", "conversation": conversation, "qa": [asked]})
    steps, answer, _ = run(TextDocument(sample["document"]), sample["question"], MEMORY.run)
    assert answer == "Vor"
    assert [step.after.text for step in steps] == ["Ada | boat | Tre | 2023-05-08", "Ada | boat | Vor | 2023-05-09"]
