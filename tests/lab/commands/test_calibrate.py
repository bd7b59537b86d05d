"""`bookwheel calibrate`: a threshold, what it keeps, and where it is kept."""

import json

import pytest

from bookwheel.cli.main import main
from bookwheel.companions import load_calibration
from bookwheel.plan import Scorer


@pytest.fixture
def calibrations(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    return path


def run(capsys, *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["calibrate", "--model", "scripted", "--count", "2", "--chunk-tokens", "100", *words])
    out, err = capsys.readouterr()
    return end.value.code or 0, out, err


@pytest.mark.slow
def test_the_better_judgement_is_kept_with_its_threshold(calibrations, capsys):
    code, out, _ = run(capsys, "--task", "bridge", "--task", "niah_single_2")
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


def test_json_is_one_object_with_the_recall_of_each_task(calibrations, capsys):
    code, out, _ = run(capsys, "--task", "bridge", "--json", "--recall", "1")
    report = json.loads(out)
    assert code == 0
    assert report["scorer"] in list(Scorer)
    assert report["tasks"]["bridge"]["matter"] == report["tasks"]["bridge"]["kept"] > 0


def test_a_dry_run_keeps_nothing(calibrations, capsys):
    assert run(capsys, "--task", "bridge", "--dry")[0] == 0
    assert not calibrations.exists()


@pytest.mark.parametrize("recall", ["0", "1.5"])
def test_a_recall_outside_its_bounds_is_refused(calibrations, capsys, recall):
    code, _, err = run(capsys, "--recall", recall)
    assert code == 2
    assert "--recall" in err


def test_a_calibrated_model_reads_with_a_gate(calibrations, capsys, tmp_path):
    run(capsys, "--task", "niah_single_2")
    text = tmp_path / "book.txt"
    text.write_text("The keeper wound the clock.\n" + "Nothing of note is on this line.\n" * 300)
    words = [str(text), "Who wound the clock?", "--model", "scripted", "--way", "gated+edits", "--json"]
    journal = ["--journal", str(tmp_path / "journal.sqlite"), "--chunk-tokens", "100", "--memory-tokens", "60"]
    with pytest.raises(SystemExit):
        main(["ask", *words, *journal])
    reading = json.loads(capsys.readouterr().out)
    assert reading["way"] == "gated+edits"
    assert "keeper" in reading["answer"]
    assert any("skipped" in step["flags"] for step in reading["steps"])
    assert all(step["score"] is not None for step in reading["steps"])


def test_a_seed_that_is_no_whole_number_is_refused(calibrations, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["calibrate", "--model", "scripted", "--seed", "1.5"])
    assert ended.value.code == 2
    assert "'1.5' is not a whole number" in capsys.readouterr().err
