"""Several questions about one document, in lockstep."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import QuestionError, Unreachable, WindowExceeded
from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_reader
from bookwheel.plan import Budget, GatePlan, Plan
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.reading.several import run_readings
from bookwheel.reading.ways.registry import load_way
from bookwheel.text.tokens import EstimatingTokenizer, WordTokenizer
from bookwheel.types import DocumentInfo, Message, Reply, Status, Usage

PLAN = Plan(question_tokens=60, chunk_tokens=100, memory_tokens=60, answer_tokens=60, gate=GatePlan(), language="en")
TEXT = "".join(
    f"Page {n} tells of harvests, tolls and rain.\n"
    + ("The colour of the wheel is vermilion.\n" if n == 40 else "")
    + ("The keeper of the lamp was Ada Quill.\n" if n == 70 else "")
    for n in range(120)
)
QUESTIONS = ["What is the colour of the wheel?", "Who was the keeper of the lamp?", "What is the price of oats?"]


class Logged(ScriptedModel):
    """A model that logs which question asked about which section, and takes time for each call."""

    def __init__(self, *, seconds: dict[str, float] | None = None, **settings) -> None:
        super().__init__(keyword_reader, judge=keyword_judge, window=900, **settings)
        self.log: list[tuple[str, str, str, str]] = []
        self._pauses = seconds or {}

    async def reply(self, messages: Sequence[Message], *, limit, sampling):
        return await self._logged("reply", messages, super().reply(messages, limit=limit, sampling=sampling))

    async def judge(self, messages: Sequence[Message], options):
        return await self._logged("judge", messages, super().judge(messages, options))

    async def _logged(self, kind, messages, call):
        prompt = messages[-1].content
        question = next(q for q in QUESTIONS if q in prompt)
        section = (
            prompt.rpartition("<section>")[2].partition("</section>")[0].strip()[:12] if "<section>" in prompt else ""
        )
        self.log.append((kind, "begin", question, section))
        await asyncio.sleep(self._pauses.get(question, 0))
        reply = await call
        self.log.append((kind, "end", question, section))
        return reply


def start(way: str = "gated+edits", questions: Sequence[str] = QUESTIONS, model: ScriptedModel | None = None):
    model = model or Logged()
    document = TextDocument(TEXT)
    info = DocumentInfo(id="0" * 64, name="text", length=len(TEXT))
    return [new_reading(info, question, model, PLAN, way) for question in questions], document, model


def run_all(way: str, readings, document, model):
    return asyncio.run(run_readings(readings, document, model, way=load_way(way)))


@pytest.mark.parametrize("way", ["gated+edits", "sequential", "edits"])
def test_each_question_gets_the_reading_that_it_would_get_alone(way):
    readings, document, model = start(way)
    together = run_all(way, readings, document, model)
    assert [reading.status for reading in together] == [Status.ANSWERED] * 3
    for reading, asked in zip(together, readings, strict=True):
        alone = asyncio.run(run_reading(asked, document, Logged(), way=load_way(way)))
        assert reading.answer
        assert alone.answer
        assert (reading.answer.text, reading.usage.calls) == (alone.answer.text, alone.usage.calls)
        assert [s.after for s in reading.steps] == [s.after for s in alone.steps]


def test_no_question_is_a_chunk_ahead_of_another():
    model = Logged(seconds={QUESTIONS[1]: 0.001})
    readings, document, _ = start(model=model)
    run_all("gated+edits", readings, document, model)
    sections = [entry[3] for entry in model.log if entry[3] and entry[1] == "begin"]
    assert sections == sorted(sections, key=list(dict.fromkeys(sections)).index)


def test_the_first_question_asks_about_a_chunk_before_the_others_do():
    model = Logged(seconds=dict.fromkeys(QUESTIONS, 0.001))
    readings, document, _ = start(model=model)
    run_all("gated+edits", readings, document, model)
    first: dict[str, list[tuple[str, str]]] = {}
    for kind, event, question, section in model.log:
        if section and kind == "judge":
            first.setdefault(section, []).append((event, question))
    for events in first.values():
        assert events[:2] == [("begin", QUESTIONS[0]), ("end", QUESTIONS[0])]
        # The others then ask side by side.
        assert [event for event, _ in events[2:4]] == ["begin", "begin"]


def test_without_a_gate_all_ask_at_once():
    model = Logged(seconds=dict.fromkeys(QUESTIONS, 0.001))
    readings, document, _ = start("sequential", model=model)
    run_all("sequential", readings, document, model)
    assert [entry[1] for entry in model.log[:3]] == ["begin"] * 3


def test_a_reading_that_is_behind_catches_up_before_the_others_go_on():
    readings, document, model = start()
    half = list(_collect(readings[0], document, 4))
    ahead = [readings[0].with_step(half[0]), *readings[1:]]
    for step in half[1:]:
        ahead[0] = ahead[0].with_step(step)
    ended = run_all("gated+edits", ahead, document, model)
    assert all(reading.status is Status.ANSWERED for reading in ended)
    assert model.log[0][2] == QUESTIONS[1]
    assert [len(reading.steps) for reading in ended] == [len(ended[0].steps)] * 3


def _collect(reading, document, count):
    async def gather():
        steps = []
        async for event in load_way("gated+edits")(document, reading.question, Logged(), PLAN, ()):
            steps.append(event)
            if len(steps) == count:
                return steps
        return None

    return asyncio.run(gather())


def test_a_failing_reading_does_not_hold_up_the_others():
    readings, document, _ = start()
    model = Logged(faults={0: WindowExceeded("too long")})
    first, *others = run_all("gated+edits", readings, document, model)
    assert first.status is Status.FAILED
    assert [reading.status for reading in others] == [Status.ANSWERED] * 2


@pytest.mark.slow
def test_a_reading_that_begins_anew_after_a_passing_error_comes_back_into_lockstep():
    class Tokenizer(WordTokenizer):
        """A server's tokenizer that fails once, between two calls."""

        broken = 12

        def count(self, text: str) -> int:
            Tokenizer.broken -= 1
            if not Tokenizer.broken:
                raise Unreachable("the server is away")
            return super().count(text)

    readings, document, model = start(model=Logged(tokenizer=Tokenizer()))
    Tokenizer.broken = 40
    ended = run_all("gated+edits", readings, document, model)
    assert Tokenizer.broken <= 0
    assert [reading.status for reading in ended] == [Status.ANSWERED] * 3


def test_readings_whose_tokens_are_estimated_stay_in_lockstep_when_the_estimate_is_corrected():
    def reply(messages: Sequence[Message]) -> Reply:
        usage = Usage(calls=1, prompt_tokens=sum(len(m.content) for m in messages) // 4, completion_tokens=5)
        return Reply(text="The keeper wrote.", usage=usage)

    plan = replace(PLAN, chunk_tokens=1200, memory_tokens=200)
    document = TextDocument(TEXT * 12)
    info = DocumentInfo(id="0" * 64, name="text", length=len(TEXT) * 12)
    model = ScriptedModel(reply, tokenizer=EstimatingTokenizer())
    readings = [new_reading(info, question, model, plan) for question in QUESTIONS]
    ended = run_all("sequential", readings, document, model)
    assert [reading.status for reading in ended] == [Status.ANSWERED] * 3
    assert all(reading.plan.token_scale for reading in ended)


def test_a_wrong_question_is_raised_when_the_others_have_ended():
    readings, document, model = start(questions=[QUESTIONS[0], " "])
    with pytest.raises(QuestionError):
        run_all("gated+edits", readings, document, model)
    assert any(question == QUESTIONS[0] and not section for _, _, question, section in model.log)


def test_what_a_question_cost_before_it_was_read_for_counts_for_its_limit():
    readings, document, model = start("sequential")
    plan = replace(PLAN, budget=Budget(tokens=1000))
    spent = Usage(calls=1, prompt_tokens=900, completion_tokens=99)
    ended = run_all("sequential", [replace(one, plan=plan, usage=spent) for one in readings], document, model)
    assert [(reading.status, reading.steps) for reading in ended] == [(Status.STOPPED, ())] * 3


@pytest.mark.parametrize("way", ["sequential", "gated+edits"])
def test_the_limit_of_several_questions_is_one(way):
    readings, document, model = start(way)
    whole = sum(reading.usage.tokens for reading in run_all(way, readings, document, Logged()))
    limited = [replace(one, plan=replace(one.plan, budget=Budget(tokens=whole // 2))) for one in readings]
    ended = run_all(way, limited, document, model)
    assert whole // 4 < sum(reading.usage.tokens for reading in ended) <= whole // 2
    assert {reading.status for reading in ended} == {Status.STOPPED}
