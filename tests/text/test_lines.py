"""Which lines of which file some characters are."""

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.lines import find_lines, has_lines, list_headings, read_lines, write_file_header


def test_sources_that_are_written_anew_have_no_lines():
    named = ["src/net.py", "README", "app.log", "a.md"]
    assert all(map(has_lines, named))
    assert not any(map(has_lines, ["", "a.pdf", "a.html", "https://x.org/a.py", "s.jsonl#user, line 3", "t.csv"]))


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs", "Zl", "Zp", "Cc"])), min_size=1)
)
def test_lines_are_counted_from_the_beginning_of_their_file(lines):
    first, second = "one\ntwo\n", "\n".join(lines) + "\n"
    text = f"{write_file_header('a.py')}{first}\n{write_file_header('b.py')}{second}"
    begins = len(write_file_header("a.py")) + len(first)
    at = len(text) - len(second)
    for number, line in enumerate(lines, 1):
        found = find_lines(lambda start, end: text[start:end], begins, at, at + len(line))
        assert found == (number, number)
        at += len(line) + 1
    assert find_lines(lambda start, end: text[start:end], 0, text.index("two"), text.index("two") + 3) == (2, 2)


@given(st.text())
def test_lines_tile_a_text(text):
    lines = read_lines(text)
    assert [line.text for line in lines] == [one.rstrip("\r\n") for one in text.splitlines(keepends=True)]
    assert all(text[line.start : line.end] == line.text for line in lines)


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
