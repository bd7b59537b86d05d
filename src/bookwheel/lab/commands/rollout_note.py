"""What `bookwheel show` says of a reading that is a rollout: its reward and its advantage."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from bookwheel.cli.timeline import ReadingNote
from bookwheel.lab.training.rollout_store import load_rollouts

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.lab.training.rollout_store import StoredRollout


def find_rollout(journal: Path, id_: str) -> ReadingNote | None:
    """Return the note of a rollout if the journal belongs to a training run and has this reading."""
    if not journal.with_name("rollouts.jsonl").is_file():
        return None
    rollout = next((rollout for rollout in load_rollouts(journal.parent) if rollout.reading == id_), None)
    if rollout is None:
        return None
    return ReadingNote(
        head=_format_reward(rollout),
        tail=f" · advantage {rollout.advantage:+.3f}",
        fields={"rollout": asdict(rollout)},
    )


def _format_reward(rollout: StoredRollout) -> str:
    """Return a rollout's reward and its parts as one line."""
    reward = "not scored" if rollout.reward is None else f"reward {rollout.reward:g}"
    parts = ", ".join(f"{name} {value:g}" for name, value in rollout.parts.items())
    return f"rollout of step {rollout.step} · sample {rollout.sample} · {reward}" + (f" ({parts})" if parts else "")
