from __future__ import annotations

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from bookwheel.lab.training.loss import Logprobs, LossSums, policy_loss  # noqa: E402
from bookwheel.lab.training.objective import LossSettings  # noqa: E402

PLAIN = LossSettings(kl=0.0)


def logs(*probabilities):
    return torch.tensor(probabilities).log()


def loss_of(new, old, advantages, how=PLAIN, **more):
    advantages = torch.tensor(advantages)
    return policy_loss(Logprobs(new=new, old=old, **more), advantages, len(advantages), how)


def test_the_first_step_is_the_mean_advantage():
    new = logs(0.5, 0.25, 0.1, 0.9)
    loss, tally = loss_of(new, new, [1.0, 1.0, -0.5, 0.0])
    assert loss.item() == pytest.approx(-(1 + 1 - 0.5) / 4)
    assert tally.means()["ratio"] == 1.0
    assert tally.means()["clipped"] == 0.0
    # Nothing was given to compare with.
    assert [tally.means()[name] for name in ("entropy", "kl", "mismatch")] == [0.0, 0.0, 0.0]


def test_a_good_token_gains_no_more_beyond_the_high_bound():
    loss, tally = loss_of(logs(0.6, 0.55), logs(0.5, 0.5), [2.0, 2.0], LossSettings(kl=0.0, clip_high=0.15))
    assert loss.item() == pytest.approx(-(1.15 * 2 + 1.1 * 2) / 2, rel=1e-6)
    assert tally.means()["clipped"] == 0.5


def test_a_bad_token_is_pushed_down_no_more_beyond_the_low_bound():
    how = LossSettings(kl=0.0, clip_low=0.1, clip_high=0.5)
    loss, tally = loss_of(logs(0.4, 0.6), logs(0.5, 0.5), [-1.0, -1.0], how)
    assert loss.item() == pytest.approx((0.9 + 1.2) / 2, rel=1e-6)
    assert tally.means()["clipped"] == 0.5


def test_clipped_tokens_give_no_gradient():
    new = logs(0.65, 0.5).requires_grad_()
    loss, _ = loss_of(new, logs(0.5, 0.5), [1.0, 1.0])
    loss.backward()
    assert new.grad.tolist() == pytest.approx([0.0, -0.5])


def test_gspo_has_one_ratio_for_a_reply_by_hand():
    # Two replies, of two tokens and of one: their ratios are the geometric means sqrt(1.2 * 1.25) and 0.5.
    new, old = logs(0.6, 0.5, 0.25).requires_grad_(), logs(0.5, 0.4, 0.5)
    how = LossSettings(kl=0.0, form="gspo", clip_low=0.6, clip_high=0.6)
    loss, tally = loss_of(new, old, [1.0, 1.0, -2.0], how, lengths=[2, 1])
    ratio = math.sqrt(1.2 * 1.25)
    assert loss.item() == pytest.approx(-(2 * ratio - 2 * 0.5) / 3, rel=1e-6)
    assert tally.means()["ratio"] == pytest.approx((2 * ratio + 0.5) / 3, rel=1e-6)
    loss.backward()
    assert new.grad.tolist() == pytest.approx([-ratio / 3, -ratio / 3, 2 * 0.5 / 3], rel=1e-5)


def test_gspo_clips_a_reply_as_a_whole():
    new = logs(0.9, 0.45).requires_grad_()
    how = LossSettings(kl=0.0, form="gspo", clip_high=0.2)
    # One token of it moved by 1.8 and the other by 0.9: the reply by 1.27.
    loss, tally = loss_of(new, logs(0.5, 0.5), [1.0, 1.0], how, lengths=[2])
    assert loss.item() == pytest.approx(-1.2, rel=1e-6)
    assert tally.means()["clipped"] == 1.0
    loss.backward()
    assert new.grad.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="replies of 3 tokens"):
        loss_of(new, logs(0.5, 0.5), [1.0, 1.0], how, lengths=[3])


def test_cispo_keeps_the_gradient_of_every_token_and_bounds_its_weight_by_hand():
    new = logs(0.8, 0.1).requires_grad_()
    how = LossSettings(kl=0.0, form="cispo", clip_high=0.2)
    loss, tally = loss_of(new, logs(0.5, 0.5), [1.0, -1.0], how)
    assert loss.item() == pytest.approx(-(1.2 * math.log(0.8) - 0.2 * math.log(0.1)) / 2, rel=1e-6)
    assert tally.means()["clipped"] == 0.5
    loss.backward()
    assert new.grad.tolist() == pytest.approx([-1.2 / 2, 0.2 / 2], rel=1e-6)


@pytest.mark.parametrize("form", ["dapo", "gspo", "cispo"])
def test_at_the_first_update_every_form_has_the_same_gradient(form):
    new = logs(0.5, 0.25, 0.1).requires_grad_()
    loss, _ = loss_of(new, new.detach(), [1.0, 1.0, -0.5], LossSettings(kl=0.0, form=form), lengths=[2, 1])
    loss.backward()
    assert new.grad.tolist() == pytest.approx([-1 / 3, -1 / 3, 0.5 / 3], rel=1e-6)


def test_the_kl_to_the_reference_is_k3_by_hand():
    gap = math.log(0.25 / 0.5)
    loss, tally = loss_of(logs(0.5), logs(0.5), [0.0], LossSettings(kl=0.1), reference=logs(0.25))
    assert tally.means()["kl"] == pytest.approx(0.5 - gap - 1, rel=1e-6)
    assert loss.item() == pytest.approx(0.1 * (0.5 - gap - 1), rel=1e-6)


def test_the_kl_pulls_towards_the_reference():
    new = logs(0.5).requires_grad_()
    loss, _ = loss_of(new, new.detach(), [0.0], LossSettings(kl=1.0), reference=logs(0.25))
    loss.backward()
    assert new.grad.item() == pytest.approx(1 - 0.5)


def test_a_sampler_that_differs_is_weighed_and_capped():
    old, sampler = logs(0.5, 0.5), logs(0.4, 0.05)
    loss, tally = loss_of(old, old, [1.0, 1.0], LossSettings(kl=0.0, importance_cap=2.0), rollout=sampler)
    assert loss.item() == pytest.approx(-(0.5 / 0.4 + 2.0) / 2, rel=1e-6)
    assert tally.means()["mismatch"] == pytest.approx((math.log(0.5 / 0.4) + math.log(10)) / 2, rel=1e-5)


def test_a_reply_that_the_policy_has_left_behind_teaches_nothing():
    new = logs(0.5, 0.5, 0.5, 0.5).requires_grad_()
    # The first reply was sampled at half the trainer's probability, the second at nearly its own.
    sampled = logs(0.25, 0.25, 0.45, 0.55)
    loss, sums = loss_of(
        new, new.detach(), [1.0, 1.0, 1.0, 1.0], replace(PLAIN, reply_cap=1.5), rollout=sampled, lengths=[2, 2]
    )
    loss.backward()
    assert (new.grad == 0).tolist() == [True, True, False, False]
    assert sums.masked == 2
    _, plain = loss_of(new, new.detach(), [1.0] * 4, PLAIN, rollout=sampled)
    assert plain.masked == 0
    _, own = loss_of(new, new.detach(), [1.0] * 4, replace(PLAIN, reply_cap=1.5), lengths=[2, 2])
    assert own.masked == 0


def test_without_a_cap_the_sampler_is_taken_at_its_word():
    old = logs(0.5)
    assert loss_of(old, old, [1.0], LossSettings(kl=0.0, importance_cap=None), rollout=logs(0.1))[0].item() == -1.0


def test_the_cut_into_parts_changes_neither_loss_nor_gradient_nor_tally():
    torch.manual_seed(3)
    count, how = 97, LossSettings(kl=0.01)
    base = (torch.rand(count) - 2).requires_grad_()
    old, reference, rollout = (base.detach() + 0.3 * torch.randn(count) for _ in range(3))
    advantages, entropy = torch.randn(count), torch.rand(count)

    def run(cuts):
        base.grad, tally = None, LossSums()
        for part in torch.arange(count).tensor_split(cuts):
            logprobs = Logprobs(
                new=base[part],
                old=old[part],
                rollout=rollout[part],
                reference=reference[part],
                entropy=entropy[part],
            )
            loss, mine = policy_loss(logprobs, advantages[part], count, how)
            loss.backward()
            tally = tally + mine
        return tally.means(), base.grad.clone()

    whole, gradient = run([])
    for cuts in ([1], [10, 11, 50], list(range(1, count))):
        means, pieces = run(cuts)
        assert means == pytest.approx(whole, rel=1e-5, abs=1e-7)
        assert torch.allclose(pieces, gradient, atol=1e-7)


def test_sums_begin_at_nothing_and_add_up_field_by_field():
    one = LossSums(tokens=2, loss=0.5, ratio=2, clipped=1, entropy=3, kl=4, mismatch=5, dual=1, masked=2)
    assert LossSums() + one == one
    assert (one + one).means() == {
        "loss": 1.0,
        "ratio": 1.0,
        "clipped": 0.5,
        "entropy": 1.5,
        "kl": 2.0,
        "mismatch": 2.5,
        "dual": 0.5,
        "masked": 1.0,
    }


def test_a_bad_token_that_became_likely_costs_no_more_than_the_dual_clip():
    """Ratios 2, 3, 5 and 9 of bad tokens: the last two are held at 3 and give no gradient."""
    new = logs(0.2, 0.3, 0.5, 0.9).requires_grad_()
    loss, sums = loss_of(new, logs(0.1, 0.1, 0.1, 0.1), [-1.0, -1.0, -1.0, -1.0])
    assert loss.item() == pytest.approx((2 + 3 + 3 + 3) / 4, rel=1e-5)
    loss.backward()
    assert new.grad[2:].tolist() == [0.0, 0.0]
    assert new.grad[0].item() == pytest.approx(2 / 4, rel=1e-5)
    assert sums.means()["dual"] == 0.5
    unbounded, _ = loss_of(new, logs(0.1, 0.1, 0.1, 0.1), [-1.0] * 4, LossSettings(kl=0.0, dual_clip=0.0))
    assert unbounded.item() == pytest.approx((2 + 3 + 5 + 9) / 4, rel=1e-5)


def test_the_dual_clip_leaves_good_tokens_alone():
    new, old = logs(0.9, 0.05, 0.1), logs(0.1, 0.5, 0.1)
    with_it, sums = loss_of(new, old, [1.0, 1.0, 0.0])
    without, _ = loss_of(new, old, [1.0, 1.0, 0.0], LossSettings(kl=0.0, dual_clip=0.0))
    assert with_it.item() == without.item()
    assert sums.means()["dual"] == 0.0


def test_log_probabilities_far_apart_stay_finite_in_loss_and_gradient():
    new = torch.tensor([-0.1, -200.0, -0.1]).requires_grad_()
    old, reference = torch.tensor([-300.0, -0.1, -0.1]), torch.tensor([-300.0, -0.1, -150.0])
    loss, sums = loss_of(new, old, [1.0, -1.0, 1.0], LossSettings(kl=0.1, dual_clip=0.0), reference=reference)
    loss.backward()
    assert loss.isfinite()
    assert new.grad.isfinite().all()
    assert sums.means()["kl"] <= 10
