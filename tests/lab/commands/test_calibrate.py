"""`bookwheel calibrate`: a threshold, what it keeps, and where it is kept."""

import json

import pytest

from bookwheel.companions import load_calibration
from bookwheel.plan import Scorer


@pytest.fixture
def calibrations(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    return path


@pytest.fixture
def run(command):
    return lambda *words: command("calibrate", "--model", "scripted", "--count", "2", "--chunk-tokens", "100", *words)


@pytest.mark.slow
def test_the_better_judgement_is_kept_with_its_threshold(calibrations, run):
    code, out, _ = run("--task", "bridge", "--task", "niah_single_2")
    assert code == 0
    kept = load_calibration("scripted", calibrations)
    assert kept is not None
    assert kept.recall == 0.995
    assert kept.chunks >= 16
    assert f"the gate is {kept.scorer} >= " in out
    assert "by judge: AUC" in out
    assert "by likelihood: AUC" in out
    assert "bridge: " in out
    assert str(calibrations) in out
    assert "--task=bridge --task=niah_single_2" in kept.command


def test_json_is_one_object_with_the_recall_of_each_task(calibrations, run):
    code, out, _ = run("--task", "bridge", "--json", "--recall", "1")
    report = json.loads(out)
    assert code == 0
    assert report["scorer"] in list(Scorer)
    assert report["tasks"]["bridge"]["matter"] == report["tasks"]["bridge"]["kept"] > 0


def test_a_dry_run_keeps_nothing(calibrations, run):
    assert run("--task", "bridge", "--dry")[0] == 0
    assert not calibrations.exists()


@pytest.mark.parametrize("recall", ["0", "1.5"])
def test_a_recall_outside_its_bounds_is_refused(calibrations, run, recall):
    code, _, err = run("--recall", recall)
    assert code == 2
    assert "--recall" in err


def test_a_calibrated_model_reads_with_a_gate(calibrations, run, command, tmp_path):
    run("--task", "niah_single_2")
    text = tmp_path / "book.txt"
    text.write_text("The keeper wound the clock.\n" + "Nothing of note is on this line.\n" * 300)
    words = [str(text), "Who wound the clock?", "--model", "scripted", "--way", "gated+edits", "--json"]
    journal = ["--journal", str(tmp_path / "journal.sqlite"), "--chunk-tokens", "100", "--memory-tokens", "60"]
    reading = command("ask", *words, *journal).json
    assert reading["way"] == "gated+edits"
    assert "keeper" in reading["answer"]
    assert any("skipped" in step["flags"] for step in reading["steps"])
    assert all(step["score"] is not None for step in reading["steps"])


def test_a_seed_that_is_no_whole_number_is_refused(calibrations, command):
    code, _, err = command("calibrate", "--model", "scripted", "--seed", "1.5")
    assert code == 2
    assert "'1.5' is not a whole number" in err
