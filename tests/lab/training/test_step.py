from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.objective import LossSettings
from bookwheel.lab.training.rows import Row
from bookwheel.lab.training.step import (
    MasterAdamW,
    PolicyOptimizer,
    schedule,
)


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


torch = pytest.importorskip("torch")

RATE = 1e-6
ROWS = [
    Row(ids=tuple(range(k, k + 12)), trained=(False,) * 6 + (True,) * 6, logprobs=(-3.0,) * 6, advantage=a, rollout="r")
    for k, a in ((5, 0.5), (9, -0.5), (20, 0.75))
]


def moved_share(before, after):
    """The row of the padding token is 0, where every number has room for a small step: it is left out."""
    moved = sum(((old != new) & (old != 0)).sum().item() for old, new in zip(before, after, strict=True))
    return moved / sum((old != 0).sum().item() for old in before)


def copies(weights):
    return [weight.detach().clone() for weight in weights]


def test_at_the_papers_rate_nearly_all_weights_move_where_steps_in_bfloat16_move_hardly_any(make_policy):
    kept, plain = make_policy(), make_policy()
    for policy in (kept, plain):
        for weight in policy.trainable:
            # Fresh weights are about a third of the size that training gives them.
            weight.data.mul_(3)
        policy.model.bfloat16()
    config = TrainConfig(loss=LossSettings(kl=0.0), learning_rate=RATE)
    trainer = PolicyOptimizer(kept, config, lambda taken: RATE)
    masters, weights = copies(trainer.optimizer.masters), copies(plain.trainable)
    trainer.reinforce([ROWS])
    # Rows of the vocabulary that no token names have a gradient too: the head is tied to them.
    assert moved_share(masters, trainer.optimizer.masters) > 0.99
    stepped = torch.optim.AdamW(plain.trainable, lr=RATE)
    (-plain.score(ROWS).logprobs.sum()).backward()
    stepped.step()
    assert moved_share(weights, plain.trainable) < 0.01


def test_many_small_steps_in_bfloat16_arrive_where_float32_does(make_policy):
    """12 steps of 1e-6 are under half a bit of most bfloat16 weights, and must not be lost one by one."""
    half, full = make_policy(), make_policy()
    start = copies(full.trainable)
    half.model.bfloat16()
    config = TrainConfig(loss=LossSettings(kl=0.0), learning_rate=RATE, weight_decay=0.0)
    trainers = [PolicyOptimizer(policy, config, lambda taken: RATE) for policy in (half, full)]
    begun = copies(trainers[0].optimizer.masters)
    for _ in range(12):
        for trainer in trainers:
            trainer.imitate(ROWS)
    moves = [
        torch.cat([(new - old).flatten() for old, new in zip(before, trainer.optimizer.masters, strict=True)])
        for before, trainer in zip((begun, start), trainers, strict=True)
    ]
    assert moves[0].abs().mean().item() == pytest.approx(moves[1].abs().mean().item(), rel=0.15)


def test_weights_of_the_model_are_the_masters_rounded(make_policy):
    policy = make_policy()
    policy.model.bfloat16()
    trainer = PolicyOptimizer(policy, TrainConfig(loss=LossSettings(kl=0.0)), lambda taken: 1e-2)
    trainer.imitate(ROWS)
    for weight, master in zip(policy.trainable, trainer.optimizer.masters, strict=True):
        assert master.dtype == torch.float32
        assert torch.equal(weight, master.to(torch.bfloat16))


def test_gradients_of_micro_batches_are_added_up_in_float32():
    """256 + 1 is 256 in bfloat16: a thousand small gradients beside a large one would vanish."""
    weight = torch.nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
    optimizer = MasterAdamW([weight], rate=RATE, weight_decay=0.0)
    for size in (256.0, *(1.0,) * 100):
        (weight * size).sum().backward()
    assert optimizer.masters[0].grad.item() == 356.0
    assert weight.grad is None


def test_float32_weights_are_their_own_masters(make_policy):
    policy = make_policy()
    optimizer = MasterAdamW(policy.trainable, rate=RATE, weight_decay=0.0)
    assert all(a is b for a, b in zip(optimizer.masters, policy.trainable, strict=True))


def test_a_closed_optimizer_collects_no_more_gradients():
    weight = torch.nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
    first = MasterAdamW([weight], rate=RATE, weight_decay=0.0)
    first.close()
    second = MasterAdamW([weight], rate=RATE, weight_decay=0.0)
    (weight * 3).sum().backward()
    assert first.masters[0].grad is None
    assert second.masters[0].grad.item() == 3.0
