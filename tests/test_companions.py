"""What the settings put beside a model: calibrations in their file, the judge of `cascade`, the gate of a reading."""

import asyncio
import json

import pytest

from bookwheel.companions import (
    Calibration,
    UserCompanions,
    VerdictCalibration,
    accompany,
    calibration_path,
    load_calibration,
    store_calibration,
)
from bookwheel.errors import InputError
from bookwheel.models.accompanied import find_companions, find_gate
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Budget, GatePlan, Plan, Scorer, VerdictMode
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.runner import new_reading
from bookwheel.reading.verdicts import choose_judge
from bookwheel.types import DocumentInfo


def calibration(model: str = "m"):
    return Calibration(
        model=model,
        scorer=Scorer.JUDGE,
        threshold=0.8,
        recall=1.0,
        read=0.5,
        auc=1.0,
        chunks=4,
        positives=2,
        command="bookwheel calibrate",
    )


def test_a_calibration_is_kept_under_the_models_name_beside_the_others(tmp_path):
    path = tmp_path / "deep" / "calibrations.json"
    assert load_calibration("m", path) is None
    store_calibration(calibration(), path)
    store_calibration(calibration("other"), path)
    assert load_calibration("m", path) == calibration()
    assert set(json.loads(path.read_text())) == {"m", "other"}


@pytest.mark.parametrize("content", ["[]", "{", '{"m": {"threshold": "high"}}'])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "calibrations.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"calibrations\.json"):
        load_calibration("m", path)


def test_calibrations_lie_beside_the_journal(monkeypatch):
    monkeypatch.delenv("BOOKWHEEL_CALIBRATIONS", raising=False)
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", "/elsewhere/j.sqlite")
    assert str(calibration_path()) == "/elsewhere/calibrations.json"


def test_the_plans_gate_outranks_the_models_and_that_the_calibration(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    bare = accompany(ScriptedModel(keyword_reader, name="m"))
    with pytest.raises(InputError, match="bookwheel calibrate --model m"):
        find_gate(bare)
    store_calibration(calibration(), path)
    assert find_gate(bare) == GatePlan(threshold=0.8)
    assert find_gate(BudgetedModel(bare, Budget())) == GatePlan(threshold=0.8)
    own = accompany(ScriptedModel(keyword_reader, name="m", plan=Plan(gate=GatePlan(threshold=0.3))))
    assert find_gate(own).threshold == 0.3
    assert find_gate(own, Plan(gate=GatePlan(threshold=0.1))).threshold == 0.1


def test_a_reading_keeps_the_gate_that_it_began_with(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    bare = accompany(ScriptedModel(keyword_reader, name="m"))
    info = DocumentInfo(id="0" * 64, name="text", length=9)
    with pytest.raises(InputError, match="bookwheel calibrate"):
        new_reading(info, "Who?", bare, Plan(), "edits+gated")
    store_calibration(calibration(), path)
    assert new_reading(info, "Who?", bare, Plan(), "gated").plan.gate == GatePlan(threshold=0.8)
    assert new_reading(info, "Who?", bare, Plan(), "edits").plan.gate is None


def verdicts(recall, by_words):
    return VerdictCalibration(
        model="m",
        threshold=0.7,
        precision=0.97,
        recall=recall,
        auc=0.9,
        answers=9,
        command="bookwheel calibrate --verdict",
        recall_by_words=by_words,
    )


@pytest.mark.parametrize(("recall", "by_words", "judges"), [(0.9, 0.3, True), (0.2, 0.3, False), (0.3, 0.3, False)])
def test_a_model_that_was_measured_to_judge_better_than_words_judges_by_default(
    tmp_path, monkeypatch, recall, by_words, judges
):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    model = accompany(ScriptedModel(keyword_reader, name="m"))
    assert choose_judge("Who?", model, Plan()).judge is None
    store_calibration(verdicts(recall, by_words), path)
    judge = choose_judge("Who?", model, Plan()).judge
    assert (judge.threshold if judge else None) == (0.7 if judges else None)
    assert choose_judge("Who?", model, Plan(verdict=VerdictMode.QUOTES)).judge is None
    assert choose_judge("Who?", model, Plan(verdict=VerdictMode.MODEL)).judge.threshold == 0.7


def test_a_damaged_file_of_calibrations_leaves_the_verdict_to_the_words(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    path.write_text("{")
    assert choose_judge("Who?", accompany(ScriptedModel(keyword_reader, name="m")), Plan()).judge is None


def test_the_judge_of_a_cascade_may_be_an_endpoint_of_the_settings(tmp_path, monkeypatch):
    settings = tmp_path / "mine.toml"
    settings.write_text('[endpoints.tower]\nurl = "http://tower/v1"\nmodel = "small"\n')
    monkeypatch.setenv("BOOKWHEEL_CONFIG", str(settings))
    for name, address in (
        ("tower", ("small", "http://tower/v1")),
        ("scripted", ("scripted", None)),
        ("", ("local", None)),
    ):
        monkeypatch.setenv("BOOKWHEEL_JUDGE", name)
        judge = UserCompanions().find_judge()
        assert (judge.model, judge.url) == address


def test_the_judge_has_the_same_companions_and_a_bare_model_knows_no_settings(monkeypatch, tmp_path):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    monkeypatch.setenv("BOOKWHEEL_JUDGE", "scripted")
    store_calibration(calibration("scripted"), path)
    companions = find_companions(BudgetedModel(accompany(ScriptedModel(keyword_reader)), Budget()))
    assert companions.has_judge()
    assert find_gate(asyncio.run(companions.open_judge())) == GatePlan(threshold=0.8)
    bare = find_companions(ScriptedModel(keyword_reader))
    assert bare.find_gate("scripted") is None
    assert asyncio.run(bare.open_embedder()) is None
