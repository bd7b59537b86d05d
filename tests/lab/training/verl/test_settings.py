import pytest

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.verl.settings import ClusterSettings


def test_a_file_holds_the_machines_beside_what_is_trained(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[train]\nsteps = 3\n[verl]\nnodes = 4\nrollouts = "sglang"\noverrides = ["a.b=1"]\n')
    assert TrainConfig.load(str(file)).steps == 3
    cluster = ClusterSettings.load(str(file))
    assert (cluster.nodes, cluster.gpus, cluster.ranks, cluster.rollouts) == (4, 8, 32, "sglang")
    assert ClusterSettings.from_tables({"verl": cluster.to_json()}) == cluster


@pytest.mark.parametrize(("preset", "ranks"), [("paper-7b", 8), ("paper-14b", 32)])
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
