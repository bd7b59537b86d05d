from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.training.config import TrainConfig
from bookwheel.training.errors import ConfigError
from bookwheel.training.launch import build_policy, build_samples, build_trainer

TINY = """
[plan]
prompts = "tiny"
language = "en"
chunk_tokens = 16
memory_tokens = 8
answer_tokens = 8

[train]
steps = 1
samples = 2
group_size = 3
[train.task]
name = "toy-records"
tokens = 32
count = 6
[train.fresh]
hidden = 32
layers = 1
heads = 2
window = 128
[train.loss]
kl = 0.0
[train.warm_start]
steps = 2
samples = 2
tokens = 16
[train.evaluation]
samples = 4
"""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "tiny.toml"
    file.write_text(TINY, encoding="utf-8")
    return TrainConfig.load(str(file))


def test_held_out_samples_are_others_than_those_trained_on(config):
    policy = build_policy(config)
    trained = build_samples(config, policy, 50)
    held = build_samples(config, policy, 50, held_out=True)
    assert not {one.text for one in trained} & {one.text for one in held}
    assert {one.length for one in (*trained, *held)} == {32}
    assert {one.length for one in build_samples(config, policy, 2, tokens=320)} == {320}


def test_tasks_of_the_house_are_made_in_the_policys_own_tokens(config):
    policy = build_policy(config)
    wide = replace(config, task=replace(config.task, name="niah_single_1", tokens=600))
    assert [600 * 0.98 <= one.tokens <= 600 for one in build_samples(wide, policy, 2)] == [True, True]


def test_a_fresh_model_takes_the_toy_records_alone(config):
    with pytest.raises(ConfigError, match=r"set train\.policy\.path"):
        build_policy(replace(config, task=replace(config.task, name="niah_single_1")))


def test_without_a_task_there_is_nothing_to_train_on(config, tmp_path):
    with pytest.raises(ConfigError, match=r"\[train\.task\]"):
        build_trainer(replace(config, task=replace(config.task, count=0)), tmp_path)


def test_the_command_trains_exports_and_tells(config, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from bookwheel.cli import main

    out = tmp_path / "run"
    with pytest.raises(SystemExit) as ended:
        main(["train", str(tmp_path / "tiny.toml"), "--out", str(out), "--seed", "5", "--threads", "1", "--json"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 3
    assert 0 <= told["before"] <= 1
    assert {"policy", "curves.svg", "metrics.jsonl", "rollouts.sqlite", "checkpoints"} <= {
        path.name for path in out.iterdir()
    }
    assert "seed 5" in (out / "policy" / "README.md").read_text()


def test_a_resumed_run_keeps_its_threads_for_another_number_adds_up_in_another_order(config, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    import torch

    from bookwheel.cli import main

    begun = torch.get_num_threads()
    chosen: list[int] = []
    command = ["train", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "run"), "--quiet"]
    try:
        with pytest.raises(SystemExit):
            main([*command, "--steps", "1", "--threads", "1"])
        monkeypatch.setattr(torch, "set_num_threads", chosen.append)
        monkeypatch.setattr("bookwheel.models.engine.choose_thread_count", lambda: 2)
        with pytest.raises(SystemExit) as ended:
            main([*command, "--resume"])
        assert ended.value.code == 0
        assert chosen == [1]
    finally:
        monkeypatch.undo()
        torch.set_num_threads(begun)
