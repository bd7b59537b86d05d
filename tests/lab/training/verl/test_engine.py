"""Both engines on the same trajectories, with verl's real FSDP2 engine and loss, in one process on a processor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("transfer_queue")
pytest.importorskip("verl")

import torch
from test_parity import make_config, make_groups
from torch import distributed
from verl.utils import tensordict_utils

from bookwheel.lab.training.config import PolicySettings
from bookwheel.lab.training.loading import load_policy
from bookwheel.lab.training.rollouts import rows_of_groups
from bookwheel.lab.training.step import PolicyOptimizer
from bookwheel.lab.training.verl.credit import row_advantages
from bookwheel.lab.training.verl.launch import compose
from bookwheel.lab.training.verl.reader import build_rows
from bookwheel.lab.training.verl.settings import ClusterSettings, translate

from bed import build_batch, build_engine, make_base  # isort: skip


@pytest.fixture(scope="module")
def group():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


# verl tells of every engine that is not installed.
@pytest.mark.filterwarnings("ignore")
def test_verls_own_engine_takes_the_same_step(group, tmp_path):
    base = make_base(tmp_path / "base", hidden=32, layers=2, heads=2, window=256)
    config = replace(make_config(loss={"kl": 0.0}), policy=PolicySettings(path=str(base), row_tokens=400))
    ours = load_policy(config.policy)
    groups = make_groups(len(ours.tokenizer))
    rows = rows_of_groups(groups, config.estimator)
    old = torch.split(ours.score(rows).logprobs.detach(), [row.tokens for row in rows])
    engine, loss = build_engine(config)
    keyed = {
        f"{rollout.id}_{index}": (row, rollout.result.score)
        for one in groups
        for rollout in one.scored
        for index, row in enumerate(build_rows(rollout.episode))
    }
    advantages = row_advantages({key: reward for key, (_, reward) in keyed.items()}, config.estimator)
    data = build_batch([row for row, _ in keyed.values()], list(advantages.values()), old, config)
    with engine.train_mode():
        their_loss = sum(engine.train_batch(data, loss_function=loss)["loss"])

    figures = PolicyOptimizer(ours, config, lambda _: config.learning_rate).reinforce([rows])
    assert figures["loss"] == pytest.approx(float(their_loss), abs=1e-5)
    theirs = {name: weight.full_tensor() for name, weight in engine.module.named_parameters()}
    for name, weight in ours.model.named_parameters():
        assert torch.allclose(weight, theirs[name], atol=1e-5), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("more", [{}, {"lora_rank": 4}, {"gradient_checkpointing": True}])
def test_the_engine_that_shares_prefixes_takes_verls_step_and_reads_less(group, tmp_path, more):
    base = make_base(tmp_path / "base", hidden=32, layers=2, heads=2, window=256)
    config = replace(make_config(loss={"kl": 0.0}), policy=PolicySettings(path=str(base), row_tokens=400, **more))
    words = len(load_policy(config.policy).tokenizer)
    groups = make_groups(words, section=40)
    rows = [
        (row, advantage)
        for one in groups
        for rollout, advantage in zip(one.scored, (0.5, -0.5, 0.25, -0.25), strict=False)
        for row in build_rows(rollout.episode)
    ]
    old = [torch.full((len(row.logprobs),), -3.0) for row, _ in rows]
    found = {}
    for shares in (False, True):
        engine, loss = build_engine(config, shares=shares)
        # Adapters are drawn at random, and their second half is nought.
        torch.manual_seed(0)
        for name, weight in engine.module.named_parameters():
            if "lora" in name:
                torch.nn.init.normal_(weight.to_local(), std=0.1)
        read = _count_tokens_read(engine)
        data = build_batch([row for row, _ in rows], [advantage for _, advantage in rows], old, config)
        tensordict_utils.assign_non_tensor(data, calculate_entropy=True)
        with engine.eval_mode():
            scored = engine.infer_batch(data)["model_output"]
        with engine.train_mode():
            output = engine.train_batch(data, loss_function=loss)
        weights = {name: weight.full_tensor() for name, weight in engine.module.named_parameters()}
        found[shares] = scored, sum(output["loss"]), output["metrics"], weights, sum(read)
    (stock, their_loss, theirs, their_weights, all_tokens), (ours, our_loss, figures, weights, some_tokens) = (
        found.values()
    )
    replies = [slice(len(row.prompt) - 1, -1) for row, _ in rows]
    for name in ("log_probs", "entropy"):
        for one, other, reply in zip(stock[name].unbind(), ours[name].unbind(), replies, strict=True):
            assert torch.allclose(one[reply], other[reply], atol=1e-5)
    assert our_loss == pytest.approx(their_loss, abs=1e-6)
    assert float(figures["grad_norm"]) == pytest.approx(float(theirs["grad_norm"]), rel=1e-4)
    for name, weight in weights.items():
        assert torch.allclose(weight, their_weights[name], atol=1e-5), name
    assert some_tokens < 0.6 * all_tokens
    assert figures["shared"] == [pytest.approx(1 - some_tokens / all_tokens, abs=0.1)]


@pytest.mark.filterwarnings("ignore")
def test_rows_longer_than_a_window_are_read_by_verl_itself(group, tmp_path):
    base = make_base(tmp_path / "base", hidden=32, layers=2, heads=2, window=256)
    config = replace(make_config(loss={"kl": 0.0}), policy=PolicySettings(path=str(base), row_tokens=400))
    rows = [row for one in make_groups(20, section=20) for done in one.scored for row in build_rows(done.episode)]
    old = [torch.full((len(row.logprobs),), -3.0) for row in rows]
    engine, loss = build_engine(config, shares=True)
    engine._limit = max(len(row.prompt + row.response) for row in rows) - 1
    read = _count_tokens_read(engine)
    with engine.train_mode():
        output = engine.train_batch(build_batch(rows, [0.5] * len(rows), old, config), loss_function=loss)
    assert "shared" not in output["metrics"]
    assert sum(read) >= sum(len(row.prompt + row.response) for row in rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        (ClusterSettings(), ""),
        (ClusterSettings(strategy="megatron"), "the strategy megatron"),
        (
            ClusterSettings(overrides=("actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2",)),
            "sequence parallelism",
        ),
        (
            ClusterSettings(overrides=("actor_rollout_ref.actor.ulysses_sequence_parallel_size=2",)),
            "sequence parallelism",
        ),
        (ClusterSettings(overrides=("actor_rollout_ref.model.use_fused_kernels=True",)), "fused kernels"),
        (
            ClusterSettings(overrides=("+actor_rollout_ref.model.override_config.attn_implementation=eager",)),
            "another attention than sdpa",
        ),
    ],
)
def test_what_keeps_prefixes_from_being_shared_is_said(cluster, reason, caplog):
    config = make_config(policy={"path": "models/seven"})
    model = compose(translate(config, cluster, Path("run")), cluster, shares=True).actor_rollout_ref.model
    assert reason in caplog.text
    assert bool(reason) == ("read by itself" in caplog.text)
    assert (model.get("model_type") == "bookwheel") is not bool(reason)
    # Without padding, as verl's own settings have it.
    assert model.use_remove_padding is bool(reason)


def _count_tokens_read(engine):
    """Return a list that grows by the tokens of every call of the model."""
    read = []
    engine.module.register_forward_pre_hook(
        lambda module, args, kwargs: read.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    return read
