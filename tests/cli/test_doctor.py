"""`bookwheel doctor` and `bookwheel models`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from bookwheel.journal import Journal
from bookwheel.text.documents import TextDocument


def test_doctor_and_models_tell_what_is_here(run, book: Path) -> None:
    findings = run("doctor", "--json").json["findings"]
    assert {"python", "journal", "weights"} <= {finding["what"] for finding in findings}
    assert "scripted" in run("models").out
    assert "paper-7b" in run("models", "--json").json["presets"]
    ill = run("doctor", "--base-url", "http://127.0.0.1:9/v1")
    assert ill.code == 2
    assert "127.0.0.1:9" in ill.out


def test_a_damaged_journal_is_named_and_repaired(run, tmp_path: Path) -> None:
    path = tmp_path / "damaged.sqlite"
    with Journal(path) as journal:
        journal.keep(TextDocument("words", "a.txt"))
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP TRIGGER documents_check_old; DROP TRIGGER documents_seal_changed;")
        connection.execute("UPDATE documents SET name = 'b.txt'")
    connection.close()
    assert "document 1 is damaged" in run("doctor", "--journal", str(path), "--json").out
    repaired = run("doctor", "--repair", "--journal", str(path), "--json").json["findings"]
    assert {"what": "left out", "health": "note", "says": "document 1 is damaged"} in repaired
    assert list(tmp_path.glob("damaged.sqlite.damaged-*"))
    with Journal(path) as journal:
        assert journal.find_damage() == []
