"""`bookwheel doctor` and `bookwheel models`."""

from __future__ import annotations

from pathlib import Path


def test_doctor_and_models_tell_what_is_here(run, book: Path) -> None:
    findings = run("doctor", "--json").json["findings"]
    assert {"python", "journal", "weights"} <= {finding["what"] for finding in findings}
    assert "scripted" in run("models").out
    assert "paper-7b" in run("models", "--json").json["presets"]
    ill = run("doctor", "--base-url", "http://127.0.0.1:9/v1")
    assert ill.code == 2
    assert "127.0.0.1:9" in ill.out
