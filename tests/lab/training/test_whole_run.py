"""One run with all that training relies on together: shared prefixes, mini-batches, the dual clip, a kill and a resume."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import killed_run  # noqa: E402

from bookwheel.lab.training.records import load_records  # noqa: E402


def load_steps(folder):
    return [
        {name: value for name, value in record.items() if name != "clock"}
        for record in load_records(folder)
        if record["kind"] == "step"
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = killed_run.trainer(tmp_path_factory.mktemp("whole") / "run", config=killed_run.SHARED)
    run.train()
    return run


def test_it_shares_cuts_clips_and_learns(whole):
    steps = load_steps(whole.folder)
    config = killed_run.SHARED
    assert [step["step"] for step in steps] == list(range(1, config.steps + 1))
    assert min(step["shared"] for step in steps) > 0.3
    assert whole.optimizer.steps_taken == config.steps * config.updates
    assert {step["updates"] for step in steps} == {config.updates}
    for name in ("clipped", "dual", "kl"):
        assert sum(step[name] for step in steps) > 0, name
    assert {step["rollouts"] for step in steps} == {config.samples * config.group_size}
    rewards = [step["reward"] for step in steps]
    assert sum(rewards[-2:]) / 2 > sum(rewards[:2]) / 2 + 0.2


def test_killed_and_resumed_it_is_the_same_run_bit_for_bit(whole, tmp_path):
    folder = tmp_path / "run"
    # The evaluation and five steps; the newest checkpoint is that of step 3.
    killed = killed_run.launch(folder, "grouped", records=6)
    assert killed.codes == [-signal.SIGKILL], killed.errors
    assert len(load_steps(folder)) == 5
    resumed = killed_run.trainer(folder, config=killed_run.SHARED)
    resumed.train(resume=True)
    assert load_steps(folder) == load_steps(whole.folder)
    for mine, theirs in zip(resumed.policy.trainable, whole.policy.trainable, strict=True):
        assert torch.equal(mine, theirs)


def test_without_sharing_the_first_step_has_the_same_figures(whole, tmp_path):
    config = replace(killed_run.SHARED, steps=1)
    run = killed_run.trainer(tmp_path / "run", config=config)
    config = replace(config, policy=replace(config.policy, share_prefixes=False))
    plain = killed_run.trainer(tmp_path / "plain", config=config)
    for one in (run, plain):
        one.train()
    (shared,), (separate,) = load_steps(run.folder), load_steps(plain.folder)
    assert separate["shared"] == 0 < shared["shared"]
    for name in ("loss", "gradient", "kl", "entropy", "ratio", "clipped", "dual", "tokens", "reward"):
        assert shared[name] == pytest.approx(separate[name], rel=1e-4, abs=1e-6), name
