"""A kill at any moment leaves the old folder or file or the new one, whole."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from bookwheel.lab.training import files
from bookwheel.lab.training.records import MetricsLog


def make(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "weights").write_text(text)
    return folder


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_and_nothing_stays_beside_it(tmp_path: Path, monkeypatch, can_exchange: bool) -> None:
    if not can_exchange:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    place = tmp_path / "best"
    for text in ("first", "second", "third"):
        files.replace_folder(make(tmp_path / ".best.new", text), place)
        assert (place / "weights").read_text() == text
        assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_kill_between_the_two_renames_is_mended(tmp_path: Path, monkeypatch) -> None:
    place, new = make(tmp_path / "best", "old"), make(tmp_path / ".best.new", "new")
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self == new:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            files.replace_folder(new, place)
    assert not place.exists()
    files.restore_folders(tmp_path)
    assert (place / "weights").read_text() == "old"


FILES = ("config", "optimizer", "weights")


def replace_until_killed(folder: Path, text: str, *, kill_at: int, can_exchange: bool) -> None:
    """Put back and replace "best" as a run does, and die before its so many-th removal or renaming."""
    left = kill_at

    def count(event: str, _: tuple[object, ...]) -> None:
        nonlocal left
        if event in {"os.rename", "os.remove", "os.rmdir"}:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    if not can_exchange:
        files._exchange = lambda *_: False  # type: ignore[assignment]
    files.restore_folders(folder)
    new = folder / ".best.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for name in FILES:
        (new / name).write_text(text)
    files.replace_folder(new, folder / "best")
    os._exit(0)


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.slow
def test_kills_one_after_the_other_at_every_moment_leave_a_whole_folder(tmp_path: Path, can_exchange: bool) -> None:
    texts, kills = {"0"}, 0
    make(tmp_path / "best", "0")
    for name in FILES:
        (tmp_path / "best" / name).write_text("0")
    for kill_at in (*range(1, 16), 99):
        texts.add(str(kill_at))
        if not (child := os.fork()):
            try:
                replace_until_killed(tmp_path, str(kill_at), kill_at=kill_at, can_exchange=can_exchange)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) in {0, -signal.SIGKILL}
        kills += status != 0
        kept = next(place for place in (tmp_path / "best", tmp_path / ".best.old") if place.exists())
        assert len({(kept / name).read_text() for name in FILES}) == 1, f"killed at {kill_at}"
    assert kills >= 5
    assert (tmp_path / "best" / "weights").read_text() == "99"
    files.restore_folders(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_text_is_replaced_whole(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n')

    def fail(_: int) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="no space"):
            MetricsLog(path.parent).truncate(1)
    assert len(path.read_text().splitlines()) == 2
    MetricsLog(path.parent).truncate(1)
    assert path.read_text() == '{"step": 1}\n'


def test_a_flipped_bit_is_seen_and_named(tmp_path: Path) -> None:
    place = make(tmp_path / "best", "a policy")
    files.write_hashes(place / "hashes.json", [place / "weights"])
    assert files.find_changes(place / "hashes.json") == ""
    raw = bytearray((place / "weights").read_bytes())
    raw[3] ^= 1
    (place / "weights").write_bytes(raw)
    assert "weights changed" in files.find_changes(place / "hashes.json")
    (place / "weights").unlink()
    assert "cannot be read" in files.find_changes(place / "hashes.json")
    (place / "hashes.json").write_text("{")
    assert "cannot be read" in files.find_changes(place / "hashes.json")


@pytest.mark.parametrize("torn", [b'{"kind": "st', b"\0" * 40, b'\0\0\n{"kind": 1}\n'])
def test_half_a_line_of_metrics_is_dropped_and_the_lines_are_counted(tmp_path: Path, torn: bytes) -> None:
    lines = b'{"kind": "warm"}\n{"kind": "step"}\n'
    (tmp_path / "metrics.jsonl").write_bytes(lines + torn)
    assert MetricsLog(tmp_path).truncate(5) == 2
    assert (tmp_path / "metrics.jsonl").read_bytes() == lines
