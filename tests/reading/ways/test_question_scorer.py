"""A second passage, which answers together with the best one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.flags import Flag
from bookwheel.models.base import Copies
from bookwheel.models.copying import CopiedSpan
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Plan
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.question_scorer import QuestionScorer, ShortAnswer
from bookwheel.reading.ways.quotes import quotes
from bookwheel.text.ranking import QuestionWords
from bookwheel.types import Memory, Message

PLAN = Plan(chunk_tokens=60, memory_tokens=80, answer_tokens=40, prompts="small", least_gain=0.4, judgement_weight=0.1)
FILLER = "Rain fell on the mole. The gulls were loud that day. Nobody saw the long pier. "
QUESTION = "In which town was the keeper born who lit the great lamp?"
LIT = "The keeper who lit the great lamp was Amos Thorne. He wore a cap. He had a dog. "
BORN = "A cooper called Amos Thorne came from Brill. His mother sang. Nobody listened. "
TEXT = FILLER * 8 + LIT + FILLER * 8 + BORN + FILLER * 12


def likelihood(messages, question: str) -> list[float]:
    """A question's word is likely where the text has it."""
    words = re.findall(r"[a-z]+", messages[-1].content.partition("Write one question")[0].casefold())
    return [-1.0 if word in words else -6.0 for word in re.findall(r"[a-z]+", question.casefold())]


def judging(lit: float, both: float):
    """The log-odds of who lit the lamp, and of where he was born beside it."""

    def judge(messages, _) -> list[float]:
        text = messages[-1].content.partition("Does the text")[0]
        odds = (both if "Brill" in text else lit) if "lit the great lamp" in text else -9.0
        return [odds, 0.0]

    return judge


def reader(lit: float = 1.0, both: float = 9.0) -> ScriptedModel:
    return ScriptedModel(
        lambda messages: messages[-1].content, likelihood=likelihood, judge=judging(lit, both), window=4096
    )


def read(model, plan=PLAN, done=(), text=TEXT):
    async def run():
        *steps, answer = [event async for event in quotes(TextDocument(text), QUESTION, model, plan, done)]
        return steps, answer

    return asyncio.run(run())


def test_what_the_best_passage_leaves_open_is_quoted_from_elsewhere() -> None:
    steps, answer = read(reader())
    first, second = (answer.passage or answer.text).splitlines()
    assert first.startswith("The keeper who lit the great lamp was Amos Thorne.")
    assert "A cooper called Amos Thorne came from Brill." in second
    assert answer.text in second
    joined = [step for step in steps if Flag.JOINED in step.flags]
    assert joined == [steps[-1]]
    assert joined[0].score is None
    assert "from Brill" in joined[0].chunk.text
    lines = joined[0].after.text.splitlines()
    assert "lit the great lamp" in lines[0]
    assert "from Brill" in lines[1]
    assert joined[0].after.tokens <= joined[0].after.limit
    assert [step.chunk.index for step in steps] == list(range(len(steps)))
    assert all(one.after == other.before for one, other in pairwise(steps))


def test_one_passage_stays_alone_where_the_model_finds_no_better_answer_in_two() -> None:
    steps, answer = read(reader(both=2.0))
    assert not any(Flag.JOINED in step.flags for step in steps)
    assert "Brill" not in (answer.passage or answer.text)
    assert (answer.passage or answer.text).startswith("The keeper who lit the great lamp")


def test_only_judged_passages_are_joined() -> None:
    steps, answer = read(reader(), replace(PLAN, judgement_weight=0.0))
    assert not any(Flag.JOINED in step.flags for step in steps)
    assert "Brill" not in (answer.passage or answer.text)


def test_two_passages_answer_where_neither_does_by_itself() -> None:
    assert read(reader(lit=-9.0, both=-9.0))[1].text == "The document does not say."
    _, answer = read(reader(lit=-9.0))
    assert len((answer.passage or answer.text).splitlines()) == 2
    # Together they need twice what one needs.
    assert read(reader(lit=-9.0), replace(PLAN, least_gain=0.9))[1].text == "The document does not say."


def test_a_passage_that_does_not_fit_the_memory_beside_the_best_one_is_not_joined() -> None:
    # One long sentence is a window of its own, however long it is.
    long = "A cooper called Amos Thorne came from Brill" + " and from Brill" * 17 + ". "
    plan = replace(PLAN, memory_tokens=60)
    steps, answer = read(reader(), plan, text=FILLER * 4 + LIT + FILLER * 4 + long + FILLER * 4)
    assert not any(Flag.JOINED in step.flags for step in steps)
    assert "Brill" not in (answer.passage or answer.text)
    assert "Brill" in read(reader(), plan)[1].text


def test_an_early_end_leaves_unread_what_neither_passage_is_from() -> None:
    steps, answer = read(reader(), replace(PLAN, enough_gain=0.5))
    assert "Brill" in (answer.passage or answer.text)
    assert sum(Flag.UNREAD in step.flags for step in steps) > 0
    spans = sorted({(step.chunk.start, step.chunk.end) for step in steps})
    assert (spans[0][0], spans[-1][1]) == (0, len(TEXT))
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    unread = "".join(TEXT[s.chunk.start : s.chunk.end] for s in steps if Flag.UNREAD in s.flags)
    assert "Thorne" not in unread


@pytest.mark.parametrize("enough", [0.0, 0.5])
def test_a_resumed_reading_joins_the_same_passage(enough: float) -> None:
    plan = replace(PLAN, enough_gain=enough)
    whole, answer = read(reader(), plan)
    for at in range(len(whole) + 1):
        rest, same = read(reader(), plan, done=whole[:at])
        assert [step.chunk for step in rest] == [step.chunk for step in whole[at:]]
        assert [step.after for step in rest] == [step.after for step in whole[at:]]
        assert same.text == answer.text


def test_a_line_that_the_user_wrote_is_answered_with_alone() -> None:
    whole, _ = read(reader())
    own = "The keeper who lit the great lamp was Amos Thorne. He said so himself."
    memory = Memory(text=own, tokens=12, limit=80)
    steps, answer = read(reader(), done=[replace(whole[0], after=memory, flags=(Flag.EDITED,))])
    assert (answer.passage or answer.text) == own
    assert not any(Flag.JOINED in step.flags for step in steps)


def test_a_joined_passage_that_the_user_edited_away_does_not_come_back() -> None:
    whole, _ = read(reader())
    memory = Memory(text=whole[-1].after.text.replace("Brill", "Ely"), tokens=50, limit=80)
    _, answer = read(reader(), done=[*whole[:-1], replace(whole[-1], after=memory, flags=(Flag.JOINED, Flag.EDITED))])
    assert "Brill" not in (answer.passage or answer.text)
    assert "Ely" in (answer.passage or answer.text)


def test_what_was_spent_on_it_is_told_by_its_step_and_the_answer() -> None:
    model = BudgetedModel(reader(), Budget())
    steps, answer = read(model)
    conversations = [*(step.conversation for step in steps), answer.conversation]
    assert sum(said.reply.usage.tokens for said in conversations) == model.spent.tokens


def test_the_words_to_look_for_beside_a_text() -> None:
    beyond = QuestionWords("Which country did the keeper of Sallow Point come from?").beyond(
        "Then the keeper, Amos Thorne, came to Sallow Point in 1871."
    )
    for named in ("Amos", "Thorne", "1871", "countries"):
        assert len(beyond.find(f"It says {named} here.")) == 1
    assert beyond.find("The keeper of Sallow Point then came.") == set()


class CopyingReader(ScriptedModel):
    """Copies the town, and holds nothing else likely."""

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        found = [(passage.find(word), odds) for word, odds in (("Brill", -0.1), ("Thorne", -9.0)) if word in passage]
        return Copies(spans=tuple(CopiedSpan(at, at + 5, odds) for at, odds in found))


@pytest.mark.parametrize(("second", "is_sure"), [("", True), ("Amos Thorne keeps bees.", False)])
def test_an_answer_out_of_two_passages_is_not_sure(second: str, is_sure: bool) -> None:
    question = "In which town was the keeper born?"
    scorer = QuestionScorer(CopyingReader(lambda _: "", window=4096), prompts_for(PLAN, question), question)
    passage = "The keeper, a Thorne, was born in Brill."
    assert asyncio.run(scorer.answer(passage, second)) == ShortAnswer("Brill", is_sure)


def test_what_is_struck_out_answers_nothing() -> None:
    question = "In which town was the keeper born?"
    scorer = QuestionScorer(CopyingReader(lambda _: "", window=4096), prompts_for(PLAN, question), question)
    passage = "The keeper was born in ~~Brill~~ a town. Thorne kept bees."
    assert asyncio.run(scorer.answer(passage)).text != "Brill"
    asked = "Was the keeper born in a town?"
    scorer = QuestionScorer(CopyingReader(lambda _: "", window=4096), prompts_for(PLAN, asked), asked)
    assert asyncio.run(scorer.answer("~~The keeper was born in a town.~~ Thorne kept bees.")).text != "Yes."
