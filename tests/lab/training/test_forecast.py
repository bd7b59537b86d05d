"""Costs by formula, against sums made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.cli.main import main
from bookwheel.environment import Environment
from bookwheel.lab.training.config import PolicySettings, TaskSettings, TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.forecast import ModelShape, forecast, read_shape
from bookwheel.lab.training.loading import add_adapters
from bookwheel.lab.training.verl.settings import ClusterSettings
from bookwheel.models.weights import find_local_weights

SHAPE = ModelShape(
    weights=7_000_000_000,
    trained=7_000_000_000,
    layers=28,
    hidden=3584,
    vocabulary=152064,
    state_bytes=57344,
    window=32768,
)
CONFIG = TrainConfig(
    policy=PolicySettings(path="m", gradient_checkpointing=True, sharded=True),
    task=TaskSettings(name="hqa", tokens=28672, count=128),
    updates=16,
)


def test_the_shape_of_the_papers_model_is_its_makers():
    shape = read_shape(PolicySettings(path="Qwen/Qwen2.5-7B-Instruct"))
    assert shape.weights == shape.trained == 7_615_616_512
    assert (shape.layers, shape.hidden, shape.state_bytes) == (28, 3584, 57344)
    assert read_shape(PolicySettings(path="Qwen/Qwen2.5-14B-Instruct")).weights == 14_770_033_664


def test_a_folder_gives_its_own_shape_and_no_folder_is_an_error(make_policy, tmp_path):
    policy = make_policy()
    policy.save(tmp_path)
    assert read_shape(PolicySettings(path=str(tmp_path))).weights == sum(
        one.numel() for one in policy.model.parameters()
    )
    with pytest.raises(ConfigError, match="cannot be read"):
        read_shape(PolicySettings(path=str(tmp_path / "nothing")))


@pytest.mark.parametrize("layers", [0, 1])
def test_of_adapters_the_weights_that_are_trained_are_those_that_the_trainer_adds(make_policy, tmp_path, layers):
    policy = make_policy()
    policy.save(tmp_path)
    settings = PolicySettings(path=str(tmp_path), lora_rank=4, lora_layers=layers)
    trained = [one.numel() for one in add_adapters(policy.model, settings).parameters() if one.requires_grad]
    shape = read_shape(settings)
    assert shape.trained == sum(trained) < shape.weights


@pytest.mark.long
def test_the_local_model_is_forecast_from_its_own_file():
    pytest.importorskip("gguf")
    if not find_local_weights(Environment.load()):
        pytest.skip("the local model's weights are not here")
    assert read_shape(PolicySettings(path="local")).weights == 134_515_008


def test_adapters_take_their_own_moments_two_bytes_a_weight_and_no_second_reference():
    adapters = replace(SHAPE, trained=40_000_000)
    one = ClusterSettings(gpus=1)
    whole, small = forecast(CONFIG, SHAPE, one), forecast(CONFIG, adapters, one)
    assert whole.training_gb - small.training_gb == pytest.approx(18 * 7 - 2 * 7 - 16 * 0.04)
    assert small.training_hours / whole.training_hours == pytest.approx(10 / 12)
    policy = replace(CONFIG.policy, lora_rank=8, quantized=True, sharded=False)
    quantized = replace(CONFIG, policy=policy)
    assert forecast(quantized, adapters, one).training_gb < small.training_gb


def test_a_copy_of_the_states_for_each_machine_is_shared_by_its_gpus_alone():
    shared, copies = (
        forecast(CONFIG, SHAPE, ClusterSettings(nodes=4, offload=True, shard_gpus=gpus)).training_gb for gpus in (0, 8)
    )
    assert copies - shared == pytest.approx(18 * 7 * (1 / 8 - 1 / 32))


def test_tokens_are_those_of_every_conversation():
    plan = CONFIG.plan
    found = forecast(CONFIG, SHAPE, ClusterSettings(gpus=32))
    readings = 128 * 16
    updates = -(-28672 // plan.chunk_tokens)
    notes = plan.question_tokens + plan.memory_tokens + 200
    assert found.sections == updates
    assert found.prompt_tokens == readings * (updates * (notes + plan.chunk_tokens) + notes)
    assert found.reply_tokens == readings * (updates * plan.memory_tokens + plan.answer_tokens)


def test_training_costs_twelve_operations_a_weight_and_token_with_old_reference_and_recomputed_passes():
    found = forecast(CONFIG, SHAPE, ClusterSettings(gpus=32))
    tokens = found.prompt_tokens + found.reply_tokens
    assert found.training_hours == pytest.approx(400 * 12 * 7e9 * tokens / (9.89e14 * 0.33 * 32) / 3600)
    assert found.gpu_hours == pytest.approx(32 * (found.training_hours + found.sampling_hours))
    alone = forecast(replace(CONFIG, updates=1, loss=replace(CONFIG.loss, kl=0.0)), SHAPE, ClusterSettings(gpus=32))
    assert alone.training_hours == pytest.approx(found.training_hours * 8 / 12)


def test_twice_the_document_is_about_twice_the_cost():
    one, two = (
        forecast(replace(CONFIG, task=replace(CONFIG.task, tokens=tokens)), SHAPE, ClusterSettings(gpus=32))
        for tokens in (50_000, 100_000)
    )
    assert 1.9 < two.gpu_hours / one.gpu_hours < 2.0


def test_states_are_shared_by_the_ranks_and_what_does_not_fit_is_said():
    many, few = (
        forecast(CONFIG, SHAPE, ClusterSettings(gpus=32, offload=True)),
        forecast(CONFIG, SHAPE, ClusterSettings(gpus=1)),
    )
    assert few.training_gb - many.training_gb == pytest.approx(18 * 7 * (1 - 1 / 32))
    assert many.problems == ()
    assert any("training takes" in one for one in few.problems)
    assert any("sampling takes" in one for one in few.problems)
    narrow = forecast(CONFIG, replace(SHAPE, window=4096), ClusterSettings(gpus=32, offload=True))
    assert any("window holds 4,096" in one for one in narrow.problems)
    large = forecast(CONFIG, replace(SHAPE, weights=70_000_000_000), ClusterSettings(gpus=512, offload=True))
    assert any("no room for a single reading" in one for one in large.problems)


def test_a_dry_run_says_what_a_run_takes_and_what_is_missing(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOKWHEEL_DATA", raising=False)
    code, out, _ = command("train", "paper-7b", "--dry", "--json")
    told = json.loads(out)
    assert code == 2
    assert (told["gpus"], told["weights"], told["sections"]) == (32, 7_615_616_512, 6)
    assert (told["model"], told["steps"]) == ("Qwen/Qwen2.5-7B-Instruct", 400)
    (problem,) = told["problems"]
    assert "hotpotqa_train" in problem
    said = command("train", "paper-7b", "--dry").out
    assert "not ready: train.task" in said
    assert "93.7 million prompt and 14.7 million reply tokens" in said
    assert not (tmp_path / "runs").exists()


def test_of_a_new_model_a_dry_run_checks_settings_and_samples(command, tmp_path):
    code, out, _ = command("train", "tiny-cpu", "--dry")
    assert code == 0
    assert "settings and samples are in order" in out
    (tmp_path / "mine.toml").write_text('[train.task]\nname = "toy-record"\ntokens = 64\ncount = 8\n')
    code, _, err = command("train", tmp_path / "mine.toml", "--dry")
    assert code == 2
    assert "did you mean 'toy-records'?" in err


def test_without_machines_in_the_settings_a_dry_run_is_of_the_processes_it_is_started_with(
    make_policy, tmp_path, capsys, monkeypatch
):
    make_policy().save(tmp_path / "model")
    file = tmp_path / "mine.toml"
    file.write_text(
        f'[train.task]\nname = "toy-records"\ntokens = 64\ncount = 8\n[train.policy]\npath = "{tmp_path}/model"\n'
    )
    with pytest.raises(SystemExit):
        main(["train", str(file), "--dry"])
    assert "on one GPU of 80 GB" in capsys.readouterr().out
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(SystemExit):
        main(["train", str(file), "--dry"])
    assert "on 4 GPUs of 80 GB" in capsys.readouterr().out


def test_a_preset_is_printed_to_be_copied_and_changed(command, tmp_path):
    printed = command("models", "--preset", "paper-7b").out
    (tmp_path / "mine.toml").write_text(printed)
    assert TrainConfig.load(str(tmp_path / "mine.toml")) == TrainConfig.load("paper-7b")
    assert command("models", "--preset", "paper-8b").code == 2
