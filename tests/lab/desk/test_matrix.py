"""Samples against readers: one row a sample, also of two runs set against each other."""

from __future__ import annotations

import pytest

from bookwheel.lab.desk.matrix import build_matrix
from bookwheel.lab.evaluation.records import Record, SampleOutcome


def record(sample: str, way: str, score: float, **more: object) -> Record:
    values = {"question": f"What of {sample}?", "content": sample, "reading": f"{sample}-{way}", **more}
    return Record(
        fingerprint="f",
        task="wheels",
        length=150,
        sample=sample,
        way=way,
        model="m",
        outcome=SampleOutcome.SCORED,
        score=score,
        metric="contains",
        **values,
    )


FIRST = [
    record("a", "sequential", 1.0),
    record("a", "edits", 0.0, memory="overwritten", memory_step=4),
    record("b", "sequential", 1.0),
    record("b", "edits", 1.0),
    record("c", "sequential", 0.0, answer="azure"),
]


def build(*runs, start=0, limit=50, **filters):
    return build_matrix(
        [(f"run{at}", records) for at, records in enumerate(runs)], start=start, limit=limit, filters=filters
    )


def rows(matrix: dict) -> list[str]:
    return [row["sample"] for row in matrix["rows"]]


def test_each_sample_is_a_row_and_each_reader_a_column():
    matrix = build(FIRST)
    assert [reader["way"] for reader in matrix["readers"]] == ["sequential", "edits"]
    assert rows(matrix) == ["a", "b", "c"]
    right, lost = matrix["rows"][0]["cells"]
    assert (right["score"], lost["score"], lost["memory"], lost["memory_step"]) == (1.0, 0.0, "overwritten", 4)
    assert lost["reading"] == "a-edits"
    assert matrix["rows"][2]["cells"][1] is None
    assert (rows(build(FIRST, start=1, limit=1)), build(FIRST, limit=1)["total"]) == (["b"], 3)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"mixed": "1"}, ["a"]),
        ({"mixed": "0"}, ["a", "b", "c"]),
        ({"search": "AZURE"}, ["c"]),
        ({"search": "what of b"}, ["b"]),
        ({"memory": "overwritten"}, ["a"]),
        ({"memory": "misused"}, []),
    ],
)
def test_rows_are_filtered(filters, expected):
    assert rows(build(FIRST, **filters)) == expected


def test_two_runs_are_set_against_each_other_on_the_samples_that_both_have():
    second = [record("renamed", "sequential", 0.5, content="a"), record("d", "sequential", 1.0)]
    matrix = build(FIRST, second)
    assert [(reader["run"], reader["way"]) for reader in matrix["readers"]] == [
        ("run0", "sequential"),
        ("run0", "edits"),
        ("run1", "sequential"),
    ]
    assert rows(matrix) == ["a"]
    assert [cell["score"] for cell in matrix["rows"][0]["cells"]] == [1.0, 0.0, 0.5]


def test_repeats_of_a_sample_are_one_cell_with_their_mean():
    matrix = build([record("a", "sequential", 1.0), record("a", "sequential", 0.0, repeat=1)])
    (cell,) = matrix["rows"][0]["cells"]
    assert (cell["score"], cell["repeats"], cell["reading"]) == (0.5, 2, "a-sequential")
