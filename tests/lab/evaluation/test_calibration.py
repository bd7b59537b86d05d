"""Thresholds for a wanted recall, and for a wanted precision."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import InputError
from bookwheel.lab.evaluation.calibration import (
    choose_answers,
    find_threshold,
    make_calibration,
    make_verdict_calibration,
    measure_auc,
    score_answers,
)
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan, Scorer

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


def test_a_calibration_says_what_its_threshold_lets_through():
    made = make_calibration(
        "m", Scorer.JUDGE, [0.9, 0.2, 0.8, 0.1], [True, False, True, False], recall=1.0, command="bookwheel calibrate"
    )
    assert (made.threshold, made.read, made.auc) == (0.8, 0.5, 1.0)


@pytest.mark.parametrize(("is_true", "beats_words"), [(True, True), (False, False)])
def test_a_judge_of_answers_is_measured_beside_the_words(is_true, beats_words):
    answers = choose_answers(None)[:40]
    right = [one.answer for one in answers if one.label == "supported"]
    trusted = right if is_true else right[:1]

    def judge(messages):
        return "Yes" if any(f"\n{answer}\n" in messages[-1].content for answer in trusted) else "No"

    scores = asyncio.run(score_answers(ScriptedModel(judge), Plan(), answers))
    made = make_verdict_calibration("m", scores, answers, precision=0.9, command="bookwheel calibrate --verdict")
    assert 0 < made.recall_by_words < 0.9
    assert made.beats_words is beats_words


def test_a_model_that_is_no_judge_is_told_with_what_was_measured():
    answers = choose_answers(None)
    scores = [float(one.label != "supported") for one in answers]
    with pytest.raises(InputError, match=r"no judge.*Its best of \d+ answers is 0\.\d{3}.*AUC 0\.000"):
        make_verdict_calibration("m", scores, answers, precision=0.9, command="c")
