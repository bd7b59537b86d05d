"""What stands in a corner of a workbook is read or named: beside cells, in formulas, in moments and durations."""

import datetime as dt
import time
import zipfile

import pytest
import xlsxwriter
from conversion import convert
from test_leaves import lose

from bookwheel.documents.readers import workbooks


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
