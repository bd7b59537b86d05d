"""`bookwheel doctor` and `bookwheel models`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.journal import Journal


@pytest.mark.slow
def test_doctor_and_models_tell_what_is_here(run, book: Path) -> None:
    findings = run("doctor", "--json").json["findings"]
    assert {"python", "journal", "weights"} <= {finding["what"] for finding in findings}
    assert "scripted" in run("models").out
    assert "paper-7b" in run("models", "--json").json["presets"]
    ill = run("doctor", "--base-url", "http://127.0.0.1:9/v1")
    assert ill.code == 2
    assert "127.0.0.1:9" in ill.out


def test_the_named_model_is_tried_and_its_ways_are_told(run, book: Path) -> None:
    told = run("models", "--model", "scripted", "--json").json
    assert {offer["name"]: offer["offered"] for offer in told["offers"]["offers"]} == {
        "judge": True,
        "likelihood": True,
        "token ids": False,
        "tokenizer": True,
        "window": None,
    }
    # The built-in model judges for `cascade`, and its threshold is part of its plan.
    assert {"edits", "ranked", "quotes", "cascade"} <= set(told["offers"]["ways"]["open"])
    assert told["offers"]["ways"]["uncalibrated"] == ["gated"]
    assert told["offers"]["ways"]["closed"] == {"dense": "embeddings", "hybrid": "embeddings"}
    assert "not measured" not in told["families"]["qwen3"]["known"]
    shown = run("models", "--model", "scripted").out
    assert "log-probabilities of one-word answers" in shown
    assert "after `bookwheel calibrate` by gated" in shown
    findings = {one["what"]: one for one in run("doctor", "--model", "scripted", "--json").json["findings"]}
    assert findings["judge"]["health"] == "ok"
    assert findings["token ids"] == {
        "what": "token ids",
        "health": "note",
        "says": "no: no exact ids of prompts and replies, which training needs",
    }
    assert "reads by sequential" in findings["ways"]["says"]


def test_without_a_named_model_none_is_asked(run, book: Path) -> None:
    assert run("models", "--json").json["offers"] is None


def test_a_journal_of_which_nothing_is_left_is_not_said_to_be_mended_by_the_same_command(run, tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    path.write_bytes(b"no database " * 2000)
    found = run("doctor", "--repair", "--journal", str(path), "--json").json["findings"]
    (told,) = (one["says"] for one in found if one["health"] == "wrong")
    assert "move it away" in told
    assert "--repair" not in told


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


def test_another_judge_of_a_cascade_has_to_be_calibrated_first(run, monkeypatch) -> None:
    monkeypatch.setenv("BOOKWHEEL_JUDGE", "some-other-model")
    told = run("models", "--model", "scripted", "--json").json
    assert told["offers"]["ways"]["uncalibrated"] == ["gated", "cascade"]


def test_brackets_in_a_name_are_no_markup(run, tmp_path, monkeypatch):
    settings = tmp_path / "mine.toml"
    settings.write_text('[endpoints."tower[/b]"]\nurl = "http://tower/v1"\nmodel = "[bold]m[/bold]"\n')
    monkeypatch.setenv("BOOKWHEEL_CONFIG", str(settings))
    shown = run("models")
    assert shown.code == 0
    assert "tower[/b]" in shown.out
    assert "[bold]m[/bold] at http://tower/v1" in shown.out
