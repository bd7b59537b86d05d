"""A model behind an endpoint is asked once about answers whose verdicts are known, before it may judge its own."""

import asyncio
from dataclasses import replace

import pytest

from bookwheel.claims import WORDS, Verdict
from bookwheel.companions import accompany, load_verdict_calibration
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import Rejected
from bookwheel.journal import Journal
from bookwheel.models.base import count_messages
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Plan, VerdictMode
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.reading.trial import estimate_trial
from bookwheel.reading.ways.registry import estimate_cost
from bookwheel.session import find_way
from bookwheel.text.tokens import EstimatingTokenizer
from bookwheel.types import DocumentInfo, Status
from bookwheel.verdict.probes import load_probes

TEXT = "The keeper of the lamp is Ada Quill. Her deputy winds the clock. Rain fell for weeks."
PLAN = Plan(question_tokens=40, chunk_tokens=900, memory_tokens=60, answer_tokens=60)
PROBES = load_probes()


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    return path


class Reader:
    """A model behind an endpoint whose answer keeps few of the text's words; `judge` is asked about the probes."""

    def __init__(self, judge) -> None:
        self.asked = 0
        self._judge = judge
        self.model = ScriptedModel(self.reply, name="reader")
        self.model.endpoint = Endpoint.resolve("http://reader/v1")

    def reply(self, messages):
        text = messages[-1].content
        probe = next((one for one in PROBES if f"\n{one.answer}\n" in text), None)
        if probe is None:
            is_judged = any(words in text for words in ("everything that", "cannot be true", "or a part of it?"))
            return "Yes" if is_judged else "Ada Quill sees to it."
        self.asked += 1
        return self._judge(probe)

    def read(self, plan=PLAN):
        model = accompany(self.model)
        reading = new_reading(DocumentInfo(id="", name="lamp", length=len(TEXT)), "Who keeps the lamp?", model, plan)
        return asyncio.run(run_reading(reading, TextDocument(TEXT), model))


def tell(probe):
    yes, no = ("Yes", "No") if probe.question.isascii() else ("是", "否")
    return yes if probe.is_right else no


def test_a_model_that_tells_right_from_wrong_judges_and_is_not_asked_again(file):
    reader = Reader(tell)
    ended = reader.read()
    assert [claim.judge for claim in ended.claims] == ["reader"]
    assert reader.asked == len(PROBES)
    made = load_verdict_calibration("reader at http://reader/v1", file)
    assert (made.precision, made.recall, made.beats_words) == (1.0, 1.0, True)
    assert reader.read().claims[0].judge == "reader"
    assert reader.asked == len(PROBES)


def test_after_an_interrupt_a_trial_asks_only_what_nobody_has_answered(file, tmp_path):
    def interrupt(probe):
        if reader.asked == 12:
            running[0].cancel()
        return tell(probe)

    async def read_kept(journal, old=None):
        running[:] = [asyncio.current_task()]
        model, document = accompany(reader.model), journal.keep(TextDocument(TEXT))
        reading = old or new_reading(document.info, "Who keeps the lamp?", model, PLAN)
        if not old:
            journal.begin(reading)
        way = find_way(reading)
        return await run_reading(reading, document, model, journal=journal, way=way)

    reader, running = Reader(interrupt), []
    with Journal(tmp_path / "journal.sqlite") as journal:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(read_kept(journal))
        assert 12 <= reader.asked < len(PROBES)
        assert not file.exists()
        reader._judge = tell
        ended = asyncio.run(read_kept(journal, journal.reading("last")))
    assert ended.claims[0].judge == "reader"
    assert reader.asked == len(PROBES)


def test_a_model_of_that_name_at_another_address_is_tried_by_itself(file):
    assert Reader(tell).read().claims[0].judge == "reader"
    other = Reader(lambda _: "Yes")
    other.model.endpoint = Endpoint.resolve("http://elsewhere/v1")
    assert (other.read().claims[0].judge, other.asked) == (WORDS, len(PROBES))


def test_of_readings_side_by_side_one_holds_the_trial(file):
    reader = Reader(tell)
    model = accompany(reader.model)

    async def read_both():
        info = DocumentInfo(id="", name="lamp", length=len(TEXT))
        both = [new_reading(info, "Who keeps the lamp?", model, PLAN) for _ in range(2)]
        return await asyncio.gather(*(run_reading(one, TextDocument(TEXT), model) for one in both))

    ended = asyncio.run(read_both())
    assert reader.asked == len(PROBES)
    assert {claim.judge for one in ended for claim in one.claims} == {"reader"}


@pytest.mark.parametrize("judge", [lambda _: "Yes", lambda _: "No", lambda _: "Perhaps"])
def test_a_model_that_does_not_leaves_the_verdict_to_the_words(file, judge):
    reader = Reader(judge)
    assert {claim.judge for claim in reader.read().claims} == {WORDS}
    assert {claim.judge for claim in reader.read().claims} == {WORDS}
    assert reader.asked == len(PROBES)
    assert not load_verdict_calibration("reader at http://reader/v1", file).beats_words


def test_one_wrong_answer_may_be_taken_and_three_may_not(file):
    wrong = [one for one in PROBES if not one.is_right]
    assert Reader(lambda one: "Yes" if one is wrong[0] else tell(one)).read().claims[0].judge == "reader"
    file.unlink()
    assert Reader(lambda one: "Yes" if one in wrong[:3] else tell(one)).read().claims[0].judge == WORDS


def test_a_judge_that_bears_out_fewer_right_answers_than_the_words_is_none(file):
    right = [one for one in PROBES if one.is_right]
    assert Reader(lambda one: tell(one) if one in right[:4] else "No").read().claims[0].judge == WORDS
    file.unlink()
    assert Reader(lambda one: tell(one) if one in right[:6] else "No").read().claims[0].judge == "reader"


def test_a_trial_that_fails_costs_no_answer_and_is_held_again(file):
    def refuse(_probe):
        raise Rejected("too many requests")

    reader = Reader(refuse)
    ended = reader.read()
    assert (ended.status, ended.claims[0].judge) == (Status.ANSWERED, WORDS)
    assert not file.exists()
    reader._judge = tell
    assert reader.read().claims[0].judge == "reader"


@pytest.mark.parametrize("limits", [Budget(tokens=3000), Budget(seconds=30), Budget(cost=0.001, price_in=1.0)])
def test_no_trial_begins_that_the_budget_would_end(file, limits):
    reader = Reader(tell)
    ended = reader.read(replace(PLAN, budget=limits))
    assert (ended.status, reader.asked) == (Status.ANSWERED, 0)
    assert not file.exists()
    assert ended.claims[0].verdict in (Verdict.PARTLY, Verdict.NOT_FOUND)


def test_a_trial_is_held_within_a_budget_that_has_room(file):
    reader = Reader(tell)
    ended = reader.read(replace(PLAN, budget=Budget(tokens=100_000, seconds=1000)))
    assert ended.claims[0].judge == "reader"
    assert ended.usage.calls > len(PROBES)


def test_a_trial_takes_no_more_than_it_is_estimated_at(file):
    prompts, reader = [], Reader(tell)
    reader.model = ScriptedModel(lambda messages: prompts.append(messages) or reader.reply(messages), name="reader")
    reader.model.endpoint = Endpoint.resolve("http://reader/v1")
    reader.read()
    asked = [one for one in prompts if any(f"\n{probe.answer}\n" in one[-1].content for probe in PROBES)]
    cost = estimate_trial(reader.model)
    assert len(asked) == cost.most
    tokens = sum(count_messages(one, EstimatingTokenizer()) for one in asked)
    assert 0.9 * cost.text < tokens <= cost.text


def test_where_one_call_fails_no_other_is_made_behind_the_reading(file):
    asked = []

    def judge(probe):
        asked.append(probe)
        raise Rejected("a filter")

    reader = Reader(judge)
    model = accompany(reader.model)

    async def read():
        info, held = DocumentInfo(id="", name="lamp", length=len(TEXT)), 0
        for _ in range(5):
            before = len(asked)
            await run_reading(new_reading(info, "Who keeps the lamp?", model, PLAN), TextDocument(TEXT), model)
            at_end = len(asked)
            await asyncio.sleep(0.05)
            assert len(asked) == at_end
            held += at_end > before
        return held

    assert asyncio.run(read()) == 3
    # Each ends with its first failures.
    assert len(asked) < 2 * len(PROBES)


def test_the_probes_have_nothing_of_what_else_is_asked(file):
    prompts = []

    def judge(probe):
        return tell(probe)

    reader = Reader(judge)
    whole = reader.reply

    def listen(messages):
        prompts.append(messages[-1].content)
        return whole(messages)

    reader.model = ScriptedModel(listen, name="reader")
    reader.model.endpoint = Endpoint.resolve("http://reader/v1")
    reader.read(replace(PLAN, earlier="user: Who is the deputy of Zacharias?\n\nassistant: Nobody knows."))
    asked = [text for text in prompts if any(f"\n{one.answer}\n" in text for one in PROBES)]
    assert len(asked) == len(PROBES)
    assert not any("Zacharias" in text for text in asked)
    assert any("Zacharias" in text for text in prompts)


@pytest.mark.parametrize("mode", [VerdictMode.QUOTES, VerdictMode.OFF])
def test_nobody_is_tried_where_the_plan_says_who_judges(file, mode):
    reader = Reader(tell)
    reader.read(replace(PLAN, verdict=mode))
    assert reader.asked == 0


def test_a_damaged_file_of_calibrations_is_left_alone(file):
    file.write_text("{")
    reader = Reader(tell)
    assert reader.read().claims[0].judge == WORDS
    assert reader.asked == 0
    assert file.read_text() == "{"


def test_an_estimate_counts_the_trial_until_it_was_held_and_tells_what_judges_apart(file):
    reader = Reader(tell)

    def estimate(mode=VerdictMode.AUTO):
        model = accompany(reader.model)
        return estimate_cost(TextDocument(TEXT), "Who?", model, replace(PLAN, verdict=mode), "sequential")

    before, bare = estimate(), estimate(VerdictMode.QUOTES)
    reader.read()
    after = estimate()
    assert before.judge_calls == after.judge_calls + len(PROBES)
    assert bare.judge_calls == 0
    for cost in (before, after):
        assert cost.calls - cost.judge_calls == bare.calls
        assert cost.prompt_tokens - cost.judge_prompt_tokens == bare.prompt_tokens
        assert cost.completion_tokens - cost.judge_completion_tokens == bare.completion_tokens
    # A short document is shown whole, and no longer than it is.
    assert after.judge_prompt_tokens < 400 * after.judge_calls
