"""Intervals that hold what they promise."""

import math
import random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookwheel.evaluation.statistics import bootstrap_interval, compare_pairs, estimate, sign_test, wilson_interval

marks = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40)
shares = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=20)


@given(marks)
def test_wilsons_interval_holds_the_mean_and_stays_within_0_and_1(scores):
    found = estimate(scores)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.low < found.high
    assert (found.n, found.method) == (len(scores), "Wilson")


def test_wilson_agrees_with_the_textbook():
    # Newcombe 1998: 81 of 263 and 0 of 20 at 95 %.
    assert (round(wilson_interval(81, 263).low, 4), round(wilson_interval(81, 263).high, 4)) == (0.2553, 0.3662)
    assert (wilson_interval(0, 20).low, round(wilson_interval(0, 20).high, 4)) == (0, 0.1611)


@given(st.integers(1, 60), st.data())
def test_wilson_is_the_same_from_both_ends(n, data):
    right = data.draw(st.integers(0, n))
    one, other = wilson_interval(right, n), wilson_interval(n - right, n)
    assert one.low == pytest.approx(1 - other.high)


@given(st.integers(1, 50), st.data())
def test_more_samples_narrow_the_interval(n, data):
    right = data.draw(st.integers(0, n))
    few, many = wilson_interval(right, n), wilson_interval(4 * right, 4 * n)
    assert many.high - many.low < few.high - few.low


@settings(max_examples=20)
@given(shares, st.integers(0, 99))
def test_an_interval_of_any_scores_is_reproducible_and_ordered(scores, seed):
    found = estimate(scores, seed=seed)
    assert found == estimate(scores, seed=seed)
    assert -1e-9 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1 + 1e-9


def test_scores_that_are_all_the_same_do_not_pretend_to_be_certain():
    found = estimate([0.5] * 10)
    assert found.high - found.low > 0.3


def test_graded_scores_are_estimated_by_the_bootstrap_and_the_same_in_every_version():
    scores = [0.2, 0.9, 0.4, 0.75, 1.0, 0.1]
    found = estimate(scores)
    assert (found.mean, found.n, found.method) == (pytest.approx(0.558333), 6, "bootstrap")
    assert (found.low, found.high) == (pytest.approx(0.2916667), pytest.approx(0.8416667))
    assert (estimate(scores, seed=1).low, estimate(scores, seed=1).high) == (
        pytest.approx(0.2833333),
        pytest.approx(0.8333333),
    )
    assert (estimate(scores, confidence=0.8).low, estimate(scores, confidence=0.8).high) == (
        pytest.approx(0.3833333),
        pytest.approx(0.7416667),
    )


def test_right_or_wrong_scores_and_equal_ones_are_estimated_by_wilson():
    assert [estimate(scores).method for scores in ([0, 1, 1], [0.5, 0.5], [1.0])] == ["Wilson"] * 3
    narrow = wilson_interval(3, 4, confidence=0.8)
    assert (narrow.mean, narrow.n, narrow.method) == (0.75, 4, "Wilson")
    assert (narrow.low, narrow.high) == (pytest.approx(0.4325415), pytest.approx(0.9219192))
    assert estimate([0, 1, 1, 1], confidence=0.8) == narrow


def test_a_difference_of_right_and_wrong_is_by_bonett_and_price():
    found = compare_pairs([1, 1, 0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1, 0, 0])
    assert (found.mean, found.n, found.ahead, found.behind, found.p) == (0.25, 8, 3, 1, 0.625)
    assert (found.low, found.high, found.method) == (
        pytest.approx(-0.2638121),
        pytest.approx(0.6638121),
        "Bonett-Price",
    )


def test_a_difference_of_graded_scores_is_by_the_bootstrap():
    found = compare_pairs([0.5, 1, 0.2, 0.9], [0.25, 0.5, 0.4, 0.9])
    assert (found.mean, found.n, found.ahead, found.behind, found.p) == (pytest.approx(0.1375), 4, 2, 1, 1)
    assert (found.low, found.high, found.method) == (pytest.approx(-0.1), pytest.approx(0.375), "bootstrap")


def test_no_pairs_give_no_number():
    found = compare_pairs([], [])
    assert math.isnan(found.mean)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert (found.n, found.ahead, found.behind, found.p, found.method) == (0, 0, 0, 1, "none")


def test_no_scores_give_no_number():
    found = estimate([])
    assert math.isnan(found.mean)
    assert (found.n, found.method) == (0, "none")


@settings(max_examples=20)
@given(st.lists(st.tuples(*[st.floats(min_value=0, max_value=1)] * 2), min_size=1, max_size=20))
def test_a_difference_turns_its_sign_with_the_order(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    one, other = compare_pairs(first, second), compare_pairs(second, first)
    assert one.mean == pytest.approx(-other.mean)
    assert (one.ahead, one.behind, one.p) == (other.behind, other.ahead, other.p)
    assert one.low - 1e-9 <= one.mean <= one.high + 1e-9 or one.method == "Bonett-Price"


@given(marks)
def test_a_way_is_not_ahead_of_itself(scores):
    found = compare_pairs(scores, scores)
    assert (found.mean, found.p) == (0, 1)
    assert found.low < 0 < found.high


def test_pairs_use_what_the_samples_share():
    # Both ways fail on the same hard half: the pairs know that, two separate intervals do not.
    second = [0.0] * 30 + [1.0] * 30
    first = [1.0] * 8 + second[8:]
    found = compare_pairs(first, second)
    assert found.low > 0
    assert estimate(first).low < estimate(second).high
    assert found.p == pytest.approx(2 * 0.5**8)


def test_mcnemar_agrees_with_the_binomial():
    assert sign_test(0, 0) == 1
    assert sign_test(1, 9) == pytest.approx(2 * 11 / 1024)
    assert sign_test(5, 5) == 1
    assert sign_test(2, 3) == pytest.approx(2 * (1 + 5 + 10) / 32)


def test_many_thousands_of_pairs_have_a_p_too():
    assert sign_test(5000, 5000) == 1
    assert sign_test(4900, 5100) == pytest.approx(0.0466, abs=2e-3)  # by the normal distribution, about
    assert 0 < sign_test(2000, 3000) < 1e-40


def test_pairs_of_unequal_number_are_refused():
    with pytest.raises(ValueError, match="3 and 2"):
        compare_pairs([1, 1, 1], [0, 0])


@pytest.mark.parametrize(("share", "n"), [(0.05, 50), (0.5, 50), (0.9, 128)])
def test_wilson_holds_the_truth_19_times_in_20(share, n):
    draw = random.Random(7)
    held = 0
    for _ in range(1500):
        found = wilson_interval(sum(draw.random() < share for _ in range(n)), n)
        held += found.low <= share <= found.high
    assert 0.92 <= held / 1500 <= 0.985


@pytest.mark.parametrize(("ahead", "behind"), [(0.05, 0.05), (0.3, 0.1), (0.02, 0.0)])
def test_the_paired_interval_holds_the_truth_19_times_in_20(ahead, behind):
    draw = random.Random(8)
    held = 0
    for _ in range(1200):
        outcomes = [draw.random() for _ in range(50)]
        first = [float(x < ahead) for x in outcomes]
        second = [float(ahead <= x < ahead + behind) for x in outcomes]
        found = compare_pairs(first, second)
        held += found.low <= ahead - behind <= found.high
    assert held / 1200 >= 0.93


def test_the_bootstrap_agrees_with_the_normal_interval_on_many_even_scores():
    draw = random.Random(9)
    values = [draw.random() for _ in range(400)]
    low, high = bootstrap_interval(values, seed=3)
    half = 1.96 * math.sqrt(1 / 12 / 400)
    assert (low, high) == (
        pytest.approx(fmean(values) - half, abs=0.006),
        pytest.approx(fmean(values) + half, abs=0.006),
    )
