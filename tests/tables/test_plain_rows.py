"""Lists without a frame have rows: price lists, receipts, invoices, lists of names; totals and prose have none."""

from __future__ import annotations

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.tables.columns import Kind, TableRequest
from bookwheel.tables.quoted import QuotedRows


def find(text: str, ask: str) -> list[tuple[str | None, ...]]:
    document = TextDocument(text)
    found = QuotedRows.find(document, TableRequest.parse(ask))
    for start, row in zip(found.starts, found.rows, strict=True):
        assert " ".join(document.slice(start, start + len(row.quote) + 20).split()).startswith(
            " ".join(row.quote.split())
        )
    return [row.cells for row in found.rows]


@pytest.mark.parametrize(
    "lines",
    [
        "Coffee   3.20\nTea, pot   2.80",
        "Coffee ....... 3.20\nTea, pot .. 2.80",
        "Coffee\t3.20\nTea, pot\t2.80",
        "Coffee 3.20\nTea, pot 2.80",
        "- Coffee: 3.20\n- Tea, pot: 2.80",
        "Coffee – 3.20\nTea, pot – 2.80",
    ],
)
def test_a_name_and_a_price_are_a_row_whatever_stands_between(lines: str) -> None:
    assert find(f"THE KETTLE\n14 Dock Street\n\n{lines}\n", "every item: item, price") == [
        ("Coffee", "3.20"),
        ("Tea, pot", "2.80"),
    ]


def test_a_list_ends_with_its_total_unless_totals_are_asked_for() -> None:
    text = "Coffee   3.20\nTea   2.80\nSubtotal   6.00\nService   0.60\nTOTAL   6.60\nCard   6.60\n"
    assert [cells[0] for cells in find(text, "every item: item, price")] == ["Coffee", "Tea"]
    assert ("TOTAL", "6.60") in find(text, "every line with its total: what, price")


def test_cells_go_to_the_columns_that_a_header_names_and_numbers_without_one_in_order() -> None:
    text = (
        "Description    Qty    Rate    Amount\nWall texts    1,150    0.16    184.00\nRush fee    1    60.00    60.00\n"
    )
    assert find(text, "every line: description, amount")[0] == ("Wall texts", "184.00")
    assert find(text, "every line: description, quantity, amount")[0] == ("Wall texts", "1,150", "184.00")


def test_names_with_a_state_are_rows_of_two_texts() -> None:
    text = "三年级二班  考勤表  2027年3月8日\n\n王小明    到\n李丽      迟到\n陈思远    病假\n"
    assert find(text, "每个学生的出勤：姓名、状态") == [("王小明", "到"), ("李丽", "迟到"), ("陈思远", "病假")]


def test_a_date_is_found_beside_a_number() -> None:
    text = "物业费    1,260.00    2027-04-30\n车位费    300.00      2027-04-15\n"
    assert find(text, "每项费用：项目、金额、缴费日期")[1] == ("车位费", "300.00", "2027-04-15")


def test_prose_with_numbers_has_no_list() -> None:
    text = "In 1911 the inn had 12 rooms.\nThe cook paid 3 crowns in 1920.\nIt burned on 4 May 1921, 11 p.m.\n"
    assert find(text, "every whale: name, weight") == []


def test_a_list_in_blocks_of_one_layout_is_one_list_whose_cells_stand_in_the_columns_order() -> None:
    text = (
        "TRADE LIST no. 31\n\nCABLE\nFS-1001   twin grey      100m    48.90\nFS-1003   ditto, white   100m    83.00\n\n"
        "BOXES\nFS-2001   box 32mm       each     0.88\nFS-2011   box 100mm      each     5.15   (was 4.75)\n"
        "FS-2012   dimmer         each     POA\n"
    )
    assert find(text, "every article: number, name, unit, price") == [
        ("FS-1001", "twin grey", "100m", "48.90"),
        ("FS-1003", "ditto, white", "100m", "83.00"),
        ("FS-2001", "box 32mm", "each", "0.88"),
        ("FS-2011", "box 100mm", "each", "5.15"),
    ]


def test_what_stands_in_brackets_at_the_end_is_kept_where_a_column_asks_for_it() -> None:
    menu = "Soup   4.50   (vegan)\nPie   6.00   (with nuts)\n"
    assert find(menu, "every dish: name, price, note") == [("Soup", "4.50", "(vegan)"), ("Pie", "6.00", "(with nuts)")]
    assert find(menu, "every dish: name, price") == [("Soup", "4.50"), ("Pie", "6.00")]
    people = "Ada   Bakewell   (01234) 567890\nOdo   Matlock   (01629) 123456\nEve   Buxton   (01298) 222333\n"
    assert find(people, "every person: name, town, phone")[0] == ("Ada", "Bakewell", "(01234) 567890")
    rents = "Rent   2025   (1,200.00)\nRates   2025   (300.00)\n"
    assert "(1,200.00)" in find(rents, "every line: what, year, amount")[0]


def test_another_list_of_the_same_width_is_no_part_of_a_list() -> None:
    text = (
        "Invoices\nR-1   Kestrel   legal work   120.00\nR-2   Marrow   paint   80.00\n\n"
        "Holidays\nEaster   all   closed   4 days\nMay Day   all   closed   1 day\n"
    )
    assert [cells[0] for cells in find(text, "every invoice: number, name, what, amount")] == ["R-1", "R-2"]


def test_a_table_with_an_empty_header_gives_all_of_its_rows() -> None:
    table = "|  |  |  |\n| --- | --- | --- |\n| pane | 2 | EUR 74.00 |\n| putty | 1 | EUR 9.50 |\n"
    assert find(f"# Bill\n\n{table}\nSum EUR 157.50\n", "every item: item, quantity (number), price (number)") == [
        ("pane", "2", "EUR 74.00"),
        ("putty", "1", "EUR 9.50"),
    ]


def test_a_header_that_stands_again_in_its_table_is_no_row_and_a_price_per_day_no_date() -> None:
    header, rule = "| Room | Seats | Price per day |\n", "| --- | --- | --- |\n"
    table = f"{header}{rule}| Lark | 12 | £85 |\n{header}| Dove | 16 | £95 |\n"
    ask = "every room: room, seats, price per day"
    assert find(table, ask) == [("Lark", "12", "£85"), ("Dove", "16", "£95")]
    assert [column.kind for column in TableRequest.parse(ask).columns][2] is Kind.NUMBER
