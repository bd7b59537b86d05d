"""A question that names two and asks which has more of something, over a whole document."""

import asyncio

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel, keyword_likelihood
from bookwheel.plan import Plan
from bookwheel.reading.ways.compared_answers import find_compared
from bookwheel.reading.ways.quotes import quotes
from bookwheel.text.comparatives import find_alternatives
from bookwheel.types import Answer

FILLER = "Rain fell on the mole. The gulls were loud that day. Nobody came to the pier. " * 9
TEXT = f"""The mill at Brill was built in 1820 by Amos Thorne. It ground barley.

{FILLER}

The chapel was finished in 1794, and seats eighty. The vote went 14 for the mill road, 17 for the chapel lane.

{FILLER}

| Boat | Price |
| --- | --- |
| Otter | £48 |
| Heron | £36 |

The meeting is on Tuesday at seven.
"""


def find(question: str):
    return find_compared(find_alternatives(question), TextDocument(TEXT))


@pytest.mark.parametrize(
    ("question", "answer", "is_sure"),
    [
        ("Which is older, the mill or the chapel?", "the chapel", True),
        ("Is the mill or the chapel older?", "the chapel", True),
        ("Did more vote for the mill road or the chapel lane?", "the chapel lane", False),
    ],
)
def test_two_far_passages_tell(question, answer, is_sure):
    told = find(question)
    assert (told.text, told.is_sure, told.is_looked_up) == (answer, is_sure, True)


def test_what_it_rests_on_is_shown():
    told = find("Which is older, the mill or the chapel?")
    assert "built in 1820" in told.passage
    assert "finished in 1794" in told.passage


@pytest.mark.parametrize(
    "question",
    ["Who built the ship, Ada Quill or Tom Rook?", "Which is older, the mill or the pier?"],
)
def test_else_the_passages_answer(question):
    assert find(question) is None


def ask(question: str) -> Answer:
    async def run():
        model = ScriptedModel(lambda _: "1820", likelihood=keyword_likelihood, window=4096)
        plan = Plan(chunk_tokens=90, memory_tokens=120, answer_tokens=40, prompts="small")
        return [event async for event in quotes(TextDocument(TEXT), question, model, plan)][-1]

    return asyncio.run(run())


def test_a_reading_answers_with_one_of_the_two():
    answer = ask("Is the mill or the chapel older?")
    assert answer.text == "the chapel"
    assert Flag.LOOKED_UP in answer.flags
    assert "1794" in answer.passage


def test_who_of_two_is_told_by_the_sentence_that_names_one():
    told = find("Who built the mill, Tom Rook or Amos Thorne?")
    assert (told.text, told.is_sure) == ("Amos Thorne", False)


def test_a_table_is_asked_first():
    assert ask("Which is cheaper, Otter or Heron?").text == "Heron"


def test_monday_or_tuesday_is_not_answered_by_yes():
    assert "Tuesday" in ask("Is the meeting on Monday or Tuesday?").text
