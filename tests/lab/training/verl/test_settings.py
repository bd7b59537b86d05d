import json
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest

from bookwheel.lab.training.config import (
    EvaluationSettings,
    PolicySettings,
    RolloutServerSettings,
    TrainConfig,
    WarmStart,
)
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.objective import LossSettings
from bookwheel.lab.training.verl.settings import ClusterSettings, shares_prefixes, translate


def test_a_file_holds_the_machines_beside_what_is_trained(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[train]\nsteps = 3\n[verl]\nnodes = 4\nrollouts = "sglang"\noverrides = ["a.b=1"]\n')
    assert TrainConfig.load(str(file)).steps == 3
    cluster = ClusterSettings.load(str(file))
    assert (cluster.nodes, cluster.gpus, cluster.ranks, cluster.rollouts) == (4, 8, 32, "sglang")
    assert ClusterSettings.from_tables({"verl": cluster.to_json()}) == cluster


@pytest.mark.parametrize(("preset", "ranks"), [("paper-7b", 32), ("paper-14b", 32)])
def test_the_papers_presets_name_their_machines(preset, ranks):
    assert ClusterSettings.load(preset).ranks == ranks


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"nodes": 0}, "my.toml: verl.nodes must be at least 1, not 0"),
        ({"gpu": 4}, "my.toml: unknown setting 'gpu' in [verl]; did you mean 'gpus'?"),
        ({"rollouts": "hf"}, "my.toml: verl.rollouts must be vllm or sglang, not 'hf'"),
        ({"overrides": ["trainer.logger"]}, "my.toml: verl.overrides must be of the form KEY=VALUE"),
        ({"rollout_gpus": 3}, "my.toml: verl.rollout_gpus must divide the number of GPUs (8), not 3"),
    ],
)
def test_a_wrong_setting_is_named_with_its_file(table, message):
    with pytest.raises(ConfigError) as caught:
        ClusterSettings.from_tables({"verl": table}, "my.toml")
    assert str(caught.value).startswith(message)


CLUSTER = ClusterSettings()
CONFIG = TrainConfig.from_tables(
    {
        "train": {
            "samples": 64,
            "group_size": 4,
            "updates": 8,
            "steps": 30,
            "policy": {"path": "models/seven"},
            "task": {"name": "hqa", "tokens": 28672, "count": 256},
        }
    }
)


def told(config=CONFIG, cluster=CLUSTER, **more):
    return translate(config, cluster, Path("runs/mine-0"), **more)


def changed(**changes):
    return replace(CONFIG, **changes)


def test_the_papers_preset_says_what_the_paper_says():
    settings = translate(TrainConfig.load("paper-7b"), ClusterSettings.load("paper-7b"), Path("run"))
    actor = "actor_rollout_ref.actor"
    expected = {
        "data.train_batch_size": 128,
        "actor_rollout_ref.rollout.n": 16,
        f"{actor}.optim.lr": 1e-6,
        f"{actor}.optim.lr_warmup_steps": 320,
        f"{actor}.clip_ratio_c": 3.0,
        f"{actor}.clip_ratio_low": 0.2,
        f"{actor}.clip_ratio_high": 0.2,
        f"{actor}.use_kl_loss": True,
        f"{actor}.kl_loss_coef": 1e-3,
        f"{actor}.kl_loss_type": "low_var_kl",
        f"{actor}.loss_agg_mode": "token-mean",
        f"{actor}.entropy_coeff": 0.0,
        "actor_rollout_ref.rollout.temperature": 1.0,
        "actor_rollout_ref.rollout.top_p": 1.0,
        "algorithm.norm_adv_by_std_in_grpo": False,
    }
    assert {key: settings[key] for key in expected} == expected


def test_only_plain_values_are_told():
    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(one) for key, one in value.items())
        return all(map(plain, value)) if isinstance(value, list) else isinstance(value, str | int | float | None)

    assert all(plain(value) for value in told(data=Path("questions")).values())


def test_the_workers_get_the_runs_own_settings():
    settings = json.loads(told(data=Path("questions"))["data.bookwheel"])
    assert settings.pop("data") == str(Path("questions").resolve())
    assert settings.pop("rollouts")
    assert TrainConfig.from_tables(settings) == CONFIG


def test_trackers_are_verls_own_and_several_machines_share_no_journal():
    assert told(trackers=["wandb", "tensorboard"])["trainer.logger"] == ["console", "wandb", "tensorboard"]
    several = translate(CONFIG, ClusterSettings(nodes=2), Path("run"))
    assert json.loads(several["data.bookwheel"])["rollouts"] == ""


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({"loss": LossSettings(kl=0.0)}, "actor_rollout_ref.actor.use_kl_loss", False),
        ({"loss": LossSettings(importance_cap=None)}, "algorithm.rollout_correction.rollout_is", None),
        ({"loss": LossSettings(importance_cap=3.0)}, "algorithm.rollout_correction.rollout_is_threshold", 3.0),
        ({"refills": 2}, "algorithm.filter_groups.enable", True),
        ({"evaluation": EvaluationSettings(every=0)}, "trainer.test_freq", 30),
        ({"evaluation": EvaluationSettings(every=0), "steps": 0}, "trainer.test_freq", 1),
        ({"policy": PolicySettings(path="m", lora_rank=8)}, "actor_rollout_ref.model.lora_alpha", 16),
        ({"policy": PolicySettings(path="m", lora_rank=8)}, "actor_rollout_ref.rollout.load_format", "safetensors"),
        ({"steps": 9}, "trainer.total_epochs", 10),
        ({"warmup_steps": 5}, "actor_rollout_ref.actor.optim.lr_warmup_steps", 40),
        ({"loss": LossSettings(dual_clip=4.0)}, "actor_rollout_ref.actor.clip_ratio_c", 4.0),
        ({"loss": LossSettings(reply_cap=2.0)}, "algorithm.rollout_correction.rollout_rs_threshold", 2.0),
        ({"loss": LossSettings(dual_clip=0.0)}, "actor_rollout_ref.actor.clip_ratio_c", 1e6),
    ],
)
def test_a_setting_reaches_verl(changes, key, value):
    assert told(changed(**changes))[key] == value


@pytest.mark.parametrize("preset", ["paper-7b", "paper-14b"])
def test_every_key_of_a_preset_stands_in_verls_own_settings(preset):
    from importlib.util import find_spec

    from omegaconf import OmegaConf

    if (verl := find_spec("verl")) is None:
        pytest.skip("verl is not installed")
    theirs = OmegaConf.load(Path(verl.origin).parent / "trainer" / "config" / "_generated_ppo_trainer.yaml")
    cluster = ClusterSettings.load(preset)
    keys = [
        *translate(TrainConfig.load(preset), cluster, Path("run")),
        *(one.partition("=")[0] for one in cluster.overrides),
    ]
    tables = OmegaConf.to_container(theirs)

    def stands(key):
        *outer, last = key.split(".")
        return last in reduce(lambda table, name: table.get(name, {}), outer, tables)

    missing = [key for key in keys if not stands(key)]
    # The one that is ours: the run's settings, for the workers.
    assert missing == ["data.bookwheel"]


@pytest.mark.parametrize(
    ("tables", "shares"),
    [
        ({}, False),
        ({"plan": {"layout": "section-first"}}, True),
        ({"plan": {"layout": "question-section"}}, True),
        ({"plan": {"layout": "question-section"}, "train": {"policy": {"share_prefixes": False}}}, False),
        ({"train": {"workflow": "single"}}, True),
    ],
)
def test_prefixes_are_shared_where_rows_begin_with_what_is_long(tables, shares):
    assert shares_prefixes(TrainConfig.from_tables({"train": {}} | tables)) is shares


def test_a_resumed_run_is_not_measured_again_before_its_first_step():
    assert told(resume=True)["trainer.val_before_train"] is False
    assert told(resume=True)["trainer.resume_mode"] == "auto"
    assert told()["trainer.val_before_train"] is True


def test_megatron_keeps_its_own_names():
    settings = told(cluster=ClusterSettings(strategy="megatron", offload=True))
    assert settings["actor_rollout_ref.actor.megatron.param_offload"] is True
    assert not any("fsdp" in key for key in settings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"warm_start": WarmStart(steps=5)}, "train.warm_start.steps must be 0"),
        ({"decay": 0.5}, "train.decay must be 0"),
        ({"policy": PolicySettings()}, "train.policy.path must be a folder"),
        ({"policy": PolicySettings(path="local")}, "train.policy.path must be a folder"),
        ({"policy": PolicySettings(path="a.gguf")}, "train.policy.path must be a folder"),
        ({"staleness": 1}, "train.staleness must be 0"),
        ({"server": RolloutServerSettings(address="http://localhost:8000")}, "train.server.address must be empty"),
        ({"samples": 8, "group_size": 2}, "2 rollouts an update are too few for 8 GPUs"),
    ],
)
def test_what_verl_cannot_do_is_refused_and_the_message_says_what_to_set(changes, message):
    with pytest.raises(ConfigError) as caught:
        told(changed(**changes))
    assert str(caught.value).startswith(f"with --engine verl, {message}")
