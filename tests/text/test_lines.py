"""Which lines of which file some characters are."""

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.lines import find_lines, has_lines, read_lines, write_file_header


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
