"""The worth of a memory, with a model whose likelihoods are known."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BadReply, MissingAbility
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.worth import MemoryScorer, Target, find_targets, measure_reading, sum_up_worth
from bookwheel.schema import to_plain
from bookwheel.types import Answer, Chunk, Conversation, DocumentInfo, Memory, Reading, Reply, Status, Step

PROMPTS = prompts_for(Plan(), "Who?")
NOTES = re.compile(r"<memory>\n(.*?)\n</memory>", re.DOTALL)
KNOWN, UNKNOWN = math.log(0.5), math.log(0.125)  # one bit, three bits


def likelihood(messages, continuation):
    """A word costs one bit where the notes have it and three where they do not."""
    notes = NOTES.search(messages[-1].content)[1].casefold().split()
    return [KNOWN if word in notes else UNKNOWN for word in continuation.casefold().split()]


def scorer(model=None, control="nothing of it"):
    return MemoryScorer(model or ScriptedModel(lambda _: "", likelihood=likelihood), PROMPTS, control)


def score(memory, *targets, **how):
    return asyncio.run(scorer(**how).score(memory, targets))


TARGET = Target(text="ada lit the lamp", cue="Who?", past="ada lit the lamp at dusk")


@pytest.mark.parametrize(
    ("memory", "bits", "recovered"),
    [
        ("ada lit the lamp", 8, 1.0),
        ("ada lit", 4, 0.5),
        ("gulls and wind", 0, 0.0),
        ("ada lit the lamp at dusk and much more besides", 8, 1.0),
    ],
)
def test_a_memory_is_worth_the_words_that_it_knows(memory, bits, recovered):
    worth = score(memory, TARGET)
    assert worth.bits == pytest.approx(bits)
    assert worth.possible == pytest.approx(8)
    assert worth.recovered == pytest.approx(recovered)


def test_what_an_unrelated_memory_knows_too_is_worth_nothing():
    worth = score("ada lit the lamp", TARGET, control="the lamp of another house")
    assert worth.bits == pytest.approx(4)
    assert worth.possible == pytest.approx(4)
    assert worth.recovered == pytest.approx(1.0)


def test_notes_that_know_less_than_unrelated_ones_are_worth_less_than_nothing():
    worth = score("gulls", TARGET, control="the lamp")
    assert worth.bits == pytest.approx(-4)
    # Only "ada" and "lit" are needed beside that control, and these notes know neither.
    assert worth.recovered == pytest.approx(0.0)
    wrong = sum_up_worth([-5.0], [-3.0], [-1.0])
    assert wrong.recovered == pytest.approx(-1.0)


def test_by_chance_a_memory_that_misleads_costs_what_its_words_had_without_it():
    """In bits it costs as much as one that is right earns, and who is right in fewer than half of the cases says nothing."""
    told = {"right": math.log(0.9), "wrong": math.log(1e-9), "both": math.log(0.5)}

    def tell(messages, text):
        return [told.get(NOTES.search(messages[-1].content)[1], math.log(0.1))]

    asked = scorer(ScriptedModel(lambda _: "", likelihood=tell))
    target = Target(text="ada", cue="Who?", past="right")
    assert [asyncio.run(asked.score(one, [target])).recovered for one in told] == pytest.approx(
        [1, -1, 0.732], abs=1e-3
    )
    assert [asyncio.run(asked.score_chances(one, [target])) for one in told] == pytest.approx([1, -0.125, 0.5])
    assert asyncio.run(asked.score_chances("nothing of it", [target])) == 0
    assert asyncio.run(asked.score_chances("right", [])) is None


def test_what_there_is_to_know_of_many_tokens_that_hardly_differ_is_hardly_anything():
    def tell(messages, text):
        return [math.log(0.25 if "the lamp" in messages[-1].content else 0.2) for _ in text.split()]

    asked = scorer(ScriptedModel(lambda _: "", likelihood=tell))
    assert asyncio.run(asked.find_need(TARGET)) == pytest.approx(0.1)
    assert asyncio.run(asked.find_need(replace(TARGET, text="ada"))) == pytest.approx(0.05)


def test_a_memory_earns_nothing_by_saying_nothing():
    """Notes of another thing can mislead a model that trusts its notes; none are no better than they then."""

    def misled(messages, text):
        return [-9.0 if "gulls" in messages[-1].content else -5.0 for _ in text.split()]

    model = ScriptedModel(lambda _: "", likelihood=misled)
    assert score("", TARGET, control="gulls", model=model).bits == 0
    assert score("gulls", TARGET, control="gulls", model=model).bits < 0


def test_what_is_known_better_than_the_text_says_it_earns_no_more():
    assert sum_up_worth([0.0, -3.0], [-3.0, -3.0], [-1.0, -1.0]).recovered == 0.5


def test_a_token_counts_by_the_square_of_its_need():
    worth = sum_up_worth([-1.0, -4.0], [-4.0, -5.0], [-1.0, -4.0])
    half = sum_up_worth([-1.0, -5.0], [-4.0, -5.0], [-1.0, -4.0])
    assert (worth.recovered, half.recovered) == (1.0, 0.9)


def test_without_the_documents_words_there_are_bits_alone():
    worth = score("ada lit", Target(text="ada lit the lamp", cue="Who?"))
    assert (worth.bits, worth.possible, worth.recovered) == (pytest.approx(4), None, None)
    assert sum_up_worth([-1.0], [-1.0], [-1.0]).recovered is None


def test_the_control_of_a_prompt_set_is_never_empty():
    for language in ("en", "zh"):
        for name in ("standard", "small"):
            assert prompts_for(Plan(prompts=name, language=language), "?").unrelated.count("\n") >= 3
    asked = []
    model = ScriptedModel(
        lambda _: "", likelihood=lambda messages, text: asked.append(messages[-1].content) or likelihood(messages, text)
    )
    asyncio.run(MemoryScorer(model, PROMPTS).score("ada", [TARGET]))
    assert sum(PROMPTS.unrelated in one for one in asked) == 1


def test_lines_are_worth_what_is_lost_without_them():
    lines = asyncio.run(scorer().score_lines("ada\nlit the lamp\n\ngulls", [TARGET]))
    assert [(line, round(bits, 6)) for line, bits in lines] == [("ada", 2.0), ("lit the lamp", 6.0), ("gulls", 0.0)]
    twice = asyncio.run(scorer().score_lines("ada\nada", [TARGET]))
    assert [round(bits, 6) for _, bits in twice] == [0.0, 0.0]


def test_a_model_is_asked_once_for_the_same_notes():
    model = ScriptedModel(lambda _: "", likelihood=likelihood)
    one = scorer(model)
    for _ in range(3):
        asyncio.run(one.score("ada", [TARGET]))
    assert model.calls == one.usage.calls == 4


def test_tokens_that_differ_with_the_notes_are_an_error():
    model = ScriptedModel(lambda _: "", likelihood=lambda messages, text: [-1.0] * len(messages[-1].content))
    with pytest.raises(BadReply, match="other tokens"):
        score("ada", TARGET, model=model)


@pytest.mark.parametrize("broken", [math.nan, -math.inf, math.inf])
@pytest.mark.parametrize("notes", ["ada lit", "the lamp at dusk", "nothing of it"])
def test_a_likelihood_that_is_no_number_is_an_error_whichever_notes_it_is_of(notes, broken):
    def tell(messages, text):
        said = NOTES.search(messages[-1].content)[1]
        return [broken if said == notes else -1.0 for _ in text.split()]

    asked, target = scorer(ScriptedModel(lambda _: "", likelihood=tell)), replace(TARGET, past="the lamp at dusk")
    for score_by in (asked.score, asked.score_chances):
        with pytest.raises(BadReply, match="log-probability"):
            asyncio.run(score_by("ada lit", [target]))


def test_targets_are_the_sentences_that_the_question_points_at():
    text = "Rain fell. Oak has red. Elm has blue. Wind blew over the hill."
    (target,) = find_targets("elm has", text)
    assert (target.text, target.past, target.cue) == ("blue.", "Elm has blue.", "elm has")
    assert find_targets("granite quarry", text) == []
    assert [one.past for one in find_targets("Which colours have oak and elm?", text, 2)] == [
        "Oak has red.",
        "Elm has blue.",
    ]


def a_reading(*memories, answer="ada"):
    text = "rain fell . ada lit the lamp . wind blew . "
    spans = [(0, 12), (12, 31), (31, len(text))]
    steps, before = [], Memory.blank(9)
    for index, ((start, end), words) in enumerate(zip(spans, memories, strict=True)):
        after = Memory(text=words, tokens=1, limit=9)
        said = Conversation(messages=(), reply=Reply(text=words))
        chunk = Chunk(index=index, start=start, end=end, text="", tokens=4)
        steps.append(Step(chunk=chunk, before=before, after=after, conversation=said))
        before = after
    said = Conversation(messages=(), reply=Reply(text=answer))
    reading = Reading(
        id="r",
        document=DocumentInfo(id="d", name="log", length=len(text)),
        question="Who lit it?",
        plan=Plan(),
        model="scripted",
        status=Status.ANSWERED,
        steps=tuple(steps),
        answer=Answer(text=answer, conversation=said) if answer else None,
    )
    return reading, TextDocument(text, "log")


def test_a_reading_tells_which_step_gained_the_answer_and_which_lost_it():
    model = ScriptedModel(lambda _: "", likelihood=likelihood)
    worth = asyncio.run(measure_reading(*a_reading("rain", "ada\nlamp", "wind"), model))
    assert [round(step.answer.bits, 6) for step in worth.steps] == [0.0, 2.0, 0.0]
    assert [step.ahead is None for step in worth.steps] == [False, False, True]
    assert to_plain(worth)["lines"] == [{"line": "wind", "bits": 0.0}]
    assert worth.calls == model.calls


def test_a_reading_without_an_answer_has_the_next_sections_alone():
    model = ScriptedModel(lambda _: "", likelihood=likelihood)
    worth = asyncio.run(measure_reading(*a_reading("ada lit the", "", "", answer=""), model))
    assert [step.answer for step in worth.steps] == [None] * 3
    assert worth.steps[0].ahead.bits == pytest.approx(4)
    assert worth.lines == ()


def test_a_model_without_likelihoods_is_refused_with_advice():
    with pytest.raises(MissingAbility, match="likelihood"):
        asyncio.run(measure_reading(*a_reading("", "", ""), ScriptedModel(lambda _: "")))
