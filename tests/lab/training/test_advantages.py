from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.training.advantages import Estimator, advantages, has_spread

GROUP = st.lists(st.floats(0, 1), min_size=2, max_size=16)


def test_one_right_of_four_by_hand():
    assert advantages([1, 0, 0, 0]) == [0.75, -0.25, -0.25, -0.25]


def test_the_spread_divides_only_where_it_is_asked_for():
    spread = math.sqrt((0.75**2 + 3 * 0.25**2) / 3)
    assert advantages([1, 0, 0, 0], Estimator.MEAN_STD)[0] == pytest.approx(0.75 / spread, rel=1e-5)


def test_leaving_one_out_holds_a_reward_against_the_others_alone():
    assert advantages([1, 0, 0.5, 0], Estimator.LEAVE_ONE_OUT) == pytest.approx([1 - 0.5 / 3, -0.5, 0.5 - 1 / 3, -0.5])


@given(GROUP, st.sampled_from(Estimator))
def test_a_group_sums_to_nothing(rewards, estimator):
    assert math.fsum(advantages(rewards, estimator)) == pytest.approx(0, abs=1e-6)


@given(GROUP, st.floats(-5, 5))
def test_only_differences_count(rewards, shift):
    moved = advantages([reward + shift for reward in rewards])
    assert moved == pytest.approx(advantages(rewards), abs=1e-9)


@given(GROUP, st.sampled_from(Estimator), st.randoms())
@pytest.mark.slow
def test_order_does_not_matter(rewards, estimator, random):
    order = list(range(len(rewards)))
    random.shuffle(order)
    shuffled = advantages([rewards[i] for i in order], estimator)
    plain = advantages(rewards, estimator)
    assert shuffled == pytest.approx([plain[i] for i in order], abs=1e-9)


@pytest.mark.parametrize("estimator", Estimator)
def test_equal_rewards_teach_nothing(estimator):
    assert advantages([0.3] * 5, estimator) == pytest.approx([0.0] * 5, abs=1e-9)
    assert not has_spread([0.3] * 5)
    assert has_spread([0.3, 0.3, 0.4])


def test_a_group_of_one_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        advantages([1.0])


def test_a_tiny_spread_is_divided_by_the_floor_above_it():
    spread = math.sqrt(2 * 5e-7**2)
    assert advantages([0.0, 1e-6], Estimator.MEAN_STD)[1] == pytest.approx(5e-7 / (spread + 1e-6))


def test_spread_begins_above_a_millionth():
    assert not has_spread([])
    assert not has_spread([0.0, 1e-6])
    assert has_spread([0.0, 1.1e-6])


def test_settings_files_name_the_estimators_by_these_words():
    assert list(Estimator) == ["mean", "mean-std", "leave-one-out"]
