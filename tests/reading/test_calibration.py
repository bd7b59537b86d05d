"""Thresholds for a wanted recall, and the file that keeps them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import InputError
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import GatePlan, Plan, Scorer
from bookwheel.reading.calibration import (
    find_gate,
    find_threshold,
    load_calibration,
    make_calibration,
    measure_auc,
    store_calibration,
)
from bookwheel.reading.runner import new_reading
from bookwheel.types import DocumentInfo

scores_and_labels = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1).filter(
    lambda pairs: any(label for _, label in pairs)
)


@given(scores_and_labels, st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_the_threshold_keeps_the_wanted_share_and_no_higher_one_does(pairs, recall):
    scores, labels = [score for score, _ in pairs], [label for _, label in pairs]
    threshold = find_threshold(scores, labels, recall)
    kept = [score for score, label in pairs if label]
    assert sum(score >= threshold for score in kept) >= recall * len(kept) - 1e-6
    higher = [score for score in kept if score > threshold]
    assert len(higher) < recall * len(kept) or not higher


def test_one_miss_in_a_hundred_is_allowed_at_99_percent():
    scores = [n / 100 for n in range(100)]
    assert find_threshold(scores, [True] * 100, 0.99) == pytest.approx(0.01)
    assert find_threshold(scores, [True] * 100, 1.0) == 0.0


def test_auc_counts_ties_half():
    assert measure_auc([0.9, 0.1], [True, False]) == 1.0
    assert measure_auc([0.5, 0.5], [True, False]) == 0.5
    assert measure_auc([0.1, 0.9, 0.5], [True, False, False]) == 0.0


def test_scores_of_one_kind_only_are_refused():
    with pytest.raises(InputError, match="take other samples"):
        find_threshold([0.5], [False], 0.99)
    with pytest.raises(InputError, match="chunks that do not"):
        measure_auc([0.5], [True])


def calibration(model: str = "m"):
    return make_calibration(
        model, Scorer.JUDGE, [0.9, 0.2, 0.8, 0.1], [True, False, True, False], recall=1.0, command="bookwheel calibrate"
    )


def test_a_calibration_is_kept_under_the_models_name_beside_the_others(tmp_path):
    path = tmp_path / "deep" / "calibrations.json"
    assert load_calibration("m", path) is None
    store_calibration(calibration(), path)
    store_calibration(calibration("other"), path)
    assert load_calibration("m", path) == calibration()
    assert set(json.loads(path.read_text())) == {"m", "other"}
    assert (calibration().threshold, calibration().read, calibration().auc) == (0.8, 0.5, 1.0)


@pytest.mark.parametrize("content", ["[]", "{", '{"m": {"threshold": "high"}}'])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "calibrations.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"calibrations\.json"):
        load_calibration("m", path)


def test_the_plans_gate_outranks_the_models_and_that_the_calibration(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    bare = ScriptedModel(keyword_reader, name="m")
    with pytest.raises(InputError, match="bookwheel calibrate --model m"):
        find_gate(bare)
    store_calibration(calibration(), path)
    assert find_gate(bare) == GatePlan(threshold=0.8)
    own = ScriptedModel(keyword_reader, name="m", plan=Plan(gate=GatePlan(threshold=0.3)))
    assert find_gate(own).threshold == 0.3
    assert find_gate(own, Plan(gate=GatePlan(threshold=0.1))).threshold == 0.1


def test_a_reading_keeps_the_gate_that_it_began_with(tmp_path, monkeypatch):
    path = tmp_path / "calibrations.json"
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(path))
    bare = ScriptedModel(keyword_reader, name="m")
    info = DocumentInfo(id="0" * 64, name="text", length=9)
    with pytest.raises(InputError, match="bookwheel calibrate"):
        new_reading(info, "Who?", bare, Plan(), "edits+gated")
    store_calibration(calibration(), path)
    assert new_reading(info, "Who?", bare, Plan(), "gated").plan.gate == GatePlan(threshold=0.8)
    assert new_reading(info, "Who?", bare, Plan(), "edits").plan.gate is None
