"""Both engines on the same trajectories, with verl's real FSDP2 engine and loss, in one process on a processor."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("transfer_queue")
pytest.importorskip("verl")

import torch
from test_parity import make_config, make_groups
from torch import distributed

from bookwheel.lab.training.config import PolicySettings
from bookwheel.lab.training.loading import load_policy
from bookwheel.lab.training.rollouts import rows_of_groups
from bookwheel.lab.training.step import PolicyOptimizer
from bookwheel.lab.training.verl.credit import row_advantages
from bookwheel.lab.training.verl.launch import compose
from bookwheel.lab.training.verl.reader import build_rows
from bookwheel.lab.training.verl.settings import ClusterSettings, translate

from bed import OVERRIDES, make_base  # isort: skip


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
    engine, loss = _build_engine(config)
    keyed = {
        f"{rollout.id}_{index}": (row, rollout.result.score)
        for one in groups
        for rollout in one.scored
        for index, row in enumerate(build_rows(rollout.episode))
    }
    advantages = row_advantages({key: reward for key, (_, reward) in keyed.items()}, config.estimator)
    data = _build_batch([row for row, _ in keyed.values()], list(advantages.values()), old, config)
    with engine.train_mode():
        their_loss = sum(engine.train_batch(data, loss_function=loss)["loss"])

    figures = PolicyOptimizer(ours, config, lambda _: config.learning_rate).reinforce([rows])
    assert figures["loss"] == pytest.approx(float(their_loss), abs=1e-5)
    theirs = {name: weight.full_tensor() for name, weight in engine.module.named_parameters()}
    for name, weight in ours.model.named_parameters():
        assert torch.allclose(weight, theirs[name], atol=1e-5), name


def _build_engine(config):
    from verl.utils.config import omega_conf_to_dataclass
    from verl.workers.engine import EngineRegistry
    from verl.workers.utils.losses import ppo_loss

    cluster = ClusterSettings(gpus=1, overrides=OVERRIDES)
    settings = compose(translate(config, cluster, Path("run")), cluster).actor_rollout_ref
    actor, model = omega_conf_to_dataclass(settings.actor), omega_conf_to_dataclass(settings.model)
    actor.model_config = model
    engine = EngineRegistry.new(
        model_type="language_model",
        backend=actor.strategy,
        model_config=model,
        engine_config=actor.engine,
        optimizer_config=actor.optim,
        checkpoint_config=actor.checkpoint,
    )
    engine.initialize()
    return engine, partial(ppo_loss, config=actor)


def _build_batch(rows, advantages, old, config):
    from tensordict import TensorDict
    from verl.utils import tensordict_utils

    def nested(values):
        return torch.nested.as_nested_tensor(values, layout=torch.jagged)

    masks = [torch.tensor(row.mask) for row in rows]
    weights = [
        torch.exp(before - torch.tensor(row.logprobs)).clamp(max=config.loss.importance_cap)
        for row, before in zip(rows, old, strict=True)
    ]
    data = TensorDict(
        {
            "prompts": nested([torch.tensor(row.prompt) for row in rows]),
            "responses": nested([torch.tensor(row.response) for row in rows]),
            "input_ids": nested([torch.tensor(row.prompt + row.response) for row in rows]),
            "position_ids": nested([torch.arange(len(row.prompt + row.response)) for row in rows]),
            "response_mask": nested(masks),
            "loss_mask": nested(masks),
            "old_log_probs": nested(list(old)),
            "rollout_is_weights": nested(weights),
            "advantages": nested([mask.float() * one for mask, one in zip(masks, advantages, strict=True)]),
        },
        batch_size=len(rows),
    )
    tensordict_utils.assign_non_tensor(
        data,
        temperature=1.0,
        use_dynamic_bsz=True,
        max_token_len_per_gpu=config.policy.row_tokens,
        use_remove_padding=False,
        global_batch_size=len(rows),
    )
    return data
