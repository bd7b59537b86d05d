"""A judge model beside the metrics: verdicts, unclear ones, and judging once."""

import asyncio

import pytest

from bookwheel.errors import Rejected
from bookwheel.lab.evaluation.judge import judge_answer, parse_grade
from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.records import Record, SampleOutcome
from bookwheel.lab.evaluation.report import build_report
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.evaluation.run import RunOptions, evaluate
from bookwheel.lab.evaluation.sections import to_markdown
from bookwheel.lab.evaluation.settings import ModelSpec
from bookwheel.models.scripted import ScriptedModel, keyword_reader


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("It names the colour.\nGRADE: C", 1.0),
        ("Another colour.\n**GRADE:** I", 0.0),
        ("grade: incorrect", 0.0),
        ("The grade is CORRECT", 1.0),
        ("I cannot tell.\nGRADE: U", None),
        ("GRADE: C or GRADE: I", None),
        ("It is right.", None),
        ("", None),
        ("GRADE: Certainly", None),
    ],
)
def test_a_verdict_is_one_grade_and_anything_else_is_unclear(reply, score):
    assert parse_grade(reply).score == score
    assert parse_grade(reply).reason


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("longmemeval-temporal-reasoning", "wrong by one"),
        ("longmemeval-knowledge-update", "earlier values"),
        ("longmemeval-single-session-preference", "not in every point"),
        ("longmemeval-multi-session", "a part of it is wrong"),
        ("longmemeval-abstention", "does not answer the question"),
        ("locomo-temporal", "Any one of these"),
    ],
)
def test_the_rule_of_longmemeval_is_that_of_the_questions_type(task, words):
    seen = []
    judge = ScriptedModel(lambda messages: seen.append(messages[-1].content) or "GRADE: C")
    metric = "unanswerable" if task.endswith("abstention") else "contains"
    record = Record(
        fingerprint="f",
        task=task,
        length=1,
        sample="s",
        way="memory",
        model="m",
        outcome=SampleOutcome.SCORED,
        score=0.0,
        reason="",
        metric=metric,
        golds=("19 days",),
        answer="18 days",
    )
    assert asyncio.run(judge_answer(record, judge)).score == 1
    assert words in seen[0]


def judging(messages):
    """Finds the answers to wheels 100 and 101 right, cannot tell about 102, and the others wrong."""
    text = messages[-1].content
    number = int(text.split("of wheel ")[1][:3])
    return "So it is.\nGRADE: " + ("C" if number < 102 else "U" if number == 102 else "I")


def open_by_name(judge):
    reader = ScriptedModel(keyword_reader)

    async def open_model(spec):
        return judge if spec.name == "judge" else reader

    return open_model


def test_verdicts_stand_beside_the_metric_and_unclear_ones_in_no_mean(tmp_path, settings, source):
    judge = ScriptedModel(judging)
    path = tmp_path / "r.jsonl"
    plain = settings(ways=("sequential",), lengths=(300,))
    asyncio.run(evaluate(plain, path, open_by_name(judge), source=source))
    assert judge.calls == 0
    judged = settings(ways=("sequential",), lengths=(300,), judge=ModelSpec(name="judge"))
    found = asyncio.run(evaluate(judged, path, open_by_name(judge), source=source))
    assert judge.calls == 5
    (cell,) = build_report(found).cells
    assert (cell.score.mean, cell.judged.mean, cell.judged.n, cell.unclear) == (1, 0.5, 4, 1)
    assert {one.judge_reason for one in found.records} == {"So it is."}
    markdown = to_markdown("t", build_sections(build_report(found)))
    assert "Judge: what judge says" in markdown
    assert "| judge's n | unclear |" in markdown
    assert "judge's n" not in to_markdown("t", build_sections(build_report(Results(runs=(), records=()))))
    asyncio.run(evaluate(judged, path, open_by_name(judge), source=source))
    assert judge.calls == 5


def test_a_judge_that_never_answers_ends_the_run_and_changes_no_result(tmp_path, settings, source):
    class Gone(ScriptedModel):
        async def reply(self, *_given, **_options):
            raise Rejected("gone")

    path = tmp_path / "r.jsonl"
    judged = settings(ways=("sequential",), lengths=(300,), judge=ModelSpec(name="judge"))
    with pytest.raises(Rejected, match="gone"):
        asyncio.run(evaluate(judged, path, open_by_name(Gone(judging)), source=source))
    assert {(one.score, one.judge) for one in Results.load(path).records} == {(1.0, "")}


def test_what_was_left_unclear_is_judged_again_when_asked_for_and_answers_that_count_by_one_alone_are_listed(
    tmp_path, settings, source
):
    path = tmp_path / "r.jsonl"
    judged = settings(ways=("sequential",), lengths=(300,), judge=ModelSpec(name="judge"))
    judge = ScriptedModel(judging)
    found = asyncio.run(evaluate(judged, path, open_by_name(judge), source=source))
    table = next(one for one in build_sections(build_report(found)) if one.title == "Where metric and judge differ")
    assert table.tables[0].caption == "2 of 4 answers with a verdict."
    assert [row[3:5] for row in table.tables[0].rows] == [("1", "0")] * 2
    calls = judge.calls
    asyncio.run(evaluate(judged, path, open_by_name(judge), source=source))
    assert judge.calls == calls
    again = RunOptions(rerun=frozenset({SampleOutcome.FAILED}))
    sure = ScriptedModel(lambda _messages: "GRADE: C")
    mended = asyncio.run(evaluate(judged, path, open_by_name(sure), source=source, options=again))
    assert sure.calls == 1
    assert all(one.judged is not None for one in mended.records)
