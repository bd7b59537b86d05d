"""What stands in a corner of a workbook is read or named: beside cells, in formulas, in moments and durations."""

import datetime as dt
import time
import zipfile

import pytest
import xlsxwriter
from conversion import convert
from test_leaves import lose

from bookwheel.documents.readers import cell_formats, workbooks


def change(path, part, *pairs, **more):
    """Write a package anew, with words of a part exchanged and parts added."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for old, new in pairs:
        assert old in files[part]
        files[part] = files[part].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | more).items():
            archive.writestr(name, content)


def workbook(path, fill, *parts):
    with xlsxwriter.Workbook(str(path)) as book:
        fill(book)
    with zipfile.ZipFile(path, "a") as archive:
        for part, content in parts:
            archive.writestr(part, content)
    return path


def test_a_workbook_loses_nothing_beside_its_cells(tmp_path):
    def fill(book):
        sheet = book.add_worksheet("S")
        sheet.set_header('&L&"Arial,Bold"&14headleaf &P')
        sheet.set_footer("footleaf &amp; more")
        sheet.write_formula(1, 1, "=SUM(A2:A9)", value="")

    thread = "<a><threadedComment ref='A1'><text>threadleaf</text></threadedComment></a>"
    parts = [("xl/threadedComments/threadedComment1.xml", thread), ("xl/charts/chartEx1.xml", "<a/>")]
    parts += [("xl/pivotCache/pivotCacheRecords1.xml", "<a/>"), ("xl/externalLinks/externalLink1.xml", "<a/>")]
    path = workbook(tmp_path / "a.xlsx", fill, *parts)
    leaves = ["headleaf", "footleaf", "A1: threadleaf", "chartEx1.xml", "pivotCacheRecords1", "externalLink1"]
    assert lose(path, [*leaves, "formulas without a saved value, whose results are not known: a.xlsx#S (1)"]) == []


def test_the_markup_of_a_sheet_is_unpacked_once(tmp_path, monkeypatch):
    unpacked, read = [], zipfile.ZipFile.read
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda self, name: (unpacked.append(name), read(self, name))[1])
    convert(workbook(tmp_path / "a.xlsx", lambda book: book.add_worksheet("S").write(0, 0, "x")))
    assert unpacked.count("xl/worksheets/sheet1.xml") == 1


def test_a_formula_without_a_saved_value_stands_in_its_cell(tmp_path):
    """Empty, a total would be answered from another row."""

    def fill(book):
        sheet = book.add_worksheet("S")
        sheet.write_row(1, 1, ["quay", "tons"])
        sheet.write_row(2, 1, ["east", 4])
        sheet.write(3, 1, "total")
        sheet.write_formula(3, 2, '=SUM(C3:C3)&"<"', value="")
        sheet.write_formula(4, 27, "=AB1", value="")
        sheet.write_formula(9000, 9000, "=1", value="")

    parts, notes = convert(workbook(tmp_path / "a.xlsx", fill))
    rows = "".join(part.text for part in parts).splitlines()
    assert any(row.startswith('| total | =SUM(C3:C3)&"<" |') for row in rows)
    assert "=AB1 |" in rows[-2]
    assert notes == ("formulas without a saved value, whose results are not known: a.xlsx#S (3)",)


def test_hours_beyond_a_day_are_hours(tmp_path):
    def fill(book):
        book.add_worksheet("S").write_row(0, 0, ["Stunden", 161.5 / 24], book.add_format({"num_format": "[h]:mm"}))

    assert "161:30" in "".join(part.text for part in convert(workbook(tmp_path / "a.xlsx", fill))[0])


def test_a_formula_whose_result_is_an_empty_text_has_one(tmp_path):
    def fill(book):
        sheet = book.add_worksheet("S")
        sheet.write_row(0, 0, ["name", "paid", "note", "half"])
        sheet.write_row(1, 0, ["Ann", 5])

    path = workbook(tmp_path / "a.xlsx", fill)
    cells = b'<c r="C2" t="str"><f>IF(B2&gt;0,"","unpaid")</f><v></v></c><c r="D2"><f t="shared" si="0"/></c></row>'
    change(path, "xl/worksheets/sheet1.xml", (b"5</v></c></row>", b"5</v></c>" + cells))
    parts, notes = convert(path)
    assert "| Ann | 5 |" in parts[0].text
    assert "=" not in parts[0].text
    assert notes == ("formulas without a saved value, whose results are not known: a.xlsx#S (1)",)


def test_a_time_is_read_to_the_thousandth_of_a_second_and_keeps_its_day(tmp_path):
    def fill(book):
        stamp = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss.000"})
        book.add_worksheet("S").write_row(0, 0, ["Run on", 45931.520833333, 45657.999998], stamp)

    parts, _ = convert(workbook(tmp_path / "a.xlsx", fill))
    assert "2025-10-01 12:30:00 | 2024-12-31 23:59:59.827" in "".join(part.text for part in parts)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (dt.datetime.fromisoformat("2025-10-01 12:29:59.999999"), "2025-10-01 12:30:00"),
        (dt.datetime.fromisoformat("9999-12-31 23:59:59.999999"), "9999-12-31 23:59:59.999"),
        (dt.datetime.fromisoformat("2025-10-01"), "2025-10-01"),
        (dt.timedelta(seconds=83.45), "0:01:23.450"),
        (dt.timedelta(hours=161, minutes=29, seconds=59, microseconds=999_999), "161:30"),
        (dt.timedelta(hours=-1.5), "-1:30"),
        (dt.timedelta(seconds=-30), "-0:00:30"),
    ],
)
def test_a_moment_and_a_duration_of_any_sign_are_what_they_are(value, shown):
    assert workbooks._to_text(value) == shown


@pytest.mark.parametrize("attribute", [b'r="A1" ', b"t=' "])
def test_a_tag_of_any_length_is_walked_once(attribute):
    began = time.process_time()
    assert not workbooks._UNSAVED_FORMULA.findall(b"<c " + attribute * 60_000 + b">")
    assert time.process_time() - began < 2


def test_an_empty_cell_and_a_formula_with_its_value_are_no_formulas_without(tmp_path):
    path = workbook(tmp_path / "a.xlsx", lambda book: book.add_worksheet("S").write_formula(0, 0, "=1+1", value=2))
    assert convert(path)[1] == ()


SHOWN = {
    "0%": ["60%", "-123457%"],
    "0.0%": ["60.0%", "-123456.7%"],
    "#,##0.00": ["0.60", "-1,234.57"],
    "#,##0;(#,##0)": ["1", "(1,235)"],
    "#,##0;[Red]#,##0": ["1", "-1,235"],
    '_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-': ["0.60 €", "-1,234.57 €"],
    "[$CHF-807] 0.00": ["CHF 0.60", "-CHF 1234.57"],
    "$0.0": ["$0.6", "-$1234.6"],
    "0.00E+00": ["6.00E-01", "-1.23E+03"],
    "# ?/?": ["3/5", "-1234 4/7"],
    "0.0##": ["0.6", "-1234.567"],
    '0.00,"k"': ["0.00k", "-1.23k"],
    # Not so simple, or nothing that a person sees: all digits.
    "000-00-0000": ["0.6", "-1234.567"],
    "[>=1000]0.0;0": ["0.6", "-1234.567"],
    ";;;": ["0.6", "-1234.567"],
    "0/0": ["0.6", "-1234.567"],
}


def write_shown(book):
    sheet = book.add_worksheet("S")
    for at, code in enumerate(SHOWN):
        form = book.add_format({"num_format": code})
        sheet.write_row(at, 0, [f"row {at}"])
        sheet.write_number(at, 1, 0.6, form)
        sheet.write_formula(at, 2, "=-1234.567", form, -1234.567)


def test_numbers_are_what_a_person_sees_in_their_cells(tmp_path):
    parts, notes = convert(workbook(tmp_path / "a.xlsx", write_shown))
    rows = [line.strip("| ").split(" | ") for line in parts[0].text.splitlines() if "| row" in line]
    assert dict(zip(SHOWN, (row[1:] for row in rows), strict=True)) == SHOWN
    assert "numbers shown rounded, as their cells show them (--everything keeps all digits): a.xlsx#S (13)" in notes


def test_all_digits_of_a_workbook_are_kept_on_wish(tmp_path):
    parts, notes = convert(workbook(tmp_path / "a.xlsx", write_shown), everything=True)
    assert "| row 0 | 60% | -123456.7% |" in parts[0].text
    assert "| row 5 | 0.60 € | -1234.567 € |" in parts[0].text
    assert not [note for note in notes if "rounded" in note]


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("0.00", 1.005, "1.01"),
        ("0%", 0.285, "29%"),
        ("0.0%", 0.07, "7.0%"),
        ("0", -0.3, "0"),
        ("#,##0", 1e14, "100,000,000,000,000"),
        ("# ?/8", 2.99, "3"),
        ("# ??/16", 1.25, "1 4/16"),
    ],
)
def test_a_number_is_rounded_as_it_is_written(code, value, shown):
    assert cell_formats.compile_format(code)(value)[0] == shown


def write_taken_back(book):
    struck, price = book.add_format({"font_strikeout": True}), book.add_format({"num_format": "0.00"})
    both = book.add_format({"font_strikeout": True, "num_format": "0.00"})
    sheet = book.add_worksheet("Lots")
    sheet.write_row(0, 0, ["Lot", "Keeper", "Fee"])
    for at, (keeper, fee) in enumerate([("Ida", 4), ("Bo", 5.5), ("Ann", 6)], start=1):
        sheet.write(at, 0, f"L{at}")
        sheet.write(at, 1, keeper, struck if at == 2 else None)
        sheet.write(at, 2, fee, both if at == 2 else price)
    sheet.set_row(2, None, None, {"hidden": True})
    sheet.set_row(9, None, None, {"hidden": True})
    old = book.add_worksheet("Old")
    old.write_row(0, 0, ["Lot", "Keeper"])
    old.hide()


def test_what_is_struck_out_or_hidden_says_so_where_it_stands(tmp_path):
    parts, _ = convert(workbook(tmp_path / "a.xlsx", write_taken_back))
    lots, old = (part.text for part in parts)
    assert "| L1 | Ida | 4.00 |\n| L2 | ~~Bo~~ | ~~5.50~~ |\n| L3 | Ann | 6.00 |" in lots
    assert lots.endswith("\n\nHidden rows: L2, ~~Bo~~.\n\n")
    assert old.startswith("## Old (hidden)\n")
    assert "Hidden rows" not in old


def test_of_many_hidden_rows_the_first_are_named_and_the_others_counted(tmp_path):
    def fill(book):
        sheet = book.add_worksheet("S")
        for at in range(40):
            sheet.write_row(at, 0, [f"lot {at}", at, "x"])
            sheet.set_row(at, None, None, {"hidden": at > 9})

    text = convert(workbook(tmp_path / "a.xlsx", fill))[0][0].text
    assert "Hidden rows: lot 10, 10; lot 11, 11; " in text
    assert text.endswith("lot 29, 29; and 10 more.\n\n")
