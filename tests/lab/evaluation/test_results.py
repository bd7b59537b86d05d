"""The results file: nothing in it is lost, and nothing is written over."""

import json
from dataclasses import replace

import pytest
from evaluations import RUN, record
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.evaluation.records import Record, ResultsError, SampleOutcome
from bookwheel.lab.evaluation.results import Results, ResultsFile
from bookwheel.schema import from_plain


@given(st.text(), st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.integers()))
@pytest.mark.slow
def test_a_record_survives_its_line(answer, error, golds, flags):
    before = record(answer=answer, error=error, golds=tuple(golds), flags=flags, outcome=SampleOutcome.STOPPED)
    assert from_plain(Record, json.loads(json.dumps(before.to_line()))) == before


def test_lines_are_read_alike_by_the_schema_and_without_it(tmp_path):
    path = tmp_path / "results.jsonl"
    records = [
        record("a", answer="七 😀", golds=("x", "y"), flags={"truncated": 2}, judged=0.0),
        record("b", answer="half a pair: \ud83d", outcome=SampleOutcome.REFUSED),
        record("c", score=float("nan")),
    ]
    lines = [json.dumps(one.to_line()) for one in records]
    # Another order of the names is not what the schema is tried on; neither is null, which older files may have.
    lines += [json.dumps({"sample": "d", **{k: v for k, v in record("d").to_line().items() if k != "sample"}})]
    lines += [json.dumps({**record("e").to_line(), "error": None, "added_later": 1})]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    read = Results.load(path).records
    assert [repr(one) for one in read] == [repr(one) for one in (*records, record("d"), record("e", error=None))]


def test_what_was_added_is_there_when_the_file_is_opened_again(tmp_path):
    path = tmp_path / "deep" / "results.jsonl"
    with ResultsFile(path, RUN) as file:
        file.add(record("a"))
        file.add(record("b"))
        assert [kept.sample for kept in Results.load(path).records] == ["a", "b"]
    with ResultsFile(path, RUN) as file:
        assert [kept.sample for kept in file.results.records] == ["a", "b"]
    assert len(Results.load(path).runs) == 2


def test_the_newest_of_a_key_counts(tmp_path):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, RUN) as file:
        file.add(record("a", outcome=SampleOutcome.FAILED, score=0.0))
        file.add(record("b"))
        file.add(record("a"))
    assert [(kept.sample, kept.outcome) for kept in Results.load(path).records] == [("a", "scored"), ("b", "scored")]


def test_samples_stand_in_their_own_order_and_not_in_that_of_their_ends(tmp_path):
    path = tmp_path / "results.jsonl"
    asked = replace(RUN, settings={"tasks": ["needles", "u"]})
    ends = [
        record("f-1", task="z", length=7, file="mine.jsonl", place=1),
        record("u-0", task="u", place=0),
        record("long-0", length=2000, place=0),
        record("f-0", task="a", length=9, file="mine.jsonl", place=0),
        record("t-1", place=1),
        record("t-0", place=0),
        record("t-0", place=0, way="whole"),
    ]
    with ResultsFile(path, asked) as file:
        for one in ends:
            file.add(one)
    found = Results.load(path).records
    assert [one.sample for one in found] == ["t-0", "t-0", "t-1", "long-0", "u-0", "f-0", "f-1"]


@pytest.mark.parametrize("torn", ['{"kind": "sample", "ta', '{"kind": "run"', "{"])
def test_a_line_that_a_kill_left_unfinished_is_taken_off(tmp_path, torn):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, RUN) as file:
        file.add(record("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + torn.encode())
    assert [kept.sample for kept in Results.load(path).records] == ["a"]
    with ResultsFile(path, RUN) as file:
        file.add(record("b"))
    assert path.read_bytes().startswith(whole)
    assert [kept.sample for kept in Results.load(path).records] == ["a", "b"]


def test_a_complete_last_line_without_its_end_counts(tmp_path):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, RUN) as file:
        file.add(record("a"))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    with ResultsFile(path, RUN) as file:
        file.add(record("b"))
    assert [kept.sample for kept in Results.load(path).records] == ["a", "b"]


@pytest.mark.parametrize("broken", ["nonsense", '{"kind": "poem"}', "[]", '{"kind": "sample", "task": "t"}'])
def test_a_broken_line_is_named_by_file_and_number(tmp_path, broken):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, RUN) as file:
        file.add(record("a"))
    path.write_text(path.read_text() + broken + "\n", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=r"results\.jsonl, line 3"):
        ResultsFile(path, RUN)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (replace(RUN, fixed={"seed": 1}), "seed is 4 there and 1 here"),
        (replace(RUN, models={"local": {"window": 900}}), "local: window is 800 there and 900 here"),
    ],
)
def test_results_of_another_configuration_are_refused_and_left_alone(tmp_path, other, message):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, RUN) as file:
        file.add(record("a"))
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=message):
        ResultsFile(path, other)
    assert path.read_bytes() == before
    with ResultsFile(path, replace(RUN, models={"another": {"window": 900}})):
        pass


def test_two_runs_do_not_write_one_file(tmp_path):
    path = tmp_path / "results.jsonl"
    with ResultsFile(path, RUN), pytest.raises(ResultsError, match="being written by process"):
        ResultsFile(path, RUN)
    with ResultsFile(path, RUN):
        pass
