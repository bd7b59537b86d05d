from __future__ import annotations

import pytest

pytest.importorskip("torch")

from bookwheel.plan import list_presets, load_preset
from bookwheel.training.advantages import Estimator
from bookwheel.training.config import TrainConfig
from bookwheel.training.errors import ConfigError


def test_the_defaults_are_the_papers():
    config = TrainConfig()
    assert (config.samples, config.group_size, config.learning_rate, config.warmup_steps) == (128, 16, 1e-6, 20)
    assert (config.loss.clip_low, config.loss.clip_high, config.loss.kl) == (0.2, 0.2, 1e-3)
    assert config.estimator is Estimator.MEAN


def test_tables_are_taken_where_they_belong():
    config = TrainConfig.from_tables(
        {"train": {"steps": 3, "estimator": "mean-std", "loss": {"kl": 0}}, "plan": {"chunk_tokens": 64}}
    )
    assert (config.steps, config.estimator, config.loss.kl, config.plan.chunk_tokens) == (3, "mean-std", 0.0, 64)
    assert TrainConfig.from_tables(config.to_json()) == config


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"learning_rat": 1}, r"did you mean 'learning_rate'\?"),
        ({"loss": {"clip_hi": 1}}, r"\[train.loss\]; did you mean 'clip_high'\?"),
        ({"loss": 3}, "is a table"),
        ({"steps": "many"}, "train.steps is 'many'; it takes a int"),
        ({"steps": True}, "takes a int"),
        ({"estimator": "median"}, "one of: mean, mean-std, leave-one-out"),
        ({"group_size": 1}, "cannot be compared with itself"),
        ({"updates": 9, "samples": 4}, "more than the 4 samples"),
        ({"learning_rate": 0.0}, "above 0"),
    ],
)
def test_what_cannot_be_is_refused_with_advice(table, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig.from_tables({"train": table})


def test_every_preset_with_a_training_table_loads():
    loaded = [name for name in list_presets() if "train" in load_preset(name)]
    assert {"tiny-cpu", "smollm2-135m", "paper-7b", "paper-14b"} <= set(loaded)
    for name in loaded:
        assert TrainConfig.load(name).steps > 0


def test_a_file_is_read_and_a_wrong_name_told(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[train]\nsteps = 7\n", encoding="utf-8")
    assert TrainConfig.load(str(file)).steps == 7
    with pytest.raises(ConfigError, match=r"there are: .*tiny-cpu"):
        TrainConfig.load("tiny")
    with pytest.raises(ConfigError, match="cannot be read"):
        TrainConfig.load(str(tmp_path / "none.toml"))
