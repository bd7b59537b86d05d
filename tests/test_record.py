"""The JSON shape of a reading loses nothing that it promises to keep."""

import asyncio
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.claims import Claim, Evidence, Fit, Sign, Verdict
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading.loop import conclude, read
from bookwheel.record import (
    outcome_to_json,
    reading_from_json,
    reading_to_json,
    step_to_json,
    summary_to_json,
)
from bookwheel.types import (
    Answer,
    Chunk,
    Conversation,
    DocumentInfo,
    Finish,
    Memory,
    Part,
    Reading,
    Reply,
    ScoredLine,
    Status,
    Step,
    Usage,
    WayChoice,
)

any_text = st.text(st.characters() | st.sampled_from("\ud800\udfff\x00\u202e<&"), max_size=30).filter(
    lambda text: not any("\ud800" <= a <= "\udbff" and "\udc00" <= b <= "\udfff" for a, b in pairwise(text))
)
count = st.integers(0, 2**40)
usages = st.builds(Usage, calls=count, prompt_tokens=count, completion_tokens=count, seconds=st.floats(0, 1e9))
replies = st.builds(Reply, text=any_text, finish=st.sampled_from(Finish), usage=usages)
conversations = st.builds(Conversation, messages=st.just(()), reply=replies)
memories = st.builds(Memory, text=any_text, tokens=count, limit=st.just(1024))
names = st.lists(any_text, max_size=3).map(tuple)
pages = st.lists(st.integers(1, 9999), max_size=3).map(tuple)
flags = st.lists(st.sampled_from(Flag), max_size=3).map(tuple)
chunks = st.builds(
    Chunk, index=count, start=count, end=count, text=st.just(""), tokens=count, sources=names, pages=pages
)
scores = st.none() | st.floats(-1e6, 1e6)
any_float = st.floats(-1e6, 1e6)
lines = st.builds(ScoredLine, chunk=scores, gain=any_float, judgement=st.none() | any_float, joins=st.booleans())
steps = st.builds(
    Step,
    chunk=chunks,
    before=memories,
    after=memories,
    conversation=conversations,
    flags=flags,
    score=scores,
    choice=st.none() | st.builds(WayChoice, way=any_text, reason=any_text),
    ranking=st.lists(any_float, max_size=3).map(tuple),
    given_up=st.lists(any_text, max_size=2).map(tuple),
    lines=st.lists(lines, max_size=2).map(tuple),
)
answers = st.none() | st.builds(Answer, text=any_text, conversation=conversations, flags=flags)
evidence = st.builds(Evidence, quote=any_text, start=count, end=count, step=st.none() | count, pages=pages)
claims = st.builds(
    Claim,
    text=any_text,
    verdict=st.sampled_from(Verdict),
    evidence=st.lists(count, max_size=2).map(tuple),
    step=st.none() | count,
    against=st.lists(count, max_size=2).map(tuple),
    missing=st.lists(any_text, max_size=2).map(tuple),
    unsaid=st.lists(any_text, max_size=2).map(tuple),
    score=st.none() | st.floats(0, 1),
    answers=st.none() | st.sampled_from(Fit),
    judge=st.none() | any_text,
)
readings = st.builds(
    Reading,
    id=any_text,
    document=st.builds(DocumentInfo, id=any_text, name=any_text, length=count, notes=names),
    question=any_text,
    plan=st.builds(Plan, chunk_tokens=st.integers(8, 10**6), language=st.none() | any_text),
    model=any_text,
    way=any_text,
    language=any_text,
    status=st.sampled_from(Status),
    steps=st.lists(steps, max_size=3).map(tuple),
    answer=answers,
    usage=usages,
    evidence=st.lists(evidence, max_size=2).map(tuple),
    claims=st.lists(claims, max_size=2).map(tuple),
    error=any_text,
    parent=any_text,
    created=any_text,
)


class Sheet:
    """A document of one part."""

    def __init__(self, text: str, name: str = "sheet.txt") -> None:
        self.text, self.name, self.length = text, name, len(text)

    def parts(self, start: int = 0):
        yield Part(text=self.text[start:], source=self.name)

    def slice(self, start: int, end: int) -> str:
        return self.text[start:end]


def scripted_reading() -> Reading:
    document = Sheet("The mill was built in 1588. " * 40 + "Ramelli signed the plan of the mill. " + "Rain fell. " * 60)
    plan = Plan(chunk_tokens=120, memory_tokens=60, question_tokens=40, answer_tokens=40)
    reading = Reading(
        id="ab12",
        document=DocumentInfo(id="0" * 64, name=document.name, length=document.length),
        question="Who signed the plan of the mill?",
        plan=plan,
        model="scripted",
        status=Status.ANSWERED,
        created="2026-11-21T10:00:00+00:00",
    )

    async def whole() -> Reading:
        now = reading
        async for event in read(document, reading.question, ScriptedModel(keyword_reader), plan):
            now = replace(now, answer=event) if isinstance(event, Answer) else now.with_step(event)
        return now

    return asyncio.run(whole())


@given(readings)
@pytest.mark.slow
def test_a_reading_survives_json_but_for_what_can_be_rebuilt(reading):
    assert reading_from_json(reading_to_json(reading)) == reading


@given(readings, st.sampled_from([summary_to_json, outcome_to_json, reading_to_json]))
@pytest.mark.slow
def test_json_of_a_reading_from_json_is_the_same_json(reading, to_json):
    whole = json.loads(json.dumps(reading_to_json(reading)))
    values = json.loads(json.dumps(to_json(reading)))
    assert to_json(reading_from_json(whole)) == values
    assert values.items() <= whole.items()


def test_the_shape_has_all_that_is_promised_to_users():
    values = reading_to_json(scripted_reading())
    assert {"reading", "status", "question", "answer", "model", "way", "plan", "steps", "evidence", "usage"} <= set(
        values
    )
    assert {"chunk_tokens", "memory_tokens", "answer_tokens"} <= set(values["plan"])
    assert {"index", "start", "end", "pages", "source", "memory", "flags"} <= set(values["steps"][0])
    assert {"calls", "prompt_tokens", "completion_tokens", "seconds"} == set(values["usage"])
    spans = [(step["start"], step["end"]) for step in values["steps"]]
    assert len(spans) > 2
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert "Ramelli" in values["answer"]


def test_a_list_entry_is_the_same_object_without_steps_gaps_and_evidence():
    whole, entry = reading_to_json(scripted_reading()), summary_to_json(scripted_reading())
    for values in (whole, entry):
        values["usage"].pop("seconds")
        values["answer_turn"]["usage"].pop("seconds")
    assert entry == {key: value for key, value in whole.items() if key not in {"steps", "gaps", "evidence"}}


def test_changes_are_there_on_demand_and_name_the_words_of_reworded_lines_only():
    before, after = (Memory(text=text, tokens=4, limit=60) for text in ("in 1588\nrain", "in 1589\nrain"))
    step = replace(scripted_reading().steps[0], before=before, after=after)
    assert not {"changes", "changed_share"} & step_to_json(step, before).keys()
    values = json.loads(json.dumps(step_to_json(step, before, changes=True)))
    assert values["changes"] == [
        {"kind": "reworded", "text": "in 1589", "words": [["kept", "in "], ["gone", "1588"], ["new", "1589"]]},
        {"kind": "kept", "text": "rain"},
    ]
    assert values["changed_share"] == 0.3333


def test_neither_the_document_nor_the_prompts_are_in_the_record():
    reading = scripted_reading()
    assert reading.steps[0].conversation.messages
    assert "Rain fell. Rain fell." not in json.dumps(reading_to_json(reading))
    back = reading_from_json(reading_to_json(reading))
    assert all(step.chunk.text == "" and step.conversation.messages == () for step in back.steps)


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([], None),
        ([Verdict.QUOTED, Verdict.QUOTED], Verdict.QUOTED),
        ([Verdict.ABSENT], Verdict.ABSENT),
        ([Verdict.QUOTED, Verdict.SUPPORTED], Verdict.SUPPORTED),
        ([Verdict.QUOTED, Verdict.CONTRADICTED], Verdict.CONTRADICTED),
        ([Verdict.SUPPORTED, Verdict.UNCHECKED], Verdict.UNCHECKED),
        ([Verdict.SUPPORTED, Verdict.NOT_FOUND], Verdict.PARTLY),
        ([Verdict.PARTLY, Verdict.ABSENT], Verdict.PARTLY),
        ([Verdict.QUOTED, Verdict.BY_HAND], Verdict.PARTLY),
        ([Verdict.BY_HAND, Verdict.NOT_FOUND], Verdict.BY_HAND),
        ([Verdict.ABSENT, Verdict.NOT_FOUND], Verdict.ABSENT),
        ([Verdict.NOT_FOUND, Verdict.ABSENT], Verdict.NOT_FOUND),
    ],
)
def test_an_answer_is_as_well_borne_out_as_its_sentences(verdicts, whole):
    claims = tuple(Claim(text="s", verdict=verdict) for verdict in verdicts)
    reading = replace(scripted_reading(), claims=claims)
    assert reading.verdict == whole
    assert summary_to_json(reading)["verdict"] == whole


def test_a_record_from_before_verdicts_is_still_read():
    values = reading_to_json(scripted_reading())
    del values["claims"], values["document"]["notes"]
    assert reading_from_json(values).claims == ()


@pytest.mark.parametrize(
    ("verdict", "answers", "sign"),
    [
        (Verdict.QUOTED, Fit.YES, Sign.GREEN),
        (Verdict.SUPPORTED, Fit.YES, Sign.GREEN),
        (Verdict.QUOTED, Fit.NO, Sign.AMBER),
        (Verdict.SUPPORTED, Fit.DOUBTFUL, Sign.AMBER),
        (Verdict.SUPPORTED, None, Sign.AMBER),
        (Verdict.PARTLY, Fit.YES, Sign.AMBER),
        (Verdict.BY_HAND, Fit.YES, Sign.AMBER),
        (Verdict.CONTRADICTED, Fit.YES, Sign.RED),
        (Verdict.NOT_FOUND, Fit.YES, Sign.RED),
        (Verdict.UNCHECKED, Fit.YES, Sign.GREY),
        (Verdict.ABSENT, None, Sign.GREY),
        (None, None, Sign.GREY),
    ],
)
def test_the_sign_is_green_only_where_the_answer_is_borne_out_and_answers(verdict, answers, sign):
    claims = () if verdict is None else (Claim(text="s", verdict=verdict, answers=answers),)
    reading = replace(scripted_reading(), claims=claims)
    assert reading.sign is sign
    assert summary_to_json(reading)["sign"] == sign


def test_a_memory_before_is_told_only_where_it_is_not_the_one_before():
    reading = scripted_reading()
    assert not any("before" in step for step in reading_to_json(reading)["steps"])
    strange = replace(reading.steps[1], before=Memory(text="another sheet", tokens=2, limit=60))
    values = reading_to_json(replace(reading, steps=(reading.steps[0], strange)))
    assert values["steps"][1]["before"] == "another sheet"


def test_what_a_reply_says_beside_its_box_is_kept_as_its_working():
    reading = replace(scripted_reading(), answer=None)
    said = Conversation(messages=(), reply=Reply(text="<think>Hm.</think>85 × 48 = 4,080\n\n\\boxed{4{,}080}"))
    values = summary_to_json(replace(reading, answer=conclude(said)))
    assert (values["answer"], values["working"]) == ("4,080", "85 × 48 = 4,080")
    assert "working" not in summary_to_json(reading)


def test_a_reply_without_an_answer_is_none():
    reading = replace(
        scripted_reading(), answer=Answer(text="", conversation=Conversation(messages=(), reply=Reply(text="")))
    )
    values = reading_to_json(reading)
    assert values["answer"] is None
    assert reading_from_json(values).answer == reading.answer
