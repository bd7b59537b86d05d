from __future__ import annotations

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.lab.training.errors import ConfigError  # noqa: E402
from bookwheel.lab.training.loading import gguf_path  # noqa: E402
from bookwheel.lab.training.loss import Logprobs, policy_loss  # noqa: E402
from bookwheel.lab.training.objective import LossSettings  # noqa: E402
from bookwheel.lab.training.policy import Policy  # noqa: E402
from bookwheel.lab.training.rows import Row, micro_batches  # noqa: E402


def some_rows(count=9, *, seed=5, longest=40):
    dice = random.Random(seed)
    return [some_row(dice, dice.randint(6, longest), f"r{i % 3}") for i in range(count)]


def some_row(dice, length, rollout):
    sampled = dice.randint(1, length // 2)
    return Row(
        ids=tuple(dice.randrange(60) for _ in range(length)),
        trained=(False,) * (length - sampled) + (True,) * sampled,
        logprobs=(-4.0,) * sampled,
        advantage=dice.uniform(-1, 1),
        rollout=rollout,
    )


def by_hand(policy, row):
    logs = torch.log_softmax(policy.model(input_ids=torch.tensor([row.ids])).logits[0], dim=-1)
    return torch.stack([logs[t - 1, row.ids[t]] for t, trained in enumerate(row.trained) if trained])


def gradient(policy, batches):
    """Loss and gradient of some rows, however they are cut."""
    denominator = sum(row.tokens for batch in batches for row in batch)
    policy.model.zero_grad()
    total = 0.0
    with policy.training():
        for batch in batches:
            scored = policy.score(batch)
            advantages = torch.tensor([row.advantage for row in batch for _ in row.logprobs])
            logprobs = Logprobs(new=scored.logprobs, old=scored.logprobs.detach() - 0.05)
            loss, _ = policy_loss(logprobs, advantages, denominator, LossSettings(kl=0.0))
            loss.backward()
            total += loss.item()
    return total, torch.cat([weight.grad.flatten().clone() for weight in policy.trainable])


def test_scores_are_those_of_the_plain_model(still_policy):
    rows = some_rows()
    with torch.no_grad():
        assert torch.allclose(
            still_policy.score(rows).logprobs, torch.cat([by_hand(still_policy, row) for row in rows]), atol=1e-5
        )


def test_micro_batches_equal_the_full_batch(policy):
    rows = some_rows(12)
    whole, expected = gradient(policy, [rows])
    for budget in (40, 90, 200):
        cut = micro_batches(rows, budget)
        assert len(cut) > 1
        loss, found = gradient(policy, cut)
        assert loss == pytest.approx(whole, abs=1e-6)
        assert torch.allclose(found, expected, atol=1e-6)


def test_padding_beside_a_longer_row_changes_nothing(policy):
    rows = some_rows(2)
    _, alone = gradient(policy, [rows])
    silent = Row(ids=tuple(range(60)), trained=(False,) * 59 + (True,), logprobs=(-1.0,), advantage=0.0, rollout="x")
    tokens = sum(row.tokens for row in rows)
    _, beside = gradient(policy, [[*rows, silent]])
    assert torch.allclose(beside * (tokens + 1), alone * tokens, atol=1e-5)


def test_cutting_into_more_conversations_changes_neither_loss_nor_gradient(policy):
    """One row of two turns, or each turn with its prompt as a row of its own: the same tokens, the same loss."""
    ids = tuple(random.Random(1).choices(range(60), k=14))
    whole = Row(
        ids=ids,
        trained=(False,) * 4 + (True,) * 3 + (False,) * 3 + (True,) * 4,
        logprobs=(-1.0,) * 7,
        advantage=0.7,
        rollout="a",
    )
    first = Row(ids=ids[:7], trained=whole.trained[:7], logprobs=(-1.0,) * 3, advantage=0.7, rollout="a")
    second = Row(ids=ids, trained=(False,) * 10 + (True,) * 4, logprobs=(-1.0,) * 4, advantage=0.7, rollout="a")
    others = some_rows(3)
    one_loss, one = gradient(policy, [[whole, *others]])
    two_loss, two = gradient(policy, [[first, second, *others]])
    assert two_loss == pytest.approx(one_loss, abs=1e-6)
    assert torch.allclose(one, two, atol=1e-6)


def test_rows_with_the_same_ids_are_read_once_and_count_each(policy):
    one, other = some_rows(2)
    seen = []
    handle = policy.model.get_decoder().register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    loss, found = gradient(policy, [[one, other, one]])
    handle.remove()
    assert seen == [len(one.ids) + len(other.ids)]
    apart, expected = gradient(policy, [[one], [other], [one]])
    assert loss == pytest.approx(apart, abs=1e-6)
    assert torch.allclose(found, expected, atol=1e-6)


def test_logits_are_never_held_whole(policy):
    rows = some_rows(9)
    _, expected = gradient(policy, [rows])
    sliced, held = Policy(policy.model, policy.tokenizer, head_tokens=5), []
    handle = policy.model.get_output_embeddings().register_forward_hook(
        lambda module, args, output: held.append(output.shape[0])
    )
    _, found = gradient(sliced, [rows])
    handle.remove()
    assert max(held) == 5
    assert torch.allclose(found, expected, atol=1e-6)


def test_gradient_checkpointing_gives_the_same_gradient(policy):
    rows = some_rows(6)
    _, expected = gradient(policy, [rows])
    _, found = gradient(Policy(policy.model, policy.tokenizer, gradient_checkpointing=True), [rows])
    assert torch.allclose(found, expected, atol=1e-6)


def test_the_reference_stays_where_it_was(policy):
    rows = some_rows(4)
    before = policy.score(rows).logprobs.detach()
    with pytest.raises(ConfigError, match="freeze_reference"):
        policy.score_by_reference(rows)
    policy.freeze_reference()
    with torch.no_grad():
        for weight in policy.trainable:
            weight.add_(0.1)
    assert torch.equal(*policy.score_by_reference(rows), before)
    assert not torch.allclose(policy.score(rows).logprobs, before, atol=1e-3)


def test_adapters_alone_are_trained_and_the_base_is_the_reference(policy):
    pytest.importorskip("peft")
    from bookwheel.lab.training.config import PolicySettings
    from bookwheel.lab.training.loading import add_adapters

    rows = some_rows(4)
    base = policy.score(rows).logprobs.detach()
    adapted = Policy(add_adapters(policy.model, PolicySettings(lora_rank=4)), policy.tokenizer)
    every = sum(weight.numel() for weight in adapted.model.parameters())
    assert sum(weight.numel() for weight in adapted.trainable) < every / 2
    with torch.no_grad():
        for weight in adapted.trainable:
            weight.add_(0.05)
    assert torch.allclose(*adapted.score_by_reference(rows), base, atol=1e-6)
    assert not torch.allclose(adapted.score(rows).logprobs, base, atol=1e-4)


def test_adapters_of_the_last_layers_leave_the_first_ones_alone(policy):
    pytest.importorskip("peft")
    from bookwheel.lab.training.config import PolicySettings
    from bookwheel.lab.training.loading import add_adapters

    adapted = Policy(add_adapters(policy.model, PolicySettings(lora_rank=4, lora_layers=1)), policy.tokenizer)
    trained = [name for name, weight in adapted.model.named_parameters() if weight.requires_grad]
    assert trained
    assert all(".layers.1." in name and ".lora_" in name for name in trained)
    assert any("q_proj" in name for name in trained)
    assert any("down_proj" in name for name in trained)


def test_local_is_the_local_models_own_file(tmp_path, monkeypatch):
    file = tmp_path / "mine.gguf"
    file.touch()
    monkeypatch.setenv("BOOKWHEEL_WEIGHTS", str(file))
    assert gguf_path("local") == file
    assert (gguf_path("other.gguf"), gguf_path("folder"), gguf_path("")) == (Path("other.gguf"), None, None)
    monkeypatch.delenv("BOOKWHEEL_WEIGHTS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="bookwheel models --fetch"):
        gguf_path("local")
