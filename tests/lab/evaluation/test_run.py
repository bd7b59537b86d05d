"""An evaluation: everything once, whatever happens in between."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from evaluations import go, opener

from bookwheel.errors import InputError, MissingAbility, PlanError, Refused
from bookwheel.journal import Journal
from bookwheel.lab.evaluation.memory_sections import build_memory_sections
from bookwheel.lab.evaluation.records import ResultsError, SampleOutcome
from bookwheel.lab.evaluation.report import build_report
from bookwheel.lab.evaluation.run import RunOptions, TimeLeft, evaluate
from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec, SettingsError
from bookwheel.lab.tasks import GoldEvidence, InfeasibleSample
from bookwheel.models.scripted import ScriptedModel, keyword_likelihood, keyword_reader


def test_every_sample_is_read_in_every_way_once(tmp_path, settings, source, reader):
    found = go(settings(), tmp_path / "r.jsonl", source, reader, command="bookwheel eval it")
    counted = Counter((record.length, record.way, str(record.outcome)) for record in found.records)
    assert counted == {
        (300, "sequential", "scored"): 5,
        (300, "whole", "scored"): 5,
        (900, "sequential", "scored"): 5,
        (900, "whole", "refused"): 5,
    }
    assert all(record.score == 1 for record in found.records if record.way == "sequential")
    assert found.runs[0].command == "bookwheel eval it"


def test_what_is_done_is_not_done_again_and_an_axis_may_grow(tmp_path, settings, source, reader):
    path = tmp_path / "r.jsonl"
    go(settings(), path, source, reader)
    calls = reader.model.calls
    go(settings(), path, source, reader)
    assert reader.model.calls == calls
    grown = go(settings(count=7, ways=("sequential", "whole", "closed-book")), path, source, reader)
    assert len(grown.records) == 7 * 2 * 3
    assert Counter(record.way for record in grown.records)["closed-book"] == 14
    per_sample = reader.model.calls - calls
    assert per_sample == 14 + sum(r.calls for r in grown.records if r.sample in {"wheels-5", "wheels-6"}) - 4


_FIRST_LIFE = """
import asyncio, importlib.util, os, pathlib, sys
from bookwheel.lab.evaluation.run import RunOptions, evaluate
from bookwheel.lab.evaluation.settings import Evaluation
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader

conftest, settings, folder, at = sys.argv[1:]
spec = importlib.util.spec_from_file_location("conftest", conftest)
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)

class Dies(ScriptedModel):
    async def reply(self, messages, *, limit, sampling):
        if self.calls == int(at):
            os._exit(9)
        return await super().reply(messages, limit=limit, sampling=sampling)

async def open_model(reader):
    return Dies(keyword_reader)

folder = pathlib.Path(folder)
options = RunOptions(journal=Journal(folder / "journal.sqlite"))
asyncio.run(evaluate(Evaluation.load(settings), folder / "r.jsonl", open_model, source=fixtures.samples, options=options))
"""


@pytest.mark.parametrize("at", [7, *(pytest.param(at, marks=pytest.mark.long) for at in (0, 23))])
@pytest.mark.slow
def test_killed_and_started_again_it_repeats_no_call(tmp_path, source, at):
    file = tmp_path / "settings.toml"
    file.write_text(
        "[eval]\ntasks = ['wheels']\nlengths = [300, 900]\nways = ['sequential', 'refine']\ncount = 3\nconcurrency = 1\n"
        "[plan]\nquestion_tokens = 60\nchunk_tokens = 120\nmemory_tokens = 60\nanswer_tokens = 60\n",
        encoding="utf-8",
    )
    evaluation = Evaluation.load(str(file))
    whole, again = ScriptedModel(keyword_reader), ScriptedModel(keyword_reader)
    expected = go(evaluation, tmp_path / "whole.jsonl", source, opener(whole))
    words = [sys.executable, "-c", _FIRST_LIFE, str(Path(__file__).with_name("conftest.py")), str(file)]
    assert subprocess.run([*words, str(tmp_path), str(at)], check=False).returncode == 9
    with Journal(tmp_path / "journal.sqlite") as journal:
        found = go(evaluation, tmp_path / "r.jsonl", source, opener(again), journal=journal)
    assert at + again.calls == whole.calls
    assert {r.key: (r.answer, r.score, r.calls) for r in found.records} == {
        r.key: (r.answer, r.score, r.calls) for r in expected.records
    }


def test_an_interrupt_keeps_what_was_read(tmp_path, settings, source):
    evaluation = settings(ways=("sequential",), concurrency=1)
    again, path = ScriptedModel(keyword_reader), tmp_path / "r.jsonl"

    async def interrupted(journal) -> None:
        task = asyncio.current_task()

        class Interrupts(ScriptedModel):
            async def reply(self, messages, *, limit, sampling):
                if self.calls == 11:
                    task.cancel()
                return await super().reply(messages, limit=limit, sampling=sampling)

        options = RunOptions(journal=journal)
        await evaluate(evaluation, path, opener(Interrupts(keyword_reader)), source=source, options=options)

    with Journal(tmp_path / "journal.sqlite") as journal:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(interrupted(journal))
        found = go(evaluation, path, source, opener(again), journal=journal)
    assert again.calls <= sum(record.calls for record in found.records) - 11


@pytest.mark.slow
def test_an_answer_that_was_kept_but_not_judged_is_judged_without_a_call(tmp_path, settings, source, reader):
    with Journal(tmp_path / "journal.sqlite") as journal:
        go(settings(), tmp_path / "r.jsonl", source, reader, journal=journal)
        calls = reader.model.calls
        found = go(settings(), tmp_path / "lost.jsonl", source, reader, journal=journal)
    assert reader.model.calls == calls
    assert len(found.records) == 20
    assert all(record.score == 1 for record in found.records if record.way == "sequential")


def test_a_failed_request_counts_as_wrong_is_told_and_may_be_made_anew(tmp_path, settings, source):
    path = tmp_path / "r.jsonl"
    evaluation = settings(lengths=(300,), ways=("whole",), concurrency=1)
    broken = ScriptedModel(
        keyword_reader, faults={1: Refused("the key was revoked"), 3: Refused("the account was closed")}
    )
    found = go(evaluation, path, source, opener(broken))
    assert [(r.outcome, r.score, r.official) for r in found.records if r.outcome is not SampleOutcome.SCORED] == [
        (SampleOutcome.FAILED, 0, None)
    ] * 2
    assert [r.error for r in found.records if r.error] == ["the key was revoked", "the account was closed"]
    assert go(evaluation, path, source, opener(broken)) != found
    assert broken.calls == 5
    mended = go(evaluation, path, source, opener(broken), rerun=frozenset({SampleOutcome.FAILED}))
    assert broken.calls == 7
    assert all(record.score == 1 for record in mended.records)


def test_a_budget_that_ends_a_reading_leaves_a_sample_that_counts_as_wrong(tmp_path, settings, source, reader):
    plan = {**settings().plan, "budget": {"tokens": 1600}}
    piece = (GoldEvidence(start=0, end=1, note="vermilion"),)

    def with_evidence(task, length):
        return (replace(sample, evidence=piece) for sample in source(task, length))

    found = go(settings(plan=plan, ways=("sequential",)), tmp_path / "r.jsonl", with_evidence, reader)
    stopped = [record for record in found.records if record.outcome is SampleOutcome.STOPPED]
    assert {record.length for record in stopped} == {900}
    assert all((r.score, r.answer, r.calls > 0) == (0, "", True) for r in stopped)
    # What was not read to its end is no memory that failed.
    assert not any(r.memory for r in stopped)
    assert any(r.memory for r in found.records if r.outcome is SampleOutcome.SCORED)


def test_what_a_user_has_to_mend_ends_the_run(tmp_path, settings, source, reader):
    with pytest.raises(PlanError, match="window holds"):
        go(settings(models=(ModelSpec(name="m", window=200),)), tmp_path / "r.jsonl", source, reader)


def test_a_results_file_of_another_configuration_is_refused_before_a_call(tmp_path, settings, source, reader):
    path = tmp_path / "r.jsonl"
    go(settings(), path, source, reader)
    before, calls = path.read_bytes(), reader.model.calls
    with pytest.raises(ResultsError, match=r"another configuration.*seed is 0 there and 1 here"):
        go(settings(seed=1), path, source, reader)
    with pytest.raises(ResultsError, match="window is 800 there and 700 here"):
        go(settings(models=(ModelSpec(name="scripted", window=700),)), path, source, reader)
    assert (path.read_bytes(), reader.model.calls) == (before, calls)


def test_a_source_that_fails_ends_the_run_with_its_own_words(tmp_path, settings, reader):
    def source(task, length):
        raise InputError(f"no task {task!r}")
        yield

    with pytest.raises(InputError, match="no task 'wheels'"):
        go(settings(), tmp_path / "r.jsonl", source, reader)


def test_a_model_of_few_lengths_and_ways_fills_only_its_cells(tmp_path, settings, source, reader):
    models = (ModelSpec(name="a"), ModelSpec(name="b", ways=("closed-book",), lengths=(300,)))
    found = go(settings(models=models), tmp_path / "r.jsonl", source, reader)
    assert {(r.length, r.way) for r in found.records if r.model == "b"} == {(300, "closed-book")}


def test_progress_reaches_its_total_and_its_time_left_ends_at_nothing(tmp_path, settings, source, reader):
    seen = []
    go(settings(), tmp_path / "r.jsonl", source, reader, on_progress=seen.append)
    assert [progress.done for progress in seen] == list(range(1, 21))
    assert {progress.total for progress in seen} == {20}
    assert seen[-1].seconds_left == 0
    assert all(progress.seconds_left >= 0 for progress in seen)
    assert seen[-1].failed == 5


def test_the_time_left_is_told_by_how_the_samples_have_grown():
    left = TimeLeft({1000: 2, 4000: 1, 16000: 1})
    left.add(1000, 2.0)
    # From one length alone: linear.
    assert left.estimate(2.0) == pytest.approx(2 + 8 + 32)
    left.add(1000, 2.0)
    left.add(4000, 4.0)
    assert left.estimate(8.0) == pytest.approx(8)
    # Two samples at a time.
    assert left.estimate(4.0) == pytest.approx(4)
    left.add(16000, 0.0)
    assert left.estimate(4.0) == 0


def test_no_more_samples_are_under_way_than_asked_for(tmp_path, settings, source):
    under_way, most = 0, 0

    class Busy(ScriptedModel):
        async def reply(self, messages, *, limit, sampling):
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.001)
            under_way -= 1
            return await super().reply(messages, limit=limit, sampling=sampling)

    evaluation = settings(concurrency=3, ways=("sequential",), count=9)
    go(evaluation, tmp_path / "r.jsonl", source, opener(Busy(keyword_reader)))
    assert most == 3


class Series(Sequence):
    """A series whose sample 2 cannot be made, as a real task's can."""

    def __init__(self, make, task, length, count=4):
        self.made = [sample for sample, _ in zip(make(task, length), range(count), strict=False)]

    def __len__(self):
        return len(self.made)

    def __getitem__(self, place):
        if place == 2:
            reason = InfeasibleSample("this sample needs at least 400 tokens")
            reason.task, reason.sample = "wheels", "wheels-2"
            raise reason
        return self.made[place]


def test_a_sample_that_cannot_be_made_is_an_outcome_and_not_the_end(tmp_path, settings, source, reader):
    path = tmp_path / "r.jsonl"
    evaluation = settings(lengths=(300,), ways=("sequential",), count=4)

    def series(task, length):
        return Series(source, task, length)

    found = go(evaluation, path, series, reader)
    assert Counter(str(one.outcome) for one in found.records) == {"scored": 3, "infeasible": 1}
    (missing,) = (one for one in found.records if one.outcome is SampleOutcome.INFEASIBLE)
    assert (missing.sample, missing.error) == ("wheels-2", "this sample needs at least 400 tokens")
    (cell,) = build_report(found).cells
    assert (cell.score.n, cell.score.mean, cell.infeasible, cell.failed) == (3, 1, 1, 0)
    calls = reader.model.calls
    assert len(go(evaluation, path, series, reader).records) == 4
    assert reader.model.calls == calls


def test_repeats_read_each_sample_again_and_count_as_one_question(tmp_path, settings, source):
    model, path = ScriptedModel(keyword_reader), tmp_path / "r.jsonl"
    plan = {**settings().plan, "sampling": {"temperature": 0.7, "seed": 5}}
    evaluation = settings(lengths=(300,), ways=("whole",), repeats=3, plan=plan)
    found = go(evaluation, path, source, opener(model))
    assert Counter(one.repeat for one in found.records) == {0: 5, 1: 5, 2: 5}
    assert model.calls == 15
    (cell,) = build_report(found).cells
    assert (cell.score.n, cell.score.clusters, cell.repeats, cell.between_runs) == (15, 5, 3, 0)
    go(replace(evaluation, repeats=4), path, source, opener(model))
    assert model.calls == 20


def test_repeats_without_a_temperature_are_refused(tmp_path, settings, source, reader):
    plan = {**settings().plan, "sampling": {"temperature": 0}}
    with pytest.raises(SettingsError, match="temperature 0"):
        go(settings(repeats=2, plan=plan), tmp_path / "r.jsonl", source, reader)


def test_models_that_only_read_differently_share_one(tmp_path, settings, source):
    opened = []

    class Closing(ScriptedModel):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    async def open_model(spec: ModelSpec) -> Closing:
        opened.append(Closing(keyword_reader))
        return opened[-1]

    models = (
        ModelSpec(name="scripted", window=800),
        ModelSpec(name="scripted", label="narrow", window=700, ways=("sequential",), plan={"chunk_tokens": 100}),
        ModelSpec(name="scripted", label="threads", threads=2),
    )
    evaluation = settings(models=models, lengths=(300,), count=1)
    results = asyncio.run(evaluate(evaluation, tmp_path / "r.jsonl", open_model, source=source))
    assert {record.model for record in results.records} == {"scripted", "narrow", "threads"}
    assert [model.closed for model in opened] == [1, 1]


def test_what_memories_recover_stands_beside_the_accuracy_without_gold_answers(tmp_path, settings, source):
    model = ScriptedModel(keyword_reader, likelihood=keyword_likelihood)
    evaluation = settings(lengths=(300,), ways=("sequential", "closed-book"), worth=True)
    found = go(evaluation, tmp_path / "r.jsonl", source, opener(model))
    recovered = {way: [one.recovered for one in found.records if one.way == way] for way in evaluation.ways}
    # The memory holds the sentence itself; a way without a memory recovers nothing.
    assert recovered["sequential"] == [pytest.approx(1.0)] * 5
    assert all(one <= 0 for one in recovered["closed-book"])
    (section,) = [one for one in build_memory_sections(build_report(found)) if "recover" in one.title]
    assert ("1.00 (5)", "1.00 (5)", "") in [row[-3:] for row in section.tables[0].rows]
    plain = go(settings(lengths=(300,)), tmp_path / "plain.jsonl", source, opener(ScriptedModel(keyword_reader)))
    assert {one.recovered for one in plain.records} == {None}
    with pytest.raises(MissingAbility):
        go(evaluation, tmp_path / "none.jsonl", source, opener(ScriptedModel(keyword_reader)))
