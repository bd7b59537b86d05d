"""A table, or a folder and questions, as rows; what a kill leaves of them."""

import errno
from pathlib import Path

import pytest

from bookwheel.batch import rows
from bookwheel.batch.rows import BatchLedger, RowOutcome, group_rows, list_folder, make_rows
from bookwheel.errors import InputError

HERE = Path("/tables")


def test_each_row_has_its_own_question_or_all_that_are_given():
    table = [{"source": "a.txt", "question": "Who?", "id": 7}, {"source": "https://x.org/b", "question": ""}]
    rows = make_rows(table, ["When?", "Where?"], HERE, "t.csv")
    assert [(row.number, row.source, row.question) for row in rows] == [
        (0, "/tables/a.txt", "Who?"),
        (1, "https://x.org/b", "When?"),
        (2, "https://x.org/b", "Where?"),
    ]
    assert rows[0].given == {"source": "a.txt", "question": "Who?", "id": 7}
    assert [len(group) for group in group_rows([*rows, rows[0]])] == [2, 2]


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ({}, "row 1.*source"),
        ({"source": " "}, "row 1.*source"),
        ({"source": 3}, "row 1.*source"),
        ({"source": "a"}, "row 1.*question"),
        ({"source": "a", "question": 3}, "row 1.*question"),
    ],
)
def test_a_row_that_lacks_something_is_named(row, match):
    with pytest.raises(InputError, match=match):
        make_rows([row], [], HERE, "t.csv")


def test_a_folder_is_a_row_for_each_file(tmp_path):
    for name in ("b.txt", "a/c.txt", ".hidden/x", ".x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert list_folder(tmp_path) == [{"source": "a/c.txt"}, {"source": "b.txt"}]
    with pytest.raises(InputError, match="no files"):
        list_folder(tmp_path / ".hidden" / "none")


def test_outcomes_are_found_again_and_a_broken_line_is_read_anew(tmp_path):
    ledger = BatchLedger(tmp_path / "out.csv")
    ledger.add("one", RowOutcome(status="reading", reading="ab"))
    ledger.add("one", RowOutcome(status="answered", answer="Ada"))
    ledger.path.write_bytes(ledger.path.read_bytes() + b'{"row": "two", "sta')
    again = BatchLedger(tmp_path / "out.csv")
    assert again.outcomes == {"one": RowOutcome(status="answered", answer="Ada")}
    again.add("two", RowOutcome(status="failed", error="no"))
    assert set(BatchLedger(tmp_path / "out.csv").outcomes) == {"one", "two"}
    again.forget_failed()
    assert set(again.outcomes) == {"one"}


def test_a_row_has_another_key_with_other_settings():
    (row,) = make_rows([{"source": "a", "question": "Who?"}], [], HERE, "t")
    assert row.make_key("x") == row.make_key("x") != row.make_key("y")


def test_an_output_is_written_by_one_batch_at_a_time(tmp_path):
    with BatchLedger.hold(tmp_path / "out.csv"):
        with pytest.raises(InputError, match=r"another batch, process \d+, is writing .*out\.csv"):
            BatchLedger.hold(tmp_path / "out.csv").__enter__()
        BatchLedger.hold(tmp_path / "other.csv").__enter__()
    BatchLedger.hold(tmp_path / "out.csv").__enter__()


def test_a_full_disk_is_told_with_the_output(tmp_path, monkeypatch):
    def fail(_path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(rows, "hold_lock", fail)
    with (
        pytest.raises(InputError, match=r"out\.csv cannot be written: No space left"),
        BatchLedger.hold(tmp_path / "out.csv"),
    ):
        pass
