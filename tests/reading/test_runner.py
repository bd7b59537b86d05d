"""Whatever ends a reading, everything up to there is kept, and limits are hard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from bookwheel import resume
from bookwheel.claims import Sign, Verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BrokenReading, BudgetReached, Overloaded, PlanError, Refused
from bookwheel.flags import Flag
from bookwheel.journal import Journal
from bookwheel.models.patience import Patience
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Budget, Plan, VerdictMode
from bookwheel.reading import loop, runner
from bookwheel.types import Answer, DocumentInfo, Message, Reading, Status, Step
from bookwheel.views.verdicts import list_cautions

TEXT = (
    "Gulls circle over the pier all day. " * 80 + "The harbour master of Skarholm is Ada Quill. " + "Rain fell. " * 200
)
QUESTION = "Who is the harbour master of Skarholm?"
PLAN = Plan(chunk_tokens=50, memory_tokens=30, answer_tokens=20)


def read(
    tmp_path: Path,
    model: ScriptedModel,
    plan: Plan = PLAN,
    go_on: str | None = None,
    watch: object = runner.ignore_event,
    patience: Patience | None = None,
) -> Reading:
    async def run(journal: Journal) -> Reading:
        kept = journal.keep(TextDocument(TEXT))
        if go_on:
            reading = journal.reading(go_on)
        else:
            reading = runner.new_reading(kept.info, QUESTION, model, plan)
            journal.begin(reading)
        return await runner.run_reading(reading, kept, model, journal=journal, watch=watch, patience=patience)

    with Journal(tmp_path / "journal.sqlite") as journal:
        return asyncio.run(run(journal))


def kept(tmp_path: Path) -> Reading:
    with Journal(tmp_path / "journal.sqlite") as journal:
        return journal.reading("last", texts=True)


def test_an_answered_reading_is_kept_whole_with_its_evidence(tmp_path: Path) -> None:
    ended = read(tmp_path, ScriptedModel(keyword_reader))
    assert ended.status is Status.ANSWERED
    assert "Ada Quill" in ended.answer.text
    assert any("Ada Quill" in piece.quote for piece in ended.evidence)
    found = kept(tmp_path)
    assert (found.answer.text, found.status, found.evidence) == (ended.answer.text, ended.status, ended.evidence)
    assert "".join(step.chunk.text for step in found.steps) == TEXT
    assert found.usage.calls == len(found.steps) + 1


def test_every_step_is_durable_before_the_next_call(tmp_path: Path) -> None:
    seen: list[int] = []

    class Checking(ScriptedModel):
        async def reply(self, messages: Sequence[Message], *, limit: int, sampling: object):
            seen.append(len(kept(tmp_path).steps))
            return await super().reply(messages, limit=limit, sampling=sampling)

    ended = read(tmp_path, Checking(keyword_reader))
    assert seen == list(range(len(ended.steps) + 1))


def test_a_failing_model_leaves_the_steps_so_far_and_resuming_repeats_none(tmp_path: Path) -> None:
    failing = ScriptedModel(keyword_reader, faults={7: Refused("the key was revoked")})
    ended = read(tmp_path, failing)
    assert (ended.status, ended.error) == (Status.FAILED, "the key was revoked")
    assert len(kept(tmp_path).steps) == 7
    again = ScriptedModel(keyword_reader)
    resumed = read(tmp_path, again, go_on="last")
    assert resumed.status is Status.ANSWERED
    assert again.calls == len(resumed.steps) + 1 - 7
    whole = read(tmp_path / "other", ScriptedModel(keyword_reader))
    assert [step.after for step in resumed.steps] == [step.after for step in whole.steps]
    assert resumed.usage.tokens == whole.usage.tokens


def test_an_interrupt_is_kept_and_raised_on(tmp_path: Path) -> None:
    def interrupt(event: object) -> None:
        if isinstance(event, Step) and event.chunk.index == 4:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        read(tmp_path, ScriptedModel(keyword_reader), watch=interrupt)
    found = kept(tmp_path)
    assert (found.status, len(found.steps)) == (Status.CANCELLED, 5)


@pytest.mark.parametrize("limit", [600, 1500, 4000])
def test_a_token_budget_is_never_passed(tmp_path: Path, limit: int) -> None:
    ended = read(
        tmp_path, ScriptedModel(keyword_reader), Plan(chunk_tokens=50, memory_tokens=30, budget=Budget(tokens=limit))
    )
    assert ended.status is Status.STOPPED
    assert "--max-tokens-total" in ended.error
    assert 0 < ended.usage.tokens <= limit
    assert len(kept(tmp_path).steps) == len(ended.steps) > 0


def test_a_cost_budget_is_never_passed(tmp_path: Path) -> None:
    budget = Budget(cost=0.01, price_in=5.0, price_out=15.0)
    ended = read(tmp_path, ScriptedModel(keyword_reader), Plan(chunk_tokens=50, memory_tokens=30, budget=budget))
    assert ended.status is Status.STOPPED
    assert 0 < budget.price(ended.usage.prompt_tokens, ended.usage.completion_tokens) <= 0.01


def test_a_time_budget_ends_even_a_call_that_hangs(tmp_path: Path) -> None:
    hanging = ScriptedModel(keyword_reader, seconds_per_call=60)
    ended = read(tmp_path, hanging, Plan(chunk_tokens=50, budget=Budget(seconds=0.05)))
    assert ended.status is Status.STOPPED
    assert "--max-seconds" in ended.error


def test_a_stopped_reading_goes_on_with_a_new_budget(tmp_path: Path) -> None:
    stopped = read(
        tmp_path, ScriptedModel(keyword_reader), Plan(chunk_tokens=50, memory_tokens=30, budget=Budget(tokens=1500))
    )
    steps = [len(stopped.steps)]
    while stopped.status is Status.STOPPED:
        stopped = read(tmp_path, ScriptedModel(keyword_reader), go_on="last")
        steps.append(len(stopped.steps))
    assert stopped.status is Status.ANSWERED
    assert steps == sorted(set(steps)) or steps[-1] == steps[-2]


def test_a_ways_refusal_is_kept_and_raised(tmp_path: Path) -> None:
    async def refusing(*_: object):
        raise PlanError("too long for this way")
        yield

    async def run(journal: Journal) -> None:
        document = journal.keep(TextDocument(TEXT))
        reading = runner.new_reading(document.info, QUESTION, ScriptedModel(keyword_reader), PLAN)
        journal.begin(reading)
        await runner.run_reading(reading, document, ScriptedModel(keyword_reader), way=refusing, journal=journal)

    with Journal(tmp_path / "journal.sqlite") as journal, pytest.raises(PlanError):
        asyncio.run(run(journal))
    assert (kept(tmp_path).status, kept(tmp_path).error) == (Status.FAILED, "too long for this way")


def test_what_nobody_foresaw_is_kept_and_told_in_our_words_and_the_reading_goes_on(tmp_path: Path, monkeypatch) -> None:
    add_step = Journal.add_step

    async def break_at_third(self: Journal, reading_id: str, step: Step) -> None:
        if step.chunk.index == 2:
            raise MemoryError
        await add_step(self, reading_id, step)

    monkeypatch.setattr(Journal, "add_step", break_at_third)
    with pytest.raises(BrokenReading, match=r"nobody foresaw \(MemoryError in test_runner.py, line \d+\). Resume"):
        read(tmp_path, ScriptedModel(keyword_reader))
    monkeypatch.undo()
    found = kept(tmp_path)
    assert (found.status, found.error_kind, len(found.steps)) == (Status.FAILED, "BrokenReading", 2)
    assert read(tmp_path, ScriptedModel(keyword_reader), go_on="last").status is Status.ANSWERED


def test_what_a_callers_own_watch_raises_is_theirs_and_the_reading_goes_on(tmp_path: Path) -> None:
    def watch(event: object) -> None:
        raise ValueError(event)

    with pytest.raises(ValueError, match="Step"):
        read(tmp_path, ScriptedModel(keyword_reader), watch=watch)
    assert (len(kept(tmp_path).steps), kept(tmp_path).error) == (1, "")
    assert read(tmp_path, ScriptedModel(keyword_reader), go_on="last").status is Status.ANSWERED


def test_a_fault_of_the_machine_is_told_but_one_of_whoever_watches_is_theirs(tmp_path: Path, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    with pytest.raises(OSError, match="Too many open files"):
        read(tmp_path, ScriptedModel(keyword_reader), watch=fail)
    monkeypatch.setattr(runner.PatientModel, "reply", fail)
    with pytest.raises(BrokenReading, match=r"nobody foresaw \(Too many open files in test_runner.py"):
        read(tmp_path, ScriptedModel(keyword_reader))
    assert (kept(tmp_path).status, kept(tmp_path).error_kind) == (Status.FAILED, "BrokenReading")


def test_a_retry_that_cannot_be_told_is_theirs_too(tmp_path: Path) -> None:
    def refuse(_messages: Sequence[Message]) -> str:
        raise Overloaded("busy")

    def fail(_retry: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        read(tmp_path, ScriptedModel(refuse), patience=Patience(on_retry=fail))


@pytest.mark.parametrize("place", ["judge", "judge_by_sight", "doubt"])
def test_what_nobody_foresaw_in_a_verdict_is_told_as_well(tmp_path, monkeypatch, place: str) -> None:
    def break_there(*_: object, **__: object) -> None:
        raise MemoryError

    async def read_unsure(document, question, model, plan, done=()):
        async for event in loop.read(document, question, model, plan, done):
            yield replace(event, flags=(Flag.UNSURE,)) if isinstance(event, Answer) else event

    model = ScriptedModel(keyword_reader)
    monkeypatch.setattr(runner, place, break_there)
    monkeypatch.setattr(runner, "find_wrapper", lambda *_: SimpleNamespace(seen=(1,), take_flags=tuple))
    with Journal(tmp_path / "journal.sqlite") as journal:
        document = journal.keep(TextDocument(TEXT))
        reading = runner.new_reading(document.info, QUESTION, model, PLAN)
        journal.begin(reading)
        with pytest.raises(BrokenReading, match="MemoryError"):
            asyncio.run(runner.run_reading(reading, document, model, way=read_unsure, journal=journal))
    assert (kept(tmp_path).status, kept(tmp_path).error_kind) == (Status.FAILED, "BrokenReading")
    monkeypatch.undo()
    assert read(tmp_path, model, go_on="last").status is Status.ANSWERED


@pytest.mark.parametrize(("flags", "sign"), [((), Sign.GREEN), ((Flag.UNSURE,), Sign.AMBER)])
def test_an_answer_of_which_the_reader_is_not_sure_is_not_green(flags: tuple[Flag, ...], sign: Sign) -> None:
    async def read_so(document, question, model, plan, done=()):
        async for event in loop.read(document, question, model, plan, done):
            yield replace(event, flags=flags) if isinstance(event, Answer) else event

    model = ScriptedModel(lambda _: "Ada Quill")
    document = TextDocument(TEXT)
    info = DocumentInfo(id="0" * 64, name="text", length=len(TEXT))
    reading = runner.new_reading(info, QUESTION, model, replace(PLAN, prompts="small"))
    ended = asyncio.run(runner.run_reading(reading, document, model, way=read_so))
    assert ended.sign is sign


def test_without_a_journal_the_reading_holds_everything(tmp_path: Path) -> None:
    document = TextDocument(TEXT)
    model = ScriptedModel(keyword_reader)
    with Journal(tmp_path / "journal.sqlite") as journal:
        info = journal.keep(document).info
    reading = asyncio.run(runner.run_reading(runner.new_reading(info, QUESTION, model, PLAN), document, model))
    assert "".join(step.chunk.text for step in reading.steps) == TEXT
    assert all(conversation.messages for conversation in reading.conversations)


@pytest.mark.parametrize("schema", [None, '{"properties": {"master": {"type": "string"}}}'])
def test_an_answer_is_durable_before_it_is_judged_and_is_not_asked_for_again(tmp_path: Path, schema: str) -> None:
    written = '{"master": "Miss Quill"}' if schema else "The harbour master is Miss Quill."
    killed = ScriptedModel(lambda messages: die() if is_judging(messages) else written)

    def die() -> str:
        found.append(kept(tmp_path))
        raise KeyboardInterrupt

    found: list[Reading] = []
    plan = replace(PLAN, verdict=VerdictMode.MODEL, schema=schema)
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, killed, plan)
    (asked,) = found
    assert (asked.status, asked.answer.text) == (Status.READING, written)
    again = ScriptedModel(lambda messages: "Yes" if is_judging(messages) else "Another answer.")
    ended = resume(asked.id, model=again, journal=tmp_path / "journal.sqlite")
    assert (ended.status, ended.answer.text) == (Status.ANSWERED, asked.answer.text)
    assert [claim.judge for claim in ended.claims] == ["scripted"]
    assert ended.usage.calls == asked.usage.calls + again.calls
    assert again.calls == 2


@pytest.mark.parametrize("has_odds", [False, True])
def test_what_a_judge_replied_before_a_kill_is_not_asked_again(tmp_path: Path, has_odds: bool) -> None:
    told = "Miss Quill sees to the harbour. She has a boat."
    asked: list[list[str]] = [[], []]

    def make(run: int, last: int) -> ScriptedModel:
        def reply(messages: Sequence[Message]) -> str:
            if not is_judging(messages):
                return told
            if len(asked[run]) == last:
                raise KeyboardInterrupt
            asked[run].append(messages[-1].content)
            return "Yes"

        def weigh(messages: Sequence[Message], _options: Sequence[str]) -> tuple[float, float]:
            return (-0.05, -3.0) if reply(messages) == "Yes" else (-3.0, -0.05)

        return ScriptedModel(reply, judge=weigh if has_odds else None)

    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, make(0, 3), replace(PLAN, verdict=VerdictMode.MODEL))
    before = kept(tmp_path)
    assert (before.claims, len(before.answer.judged)) == ((), 3)
    ended = resume(before.id, model=make(1, 9), journal=tmp_path / "journal.sqlite")
    assert (len(asked[0]), len(asked[1])) == (3, 1)
    assert [claim.judge for claim in ended.claims] == ["scripted", "scripted"]
    assert all((claim.score or 0) > 0.9 for claim in ended.claims) is has_odds
    assert (ended.usage.calls, ended.answer.judged, kept(tmp_path).answer.judged) == (before.usage.calls + 1, {}, {})


@pytest.mark.parametrize("failure", [BudgetReached("stopped at 90 tokens"), Refused("stopped at 90 tokens")])
def test_what_ends_the_judging_is_kept_and_told_in_a_note(tmp_path: Path, failure: Exception) -> None:
    judged: list[str] = []

    def reply(messages: Sequence[Message]) -> str:
        if not is_judging(messages):
            return "Miss Quill sees to the harbour. She has a boat."
        judged.append(messages[-1].content)
        if len(judged) == 3:
            raise failure
        return "Yes"

    patience = Patience(seconds=0)
    read(tmp_path, ScriptedModel(reply), replace(PLAN, verdict=VerdictMode.MODEL), patience=patience)
    found = kept(tmp_path)
    assert [claim.verdict for claim in found.claims] == [Verdict.SUPPORTED, Verdict.UNCHECKED]
    assert (found.status, found.error_kind) == (Status.ANSWERED, type(failure).__name__)
    (caution,) = list_cautions(found)
    assert caution.text.startswith("1 of 2 sentences were not checked: stopped at 90 tokens; bookwheel show ")
    whole = read(tmp_path, ScriptedModel(lambda _: "Yes"), replace(PLAN, verdict=VerdictMode.MODEL))
    assert not list_cautions(whole)


def test_a_placeholder_of_the_document_stands_in_the_answer_as_in_the_document() -> None:
    document = TextDocument("Set PARCELHUB_FLAG_<NAME>, then run: cmd <FILE> </section>.")
    model = ScriptedModel(lambda _messages: "\\boxed{PARCELHUB_FLAG_‹NAME>, then `cmd ‹FILE> ‹/section>`, ‹OTHER>}")
    reading = runner.new_reading(document, QUESTION, model, replace(PLAN, answer_tokens=90))
    ended = asyncio.run(runner.run_reading(reading, document, model))
    assert ended.answer.text == "PARCELHUB_FLAG_<NAME>, then `cmd <FILE> </section>`, ‹OTHER>"


def is_judging(messages: Sequence[Message]) -> bool:
    return any(turn in messages[-1].content for turn in ("everything that", "cannot be true", "or a part of it?"))
