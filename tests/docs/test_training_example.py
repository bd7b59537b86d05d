"""The examples of training run where PyTorch is."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_training_example_pushes_the_right_way() -> None:
    script = EXAMPLES / "train_rows.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=True)
    assert "becomes likelier: True" in done.stdout
    assert "less likely: True" in done.stdout


@pytest.fixture(scope="module")
def loop():
    spec = importlib.util.spec_from_file_location("train_loop", EXAMPLES / "train_loop.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_loop_of_one_file_trains(loop, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["train_loop.py", "--warm", "12", "--steps", "1"])
    monkeypatch.setattr(loop, "HELD_OUT", 8)
    # It is there to be read in ten minutes.
    assert len((EXAMPLES / "train_loop.py").read_text(encoding="utf-8").splitlines()) <= 150
    losses, plain = [], loop.imitate
    monkeypatch.setattr(loop, "imitate", lambda *given: losses.append(plain(*given)) or losses[-1])
    loop.main()
    assert losses[-1] < losses[0] / 2
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["imitate", "reinforce"]


def test_the_loop_of_one_file_takes_the_trainers_step(loop) -> None:
    """The same rows give the loss of the trainer's page, and the likelier tokens are those of the better readings."""
    import asyncio

    from bookwheel.lab.training.loss import Logprobs, policy_loss
    from bookwheel.lab.training.objective import LossSettings
    from bookwheel.plan import Sampling

    model, optimizer = loop.build_policy(0)
    samples = loop.toy_samples(tokens=32, count=2, seed=1)
    groups = asyncio.run(loop.roll_out(model, samples, 3, Sampling(temperature=1.0, top_p=1.0, seed=1)))
    rows = [
        row
        for episodes in groups
        for episode, advantage in zip(episodes, loop.advantages([1.0, 0.0, 0.0]), strict=True)
        for row in loop.rows_of(episode.conversations, advantage, "r")
    ]
    old = torch.tensor([one for row in rows for one in row.logprobs])
    advantage = torch.tensor([row.advantage for row in rows for _ in row.logprobs])
    new = model.policy.score(rows).logprobs.detach()
    settings = LossSettings(clip_low=loop.LOW, clip_high=loop.HIGH, dual_clip=0.0, kl=0.0)
    theirs, _ = policy_loss(Logprobs(new=new, old=old), advantage, len(old), settings)
    assert loop.reinforce(model, optimizer, rows, updates=1) == pytest.approx(theirs.item(), abs=1e-6)
    assert ((model.policy.score(rows).logprobs.detach() - new) * advantage).sum() > 0
