"""Training: what a run tells of its steps, what stops it, and that it learns. Resuming: test_resuming.py."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from math import isfinite

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import killed_run  # noqa: E402
from killed_run import assert_alike, records  # noqa: E402

from bookwheel.errors import PlanError  # noqa: E402
from bookwheel.lab.tasks.base import InfeasibleSample  # noqa: E402
from bookwheel.lab.tasks.memories import ideal_memories  # noqa: E402
from bookwheel.lab.training.checkpoint import load_progress  # noqa: E402
from bookwheel.lab.training.config import TrainConfig  # noqa: E402
from bookwheel.lab.training.errors import (  # noqa: E402
    ConfigError,
    LossNotFinite,
    NoGoodRollout,
    NothingToLearn,
)
from bookwheel.lab.training.loading import build_fresh_policy  # noqa: E402
from bookwheel.lab.training.objective import RewardSettings  # noqa: E402
from bookwheel.lab.training.rewards import RewardResult, build_reward  # noqa: E402
from bookwheel.lab.training.samples import SampleOrder  # noqa: E402
from bookwheel.lab.training.speed import SpeedMeter  # noqa: E402
from bookwheel.lab.training.toys import toy_samples, vocabulary  # noqa: E402
from bookwheel.lab.training.trainer import Trainer  # noqa: E402


def start_forks(folder):
    return killed_run.launch(folder, ranks=2)


def start_torchrun(folder):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [*launcher, killed_run.__file__, str(folder), "999"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    return killed_run.LaunchedRun(codes=[done.returncode], errors=done.stderr)


# torchrun imports PyTorch three times, and sets the same variables as the forks have.
@pytest.mark.parametrize("start", [start_forks, pytest.param(start_torchrun, marks=pytest.mark.long)])
def test_two_processes_train_as_one(whole, tmp_path, start):
    """Sums over ranks come in another order, so figures agree to rounding; what is counted agrees exactly."""
    folder = tmp_path / "run"
    done = start(folder)
    assert not any(done.codes), done.errors[-3000:]
    assert_alike(records(folder), records(whole.folder))


def test_a_run_tells_of_every_step_and_evaluation(whole):
    kinds = [(one["kind"], one["step"]) for one in records(whole.folder)]
    assert kinds == [
        ("warm", 1),
        ("warm", 2),
        ("check", 2),
        ("warm", 3),
        ("evaluation", 3),
        ("step", 4),
        ("step", 5),
        ("evaluation", 5),
        ("step", 6),
        ("step", 7),
        ("evaluation", 7),
        ("step", 8),
        ("evaluation", 8),
    ]
    steps = [one for one in records(whole.folder) if one["kind"] == "step"]
    assert all(one["rollouts"] == 9 and one["failed"] == 0 and one["padding"] < 0.1 for one in steps)
    assert {path.name for path in (whole.folder / "checkpoints").iterdir()} == {"step-000006", "step-000008", "best"}


def test_optimizer_steps_count_samples_not_conversations(whole):
    """Three samples of four conversations in two updates: two optimizer steps a batch."""
    assert whole.optimizer.steps_taken == 5 * 2


def test_rollouts_begun_for_their_own_step_are_those_of_a_loop_without_a_pipeline(whole, tmp_path, monkeypatch):
    """Staleness 0 is the synchronous loop, bit for bit."""
    run = killed_run.trainer(tmp_path / "run")

    async def collect_now(step, last):
        return await run._collect(None), 0

    monkeypatch.setattr(run._batches, "next_batch", collect_now)
    run.train()
    assert records(run.folder) == records(whole.folder)


def test_stale_rollouts_come_from_older_weights_and_the_loss_is_told(whole, tmp_path):
    config = replace(killed_run.CONFIG, staleness=2)
    run = killed_run.trainer(tmp_path / "run", config=config)
    run.train()
    steps = [one for one in records(run.folder) if one["kind"] == "step"]
    assert [one["staleness"] for one in steps] == [0, 1, 2, 2, 2]
    # Log-probabilities of the newest weights equal the trainer's; those of older ones do not.
    assert steps[0]["mismatch"] < 1e-5 < steps[1]["mismatch"]
    assert [one["rollouts"] for one in steps] == [9] * 5
    assert run.progress.samples_drawn == 15


def test_a_run_of_nothing_but_failures_names_the_commonest(tmp_path):
    async def broken(model, sample):
        raise TimeoutError("the tool does not answer")

    run = killed_run.trainer(tmp_path / "run", workflow=broken)
    run.config = replace(run.config, patience=1)
    with pytest.raises(NothingToLearn, match=r"9 of 9 rollouts failed, most often with TimeoutError: the tool"):
        run.train()


def test_mini_batches_move_the_policy_away_from_the_one_that_was_sampled(tmp_path):
    """With one update a batch the ratio is 1; with three the later ones see how far the first have gone."""
    config = replace(killed_run.CONFIG, warm_start=replace(killed_run.CONFIG.warm_start, steps=0), learning_rate=0.2)
    ratios = {}
    for updates in (1, 3):
        run = killed_run.trainer(tmp_path / f"run-{updates}", config=replace(config, updates=updates))
        run.train()
        steps = [one for one in records(run.folder) if one["kind"] == "step"]
        assert run.optimizer.steps_taken == 5 * updates
        assert all(one["updates"] == updates and one["micro_batches"] >= updates for one in steps)
        ratios[updates] = [one["ratio"] for one in steps]
        clipped, dual = (sum(one[name] for one in steps) for name in ("clipped", "dual"))
        assert (clipped > 0, dual > 0) == (updates > 1, updates > 1)
    assert ratios[1] == pytest.approx([1.0] * 5, abs=1e-6)
    assert max(abs(ratio - 1) for ratio in ratios[3]) > 0.01


def test_the_clock_tells_speed_phases_and_memory_and_nothing_of_it_stands_elsewhere(whole):
    clocks = [one["clock"] for one in records(whole.folder, clock=True) if one["kind"] == "step"]
    for clock in clocks:
        assert clock["tokens_per_second"] > 0
        assert clock["memory_gb"] > 0.05
        assert clock["phases"].keys() >= {"weights", "rollouts", "training"}
        assert sum(clock["phases"].values()) <= clock["seconds"] + 0.01
        assert "peak_share" not in clock, "a CPU's peak is not known"
    warm = next(one for one in records(whole.folder, clock=True) if one["kind"] == "warm")
    seconds = warm["tokens"] / warm["clock"]["tokens_per_second"]
    # The clock's seconds end a little later, when the record is written.
    assert 0 < seconds <= warm["clock"]["seconds"] + 0.001


def test_the_share_of_the_peak_counts_the_passes_over_every_token(policy, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H100 80GB HBM3")
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 3 * 2**30)
    meter = SpeedMeter(policy, replace(killed_run.CONFIG, updates=2))
    weights = sum(one.numel() for one in policy.model.parameters())
    tokens = 10**12
    found = meter.sum_up({"prompt_tokens": tokens, "reply_tokens": 0}, seconds=100.0)
    # Sampled once, scored before the updates and by the reference, trained on forward and backward.
    assert found["peak_share"] == pytest.approx(weights * tokens * (2 + 2 + 2 + 6) / 100 / 9.89e14, rel=0.01)
    assert found["memory_gb"] == 3.0


def spoil_gradients(run, *, at):
    """Let the gradients of some optimizer steps be no numbers."""
    step, calls = run.policy.score, []

    def score(rows):
        scored = step(rows)
        if torch.is_grad_enabled() and scored.logprobs.requires_grad:
            calls.append(len(calls))
            if at(calls[-1]):
                return replace(scored, logprobs=scored.logprobs * torch.nan)
        return scored

    run.policy.score = score


def test_an_update_whose_loss_is_no_number_is_left_out_and_counted(tmp_path):
    run = killed_run.trainer(tmp_path / "run")
    spoil_gradients(run, at=lambda call: call in (1, 6))
    run.train()
    assert all(weight.isfinite().all() for weight in run.policy.trainable)
    lines = records(tmp_path / "run")
    assert sum(one.get("bad_updates", 0) for one in lines) == 2
    assert "loss" not in lines[1], "the second warm step was left out"
    assert all(isfinite(value) for one in lines for value in one.values() if isinstance(value, float))


def test_losses_that_go_on_being_no_number_stop_the_run_and_keep_weights_and_checkpoint(tmp_path):
    run = killed_run.trainer(tmp_path / "run")
    spoil_gradients(run, at=lambda call: call >= 3)
    with pytest.raises(LossNotFinite, match=r"batch of .*toy-records-48-1-.*as on the 4 before it.*--resume"):
        run.train()
    assert all(weight.isfinite().all() for weight in run.policy.trainable)
    assert (tmp_path / "run" / "checkpoints" / "step-000004").is_dir()


def test_a_reward_that_is_no_number_fails_its_rollout_alone(tmp_path):
    def burst(episode, sample):
        score = len(episode.answer) % 7 / 7
        return RewardResult(score=(float("nan"), float("inf"), score, score)[len(episode.answer) % 4], answer=0.0)

    run = killed_run.trainer(tmp_path / "run", reward=burst)
    assert run.train().steps == 8
    steps = [one for one in records(tmp_path / "run") if one["kind"] == "step"]
    assert sum(one["failed"] for one in steps) > 0
    assert all(isfinite(one["reward"]) for one in steps)


@pytest.mark.parametrize("steps", [1, 5])
def test_a_run_of_which_no_rollout_is_good_ends_as_an_error(tmp_path, steps):
    async def broken(model, sample):
        raise ConnectionError("the server is gone")

    warm = replace(killed_run.CONFIG.warm_start, until=0.0)
    run = killed_run.trainer(tmp_path / "run", config=replace(killed_run.CONFIG, steps=steps, warm_start=warm))
    run.workflow = broken
    with pytest.raises(
        NoGoodRollout, match="9 of 9 rollouts failed, most often with ConnectionError: the server is gone"
    ):
        run.train()
    lines = [one for one in records(tmp_path / "run") if one["kind"] == "step"]
    assert [one["failed"] for one in lines] == [9] * (min(3, steps) - 1)


def test_a_sample_that_cannot_be_made_is_replaced_by_the_next(tmp_path):
    class Torn(list):
        def __getitem__(self, place):
            if place == 2:
                raise InfeasibleSample("sample 2 has no room for its answer")
            return super().__getitem__(place)

    run = killed_run.trainer(tmp_path / "run")
    run._order = SampleOrder(Torn(run.samples), 0)
    assert run.train().steps == 8


def test_rewards_without_spread_stop_the_run_with_advice(tmp_path):
    run = killed_run.trainer(tmp_path / "run", reward=lambda episode, sample: RewardResult(score=0.0, answer=0.0))
    run.config = replace(run.config, patience=2)
    with pytest.raises(NothingToLearn, match="warm-start longer"):
        run.train()


def test_a_plan_beyond_the_window_is_an_error_not_a_failed_rollout(tmp_path):
    run = killed_run.trainer(tmp_path / "run")
    run.config = replace(run.config, warm_start=replace(run.config.warm_start, steps=0))
    wide = replace(run.config.plan, chunk_tokens=300)
    run.workflow = __import__("bookwheel.lab.training.workflows", fromlist=["reading"]).reading(wide)
    with pytest.raises(PlanError, match="window"):
        run.train()


def test_what_cannot_be_trained_is_refused_before_it_begins(policy, tmp_path):
    samples = toy_samples(tokens=48, count=3, seed=1)
    judge = build_reward(RewardSettings())

    def begin(samples, config):
        Trainer(policy, samples, judge, config, folder=tmp_path)

    with pytest.raises(ConfigError, match="no samples"):
        begin([], TrainConfig())
    with pytest.raises(ConfigError, match=f"no gold answer.*{samples[1].id}"):
        begin([samples[0], replace(samples[1], golds=())], TrainConfig())
    with pytest.raises(ConfigError, match="no workflow 'dance'"):
        begin(samples, TrainConfig(workflow="dance"))
    with pytest.raises(ConfigError, match="oracle"):
        begin(samples, TrainConfig.from_tables({"train": {"warm_start": {"steps": 3}}}))
    config = TrainConfig.from_tables({"train": {"warm_start": {"steps": 3, "until": 0.5}}})
    with pytest.raises(ConfigError, match="until is measured on held-out samples"):
        Trainer(policy, samples, judge, config, folder=tmp_path, oracle=ideal_memories)


def test_imitation_learns(tmp_path):
    config = replace(
        killed_run.CONFIG,
        steps=0,
        warm_start=replace(killed_run.CONFIG.warm_start, steps=45, until=0.0, learning_rate=5e-3),
    )
    policy = build_fresh_policy([*vocabulary(), "none same notes section question answer"], config.fresh, 0)
    judge = build_reward(config.reward)
    samples = toy_samples(tokens=48, count=10, seed=1)
    Trainer(policy, samples, judge, config, folder=tmp_path / "run", oracle=ideal_memories).train()
    losses = [one["loss"] for one in records(tmp_path / "run")]
    assert losses[-1] < losses[0] / 2


def test_a_warm_start_ends_early_when_it_is_good_enough(tmp_path):
    run = killed_run.trainer(tmp_path / "run")
    run.config = replace(run.config, warm_start=replace(run.config.warm_start, until=0.2))
    run.reward = lambda episode, sample: RewardResult(score=len(episode.answer) % 7 / 7, answer=0.5)
    run.train()
    kinds = [(one["kind"], one["step"]) for one in records(tmp_path / "run")]
    assert kinds[:5] == [("warm", 1), ("warm", 2), ("check", 2), ("evaluation", 2), ("step", 3)]
    assert kinds[-1] == ("evaluation", 7)
    assert load_progress(tmp_path / "run" / "checkpoints" / "best").step == 7, (
        "of equally good policies the last is kept"
    )


def test_the_rate_of_reinforcement_falls_over_its_own_steps_alone(whole):
    taken = whole.config.steps * whole.config.updates - 1
    rates = [group["lr"] for group in whole.optimizer.optimizer.param_groups]
    assert rates == [pytest.approx(1e-3 * (1 - 0.5 * taken / (taken + 1)))]


def test_the_rate_of_a_warm_start_falls_over_its_steps(tmp_path):
    warm = replace(killed_run.CONFIG.warm_start, steps=2, until=0.0, warmup_steps=0, decay=0.5)
    rates = []

    def note_rate(record):
        if record["kind"] == "warm":
            rates.extend(group["lr"] for group in run.optimizer.optimizer.param_groups)

    config = replace(killed_run.CONFIG, steps=0, warm_start=warm)
    run = killed_run.trainer(tmp_path / "run", config=config, observe=note_rate)
    run.train()
    assert rates == pytest.approx([1e-3, 0.75e-3])


def test_reinforcement_learns(tmp_path):
    """A policy that knows nothing finds out which word is wanted, from the reward alone."""
    config = TrainConfig.from_tables(
        {
            "train": {
                "workflow": "single",
                "steps": 25,
                "samples": 4,
                "group_size": 8,
                "learning_rate": 3e-3,
                "warmup_steps": 2,
                "fresh": {"hidden": 32, "layers": 1, "heads": 2, "window": 128},
                "loss": {"kl": 0.0},
                "evaluation": {"every": 0, "samples": 32, "temperature": 1.0, "top_p": 1.0},
            },
            "plan": {"answer_tokens": 8},
        }
    )
    wanted = [replace(one, golds=("red",), metric="contains") for one in toy_samples(tokens=16, count=32, seed=1)]
    policy = build_fresh_policy(vocabulary(), config.fresh, 0)
    run = Trainer(policy, wanted, build_reward(config.reward), config, folder=tmp_path / "run", held_out=wanted)
    trained = run.train()
    assert trained.before < 0.5
    assert trained.after > trained.before + 0.3
