import pytest

pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.step import schedule


def test_the_rate_rises_linearly_and_then_stays():
    rate = schedule(0.8, 4)
    assert [rate(taken) for taken in range(6)] == [0.2, 0.4, pytest.approx(0.6), 0.8, 0.8, 0.8]


def test_the_rate_falls_by_its_share_until_the_last_step_and_no_further():
    rate = schedule(1.0, 0, steps=10, decay=0.9)
    assert rate(0) == 1.0
    assert rate(5) == pytest.approx(0.55)
    assert rate(10) == rate(25) == pytest.approx(0.1)


@given(st.integers(0, 500), st.integers(0, 50), st.integers(1, 300), st.floats(0, 1))
def test_the_rate_is_never_below_nothing_nor_above_its_peak(taken, warmup, steps, decay):
    assert 0 <= schedule(1e-3, warmup, steps=steps, decay=decay)(taken) <= 1e-3


def test_a_decay_that_is_no_share_is_refused():
    with pytest.raises(ConfigError, match=r"train\.decay must be at most 1"):
        TrainConfig(decay=1.5)
