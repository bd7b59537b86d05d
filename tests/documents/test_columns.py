"""Columns are read one after the other, and rows stay rows."""

import pytest

from bookwheel.documents.readers.pdf_layout import Fragment, arrange


def lay_columns(*columns, width=170):
    """Return the lines of columns as a recogniser gives them: row by row, from left to right."""
    fragments = [
        Fragment(line, 40 + width * at, 40 + width * at + 6.5 * len(line), -30 * row - 18, -30 * row)
        for at, lines in enumerate(columns)
        for row, line in enumerate(lines)
        if line
    ]
    return sorted(fragments, key=lambda f: (-f.top, f.left))


SHORT = [
    ["The pool opens again on", "Saturday. Entry is free", "on the first day of it.", "Bus seventeen moves on", "after the bakery."],
    ["Lost and found things", "A bracelet was found at", "the playground. Ask for", "it at number twelve."],
    ["The choir seeks tenors", "for its winter concert.", "Rehearsals at seven in", "the old school house."],
]  # fmt: skip


@pytest.mark.parametrize("count", [2, 3])
def test_columns_of_short_lines_are_read_one_after_the_other_even_where_one_is_longer(count):
    columns = [[*SHORT[0], *SHORT[0], *SHORT[0]], *SHORT[1:count]]
    if count == 2:
        columns = [[f"{line} and so on" for line in column] for column in columns]
    lines = arrange(lay_columns(*columns, width=510 // count))
    assert [line.text for line in lines] == [line for column in columns for line in column]


CHINESE = [
    ["总工程师林海生主持了改造", "工程。他的办公室在三楼。", "闸门换成了新式钢板，河道", "停航三个月。居民改走北桥"],
    ["管理处设在南岸的小楼里。", "值班员四名，每天早晚各记", "录一次水位。闸门有六孔，", "每孔宽八米，高五米，去年"],
]


def test_columns_of_chinese_are_read_one_after_the_other():
    lines = arrange(
        [
            Fragment(line, 40 + 360 * at, 340 + 360 * at, -46 * row - 30, -46 * row)
            for row in range(4)
            for at, line in enumerate(column[row] for column in CHINESE)
        ]
    )
    assert [line.text for line in lines] == [*CHINESE[0], *CHINESE[1]]


WITHOUT_STOPS = {
    "Thai": ("เรือข้ามฟากออกจากท่าทุกเช้าเมื่อน้ำขึ้น", "ห้องสมุดเปิดให้ยืมหนังสือได้ทุกวันเสาร์"),
    "Hindi": ("नाव हर सुबह घाट से निकलती है।", "पुस्तकालय शनिवार को खुलता है।"),
    "Arabic": ("يغادر القارب الميناء كل صباح،", "تفتح المكتبة أبوابها يوم السبت؛"),
}


@pytest.mark.parametrize("language", WITHOUT_STOPS)
def test_columns_of_a_language_with_other_stops_or_none_are_read_one_after_the_other(language):
    columns = [[f"{line} {at}" for at in range(12)] for line in WITHOUT_STOPS[language]]
    rows = enumerate(zip(*columns, strict=True))
    lines = arrange(
        [
            Fragment(line, 40 + 260 * side, 280 + 260 * side, -12 * at - 10, -12 * at)
            for at, row in rows
            for side, line in enumerate(row)
        ]
    )
    assert [line.text for line in lines] == [*columns[0], *columns[1]]


def test_long_cells_without_a_stop_stay_rows():
    rooms = ["Room with a view of the sea", "Room without a view of it", "Bed in a room of four beds"]
    prices = ["from eighty-four a night", "from sixty-one a night", "from twenty-nine a night"]
    lines = arrange(lay_columns(rooms, prices, width=300))
    assert [line.text for line in lines] == [" | ".join(row) for row in zip(rooms, prices, strict=True)]


def test_a_list_of_prices_beside_its_things_stays_rows():
    lines = arrange(lay_columns(["Room with breakfast", "Room without it", "Bed in a shared room"], ["84", "61", "29"]))
    assert [line.text for line in lines] == [
        "Room with breakfast | 84",
        "Room without it | 61",
        "Bed in a shared room | 29",
    ]


@pytest.mark.parametrize(
    ("names", "row"),
    [
        ([("treatment", 40), ("leaching 2020", 105), ("leaching 2021 mean", 190)], "treatment | leaching 2020 | leaching 2021 | mean"),
        ([("spring", 150), ("mean", 280)], " | spring |  | mean"),
        # Which of the words belong to the last column is not sure.
        ([("treatment", 40), ("leaching of nitrate by its mean", 190)], "treatment leaching of nitrate by its mean"),
    ],
)  # fmt: skip
def test_names_that_stand_close_are_one_a_column_of_the_table_below(names, row):
    def line(cells, top):
        return [Fragment(text, left, left + 5 * len(text), top - 9, top) for text, left in cells]

    rows = [
        line([(word, 40), ("30.8", 150), ("28.4", 230), ("29.6", 265)], 80 - 12 * at)
        for at, word in enumerate(["none", "fine", "last"])
    ]
    read = [one.text for one in arrange([*line(names, 92), *(cell for cells in rows for cell in cells)])]
    assert read == [row, *(f"{word} | 30.8 | 28.4 | 29.6" for word in ("none", "fine", "last"))]
