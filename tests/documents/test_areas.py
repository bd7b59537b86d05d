"""The tables of one sheet are told apart."""

import pytest

from bookwheel.documents.readers.areas import format_sheet
from bookwheel.documents.readers.grid import Span

PLOTS = [["Plot", "Tenant"], ["1", "Ada Quill"], ["2", "Bo Fell"]]
WAITING = [["Waiting list"], ["No.", "Name", "Asked on"], ["1", "Cy Moor", "2025-04-02"]]


def count_tables(text):
    return sum(line.startswith("| ---") for line in text.splitlines())


def test_a_table_below_an_empty_row_has_its_own_names():
    text = format_sheet([*PLOTS, [], ["Rent is paid in May."], [], *WAITING])
    assert text.split("\n\n") == [
        "| Plot | Tenant |\n| --- | --- |\n| 1 | Ada Quill |\n| 2 | Bo Fell |",
        "Rent is paid in May.",
        "Waiting list",
        "| No. | Name | Asked on |\n| --- | --- | --- |\n| 1 | Cy Moor | 2025-04-02 |",
    ]


def test_tables_side_by_side_are_two():
    points = [["Team", "Points"], ["Thornby", "13"], ["Saltley", "1"]]
    rows = [[*one, "", *other] for one, other in zip(PLOTS, points, strict=True)]
    assert format_sheet(rows) == f"{format_sheet(PLOTS)}\n\n{format_sheet(points)}"
    # What covers both is the name of one table.
    assert "Plot |  | Team" not in format_sheet(rows)
    assert count_tables(format_sheet([["All of it", "", "", "", ""], *rows], spans=[Span(0, 0, 1, 5)])) == 1


@pytest.mark.parametrize(
    "rows",
    [
        [*PLOTS, [], ["3", "Cy Moor"], ["4", "Dee Orr"]],
        [*PLOTS, [], ["North"], ["3", "Cy Moor"]],
        [*PLOTS, [], ["North"], [], ["3", "Cy Moor"], ["4", "Dee Orr"]],
        [["Name", "Town"], ["Ada", "Rill"], [], ["Bo", "Wick"], ["Cy", "Rill"]],
        [["Plot", "Tenant", "", "Paid"], ["1", "Ada", "", "5"]],
        [["Boat"], ["Heron"], [], ["Wherry"]],
    ],
)
def test_groups_of_rows_are_one_table(rows):
    text = format_sheet(rows)
    assert count_tables(text) == 1
    assert all(cell in text for row in rows for cell in row)


@pytest.mark.parametrize("titles", [[], [["Boats", "", "", "Fees", ""]]])
def test_sums_behind_an_empty_column_stay_with_whom_they_are_of(titles):
    names = ["Boat", "Crew", "", "Spring", "Autumn"]
    rows = [*titles, names, ["Heron", "4", "", "40", "38"], ["Gig", "6", "", "20", "22"]]
    assert any("Heron" in line and "40 | 38" in line for line in format_sheet(rows).splitlines())


def test_rows_that_are_counted_are_a_table_of_their_own_behind_an_empty_column():
    rows = [["Boats", "Crew", "", "Place", "Points"], ["Heron", "7", "", "1", "9"], ["Gig", "5", "", "2", "6"]]
    assert count_tables(format_sheet(rows)) == 2


def test_nothing_of_a_sheet_is_lost():
    rows = [["a", "", "b"], [], ["", "c", ""], [], [], ["# d"], ["e", "1", ""], ["", "", "f"]]
    assert all(cell.strip("# ") in format_sheet(rows) for row in rows for cell in row)
    assert format_sheet([]) == format_sheet([["", ""]]) == ""
