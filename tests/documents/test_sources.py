"""Files keep their bytes; a folder's come in order, without those that its rules leave out, in bounded time."""

import errno
import gc
import os
import shutil
import subprocess
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from bookwheel.documents import sources
from bookwheel.documents.opening import open_document
from bookwheel.documents.sources import (
    SourceFile,
    SourceWarnings,
    list_files,
    max_unpacked_size,
    parse_rules,
    spool,
    take_fingerprint,
)
from bookwheel.errors import NotStored, SourceError


def test_notes_say_each_thing_once_and_count_what_is_too_much_to_list():
    notes = SourceWarnings()
    for _ in range(2):
        for i in range(8):
            notes.add("pages without text", str(i))
    notes.add("left out", "a.png")
    assert notes.lines() == ("pages without text: 0, 1, 2, 3, 4 and 3 more", "left out: a.png")


def test_notes_without_measure_stay_small():
    notes = SourceWarnings()
    for number in range(3000):
        notes.add("pages without text", str(number))
        notes.add(f"elements of the kind {number}", "a.docx")
    assert len(notes.lines()) == 101
    assert notes.lines()[0].endswith("and 996 more")
    assert sum(1 for _ in notes.items()) < 3000


@pytest.mark.slow
def test_a_stream_is_kept_for_as_long_as_someone_wants_it():
    volume = spool(iter([b"one ", b"two"]), "-")
    for _ in range(2):
        with volume.open() as file:
            assert file.read() == b"one two"
    path = volume.path
    assert path.exists()
    del volume
    gc.collect()
    assert not path.exists()


@pytest.mark.slow
def test_a_stream_that_finds_no_room_is_an_error_with_advice(tmp_path, monkeypatch):
    def full():
        yield b"some"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SourceError, match=r"No space left on device.*TMPDIR"):
        spool(full(), "-")
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(SourceError, match="TMPDIR"):
        spool(iter([b"x"]), "-")


def test_a_file_over_the_limit_of_its_size_is_no_fault_of_the_disk():
    def endless():
        yield b"some"
        raise OSError(errno.EFBIG, "File too large")

    with pytest.raises(SourceError) as caught:
        spool(endless(), "-")
    assert not isinstance(caught.value, NotStored)


def test_a_file_that_changed_since_it_was_opened_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    volume = SourceFile(name="a.txt", path=path, fingerprint=take_fingerprint(path.stat()))
    volume.open().close()
    os.utime(path, ns=(0, volume.fingerprint.modified + 1))
    with pytest.raises(SourceError, match=r"a\.txt has changed"):
        volume.open()


def test_small_files_may_unfold_to_something_and_large_ones_in_proportion():
    assert max_unpacked_size(10) == sources._FREE
    assert max_unpacked_size(10 << 20) == 2000 << 20


def lay(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return top


def names(top, notes=None):
    return [volume.name for volume in list_files(top, notes or SourceWarnings())]


def test_files_come_sorted_and_named_by_their_path_inside(tmp_path):
    top = lay(tmp_path / "log", {"b.txt": "b", "a/z.md": "z", "a/b/c.py": "c", "a.txt": "a", "B.txt": "B"})
    assert names(top) == ["B.txt", "a/b/c.py", "a/z.md", "a.txt", "b.txt"]


def test_gitignore_counts_at_every_level_and_the_deepest_decides(tmp_path):
    top = lay(
        tmp_path,
        {
            ".gitignore": "*.log\nbuild/\n/only-here.txt\n# a remark\n\n",
            "a.log": "",
            "only-here.txt": "",
            "deep/only-here.txt": "",
            "build/out.txt": "",
            "deep/.gitignore": "!keep.log\nnotes/\n",
            "deep/keep.log": "",
            "deep/other.log": "",
            "deep/notes/x.txt": "",
            "deep/build/y.txt": "",
            "read.txt": "",
        },
    )
    notes = SourceWarnings()
    assert names(top, notes) == ["deep/keep.log", "deep/only-here.txt", "read.txt"]
    assert (
        "left out, named in .gitignore: a.log, build, deep/build, deep/notes, deep/other.log and 1 more"
        in notes.lines()
    )


@pytest.mark.skipif(not shutil.which("git"), reason="compares with git itself")
def test_what_is_left_out_is_what_git_leaves_out(tmp_path):
    rules = "*.tmp\n!important.tmp\n/dist\ndocs/**/draft\nlib/*.c\n!lib/main.c\ntrailing \nspace\\ \n[ab].dat\n"
    top = lay(
        tmp_path / "repo",
        {
            ".gitignore": rules,
            **dict.fromkeys(
                ["x.tmp", "important.tmp", "dist/a", "sub/dist/a", "docs/1/draft/t", "docs/draft", "docs/x"], "t"
            ),
            **dict.fromkeys(
                ["lib/a.c", "lib/main.c", "lib/deep/a.c", "a.dat", "c.dat", "trailing", "sub/.gitignore"], "t"
            ),
            "sub/.gitignore": "!x.tmp\n*.md\n",
            "sub/x.tmp": "t",
            "sub/y.md": "t",
            "sub/dist/z.tmp": "t",
        },
    )
    git = ["git", "-C", str(top)]
    subprocess.run([*git, "init", "-q"], check=True)
    command = [*git, "-c", "core.excludesFile=", "ls-files", "--others", "--exclude-standard"]
    kept = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert sorted(names(top)) == sorted(name for name in kept if not name.endswith(".gitignore"))


def test_rules_above_the_folder_count_inside_a_repository_only(tmp_path):
    lay(tmp_path, {"repo/.gitignore": "*.log\n", ".gitignore": "*.txt\n", "repo/sub/a.log": "", "repo/sub/b.txt": ""})
    assert names(tmp_path / "repo" / "sub") == ["a.log", "b.txt"]
    (tmp_path / "repo" / ".git").mkdir()
    assert names(tmp_path / "repo" / "sub") == ["b.txt"]


def test_an_ignored_folder_is_read_when_it_is_asked_for(tmp_path):
    lay(tmp_path, {".git/HEAD": "", ".gitignore": "build/\n", "build/a.txt": "text"})
    assert names(tmp_path / "build") == ["a.txt"]


def test_hidden_files_links_and_pipes_are_left_out_and_told(tmp_path):
    top = lay(tmp_path / "top", {".git/config": "x", ".env": "KEY=1", "a.txt": "text"})
    (top / "loop").symlink_to(top)
    (top / "away.txt").symlink_to("/etc/hostname")
    os.mkfifo(top / "pipe")
    notes = SourceWarnings()
    assert names(top, notes) == ["a.txt"]
    assert notes.lines() == (
        "left out, hidden: .env, .git",
        "left out, links (give their targets as sources): away.txt, loop",
        "left out, neither files nor folders: pipe",
    )


def test_a_link_to_a_folder_that_is_asked_for_is_followed(tmp_path):
    lay(tmp_path / "real", {"a.txt": "text"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert names(tmp_path / "link") == ["a.txt"]


def test_names_that_are_no_text_are_shown_safely(tmp_path):
    (tmp_path / "a\n=====.txt").write_text("x")
    (tmp_path / os.fsdecode(b"b\xff.txt")).write_text("x")
    assert names(tmp_path) == ["a\ufffd=====.txt", "b\ufffd.txt"]
    assert "".join(p.text for p in open_document([tmp_path]).parts()).count("=====\n") == 2


def test_a_folder_names_each_file_and_leaves_out_what_is_no_text(tmp_path):
    top = lay(
        tmp_path / "log",
        {
            "a.txt": "The ferry left.",
            "b.png": b"\x89PNG\r\n\x1a\n" + bytes(99),
            "c.png": b"\x89PNG\r\n\x1a\n" + bytes(99),
            "d.txt": "",
            "e.pdf": b"%PDF-1.4 torn",
            "sub/f.md": "# Oil\r\n",
        },
    )
    document = open_document([top])
    parts = list(document.parts())
    text = "".join(part.text for part in parts)
    assert text == "===== a.txt =====\nThe ferry left.\n===== sub/f.md =====\n# Oil\r\n"
    assert [part.source for part in parts] == ["a.txt", "a.txt", "sub/f.md", "sub/f.md"]
    assert document.name == "log"
    assert document.notes[:2] == (
        "left out, is a picture: give it as a source to have it read by OCR: b.png, c.png",
        "no text in: d.txt",
    )
    assert "left out, is a damaged PDF" in document.notes[2]
    for start in range(len(text) + 2):
        assert "".join(part.text for part in document.parts(start)) == text[start:]


def test_a_folder_without_text_says_what_it_left_out(tmp_path):
    lay(tmp_path, {"a.png": b"\x89PNG\r\n\x1a\n" + bytes(99), ".hidden.txt": "text", "empty.txt": " \n"})
    with pytest.raises(SourceError, match=r"no text to read(.|\n)*hidden: \.hidden\.txt(.|\n)*read by OCR: a\.png"):
        open_document([tmp_path])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_told(tmp_path):
    lay(tmp_path, {"a.txt": "text", "b.txt": "text", "c/d.txt": "text"})
    (tmp_path / "b.txt").chmod(0)
    (tmp_path / "c").chmod(0)
    document = open_document([tmp_path])
    assert "".join(p.text for p in document.parts()) == "===== a.txt =====\ntext"
    (tmp_path / "c").chmod(0o700)
    assert any("b.txt" in note for note in document.notes)


def test_a_pattern_that_backtracks_is_matched_in_bounded_time(tmp_path):
    top = lay(tmp_path, {".gitignore": "*a*a*a*a*a*a*a*a*a*a*b\n" + "**/a/" * 9 + "b\n", "a" * 250: "x", "b": "x"})
    (deep := top.joinpath(*["a"] * 200)).mkdir(parents=True)
    (deep / "c").write_text("x")
    assert len(names(top)) == 3


@pytest.mark.slow
def test_a_folder_deeper_than_the_stack_is_read(tmp_path):
    inside, depth = os.open(tmp_path, os.O_RDONLY), 1500
    for _ in range(depth):  # one by one: the whole path is nearly as long as the system allows
        os.mkdir("d", dir_fd=inside)
        inside, outside = os.open("d", os.O_RDONLY, dir_fd=inside), inside
        os.close(outside)
    os.close(os.open("x.txt", os.O_CREAT | os.O_WRONLY, dir_fd=inside))
    os.close(inside)
    try:
        assert [len(name.split("/")) for name in names(tmp_path)] == [depth + 1]
    finally:  # pytest's own removal is recursive
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_rules_too_long_to_apply_are_an_error(tmp_path):
    top = lay(tmp_path, {".gitignore": "*.secret\n" * 40_000, "a.txt": "a"})
    with pytest.raises(SourceError, match="larger than 256 KiB"):
        names(top)


NAMES = st.text("ab.", min_size=1, max_size=4)
PIECES = st.one_of(st.text("ab.*?", min_size=1, max_size=6), st.sampled_from(["**", "[ab]", "[!a]*b", "*a*b*"]))
PATTERNS = st.builds(
    lambda sign, start, pieces, end: sign + start + "/".join(pieces) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PIECES, min_size=1, max_size=6),
    st.sampled_from(["", "", "/"]),
)


@given(st.lists(PATTERNS, min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=7), st.sampled_from(["", "/"]))
def test_the_same_paths_are_ignored(patterns: list[str], names: list[str], end: str) -> None:
    path = "/".join(names) + end
    bounded, own = parse_rules(patterns), GitIgnoreSpec.from_lines(patterns)
    assert bounded.check_file(path).include == own.check_file(path).include


def test_a_line_that_is_no_pattern_is_left_out() -> None:
    assert parse_rules(["/", "!", "", "# a remark", "*.log"]).check_file("a.log").include is True
