"""Conversions: made once in a child process, kept by the bytes, reported, cancelled and cleared."""

import errno
import threading

import pytest

from bookwheel.documents import conversions
from bookwheel.documents.cancellation import CancelScope
from bookwheel.documents.conversions import ConversionStore, clear_conversions, conversions_path, find_repeated_edges
from bookwheel.documents.opening import open_document
from bookwheel.errors import SourceError, WorkCancelled


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return conversions_path()


def page(folder, name="log.html", text="Eleven barrels of oil."):
    path = folder / name
    path.write_text(f"<html><body><nav><a href='/'>Home</a></nav><p>{text}</p></body></html>")
    return path


def read(document):
    return "".join(part.text for part in document.parts())


def test_a_file_is_converted_once_and_its_notes_are_kept_with_it(tmp_path, cache, monkeypatch):
    path = page(tmp_path)
    first = open_document([path], is_cached=True)
    assert read(first) == "Eleven barrels of oil.\n"
    monkeypatch.setattr(conversions, "run_in_child", lambda *_, **__: pytest.fail("converted again"))
    again = open_document([path], is_cached=True)
    assert read(again) == read(first)
    assert (
        again.notes == first.notes == ("left out as boilerplate (--everything keeps it): log.html (1 words of menus)",)
    )


@pytest.mark.parametrize("change", ["bytes", "name", "everything"])
def test_another_file_or_wish_is_another_conversion(tmp_path, cache, change):
    read(open_document([page(tmp_path)], is_cached=True))
    path = page(
        tmp_path,
        "b.html" if change == "name" else "log.html",
        "Nine." if change == "bytes" else "Eleven barrels of oil.",
    )
    read(open_document([path], is_cached=True, everything=change == "everything"))
    assert len(list(cache.glob("*.jsonl"))) == 2


def test_a_cache_that_another_process_empties_meanwhile_is_no_missing_file(tmp_path, cache):
    document = open_document([page(tmp_path)], is_cached=True)
    clear_conversions()
    assert read(document) == read(document) == "Eleven barrels of oil.\n"
    assert not list(cache.glob("*.jsonl"))


def test_another_release_of_a_library_converts_anew(tmp_path, cache, monkeypatch):
    path = page(tmp_path)
    read(open_document([path], is_cached=True))
    read(open_document([path], is_cached=True))
    assert len(list(cache.glob("*.jsonl"))) == 1
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} of tomorrow")
    conversions.find_releases.cache_clear()
    read(open_document([path], is_cached=True))
    assert len(list(cache.glob("*.jsonl"))) == 2
    conversions.find_releases.cache_clear()


def test_boilerplate_is_read_if_everything_is_wanted(tmp_path):
    document = open_document([page(tmp_path)], everything=True)
    assert read(document) == "Home\n\nEleven barrels of oil.\n"
    assert document.notes == ()


def test_without_a_cache_nothing_stays(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(conversions.tempfile, "gettempdir", lambda: str(tmp_path))
    document = open_document([page(tmp_path)])
    assert len(list(tmp_path.glob("bookwheel-*/*.jsonl"))) == 1
    assert read(document)
    del document
    assert not list(tmp_path.glob("bookwheel-*"))
    assert not cache.exists()


def test_a_plain_text_is_not_converted(tmp_path, monkeypatch):
    monkeypatch.setattr(conversions, "run_in_child", lambda *_, **__: pytest.fail("converted"))
    (tmp_path / "a.txt").write_text("oil")
    assert read(open_document([tmp_path / "a.txt"])) == "oil"


def test_the_oldest_conversions_go_when_there_are_too_many(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(conversions, "_MOST_CACHED", 400)
    for number in range(6):
        read(open_document([page(tmp_path, text=f"Entry {number}. " * 4)], is_cached=True))
    assert 1 <= len(list(cache.glob("*.jsonl"))) < 6


def test_cleared_conversions_are_gone(tmp_path, cache):
    read(open_document([page(tmp_path)], is_cached=True))
    clear_conversions()
    assert not list(cache.glob("*.jsonl"))


def test_files_of_a_folder_keep_their_order_and_a_broken_one_is_told(tmp_path, cache):
    for number in range(5):
        page(tmp_path, f"{number}.html", f"Entry {number}.")
    (tmp_path / "3.html").write_text("<html></html>")
    (tmp_path / "4.docx").write_bytes(b"PK\x03\x04torn")
    seen = []
    document = open_document([tmp_path], progress=lambda name, done, total, _: seen.append((name, done, total)))
    text = read(document)
    assert [text.index(f"Entry {number}.") for number in (0, 1, 2, 4)] == sorted(
        text.index(f"Entry {n}.") for n in (0, 1, 2, 4)
    )
    assert any("is a damaged archive" in note and "4.docx" in note for note in document.notes)
    assert max(done for _, done, _ in seen) == 6


def test_a_named_file_that_cannot_be_converted_is_an_error(tmp_path):
    (tmp_path / "b.docx").write_bytes(b"PK\x03\x04torn")
    with pytest.raises(SourceError, match=r"b\.docx is a damaged archive"):
        open_document([page(tmp_path), tmp_path / "b.docx"])


def test_a_conversion_that_finds_no_room_is_an_error_with_advice(tmp_path, monkeypatch):
    def full(*_: object, **__: object):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(conversions, "run_in_child", full)
    with pytest.raises(SourceError, match=r"log\.html cannot be converted: No space left on device.*TMPDIR"):
        open_document([page(tmp_path)])


@pytest.mark.parametrize("files", [1, 3])
def test_a_cancelled_opening_ends_at_once(tmp_path, files, monkeypatch):
    begun = threading.Event()

    def convert_slowly(*_, **__):
        with conversions.current_scope().on_cancel(begun.set):
            begun.wait(30)
            conversions.check_cancelled()
            yield ["part", "never", "x", None]

    monkeypatch.setattr(conversions, "run_in_child", convert_slowly)
    paths = [page(tmp_path, f"{number}.html") for number in range(files)]
    with CancelScope() as scope:
        timer = threading.Timer(0.05, scope.cancel)
        timer.start()
        with pytest.raises(WorkCancelled):
            open_document(paths)
        timer.join()


def test_a_store_that_cannot_be_written_is_a_temporary_one(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert ConversionStore.in_cache().folder != conversions_path()


def test_what_all_pages_repeat_at_their_edges_is_found():
    texts = [f"# Site\n\nMenu\n\nEntry {n}.\n\nMenu\n\nMore {n}.\n\nImprint\n" for n in range(5)]
    edges = find_repeated_edges(texts)
    assert edges[0] == (0, 0)
    for text, (start, end) in zip(texts[1:], edges[1:], strict=True):
        kept = text[start : len(text) - end]
        assert kept.startswith("Entry")
        assert kept.rstrip().endswith(".")
        assert "Menu" in kept  # in the middle it is text


@pytest.mark.parametrize("texts", [["a\n\nb\n"] * 3, ["the same\n"] * 9, [f"only {n}\n\nx\n" for n in range(2)]])
def test_few_pages_and_equal_pages_prove_nothing(texts):
    assert find_repeated_edges(texts) == [(0, 0)] * len(texts)
