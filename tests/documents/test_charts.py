"""Numbers of drawn charts go with their names, by place and by colour; those that find none stand by themselves."""

from dataclasses import replace

import numpy as np
import pytest

from bookwheel.documents.readers.charts import read_chart
from bookwheel.documents.readers.colours import Paint
from bookwheel.documents.readers.pdf_layout import Fragment

BLUE, ORANGE = (68, 119, 170), (230, 120, 50)
HIGH = 20


class Sheet:
    """A picture with words at places that are counted from above, as on a screen."""

    def __init__(self, width=600, height=400):
        self.pixels = np.full((height, width, 3), 255, dtype=np.uint8)
        self.fragments = []

    def write(self, text, x, y, size=None):
        """Write words whose middle is at a place."""
        half = (size or 11 * len(text)) / 2
        self.fragments.append(Fragment(text, x - half, x + half, -y - HIGH / 2, -y + HIGH / 2))

    def fill(self, colour, left, top, right, bottom):
        self.pixels[round(top) : round(bottom), round(left) : round(right)] = colour

    def read(self, *, with_pixels=True):
        return read_chart(self.fragments, self.pixels if with_pixels else None)


def draw_bars(series, names, is_lying=False, with_legend=True):
    """Draw bars with the value of each at its end, and a scale of five ticks."""
    sheet = Sheet()
    sheet.write("Visits", 300, 20)
    most = max(max(values) for _, _, values in series)
    for at in range(5):
        place = 350 - at * 70
        sheet.write(str(at * 20), *((100 + at * 110, 380) if is_lying else (30, place)))
    for at, name in enumerate(names):
        sheet.write(name, *((40, 80 + 100 * at) if is_lying else (130 + 170 * at, 375)))
        for which, (_, colour, values) in enumerate(series):
            long = 240 * values[at] / most
            aside = 40 * (which - (len(series) - 1) / 2)
            if is_lying:
                y = 80 + 100 * at + aside
                sheet.fill(colour, 90, y - 14, 90 + long, y + 14)
                sheet.write(str(values[at]), 90 + long + 22, y)
            else:
                x = 130 + 170 * at + aside
                sheet.fill(colour, x - 18, 350 - long, x + 18, 350)
                sheet.write(str(values[at]), x, 350 - long - 13)
    for which, (name, colour, _) in enumerate(series if with_legend and len(series) > 1 else ()):
        y = 60 + 30 * which
        sheet.fill(colour, 450, y - 7, 480, y + 7)
        sheet.write(name, 525, y)
    return sheet


ONE = [("", BLUE, [41, 65, 13])]
TWO = [("2022", BLUE, [41, 65, 13]), ("2023", ORANGE, [52, 38, 27])]
NAMES = ["North", "East", "South"]


def test_the_number_above_a_bar_is_that_of_the_name_below():
    chart = draw_bars(ONE, NAMES).read()
    assert chart.rows == [["", "Visits"], ["North", "41"], ["East", "65"], ["South", "13"]]
    assert chart.scales[0] == ["0", "20", "40", "60", "80"]


def test_the_number_behind_a_bar_that_lies_is_that_of_the_name_before_it():
    chart = draw_bars(ONE, NAMES, is_lying=True).read()
    assert chart.rows[1:] == [["North", "41"], ["East", "65"], ["South", "13"]]


def test_the_scale_of_bars_that_lie_names_nothing():
    sheet = draw_bars([("", BLUE, [36, 65, 11])], NAMES, is_lying=True)
    for number in (f for f in [*sheet.fragments] if f.text in {"36", "65", "11"}):
        sheet.fragments.remove(number)
        sheet.write(number.text, 60 + 110 * {"11": 1, "36": 2, "65": 3}[number.text], -(number.top + number.bottom) / 2)
    assert [row[0] for row in sheet.read().rows[1:]] == NAMES


@pytest.mark.parametrize("is_lying", [False, True])
def test_numbers_of_two_series_are_told_apart_by_the_colours_of_the_legend(is_lying):
    chart = draw_bars(TWO, NAMES, is_lying=is_lying).read()
    assert chart.rows == [
        ["Visits", "2022", "2023"],
        ["North", "41", "52"],
        ["East", "65", "38"],
        ["South", "13", "27"],
    ]


@pytest.mark.parametrize(("with_legend", "with_pixels"), [(False, True), (True, False)])
def test_numbers_of_two_series_without_colours_to_go_by_have_no_rows_and_stand_away_from_the_names(
    with_legend, with_pixels
):
    sheet = draw_bars(TWO, NAMES, with_legend=with_legend)
    chart = sheet.read(with_pixels=with_pixels)
    assert chart.rows == []
    left = {f.text for f in sheet.fragments if f not in chart.used}
    assert {*NAMES, "Visits"} <= left
    assert not left & {"41", "65", "13", "52", "38", "27", "20"}
    assert "41" in list(chart.write())[-1]


def test_a_name_without_a_number_leaves_a_chart_without_rows():
    sheet = draw_bars(ONE, NAMES)
    sheet.fragments = [f for f in sheet.fragments if f.text != "13"]
    assert sheet.read().rows == []


def test_points_of_a_line_go_with_the_years_below_them():
    sheet = Sheet()
    for at in range(5):
        sheet.write(str(at * 5), 30, 350 - at * 60)
    sheet.write("2018.0 2018.5 2019.0 2019.5 2020.0", 300, 380, size=500)
    for x, value in ((75, "14.2"), (303, "9.1"), (530, "17.6")):
        sheet.write(value, x, 350 - float(value) * 12)
    assert sheet.read().rows[1:] == [["2018", "14.2"], ["2019", "9.1"], ["2020", "17.6"]]


@pytest.mark.parametrize("with_legend", [False, True])
def test_the_parts_of_a_pie_go_with_the_names_beside_them_or_with_their_colours(with_legend):
    sheet = Sheet()
    down, across = np.mgrid[0:400, 0:600]
    is_round = (across - 250) ** 2 + (down - 200) ** 2 < 120**2
    sheet.pixels[is_round & (down < 200)] = BLUE
    sheet.pixels[is_round & (down >= 200)] = ORANGE
    sheet.write("52%", 250, 140)
    sheet.write("48%", 250, 260)
    for name, colour, y in (("Wages", BLUE, 60), ("Rent", ORANGE, 340)):
        if with_legend:
            sheet.fill(colour, 450, y - 7, 470, y + 7)
            sheet.write(name, 515, y)
        else:
            sheet.write(name, 250, y)
    assert sorted(sheet.read().rows[1:]) == [["Rent", "48%"], ["Wages", "52%"]]


def draw_plain_bars(names, values, place):
    """Draw bars upon their names, with no scale, and the values on, in or below them."""
    sheet = Sheet()
    sheet.write("Ferries", 300, 20)
    for at, (name, value) in enumerate(zip(names, values, strict=True)):
        x, long = 100 + 130 * at, 250 * value / max(values)
        sheet.fill(BLUE, x - 35, 340 - long, x + 35, 340)
        sheet.write(name, x, 358)
        sheet.write(str(value), x, {"on": 340 - long - 13, "in": 318, "below": 382}[place])
    return sheet


@pytest.mark.parametrize("names", [["1904", "1905", "1906", "1907"], ["North", "East", "South", "West"]])
@pytest.mark.parametrize("values", [[120, 402, 260, 395], [400, 402, 404, 406], [388, 402, 408, 395]])
@pytest.mark.parametrize("place", ["on", "in", "below"])
def test_years_name_the_bars_that_stand_on_them_as_words_do_without_a_scale(names, values, place):
    rows = draw_plain_bars(names, values, place).read().rows
    assert rows == [["", "Ferries"], *([name, str(value)] for name, value in zip(names, values, strict=True))]


def test_years_name_the_bars_that_begin_at_them():
    sheet = Sheet()
    for at, (year, value) in enumerate((("2019", 512), ("2020", 230), ("2021", 497))):
        sheet.fill(BLUE, 90, 60 + 80 * at, 90 + value // 2, 110 + 80 * at)
        sheet.write(year, 60, 85 + 80 * at)
        sheet.write(str(value), 115 + value // 2, 85 + 80 * at)
    assert sheet.read().rows[1:] == [["2019", "512"], ["2020", "230"], ["2021", "497"]]


@pytest.mark.parametrize("is_parted", [False, True])
def test_the_shaded_head_of_a_table_is_no_row_of_bars(is_parted):
    sheet = Sheet()
    for at, (month, first, second) in enumerate((("Jan", "12", "31"), ("Feb", "15", "29"), ("Mar", "11", "28"))):
        x = 100 + 150 * at
        sheet.fill((200, 215, 240), x - 75 + is_parted, 40, x + 75 - is_parted, 66)
        for row, text in enumerate((month, first, second)):
            sheet.write(text, x, 53 + 26 * row)
    assert sheet.read() is None


def test_rows_of_a_receipt_and_of_a_table_are_no_chart():
    sheet = Sheet()
    for at, (name, price) in enumerate((("Oat milk", "1.95"), ("Sourdough", "3.40"), ("Eggs", "2.10"))):
        sheet.write(name, 100, 50 + 40 * at)
        sheet.write(price, 400, 50 + 40 * at)
    assert sheet.read() is None
    sheet = Sheet()
    for row, cells in enumerate((("Site", "Weight", "Price"), ("Sula", "58.0", "13.6"), ("Munk", "9.7", "15.9"))):
        for column, cell in enumerate(cells):
            sheet.write(cell, 100 + 150 * column, 50 + 40 * row)
    assert sheet.read() is None


@pytest.mark.parametrize(
    "words", ["Source: own counts. Wigton closed 11-15 May.", "Wigton closed in those years.", "资料来源：本会统计"]
)
@pytest.mark.parametrize("is_lying", [False, True])
def test_a_note_below_a_chart_names_no_axis(words, is_lying):
    sheet = draw_bars(ONE, NAMES, is_lying=is_lying)
    sheet.write(words, 240, 430)
    sheet.write("and its second line", 240, 455)
    assert sheet.read().rows == [["", "Visits"], ["North", "41"], ["East", "65"], ["South", "13"]]


@pytest.mark.parametrize(
    "words", ["No. of guests", "Avg. price in EUR", "Temp. (°C)", "Guests, counted once a week in May"]
)
def test_an_abbreviation_names_an_axis(words):
    sheet = draw_bars(ONE, NAMES)
    sheet.write(words, 240, 430)
    assert sheet.read().rows[0] == [words, "Visits"]


@pytest.mark.parametrize("is_lying", [False, True])
def test_bars_without_numbers_are_measured_at_the_scale(is_lying):
    sheet = draw_bars([("", BLUE, [36, 65, 13])], NAMES, is_lying=is_lying)
    sheet.fragments = [f for f in sheet.fragments if f.text not in {"36", "65", "13"}]
    if is_lying:  # its ticks are 110 apart from 100 on, and its bars begin at 90, right of the names
        sheet.fragments = [
            replace(f, left=f.left + 15, right=f.right + 15) if f.text in NAMES else f for f in sheet.fragments
        ]
        wanted = [round((90 + 240 * value / 65 - 100) / 110 * 20, 1) for value in (36, 65, 13)]
    else:  # its ticks are 70 apart
        wanted = [round(240 * value / 65 / 70 * 20, 1) for value in (36, 65, 13)]
    measured = dict(sheet.read().rows[1:])
    assert [*measured] == NAMES
    assert all(value.startswith("≈") for value in measured.values())
    assert [float(value[1:]) for value in measured.values()] == pytest.approx(wanted, abs=0.4)


@pytest.mark.parametrize(
    ("ticks", "step", "before", "after"),
    [
        (["0", "500M", "1,000M", "1,500M", "2,000M"], 500, "", "M"),
        (["$0", "$10", "$20", "$30", "$40"], 10, "$", ""),
        (["0", "10", "20", "30", "40%"], 10, "", "%"),
        (["0", "10.000", "20.000", "30.000", "40.000"], 10_000, "", ""),
        (["0", "2.500", "5.000", "7.500", "10.000"], 2500, "", ""),
        (["0.000", "1.000", "2.000", "3.000", "4.000"], 1, "", ""),
        (["0", "0.125", "0.250", "0.375", "0.500"], 0.125, "", ""),
        (["0", "0,125", "0,250", "0,375", "0,500"], 0.125, "", ""),
        (["10.000", "20.000", "30.000", "40.000", "50.000"], None, "", ""),
        (["0", "10M", "20M", "30K", "40M"], None, "", ""),
    ],
)
def test_what_is_measured_has_the_unit_and_the_thousands_of_its_scale(ticks, step, before, after):
    sheet = draw_bars([("", BLUE, [36, 65, 13])], NAMES)
    names = dict(zip(["0", "20", "40", "60", "80"], ticks, strict=True))
    sheet.fragments = [
        replace(f, text=names.get(f.text, f.text)) for f in sheet.fragments if f.text not in {"36", "65", "13"}
    ]
    rows = sheet.read().rows
    if step is None:
        assert rows == []
        return
    for (_, value), bar in zip(rows[1:], (36, 65, 13), strict=True):
        assert value.startswith(f"≈{before}")
        assert value.endswith(after)
        assert float(value[1 + len(before) : len(value) - len(after)]) == pytest.approx(
            240 * bar / 65 / 70 * step, abs=step / 40
        )


@pytest.mark.parametrize("series", [[("", BLUE, [36, 65, 13])], TWO])
def test_what_is_no_bar_of_one_colour_alone_is_not_measured(series):
    sheet = draw_bars(series, NAMES, with_legend=False)
    values = {str(value) for _, _, values in series for value in values}
    sheet.fragments = [f for f in sheet.fragments if f.text not in values]
    if len(series) == 1:  # a second colour on top of the first, as in stacks
        sheet.fill(ORANGE, 130 - 18, 150, 130 + 18, 300)
    assert sheet.read().rows == []


def test_lines_whose_names_have_their_colours_are_told_apart_by_them():
    sheet = Sheet()
    for at, name in enumerate(NAMES):
        sheet.write(name, 100 + 150 * at, 375)
    # What stands above "South" grows by even steps, as a scale would.
    lines = (
        (BLUE, "Tolland", (90, 75, 60)),
        ((40, 130, 70), "Fen", (150, 165, 160)),
        (ORANGE, "Aldmoor", (240, 290, 260)),
    )
    for ink, name, values in lines:
        for at, value in enumerate(values):
            sheet.write(str(value), 100 + 150 * at, 350 - value)
        sheet.write(name, 520, 350 - values[-1])
        for f in sheet.fragments[-4:]:
            sheet.fill(ink, f.left + 4, -f.top + 8, f.right - 4, -f.bottom - 8)
    assert sheet.read().rows == [
        ["", "Aldmoor", "Fen", "Tolland"],
        ["North", "240", "150", "90"],
        ["East", "290", "165", "75"],
        ["South", "260", "160", "60"],
    ]


def test_a_note_that_reaches_under_several_names_is_part_of_none():
    sheet = draw_bars(ONE, NAMES)
    sheet.write("counted by the harbour master on 118 days", 290, 396)
    assert [row[0] for row in sheet.read().rows[1:]] == NAMES


def test_numbers_here_and_there_behind_words_are_no_bars():
    """The heads of arrows in a diagram may be read as numbers."""
    sheet = Sheet()
    for at, name in enumerate(NAMES):
        sheet.write(name, 60, 80 + 100 * at)
        sheet.write("4", 200 + 150 * at, 80 + 100 * at)
    assert sheet.read() is None


def test_each_row_and_each_column_of_a_table_is_looked_at_once(monkeypatch):
    sheet, looked = Sheet(), []
    for row in range(6):
        for column in range(5):
            sheet.write(f"{row}.{column}5", 80 + 100 * column, 60 + 50 * row)
    monkeypatch.setattr(Paint, "has_bars", lambda _, names, *, is_down: looked.append(([*names], is_down)))
    sheet.read()
    assert len(looked) > 6 + 4
    assert len(looked) == len({(tuple(names), is_down) for names, is_down in looked})
