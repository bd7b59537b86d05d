"""verl's real trainer, Ray, TransferQueue and FSDP2 on processors, from `bookwheel train` to an exported policy."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

pytest.importorskip("transfer_queue")
pytest.importorskip("verl")
pytest.importorskip("ray")

import psutil
from bed import Bed, make_base, start_cluster, tail

from bookwheel.lab.tasks.files import write_samples
from bookwheel.lab.training.config import PolicySettings
from bookwheel.lab.training.loading import load_policy
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.toys import toy_samples

# Each run starts a dozen processes, which import PyTorch and verl; Ray's own part warns.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

GROUPS, SESSIONS, UPDATES = 6, 4, 3
CHUNKS = range(2, 13)


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bed")
    make_base(folder / "base", hidden=32, layers=1, heads=2, window=128)
    return Bed(folder=folder)


def make_train(bed, **changes):
    train = {
        "samples": GROUPS,
        "group_size": SESSIONS,
        "updates": UPDATES,
        "learning_rate": 3e-3,
        "warmup_steps": 0,
        "policy": {"path": str(bed.folder / "base")},
        "task": {"name": "toy-records", "tokens": 32, "count": 64},
        "loss": {"kl": 0.0},
        # A model that knows nothing earns by short replies alone, which it learns in a few steps.
        "reward": {"overlong": 1.0, "overlong_share": 1.0},
        "evaluation": {"every": 4, "samples": 8},
    }
    return train | changes


def load_steps(folder):
    return [record for record in load_records(folder) if record["kind"] == "step"]


def test_a_run_whose_worker_was_killed_goes_on_learns_and_leaves_what_any_run_leaves(bed):
    out = bed.folder / "killed"
    file = bed.write("killed", make_train(bed, steps=10, checkpoint_every=4))
    process = bed.start(file, out)
    try:
        deadline = time.monotonic() + 1200
        while time.monotonic() < deadline and process.poll() is None:
            if (out / "metrics.jsonl").exists() and len(load_steps(out)) >= 5:
                break
            time.sleep(0.5)
        assert process.poll() is None, tail(out)
        # One that trains, as a machine that fails would lose it.
        os.kill(find_worker(process.pid), signal.SIGKILL)
        assert process.wait(timeout=300) == 1
    finally:
        process.kill()
    assert "--resume" in json.loads(out.with_suffix(".out").read_text("utf-8"))["error"]

    assert bed.run(file, out, "--resume")["steps"] == 10
    steps = load_steps(out)
    # From the checkpoint of step 4: what came after it in the first run was done again.
    assert [record["step"] for record in steps] == list(range(1, 11))
    assert sum(record["reward"] for record in steps[-3:]) > sum(record["reward"] for record in steps[:3])
    assert {record["rollouts"] for record in steps} == {GROUPS * SESSIONS}
    assert {record["failed"] for record in steps} == {0}
    assert [record["step"] for record in load_records(out) if record["kind"] == "evaluation"] == [0, 4, 8, 10]
    assert load_policy(PolicySettings(path=str(out / "policy"))).model.config.num_hidden_layers == 1
    assert (out / "policy" / "README.md").exists()
    assert (out / "curves.svg").exists()
    assert not list(out.glob(".merged-*"))


def test_neither_lengths_nor_failed_readings_change_the_number_of_optimizer_steps(bed):
    samples = [sample for chunks in CHUNKS for sample in toy_samples(tokens=16 * chunks, count=6, seed=chunks)]
    data = bed.folder / "mixed.jsonl"
    write_samples(samples, data)
    task = {"file": str(data)}
    train = make_train(bed, steps=4, checkpoint_every=4, task=task, evaluation={"samples": 4})
    file = bed.write("mixed", train, "+actor_rollout_ref.rollout.engine_kwargs.cpu={fail_every: 60}")
    out = bed.folder / "mixed"
    bed.run(file, out)
    steps = load_steps(out)
    assert [record["optimizer_steps"] for record in steps] == [UPDATES] * 4
    assert len({record["conversations"] for record in steps}) > 1
    assert sum(record["failed"] for record in steps) > 0
    assert {record["rollouts"] for record in steps} == {GROUPS * SESSIONS}


def test_two_nodes_train_one_policy_and_read_once_what_rows_share(bed):
    out = bed.folder / "two"
    train = make_train(bed, steps=2, checkpoint_every=2)
    with start_cluster(2) as address:
        two = Bed(folder=bed.folder, address=address)
        two.run(two.write("two", train, nodes=2, layout="question-section"), out)
    assert [record["step"] for record in load_steps(out)] == [1, 2]
    assert {record["optimizer_steps"] for record in load_steps(out)} == {UPDATES}
    assert min(record["shared"] for record in load_steps(out)) > 0.3
    parts = (out / "verl" / "global_step_2" / "actor").glob("model_world_size_2_rank_*.pt")
    assert len(list(parts)) == 2
    assert (out / "policy" / "model.safetensors").exists()


def find_worker(run):
    """Return the process of a rank among the descendants of a run's process."""
    # Ray names a worker after its actor's class.
    names = {child.pid: " ".join(child.cmdline()) for child in psutil.Process(run).children(recursive=True)}
    return next(pid for pid, name in names.items() if "WorkerDict" in name)
