"""The headings of a text, for a table of contents."""

from bookwheel.text.headings import list_headings


def titles(text, most=2000):
    return [(one.level, one.title) for one in list_headings(text, most)]


def test_headings_are_those_with_number_signs_and_none_within_code():
    text = "# Terms\n\n```\n# not this\n```\n\n## Prices ##\n\nCHAPTER I\n"
    assert titles(text) == [(1, "Terms"), (2, "Prices")]
    assert [text[one.start :].split("\n", maxsplit=1)[0] for one in list_headings(text)] == ["# Terms", "## Prices ##"]


def test_where_there_are_none_chapters_are():
    assert titles(
        "It was.\nact stoutly, and\npart of the country loses\n\nCHAPTER I. The quay\n\nHE RAN\n\nBook Two\n\nSo."
    ) == [
        (1, "CHAPTER I. The quay"),
        (1, "Book Two"),
    ]
    assert titles("第一回 甄士隐\n\n话说\n\n第十二章\n") == [(1, "第一回 甄士隐"), (1, "第十二章")]
    assert titles("A note.\n\nTHE LIGHT\n\nIt burned.\n") == [(1, "THE LIGHT")]
    assert titles("1. Delivery\n\nThe press pays.\n\n2. Notice\n\nIn writing.\n") == [
        (1, "1. Delivery"),
        (1, "2. Notice"),
    ]


def test_of_too_many_headings_the_lowest_are_left_out():
    text = "".join(f"# {n}\n\n## {n}.1\n\n" for n in range(10))
    assert len(titles(text, 12)) == 10
    assert len(titles("# a\n\n" * 30, 12)) == 12
