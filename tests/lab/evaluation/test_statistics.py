"""Intervals that hold what they promise."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookwheel.lab.evaluation.statistics import (
    clustered_error,
    compare_pairs,
    estimate,
    find_clusters,
    holm,
    sign_test,
    spread_of_runs,
    t_quantile,
    wilson_interval,
)

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


@given(shares)
def test_an_interval_of_any_scores_is_ordered(scores):
    found = estimate(scores)
    assert -1e-9 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1 + 1e-9


def test_scores_that_are_all_the_same_do_not_pretend_to_be_certain():
    found = estimate([0.5] * 10)
    assert found.high - found.low > 0.3


def test_graded_scores_are_estimated_by_students_t():
    scores = [0.2, 0.9, 0.4, 0.75, 1.0, 0.1]
    found = estimate(scores)
    assert (found.mean, found.n, found.method) == (pytest.approx(0.558333), 6, "t")
    # statsmodels 0.15: DescrStatsW(scores).tconfint_mean() is (0.1622959, 0.9543707)
    assert (found.low, found.high) == (pytest.approx(0.1622959, abs=1e-6), pytest.approx(0.9543707, abs=1e-6))


def test_right_or_wrong_scores_and_equal_ones_are_estimated_by_wilson():
    assert [estimate(scores).method for scores in ([0, 1, 1], [0.5, 0.5], [1.0])] == ["Wilson"] * 3
    found = wilson_interval(3, 4)
    assert (found.mean, found.n, found.method) == (0.75, 4, "Wilson")
    assert (found.low, found.high) == (pytest.approx(0.3006418), pytest.approx(0.9544127))
    assert estimate([0, 1, 1, 1]) == found


def test_a_difference_of_right_and_wrong_is_by_bonett_and_price():
    found = compare_pairs([1, 1, 0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1, 0, 0])
    assert (found.mean, found.n, found.ahead, found.behind, found.p) == (0.25, 8, 3, 1, 0.625)
    assert (found.low, found.high, found.method) == (
        pytest.approx(-0.2638121),
        pytest.approx(0.6638121),
        "Bonett-Price",
    )


def test_a_difference_of_graded_scores_is_by_students_t():
    found = compare_pairs([0.5, 1, 0.2, 0.9], [0.25, 0.5, 0.4, 0.9])
    assert (found.mean, found.n, found.ahead, found.behind, found.p) == (pytest.approx(0.1375), 4, 2, 1, 1)
    # statsmodels 0.15: DescrStatsW([0.25, 0.5, -0.2, 0]).tconfint_mean() is (-0.3459063, 0.6209063)
    assert (found.low, found.high) == (pytest.approx(-0.3459063, abs=1e-6), pytest.approx(0.6209063, abs=1e-6))
    assert found.method == "t"


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


def test_quantiles_of_t_are_the_textbooks():
    # scipy 1.17: scipy.stats.t.ppf(0.975, df)
    expected = {
        1: 12.706204736,
        2: 4.30265273,
        5: 2.570581836,
        10: 2.228138852,
        49: 2.009575237,
        60: 2.000297822,
        61: 1.999623585,
        127: 1.978819535,
        1000: 1.962339081,
    }
    for degrees, value in expected.items():
        assert t_quantile(0.975, degrees) == pytest.approx(value, abs=2e-7)
    assert t_quantile(0.9, 7) == pytest.approx(1.4149239277, abs=1e-7)


def _clustered_draw(draw, questions, lengths, effect):
    """Scores of two ways at several lengths; each question has its own difficulty for each way, at every length."""
    first, second, names = [], [], []
    for question in range(questions):
        hard, likes = draw.random(), draw.gauss(effect, 0.35)
        for _ in range(lengths):
            first.append(float(draw.random() < min(1, max(0, hard + likes))))
            second.append(float(draw.random() < hard))
            names.append(question)
    return first, second, names


def test_one_question_at_many_lengths_is_not_many_questions():
    draw = random.Random(3)
    significant, naive, held = 0, 0, 0
    for _ in range(200):
        first, second, names = _clustered_draw(draw, 64, 10, 0.0)
        one, other = compare_pairs(first, second, names), compare_pairs(first, second)
        significant += one.p < 0.05
        naive += other.p < 0.05
        held += one.low <= 0 <= one.high
    assert naive / 200 > 0.2
    assert significant / 200 < 0.09
    assert held / 200 > 0.9


def test_the_clustered_error_is_that_of_statsmodels():
    # statsmodels 0.15: OLS(x, ones).fit(cov_type="cluster", cov_kwds={"groups": g}).bse
    draw = random.Random(11)
    groups = [draw.randrange(12) for _ in range(60)]
    values = [round(0.1 * group / 12 + draw.random(), 6) for group in groups]
    assert clustered_error(values, groups) == pytest.approx(0.02816869702487298, rel=1e-9)
    assert clustered_error(values, range(60)) == pytest.approx(0.04094080833476744, rel=1e-9)


def test_clusters_of_one_change_nothing():
    draw = random.Random(4)
    for scores in ([1, 0, 1, 1, 0], [draw.random() for _ in range(9)]):
        assert estimate(scores, "abcdefghi"[: len(scores)]) == estimate(scores)
        other = scores[::-1]
        assert compare_pairs(scores, other, range(len(scores))) == compare_pairs(scores, other)


def test_repeats_of_one_question_do_not_narrow_its_interval():
    once = estimate([1, 0, 1, 1, 0, 1, 0, 1, 1, 1])
    five_times = estimate([1, 0, 1, 1, 0, 1, 0, 1, 1, 1] * 5, list(range(10)) * 5)
    assert (five_times.n, five_times.clusters, five_times.method) == (50, 10, "clustered Wilson")
    assert five_times.high - five_times.low >= once.high - once.low


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=40))
def test_a_clustered_interval_stays_within_0_and_1_and_has_a_width(pairs):
    found = estimate([float(right) for _, right in pairs], [name for name, _ in pairs])
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.low < found.high


def test_the_spread_of_runs_is_that_of_their_means():
    assert spread_of_runs([1, 1, 0, 0], [0, 0, 1, 1]) == pytest.approx(math.sqrt(0.5))
    assert spread_of_runs([1, 0, 0, 1], [0, 0, 1, 1]) == 0
    assert math.isnan(spread_of_runs([1, 0], [0, 0]))


def test_holm_raises_p_by_the_number_of_comparisons_and_keeps_their_order():
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_scores_that_share_a_name_over_others_are_one_cluster():
    assert find_clusters([("q1", "d1"), ("q2", "d2"), ("q1", "d2"), ("q3",)]) == [0, 0, 0, 3]
    assert find_clusters([("a",), ("b",)]) == [0, 1]


def test_few_documents_that_all_score_alike_are_no_certainty():
    names = [document for document in range(5) for _ in range(20)]
    alike = estimate([1.0] * 80 + [0.0] * 20, names)
    assert alike.high - alike.low > 0.5
    nearly_all = estimate([1.0] * 98 + [0.0, 1.0], names)
    assert nearly_all.low < estimate([1.0] * 98 + [0.0, 1.0]).low - 0.15
    assert (nearly_all.clusters, nearly_all.n) == (5, 100)
