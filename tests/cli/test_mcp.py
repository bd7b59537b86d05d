"""`bookwheel mcp` before it serves: what is refused, and with which advice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bookwheel.cli.main import main


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delenv("BOOKWHEEL_MCP_KEY", raising=False)

    def call(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["mcp", "--model", "scripted", "--journal", str(tmp_path / "journal.sqlite"), *words])
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, "")
        return " ".join(said.err.split())

    return call


def test_without_the_extra_it_says_what_to_install(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert "[mcp]" in refused()


def test_others_are_not_served_without_a_key(refused) -> None:
    pytest.importorskip("mcp")
    assert "BOOKWHEEL_MCP_KEY" in refused("--http", "--host", "0.0.0.0")
    assert "fewer than 16" in refused("--http", "--host", "0.0.0.0", "--key", "short")


def test_a_root_that_is_not_there_is_refused(refused, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    assert "cannot be opened" in refused("--root", str(tmp_path / "nothing"))
