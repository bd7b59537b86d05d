from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.launch import build_policy, build_samples, build_trainer
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.samples import check_sources

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


def test_a_fresh_model_takes_only_toy_tasks(config):
    with pytest.raises(ConfigError, match=r"set train\.policy\.path"):
        check_sources(replace(config, task=replace(config.task, name="niah_single_1")))


def test_without_a_task_there_is_nothing_to_train_on(config, tmp_path):
    with pytest.raises(ConfigError, match=r"\[train\.task\]"):
        build_trainer(replace(config, task=replace(config.task, count=0)), tmp_path)


def test_the_command_trains_exports_and_tells(config, tmp_path, command):
    pytest.importorskip("matplotlib")
    out = tmp_path / "run"
    ended = command("train", tmp_path / "tiny.toml", "--out", out, "--seed", "5", "--threads", "1", "--json")
    assert ended.code == 0
    told = json.loads(ended.out)
    assert told["steps"] == 3
    assert 0 <= told["before"] <= 1
    assert {"policy", "curves.svg", "metrics.jsonl", "rollouts.sqlite", "checkpoints"} <= {
        path.name for path in out.iterdir()
    }
    assert "seed 5" in (out / "policy" / "README.md").read_text()


def test_a_resumed_run_keeps_its_threads_for_another_number_adds_up_in_another_order(
    config, tmp_path, monkeypatch, capsys
):
    pytest.importorskip("matplotlib")
    import torch

    from bookwheel.cli.main import main

    begun = torch.get_num_threads()
    chosen: list[int] = []
    command = ["train", str(tmp_path / "tiny.toml"), "--out", str(tmp_path / "run"), "--quiet"]
    try:
        with pytest.raises(SystemExit):
            main([*command, "--steps", "1", "--threads", "1"])
        told = capsys.readouterr()
        assert "held-out accuracy (n = " in told.out
        assert "it knows the words of its task alone" in told.out
        assert told.err == "", "no bars of libraries"
        monkeypatch.setattr(torch, "set_num_threads", chosen.append)
        monkeypatch.setattr("bookwheel.models.engine.choose_thread_count", lambda: 2)
        with pytest.raises(SystemExit) as ended:
            main([*command, "--resume"])
        assert ended.value.code == 0
        assert chosen == [1]
        monkeypatch.undo()
        # What starts the command again need not know whether it has begun.
        for steps in ("1", "2"):
            with pytest.raises(SystemExit) as ended:
                main(
                    [
                        *command[:3],
                        str(tmp_path / "again"),
                        "--quiet",
                        "--threads",
                        "1",
                        "--auto-resume",
                        "--steps",
                        steps,
                    ]
                )
            assert ended.value.code == 0
        assert sum(one["kind"] == "step" for one in load_records(tmp_path / "again")) == 2
    finally:
        monkeypatch.undo()
        torch.set_num_threads(begun)


OWN = """
[plan]
prompts = "tiny"
language = "en"
chunk_tokens = 16
memory_tokens = 8
answer_tokens = 8

[train]
steps = 1
samples = 2
group_size = 2
[train.policy]
path = "{path}"
[train.task]
file = "{file}"
[train.evaluation]
samples = 3
"""


@pytest.fixture
def own(tmp_path, make_policy):
    from bookwheel.lab.tasks import write_samples
    from bookwheel.lab.training.toys import toy_samples

    make_policy().save(tmp_path / "model")
    write_samples(toy_samples(tokens=32, count=9, seed=3), tmp_path / "mine.jsonl")
    file = tmp_path / "mine.toml"
    file.write_text(OWN.format(path=tmp_path / "model", file=tmp_path / "mine.jsonl"), encoding="utf-8")
    return file


def test_a_run_trains_on_a_file_and_measures_on_what_it_holds_back(own, tmp_path):
    trainer = build_trainer(TrainConfig.load(str(own)), tmp_path / "run")
    assert (len(trainer.samples), len(trainer.held_out)) == (6, 3)
    assert not {one.id for one in trainer.samples} & {one.id for one in trainer.held_out}
    result = trainer.train()
    assert result.steps == 1
    assert result.after is not None


def test_held_out_samples_may_have_a_file_of_their_own(own, tmp_path):
    from bookwheel.lab.tasks import write_samples
    from bookwheel.lab.training.toys import toy_samples

    write_samples(toy_samples(tokens=32, count=9, seed=4), tmp_path / "held-out.jsonl")
    config = TrainConfig.load(str(own))
    task = replace(config.task, held_out=str(tmp_path / "held-out.jsonl"), count=4)
    trainer = build_trainer(replace(config, task=task), tmp_path / "run")
    assert (len(trainer.samples), len(trainer.held_out)) == (4, 3)


def test_nothing_of_a_librarys_progress_bars_is_seen(own, capfd):
    assert build_policy(TrainConfig.load(str(own))).model.config.model_type == "llama"
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "")


def test_quantized_weights_are_refused_without_a_gpu(own, tmp_path):
    config = TrainConfig.load(str(own))
    quantized = replace(config.policy, quantized=True, lora_rank=4, device="cpu")
    with pytest.raises(ConfigError, match=r"quantized needs a CUDA GPU, and the device is 'cpu'"):
        build_policy(replace(config, policy=quantized))


def test_a_gpu_gets_four_bit_weights_under_adapters(own, monkeypatch):
    """Without a GPU here: what would be asked of transformers is looked at."""
    import transformers

    from bookwheel.lab.training import loading

    asked = {}

    def from_pretrained(place, **options):
        asked.update(options)
        raise OSError("no GPU here")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", from_pretrained)
    monkeypatch.setattr(loading, "find_spec", lambda name: name)
    config = TrainConfig.load(str(own))
    quantized = replace(config.policy, quantized=True, lora_rank=4, device="cuda:1")
    with pytest.raises(ConfigError, match="no GPU here"):
        build_policy(replace(config, policy=quantized))
    settings = asked["quantization_config"]
    assert (settings.load_in_4bit, settings.bnb_4bit_quant_type) == (True, "nf4")
    assert asked["device_map"] == {"": "cuda:1"}
    assert asked["dtype"] is settings.bnb_4bit_compute_dtype
