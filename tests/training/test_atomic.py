"""A kill at any moment leaves the old folder or file or the new one, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bookwheel.training import atomic


def make(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "weights").write_text(text)
    return folder


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_and_nothing_stays_beside_it(tmp_path: Path, monkeypatch, can_exchange: bool) -> None:
    if not can_exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda *_: False)
    place = tmp_path / "best"
    for text in ("first", "second", "third"):
        atomic.replace_folder(make(tmp_path / ".best.new", text), place)
        assert (place / "weights").read_text() == text
        assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_kill_between_the_two_renames_is_mended(tmp_path: Path, monkeypatch) -> None:
    place, new = make(tmp_path / "best", "old"), make(tmp_path / ".best.new", "new")
    monkeypatch.setattr(atomic, "_exchange", lambda *_: False)
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self == new:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            atomic.replace_folder(new, place)
    assert not place.exists()
    atomic.restore_folders(tmp_path)
    assert (place / "weights").read_text() == "old"


def test_a_text_is_replaced_whole(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("one\ntwo\n")

    def fail(_: int) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="no space"):
            atomic.write_text(path, "one\n")
    assert path.read_text() == "one\ntwo\n"
    atomic.write_text(path, "one\n")
    assert path.read_text() == "one\n"
