"""The loop: one fresh conversation a chunk, one memory overwritten, one answer from it alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import PlanError, QuestionError
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Layout, Plan
from bookwheel.reading.loop import read
from bookwheel.types import Answer, Document, Finish, Message, Part, Reply, Step

PLAN = Plan(chunk_tokens=50, memory_tokens=30, answer_tokens=20)
QUESTION = "Who is the harbour master of Skarholm?"


class Text:
    name = "text"

    def __init__(self, text: str) -> None:
        self.text = text
        self.length = len(text)

    def parts(self, start: int = 0):
        yield Part(text=self.text[start:], source="text")

    def slice(self, start: int, end: int) -> str:
        return self.text[start:end]


LONG = Text(
    "Gulls circle over the pier all day. " * 60 + "The harbour master of Skarholm is Ada Quill. " + "Rain fell. " * 200
)


def events(
    model: ScriptedModel, text: Document = LONG, plan: Plan = PLAN, done: Sequence[Step] = ()
) -> list[Step | Answer]:
    async def collect() -> list[Step | Answer]:
        return [event async for event in read(text, QUESTION, model, plan, done)]

    return asyncio.run(collect())


def test_a_fact_in_the_middle_is_carried_to_the_answer() -> None:
    *steps, answer = events(ScriptedModel(keyword_reader))
    assert len(steps) > 10
    assert isinstance(answer, Answer)
    assert "Ada Quill" in answer.text
    assert "boxed" not in answer.text


def test_there_is_one_call_a_chunk_and_one_for_the_answer() -> None:
    model = ScriptedModel(keyword_reader)
    *steps, _answer = events(model)
    assert model.calls == len(steps) + 1


def test_each_conversation_is_fresh_and_sees_the_newest_memory() -> None:
    counted = iter(range(1000))
    *steps, answer = events(ScriptedModel(lambda messages: f"note {next(counted)}"))
    for number, step in enumerate(steps):
        (message,) = step.conversation.messages
        assert step.after.text == f"note {number}"
        assert re.findall(r"note \d+", message.content) == ([f"note {number - 1}"] if number else [])
    assert f"note {len(steps) - 1}" in answer.conversation.messages[0].content


def test_the_answer_turn_has_its_own_token_limit() -> None:
    limits: list[int] = []

    class Listening(ScriptedModel):
        async def reply(self, messages: Sequence[Message], *, limit: int, sampling: object) -> Reply:
            limits.append(limit)
            return await super().reply(messages, limit=limit, sampling=sampling)

    events(Listening(keyword_reader))
    assert set(limits[:-1]) == {PLAN.memory_tokens}
    assert limits[-1] == PLAN.answer_tokens


def test_a_resumed_reading_goes_on_where_it_stood() -> None:
    whole = events(ScriptedModel(keyword_reader))
    model = ScriptedModel(keyword_reader)
    rest = events(model, done=[event for event in whole[:7] if isinstance(event, Step)])
    assert [event.chunk for event in rest if isinstance(event, Step)] == [
        event.chunk for event in whole[7:] if isinstance(event, Step)
    ]
    assert rest[-1].text == whole[-1].text
    assert model.calls == len(whole) - 7


def test_an_evasive_reply_in_the_middle_loses_nothing() -> None:
    count = iter(range(1000))
    evasive = {20: "", 21: "No new information.", 22: "I'm sorry, I can't."}
    *steps, answer = events(ScriptedModel(lambda messages: _or_evade(messages, count, evasive)))
    assert "Ada Quill" in answer.text
    assert {flag for step in steps for flag in step.flags} >= {Flag.KEPT_EMPTY, Flag.KEPT_COMMENT, Flag.KEPT_REFUSAL}


def _or_evade(messages: Sequence[Message], count: object, evasive: dict[int, str]) -> str:
    number = next(count)
    return evasive[number] if number in evasive else keyword_reader(messages)


@pytest.mark.parametrize(
    ("reply", "text", "flags"),
    [
        ("\\boxed{4{,}080\\text{ kr}}", "4,080 kr", ()),
        ("\\boxed{Ada}. No: \\boxed{Ada {Q} Quill}", "Ada {Q} Quill", ()),
        ("Ada Quill", "Ada Quill", ()),
        ("\\boxed{Ada}<|im_end|>", "Ada", (Flag.CLEANED,)),
        ("\\boxed{`<s>`, </memory>Ada<s>}", "`<s>`, Ada", (Flag.CLEANED,)),
        ("", "", (Flag.NO_ANSWER,)),
        ("I'm sorry, but I can't help with that.", "I'm sorry, but I can't help with that.", (Flag.NO_ANSWER,)),
        ("\\boxed{I'm sorry, I can't come.}", "I'm sorry, I can't come.", ()),
        ("I'm sorry, the document does not say.", "I'm sorry, the document does not say.", ()),
        (Reply(text="\\boxed{Ada", finish=Finish.LENGTH), "Ada", (Flag.TRUNCATED,)),
        ("\\boxed{Two men and", "Two men and", (Flag.TRUNCATED,)),
        ("On Friday, at 11:02.\n\n\\boxed{}", "On Friday, at 11:02.", ()),
        ("**Answer:** the coaster", "the coaster", ()),
        ("boxed{Ada}", "Ada", ()),
        ("(\\boxed{hall}, \\boxed{27 May})", "hall, 27 May", ()),
        ("\\boxed{7}\nNo, it is\n\\boxed{8}", "8", ()),
    ],
)
def test_the_last_box_is_the_answer(reply: str | Reply, text: str, flags: tuple[Flag, ...]) -> None:
    (_step, answer) = events(ScriptedModel(lambda _m: reply), Text("Short."))
    assert (answer.text, answer.flags) == (text, flags)


@pytest.mark.parametrize("second", ["\\boxed{Ada}", "UNCHANGED"])
def test_the_word_for_an_unchanged_memory_is_no_answer_and_is_asked_once_more(second: str) -> None:
    replies = iter(["Ada is named.", "UNCHANGED", second])
    model = ScriptedModel(lambda _m: next(replies))
    (_step, answer) = events(model, Text("Short."))
    assert (answer.text, answer.flags) == (("UNCHANGED", (Flag.NO_ANSWER,)) if second == "UNCHANGED" else ("Ada", ()))
    assert (model.calls, answer.conversation.reply.usage.calls) == (3, 2)


def test_what_the_model_was_shown_so_is_no_latex_of_its_answer() -> None:
    replies = iter([r"Run echo \$HOME after HEAD~2.", r"\boxed{echo \$HOME, HEAD~2; \$5 \text{a}}"])
    (_step, answer) = events(ScriptedModel(lambda _m: next(replies)), Text("Short."))
    assert answer.text == r"echo \$HOME, HEAD~2; $5 a"


def test_both_layouts_read_to_the_same_answer() -> None:
    for layout in Layout:
        assert "Ada Quill" in events(ScriptedModel(keyword_reader), plan=Plan(chunk_tokens=50, layout=layout))[-1].text


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(question: str) -> None:
    with pytest.raises(QuestionError, match="empty"):
        asyncio.run(anext(read(LONG, question, ScriptedModel(keyword_reader), PLAN)))


def test_a_question_over_its_budget_is_refused_with_the_numbers() -> None:
    with pytest.raises(QuestionError, match=r"300 tokens.*100"):
        asyncio.run(anext(read(LONG, "why " * 300, ScriptedModel(keyword_reader), Plan(question_tokens=100))))


def test_a_plan_beyond_the_window_is_refused_and_says_by_how_much() -> None:
    model = ScriptedModel(keyword_reader, window=4096)
    with pytest.raises(PlanError, match=r"too many") as caught:
        asyncio.run(anext(read(LONG, QUESTION, model, Plan())))
    assert "4096" in str(caught.value)
    assert model.calls == 0


def test_a_section_is_shown_below_what_it_begins_in() -> None:
    text = "# The lighthouse\n\n## Oil\n\n" + "Eleven barrels of oil came in spring. " * 9 + "\n\nMarta counted them."
    plan = replace(PLAN, chunk_tokens=80)
    document = TextDocument(text, name="a.md")
    _, second, _ = events(ScriptedModel(keyword_reader), document, plan)
    assert isinstance(second, Step)
    assert second.chunk.text == "Marta counted them."
    assert "# The lighthouse\n## Oil\n[…]\nMarta counted them.\n</section>" in second.conversation.messages[-1].content
