import gc
import os
import tempfile

import pytest

from bookwheel.documents import sources
from bookwheel.documents.sources import (
    SourceFile,
    SourceWarnings,
    limit_read,
    max_unpacked_size,
    spool,
    take_fingerprint,
)
from bookwheel.errors import SourceError


def test_notes_say_each_thing_once_and_count_what_is_too_much_to_list():
    notes = SourceWarnings()
    for _ in range(2):
        for i in range(8):
            notes.add("pages without text", str(i))
    notes.add("left out", "a.png")
    assert notes.lines() == ("pages without text: 0, 1, 2, 3, 4 and 3 more", "left out: a.png")


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


def test_a_file_that_changed_since_it_was_opened_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    volume = SourceFile(name="a.txt", path=path, fingerprint=take_fingerprint(path.stat()))
    volume.open().close()
    os.utime(path, ns=(0, volume.fingerprint.modified + 1))
    with pytest.raises(SourceError, match=r"a\.txt has changed"):
        volume.open()


def test_reading_stops_where_the_bound_is():
    read = limit_read(lambda size: b"x" * size, 3 << 20, "a.gz")
    for _ in range(3):
        read(1 << 20)
    with pytest.raises(SourceError, match=r"a\.gz unpacks to more than 3 MiB"):
        read(1)


def test_small_files_may_unfold_to_something_and_large_ones_in_proportion():
    assert max_unpacked_size(10) == sources._FREE
    assert max_unpacked_size(10 << 20) == 2000 << 20
