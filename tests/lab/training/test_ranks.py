"""Two gloo processes that share one model out between them."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

import json
import signal

import killed_run
from killed_run import assert_alike, records

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared") / "run"
    done = killed_run.launch(folder, "sharded", ranks=2)
    assert done.codes == [0, 0], done.errors[-3000:]
    return folder


def test_two_ranks_with_half_the_weights_each_train_as_one_with_all(whole, shared):
    assert_alike(records(shared), records(whole.folder))


def test_each_of_two_ranks_holds_half_of_weights_and_moments(whole, shared):
    alone = killed_run.held_bytes(whole)
    for rank in (0, 1):
        held = json.loads((shared / f"memory-{rank}.json").read_text())
        assert held["weights"] < 0.55 * alone["weights"]
        assert held["moments"] < 0.55 * alone["moments"]


def test_the_best_policy_is_whole_and_can_be_loaded_by_one_process(shared, whole):
    from bookwheel.lab.training import checkpoint
    from bookwheel.lab.training.loading import build_fresh_policy
    from bookwheel.lab.training.toys import vocabulary

    config = killed_run.CONFIG
    policy = build_fresh_policy([*vocabulary(), "none same notes section question answer"], config.fresh, config.seed)
    checkpoint.load_weights(shared / "checkpoints" / "best" / "weights.safetensors", policy.model)
    best = whole.folder / "checkpoints" / "best" / "weights.safetensors"
    for name, weight in checkpoint.read_weights(best).items():
        assert torch.allclose(dict(policy.model.named_parameters())[name], weight, atol=1e-3), name


@pytest.mark.parametrize("ranks", [3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (1, 2))])
def test_a_killed_run_goes_on_with_another_number_of_ranks(whole, tmp_path, ranks):
    folder = tmp_path / "run"
    killed = killed_run.launch(folder, "sharded", ranks=2, records=8)
    assert -signal.SIGKILL in killed.codes
    assert len(records(folder)) == 8
    resumed = killed_run.launch(folder, "sharded", "resume", ranks=ranks)
    assert resumed.codes == [0] * ranks, resumed.errors[-3000:]
    assert_alike(records(folder), records(whole.folder))


def test_ranks_sample_while_they_train_and_stay_one_policy(tmp_path):
    done = killed_run.launch(tmp_path / "run", "stale", ranks=2)
    assert done.codes == [0, 0], done.errors[-3000:]
    one, other = (json.loads((tmp_path / "run" / f"memory-{rank}.json").read_text()) for rank in (0, 1))
    assert one == other
    steps = [record for record in records(tmp_path / "run") if record["kind"] == "step"]
    assert [record["staleness"] for record in steps] == [0, 1, *[2] * 10]


def test_a_rank_waits_for_rollouts_that_take_hours_longer_than_its_own(monkeypatch):
    from datetime import timedelta

    from bookwheel.lab.training import ranks as module

    seen = {}
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(module.distributed, "init_process_group", lambda backend, **how: seen.update(how))
    monkeypatch.setattr(module.distributed, "new_group", lambda **how: None)
    module.join()
    assert seen["timeout"] >= timedelta(hours=6)
