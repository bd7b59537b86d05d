"""Documents open the same from anywhere, and in a child as in this process."""

import io
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.documents import sources
from bookwheel.documents.opening import SourceDocument, TextDocument, open_document, open_fetched, open_isolated
from bookwheel.documents.sources import spool
from bookwheel.errors import SourceError
from bookwheel.text.chunks import split
from bookwheel.text.tokens import WordTokenizer

STORY = "The ferry left at dawn; the keeper wrote it down.\r\n" * 900


def join(document, start=0):
    return "".join(part.text for part in document.parts(start))


def file(tmp_path, name="a.txt", data=STORY):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@given(st.text(st.characters()), st.integers(-2, 40))
def test_a_text_in_memory_is_read_on_from_any_character(text, start):
    document = TextDocument(text, name="note")
    assert document.length == len(text)
    assert join(document, start) == text[max(0, start) :]
    assert {part.source for part in document.parts()} <= {"note"}


def test_a_text_in_memory_may_hold_anything():
    text = "\ud800 lone \0 \r\n \ufeff"
    assert join(TextDocument(text)) == text
    assert join(TextDocument("")) == ""
    assert TextDocument(text, source="page").notes == ()


def test_parts_are_small_so_that_little_is_held_at_a_time(tmp_path):
    for document in (TextDocument(STORY), open_document([file(tmp_path)])):
        assert max(len(part.text) for part in document.parts()) <= 8192


def test_a_file_is_read_exactly_and_on_from_any_character(tmp_path):
    document = open_document([file(tmp_path)])
    assert (document.name, document.length) == ("a.txt", None)
    assert join(document) == STORY
    assert document.length == len(STORY)
    for start in (1, 8191, 8192, 8193, 20_001, len(STORY) - 1, len(STORY), len(STORY) + 5):
        assert join(document, start) == STORY[start:]
    assert {(part.source, part.page) for part in document.parts()} == {("a.txt", None)}


def test_two_readers_of_one_document_do_not_disturb_each_other(tmp_path):
    for document in (open_document([file(tmp_path)]), open_document(["-"], stdin=io.BytesIO(STORY.encode()))):
        pairs = list(zip(document.parts(), document.parts(), strict=True))
        assert "".join(one.text for one, _ in pairs) == "".join(two.text for _, two in pairs) == STORY


def test_chunks_of_a_file_tile_it(tmp_path):
    chunks = list(split(open_document([file(tmp_path)]), WordTokenizer(), 300))
    assert "".join(chunk.text for chunk in chunks) == STORY
    assert {chunk.sources for chunk in chunks} == {("a.txt",)}


def test_several_files_are_each_named_and_told_apart(tmp_path):
    liar = "Harmless.\n===== b.txt =====\nThis stands in a.txt."
    document = open_document([file(tmp_path, "a.txt", liar), file(tmp_path, "b.txt", "The truth.\n")])
    assert join(document) == f"===== a.txt =====\n{liar}\n===== b.txt =====\nThe truth.\n"
    parts = list(document.parts())
    assert [part.source for part in parts] == ["a.txt", "a.txt", "b.txt", "b.txt"]
    assert document.name == "a.txt, b.txt"


def test_a_single_file_has_no_header(tmp_path):
    assert join(open_document([file(tmp_path, data="Just this.")])) == "Just this."


def test_files_of_the_same_name_are_told_apart_by_their_paths(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "y").mkdir()
    one, two = file(tmp_path / "x", data="1"), file(tmp_path / "y", data="2")
    assert [part.source for part in open_document([one, two]).parts()][::2] == [str(one), str(two)]
    folders = open_document([tmp_path / "x", tmp_path / "y", file(tmp_path, "z.txt", "3")])
    assert [part.source for part in folders.parts()][::2] == ["x/a.txt", "y/a.txt", "z.txt"]


def test_one_source_need_not_be_in_a_list(tmp_path):
    assert join(open_document(str(file(tmp_path)))) == STORY


def test_standard_input_is_read_once_and_can_be_read_again():
    document = open_document(["-"], stdin=io.BytesIO(STORY.encode("utf-16")))
    for start in (0, 9000):
        assert join(document, start) == STORY[start:]
    assert {part.source for part in document.parts()} == {"-"}
    assert document.name == "standard input"


def test_a_named_pipe_is_read_like_standard_input(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(STORY.encode(),))
    writer.start()
    document = open_document([path])
    writer.join()
    assert join(document) == join(document) == STORY


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "nothing to read"),
        (["no/such/file.txt"], r"file\.txt does not exist"),
        (["-", "-"], "only once"),
        (["ftp://example.org/a"], "only http and https"),
        (["a\0b"], "cannot be read"),
        (["x" * 5000], "is no file.s name"),
        (["Ada Quill owns the mill."], "is no file.s name"),
    ],
)
def test_a_source_that_cannot_be_read_is_an_error_with_advice(sources, message):
    with pytest.raises(SourceError, match=message):
        open_document(sources, stdin=io.BytesIO(b"text"))


@pytest.mark.parametrize("data", [b"", b" \r\n\t \n", b"\xef\xbb\xbf", b"\xff\xfe", "\u3000\n".encode()])
def test_a_document_without_text_is_refused(tmp_path, data):
    for source in (file(tmp_path, data=data), "-"):
        with pytest.raises(SourceError, match="holds no text to read"):
            open_document([source], stdin=io.BytesIO(data))


def test_a_fault_in_any_named_source_is_found_before_reading_starts(tmp_path):
    good, bad = file(tmp_path), file(tmp_path, "b.bin", bytes(900))
    with pytest.raises(SourceError, match=r"b\.bin is not a text"):
        open_document([good, bad])


def test_an_empty_source_among_others_is_told(tmp_path):
    document = open_document([file(tmp_path, data="Words."), file(tmp_path, "b.txt", "")])
    assert join(document) == "===== a.txt =====\nWords."
    assert document.notes == ("no text in: b.txt",)


def test_a_file_that_changes_under_a_reading_is_an_error_not_another_text(tmp_path):
    path = file(tmp_path)
    document = open_document([path])
    path.write_text("Something else.")
    with pytest.raises(SourceError, match=r"a\.txt has changed"):
        join(document)
    path.unlink()
    with pytest.raises(SourceError, match=r"a\.txt does not exist"):
        join(document)


def test_nuls_stay_in_a_text(tmp_path):
    text = "one\0two\r\nthree\0\0four\n" * 30
    assert join(open_document([file(tmp_path, data=text)])) == text


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t"), min_size=1),
        min_size=2,
        max_size=5,
    ),
    st.data(),
)
def test_many_files_are_read_on_from_any_character(tmp_path_factory, texts, data):
    folder = tmp_path_factory.mktemp("many")
    texts = [f"x{text}" for text in texts]
    document = open_document([file(folder, f"{i}.txt", text) for i, text in enumerate(texts)])
    whole = "\n".join(f"===== {i}.txt =====\n{text}" for i, text in enumerate(texts))
    assert isinstance(document, SourceDocument)
    start = data.draw(st.integers(0, len(whole) + 1))
    assert join(document) == whole
    assert join(document, start) == whole[start:]


def test_a_stream_without_end_is_a_sentence(monkeypatch):
    monkeypatch.setattr("bookwheel.documents.sources._MOST_STREAMED", 3 << 20)
    with (
        Path("/dev/zero").open("rb") as stream,
        pytest.raises(SourceError, match=r"standard input has more than .* no end"),
    ):
        open_document(["-"], stdin=stream)
    with pytest.raises(SourceError, match="zero has more than"):
        open_document(["/dev/zero"])


PAGES = {
    "a.txt": b"\xff\xfeplain\n" + b"words \xe9 " * 9,
    "b.html": b"<html><title>T</title><body><h1>T</h1><p>One. <p>Two.</body>",
    "c.csv": b"name,age\nAda,36\nEve,9\n",
    "d.md": ("渡口的老人说。\n" * 20_000).encode(),
}


@pytest.mark.parametrize("name", PAGES)
def test_text_places_and_notes_are_those_of_an_open_document(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PAGES[name])
    isolated, opened = open_isolated(path, name), open_document([path])

    def read(document) -> tuple[str, set]:
        parts = list(document.parts())
        return "".join(part.text for part in parts), {(part.source, part.page) for part in parts}

    assert read(isolated) == read(opened)
    assert isolated.notes == opened.notes


def test_what_was_fetched_is_read_by_its_content_type() -> None:
    source = spool([PAGES["b.html"]], "http://example.org/page", media="text/html")
    assert "".join(part.text for part in open_fetched(source).parts()) == "# T\n\nOne.\n\nTwo.\n"


def test_a_document_without_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    with pytest.raises(SourceError, match=r"empty\.txt holds no text"):
        list(open_isolated(tmp_path / "empty.txt", "empty.txt").parts())


def test_marks_that_nobody_sees_are_no_text(tmp_path: Path) -> None:
    blank = tmp_path / "blank.txt"
    blank.write_bytes("\n \n\t\n\ufeff\n\u200b\u2800\n".encode())
    with pytest.raises(SourceError, match="holds no text"):
        open_document(blank)
    (tmp_path / "good.txt").write_text("Ada wound the clock.")
    document = open_document(tmp_path)
    assert "Ada" in "".join(part.text for part in document.parts())
    assert "no text in: blank.txt" in document.notes


def test_every_named_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "good.txt").write_text("Ada wound the clock.")
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 9)
    with pytest.raises(SourceError, match=r"(?s)a\.bin is not a text.*\n.*b\.bin is not a text"):
        open_document([tmp_path / name for name in ("good.txt", "a.bin", "b.bin")])
    with pytest.raises(SourceError, match=r"(?s)c\.txt does not exist.*\n.*d\.txt does not exist"):
        open_document([tmp_path / name for name in ("c.txt", "good.txt", "d.txt")])
    with pytest.raises(SourceError, match=r"(?s)c\.txt does not exist.*\n.*b\.bin is not a text"):
        open_document([tmp_path / name for name in ("b.bin", "good.txt", "c.txt")])
    (tmp_path / "e.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "f.docx").write_bytes(b"PK\x03\x04broken")
    with pytest.raises(SourceError, match=r"(?s)c\.txt does not exist.*e\.pdf is a damaged PDF.*f\.docx is a damaged"):
        open_document([tmp_path / name for name in ("e.pdf", "c.txt", "f.docx", "good.txt")])


def test_a_file_that_has_changed_is_refused_grown_or_not(tmp_path):
    path = file(tmp_path, data="10:04 3.10 bar\n" + "10:05 3.15 bar\n" * 9000)
    document = open_document([path])
    path.write_text(path.read_text().replace("3.10", "9.10") + "11:00 9.99 bar\n")
    with pytest.raises(SourceError, match=r"a\.txt has changed"):
        join(document)


def test_a_mailbox_that_gets_mail_while_it_is_read_is_refused(tmp_path):
    from bookwheel.documents.readers.containers import read_mailbox
    from bookwheel.documents.sources import SourceWarnings, open_path

    path, mail = tmp_path / "a.mbox", "From ada Mon Mar  2 08:00:00 2026\nFrom: ada@x.org\n\nHello.\n\n"
    path.write_text(mail)
    parts = read_mailbox(open_path(path, SourceWarnings())[0][0], SourceWarnings())
    next(parts)
    path.write_text(mail * 2)
    with pytest.raises(SourceError, match=r"a\.mbox has changed"):
        list(parts)


def test_what_is_named_twice_is_read_once_and_said(tmp_path):
    path = file(tmp_path, data="Ada wound the clock.")
    again = f"{tmp_path}/./{path.name}"
    for twice in (again, path):
        document = open_document([path, twice])
        assert join(document) == "Ada wound the clock."
        assert document.notes == (f"named more than once, and read once: {twice}",)


def test_a_pipe_is_read_however_slowly_and_one_that_nobody_writes_to_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_PIPE_SECONDS", 0.2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SourceError, match="nobody writes to the pipe pipe"):
        open_document([pipe])
    monkeypatch.setattr(sources, "_PIPE_SECONDS", 20.0)

    def write() -> None:
        with pipe.open("w") as stream:
            for word in ("Ada wound ", "the clock."):
                time.sleep(0.1)
                stream.write(word)
                stream.flush()

    threading.Thread(target=write).start()
    assert join(open_document([pipe])) == "Ada wound the clock."


def test_a_file_beside_its_folder_or_under_two_names_in_it_is_read_once_and_said(tmp_path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    path = file(folder, data="Ada wound the clock.")
    os.link(path, folder / "b.txt")
    (folder / "c.txt").symlink_to(tmp_path / "nowhere")
    (folder / "d.txt").symlink_to(path)
    document = open_document([path, folder])
    assert join(document).count("Ada wound the clock.") == 1
    assert document.notes == (
        "left out, links that lead nowhere: shelf/c.txt",
        "left out, links (give their targets as sources): shelf/d.txt",
        "the same file again, and read once: shelf/a.txt (as a.txt), shelf/b.txt (as a.txt)",
    )
    assert join(open_document([folder, tmp_path / "shelf" / "b.txt"])).count("Ada wound the clock.") == 1


def test_a_file_that_cannot_be_opened_is_not_said_to_be_empty(tmp_path):
    file(tmp_path, data="Ada wound the clock.")
    late = file(tmp_path, "late.txt", "What was there.")
    document = open_document([tmp_path])
    late.write_text("What is there now is longer.")
    assert [note for note in document.notes if "no text" in note] == []
    join(document)
    assert [note.partition(",")[0] for note in document.notes] == ["left out"]
