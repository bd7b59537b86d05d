"""The way `quotes`: verbatim passages chosen by likelihood, and an answer from the best of them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from importlib import resources
from itertools import pairwise

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BudgetReached, MissingAbility, QuestionError
from bookwheel.flags import Flag
from bookwheel.models.base import Copies
from bookwheel.models.copying import CopiedSpan
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Plan
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.question_scorer import LEAST_ODDS, MEASURED
from bookwheel.reading.ways.quotes import quotes
from bookwheel.types import Answer, Memory, Message, Step, Usage

PLAN = Plan(chunk_tokens=60, memory_tokens=60, answer_tokens=40, prompts="small")
FILLER = "Rain fell on the mole. The gulls were loud that day. Nobody came to the pier. "
QUESTION = "How many barrels did the customs men count?"
TEXT = (
    f"{FILLER * 10}A boat came at noon. The customs men count sixty-four barrels in the cellar. Then they left. "
    f"{FILLER * 9}The customs men of the other island count nothing. {FILLER * 9}"
)
KNOWN, UNKNOWN = -1.0, -6.0


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.casefold())


def overlap(messages: tuple[Message, ...], question: str) -> list[float]:
    """A question's word is likely where the text has it; a short text about it says more than a long one."""
    text = words(messages[-1].content.partition("Write one question")[0])
    return [KNOWN - len(text) / 500 if word in text else UNKNOWN for word in words(question)]


def reader(**more: object) -> ScriptedModel:
    return ScriptedModel(
        lambda messages: messages[-1].content.strip().splitlines()[0], likelihood=overlap, window=4096, **more
    )


def read(model, plan=PLAN, done=(), text=TEXT, question=QUESTION):
    async def run() -> tuple[list[Step], Answer]:
        *steps, answer = [event async for event in quotes(TextDocument(text), question, model, plan, done)]
        return steps, answer

    return asyncio.run(run())


def test_the_answer_is_the_best_passage_where_no_words_are_copied_out_of_it() -> None:
    steps, answer = read(reader())
    assert answer.text.startswith("The customs men count sixty-four barrels in the cellar. Then they left.")
    assert "sixty-four barrels" in steps[-1].after.text.splitlines()[0]
    assert "".join(step.chunk.text for step in sorted(steps, key=lambda step: step.chunk.start)) == TEXT
    assert "sixty-four barrels" in steps[0].chunk.text
    assert [step.chunk.index for step in steps] == list(range(len(steps)))


def test_every_line_of_the_memory_stands_word_for_word_in_the_document() -> None:
    steps, _ = read(reader(), text=TEXT.replace(". ", ".\n"))
    flat = " ".join(TEXT.split())
    assert all(line in flat for step in steps for line in step.after.text.splitlines())
    assert all(step.after.tokens <= step.after.limit == 60 for step in steps)
    assert all(step.before == before.after for before, step in pairwise(steps))


def test_a_chunk_below_the_best_two_costs_one_score_and_changes_nothing() -> None:
    steps, _ = read(reader())
    calls = [step.conversation.reply.usage.calls for step in steps]
    unchanged = [Flag.UNCHANGED in step.flags for step in steps]
    assert calls[-1] == 1
    assert unchanged[-1]
    assert max(calls) > 3
    best = sorted((step.score for step in steps[:-1]), reverse=True)[1]
    assert steps[-1].score < best


def test_the_conversation_of_a_step_is_the_question_after_its_section() -> None:
    steps, _ = read(reader())
    assert steps[0].chunk.text.strip() in steps[0].conversation.messages[-1].content
    assert steps[0].conversation.reply.text == QUESTION


@pytest.mark.parametrize("is_old", [False, True], ids=["", "a journal without lines"])
@pytest.mark.parametrize("at", range(9))
def test_a_resumed_reading_goes_on_as_if_it_had_never_stopped(at: int, is_old: bool) -> None:
    whole, answer = read(reader())
    assert len(whole) >= 8
    done = [replace(step, lines=()) for step in whole[:at]] if is_old else whole[:at]
    rest, again = read(reader(), done=done)
    assert [step.after for step in rest] == [step.after for step in whole[at:]]
    assert [step.score for step in rest] == [step.score for step in whole[at:]]
    assert again.text == answer.text


def test_a_resumed_reading_measures_and_judges_no_passage_again() -> None:
    def calls(*events: Step | Answer) -> int:
        return sum(event.conversation.reply.usage.calls for event in events)

    model = reader(judge=judge_by("sixty-four"))
    whole, answer = read(model, JUDGED)
    for at in range(1, len(whole)):
        rest, same = read(model, JUDGED, done=whole[:at])
        # The question alone is measured once more.
        assert calls(*rest, same) == calls(*whole[at:], answer) + 1


def test_a_line_that_the_user_wrote_stays_to_the_end() -> None:
    whole, _ = read(reader())
    own = "The count was corrected by hand: sixty-five barrels."
    edited = replace(
        whole[0], after=Memory(text=own, tokens=reader().tokenizer.count(own), limit=60), flags=(Flag.EDITED,)
    )
    steps, answer = read(reader(), done=[edited])
    assert all(own in step.after.text for step in steps)
    assert "sixty-five" in (answer.passage or answer.text)


def test_a_document_without_the_answer_is_said_to_have_none() -> None:
    plan = PLAN.with_values({"least_gain": 0.6})
    _, answer = read(reader(), plan, text=FILLER * 12)
    assert (answer.passage or answer.text) == "The document does not say."
    assert answer.conversation.reply.usage.calls == 0
    steps, _ = read(reader(), plan, text=FILLER * 12)
    # A score of each chunk and one of no text: no window of such chunks can have the least gain.
    assert sum(step.conversation.reply.usage.calls for step in steps) == len(steps) + 1
    assert steps[-1].after.text == ""
    assert read(reader(), plan)[1].text.startswith("The customs men count sixty-four barrels in the cellar.")


def test_a_prompt_set_says_what_part_of_the_least_gain_is_enough(tmp_path) -> None:
    own = tmp_path / "own.toml"
    shipped = (resources.files("bookwheel") / "prompts" / "small.en.toml").read_text(encoding="utf-8")
    own.write_text(f"least_gain_share = 0.5\n{shipped}", encoding="utf-8")
    strict = PLAN.with_values({"least_gain": 1.6})
    assert read(reader(), strict)[1].text == "The document does not say."
    assert "sixty-four" in read(reader(), replace(strict, prompts=str(own)))[1].text
    assert prompts_for(PLAN, "谁看守灯塔?").least_gain_share < 1 == prompts_for(PLAN, QUESTION).least_gain_share


def test_an_empty_document_is_answered_from_nothing() -> None:
    steps, answer = read(reader(), text="")
    assert steps == []
    assert answer.conversation.reply.usage.calls == 1


def test_a_model_without_likelihoods_is_refused_before_its_first_call() -> None:
    model = ScriptedModel(lambda messages: "never")
    with pytest.raises(MissingAbility, match="quotes"):
        read(model)
    with pytest.raises(QuestionError):
        read(reader(), question="  ")
    assert model.calls == 0


def test_scores_are_paid_from_the_budget() -> None:
    model = BudgetedModel(reader(), Budget(tokens=400))
    with pytest.raises(BudgetReached):
        read(model)
    assert 0 < model.spent.tokens <= 400


def test_all_that_was_spent_is_told_by_the_steps_and_the_answer() -> None:
    model = BudgetedModel(reader(), Budget())
    steps, answer = read(model)
    conversations = [*(step.conversation for step in steps), answer.conversation]
    assert sum(said.reply.usage.tokens for said in conversations) == model.spent.tokens


JUDGED = PLAN.with_values({"least_gain": 0.6, "judgement_weight": 0.1})


def judge_by(word: str):
    """Says yes to a text with the word, and no to every other."""

    def judge(messages: tuple[Message, ...], _: object) -> list[float]:
        asked = messages[-1].content
        assert QUESTION in asked
        return [-0.1, -3.1] if word in asked.partition("Does the text")[0] else [-5.1, -0.1]

    return judge


def test_judgements_order_the_passages_of_the_memory() -> None:
    steps, plain = read(reader(judge=judge_by("other island")), PLAN)
    assert "other island" in steps[-1].after.text.splitlines()[1]
    assert "sixty-four" in plain.text
    steps, answer = read(reader(judge=judge_by("other island")), JUDGED)
    assert "The customs men of the other island count nothing." in (answer.passage or answer.text)
    assert "other island" in steps[-1].after.text.splitlines()[0]


def test_a_passage_that_the_model_finds_no_answer_in_ends_no_reading() -> None:
    ends_early = replace(JUDGED, enough_gain=0.8)
    first, _ = read(reader(judge=judge_by("sixty-four")), ends_early)
    assert [Flag.UNREAD in step.flags for step in first] == [False, True, True]
    steps, answer = read(reader(judge=judge_by("zeppelin")), ends_early)
    assert [Flag.UNREAD in step.flags for step in steps] == [at >= 5 for at in range(len(steps))]
    assert (answer.passage or answer.text) == "The document does not say."
    # Nothing is asked twice: the answer rests on judgements that the steps have paid for, and on those of second passages.
    assert answer.conversation.reply.usage.calls <= MEASURED + 1


def test_behind_passages_that_do_not_answer_a_worse_chunk_is_searched_too() -> None:
    wrong = "".join(f"How many barrels did the customs men count on pier {name}? Nobody knew. " for name in "abcdefgh")
    right = "The customs men count sixty-four of them. Then they left. " + FILLER
    text = wrong + FILLER * 8 + right
    plan = replace(JUDGED, judgement_weight=0.3)
    assert "pier" in read(reader(), PLAN, text=text)[1].text
    steps, answer = read(reader(judge=judge_by("sixty-four")), plan, text=text)
    assert "sixty-four" in (answer.passage or answer.text)
    for at in range(len(steps)):
        rest, same = read(reader(judge=judge_by("sixty-four")), plan, done=steps[:at], text=text)
        assert [step.after for step in (*steps[:at], *rest)] == [step.after for step in steps]
        assert same.text == answer.text


def test_where_every_judgement_is_no_the_document_does_not_say() -> None:
    _, answer = read(reader(judge=judge_by("zeppelin")), JUDGED)
    assert (answer.passage or answer.text) == "The document does not say."
    _, answer = read(reader(judge=judge_by("sixty-four")), JUDGED)
    assert "sixty-four" in (answer.passage or answer.text)


def test_a_line_that_the_user_wrote_stays_before_every_judgement() -> None:
    whole, _ = read(reader(judge=judge_by("zeppelin")), JUDGED)
    own = "The count was corrected by hand: sixty-five barrels."
    edited = Memory(text=f"{own}\n{whole[0].after.text}", tokens=50, limit=60)
    done = [replace(whole[0], after=edited, flags=(Flag.EDITED,))]
    _, answer = read(reader(judge=judge_by("zeppelin")), JUDGED, done)
    assert (answer.passage or answer.text).startswith(own)


def test_a_prompt_set_without_the_turn_asks_for_no_judgement() -> None:
    model = reader()
    _, answer = read(model, JUDGED.with_values({"language": "zh"}))
    assert "sixty-four" in (answer.passage or answer.text)
    with pytest.raises(MissingAbility, match="quotes"):
        read(model, JUDGED)


def test_a_heading_with_the_questions_words_answers_with_what_follows() -> None:
    text = f"{FILLER}\n\n# Where the customs men count barrels\n\nThey do it in the cellar.\n\n{FILLER}"
    _, answer = read(reader(), text=text)
    assert (answer.passage or answer.text).startswith("Where the customs men count barrels … They do it in the cellar.")


def test_a_prompt_set_for_larger_models_is_shown_the_whole_memory() -> None:
    _, answer = read(reader(), PLAN.with_values({"prompts": "standard"}))
    shown = answer.conversation.messages[-1].content
    assert "sixty-four barrels" in shown
    assert "other island" in shown


def test_of_passages_that_the_model_finds_alike_the_one_with_the_questions_words_is_best() -> None:
    model = ScriptedModel(str, likelihood=lambda messages, question: [KNOWN], window=4096)
    _, answer = read(model)
    assert "sixty-four barrels" in (answer.passage or answer.text)


def test_a_memory_from_one_chunk_does_not_open_every_later_chunk() -> None:
    best = "".join(f"How many barrels did the customs men count on pier {name}? " for name in "abcde")
    good = "".join(f"The customs men count the men of pier {name}. " for name in "abcdefgh")
    steps, _ = read(reader(), text=best + good + FILLER * 20)
    assert "count the men" not in steps[-1].after.text
    assert {step.conversation.reply.usage.calls for step in steps[4:]} == {1}


ENOUGH = replace(PLAN, enough_gain=0.8)


def test_a_passage_that_explains_the_question_well_enough_ends_the_reading() -> None:
    whole, same = read(reader())
    steps, answer = read(reader(), ENOUGH)
    assert answer.text == same.text
    assert [Flag.UNREAD in step.flags for step in steps] == [False, True, True]
    assert steps[0].after == steps[-1].after
    spans = sorted((step.chunk.start, step.chunk.end) for step in steps)
    assert (spans[0][0], spans[-1][1]) == (0, len(TEXT))
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert len(steps) < len(whole)


def test_a_document_with_few_of_the_questions_words_is_searched_in_five_chunks() -> None:
    steps, _ = read(reader(), replace(PLAN, enough_gain=50.0))
    assert [Flag.UNREAD in step.flags for step in steps] == [at >= 5 for at in range(len(steps))]
    assert len(steps) > 5
    everything, _ = read(reader(), replace(PLAN, enough_gain=0.0))
    assert not any(Flag.UNREAD in step.flags for step in everything)


def test_the_eight_best_windows_of_the_document_are_measured_and_no_chunk() -> None:
    text = "".join(
        f"The customs men count barrels on pier {name}. Nobody came.\n\n{FILLER * 9}\n\n" for name in "abcdefghijklm"
    )
    model = reader(judge=judge_by("zeppelin"))
    steps, answer = read(model, replace(JUDGED, enough_gain=50.0), text=text)
    assert answer.text == "The document does not say."
    searched = [step for step in steps if Flag.UNREAD not in step.flags]
    assert len(searched) == 8 < len(steps)
    assert all("count barrels on pier" in step.chunk.text for step in searched)
    # Of each a gain, of four at first and then of each better one a judgement, and the question alone.
    assert sum(step.conversation.reply.usage.calls for step in searched) <= 2 * 8 + 1


def test_whether_a_passage_answers_is_told_by_the_judgement_alone() -> None:
    plan = replace(JUDGED, enough_gain=0.8, least_gain=0.6)
    for odds, said in ((LEAST_ODDS + 0.1, "sixty-four"), (LEAST_ODDS - 0.1, "The document does not say.")):
        model = reader(judge=lambda messages, options, odds=odds: [odds / 2, -odds / 2])
        assert said in read(model, plan)[1].text


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_reading_that_ended_early_ends_at_the_same_place_when_resumed(at: int) -> None:
    steps, answer = read(reader(), ENOUGH)
    rest, same = read(reader(), ENOUGH, done=steps[:at])
    assert [step.chunk for step in (*steps[:at], *rest)] == [step.chunk for step in steps]
    assert [step.score for step in (*steps[:at], *rest)] == [step.score for step in steps]
    assert same.text == answer.text


def test_with_each_chunk_in_vain_a_lower_gain_is_enough() -> None:
    best = [step.score for step in read(reader(), replace(PLAN, enough_gain=0.8))[0]][-1]
    plan = replace(PLAN, enough_gain=best + 0.25)
    steps, answer = read(reader(), plan)
    assert [Flag.UNREAD in step.flags for step in steps[:5]] == [False] * 4 + [True]
    assert "sixty-four" in (answer.passage or answer.text)
    for at in range(len(steps)):
        rest, _ = read(reader(), plan, done=steps[:at])
        assert [step.chunk for step in (*steps[:at], *rest)] == [step.chunk for step in steps]


class Copier(ScriptedModel):
    """A reader that knows which words of a passage are the answer, and how sure that is."""

    copied, logprob, rival = "sixty-four barrels", -0.2, -9.0

    async def copy(self, messages: tuple[Message, ...], passage: str, gap: str = "") -> Copies:
        assert passage in messages[-1].content
        found = ((self.copied, self.logprob), ("in the cellar", self.rival))
        spans = [CopiedSpan(at, at + len(one), logprob) for one, logprob in found if (at := passage.find(one)) >= 0]
        return Copies(spans=tuple(spans), usage=Usage(calls=1, prompt_tokens=9))


def copier(**more: object) -> Copier:
    return Copier(lambda messages: messages[-1].content, likelihood=overlap, window=4096, **more)


def test_a_short_answer_is_what_the_model_copies_where_it_is_sure() -> None:
    _, answer = read(copier())
    assert (answer.text, answer.flags) == ("sixty-four barrels", ())
    assert "The customs men count sixty-four barrels in the cellar." in answer.passage
    assert answer.conversation.reply.usage.calls == 1
    unsure = copier()
    for logprob, rival in ((-0.2, -7.1), (-3.0, -9.9)):
        unsure.logprob, unsure.rival = logprob, rival
        _, answer = read(unsure)
        assert (answer.text, answer.flags) == ("sixty-four barrels", (Flag.UNSURE,))
    unsure.logprob = -4.0
    _, answer = read(unsure)
    assert (answer.flags, answer.passage) == ((Flag.UNSURE,), "")
    assert answer.text.startswith("The customs men count sixty-four barrels in the cellar.")


@pytest.mark.parametrize(
    ("question", "denial", "is_unsure"),
    [
        ("Which do the customs men count in the cellar, the crates or the boats?", "", True),
        (QUESTION, "never ", True),
        ("Why did the customs men count barrels?", "", False),
    ],
)
def test_what_cannot_be_the_answer_is_not_copied(question: str, denial: str, is_unsure: bool) -> None:
    _, answer = read(copier(), text=TEXT.replace("count sixty", f"count {denial}sixty"), question=question)
    assert f"The customs men count {denial}sixty-four barrels in the cellar." in answer.text
    assert (Flag.UNSURE in answer.flags) is is_unsure


@pytest.mark.parametrize(("odds", "said"), [(3.0, "Yes."), (-3.0, "No."), (0.1, "The customs men count")])
def test_yes_or_no_is_said_where_the_model_is_sure(odds: float, said: str) -> None:
    model = copier(judge=lambda *_: [odds / 2, -odds / 2])
    _, answer = read(model, question="Did excisemen seize casks of brandy in the cellar?")
    assert answer.text.startswith(said)
    assert "customs men count" in (answer.passage or answer.text)


def test_yes_is_said_where_a_sentence_has_the_questions_words_and_denies_nothing() -> None:
    _, answer = read(copier(judge=lambda *_: [-9.0, -0.1]), question="Did the customs men count barrels?")
    assert (answer.text, "customs men count" in answer.passage) == ("Yes.", True)
