"""Reports of a run, from its records alone: a plot of its curves and a model card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bookwheel.lab.training.records import HeldOutScore, held_out_scores, totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def plot_curves(runs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Plot held-out accuracy with its intervals, and reward, against steps; the file's suffix says the format."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, records in runs.items():
        steps = [one for one in records if one["kind"] == "step"]
        held = [one for one in held_out_scores(records) if not one.warm]
        line, _, _ = axes.errorbar(
            [one.step for one in held],
            [100 * one.accuracy for one in held],
            yerr=[[100 * (one.accuracy - one.low) for one in held], [100 * (one.high - one.accuracy) for one in held]],
            fmt="o-",
            capsize=2,
            label=name,
        )
        rewards = [100 * one["reward"] for one in steps]
        axes.plot([one["step"] for one in steps], rewards, color=line.get_color(), alpha=0.3)
    n = {one["n"] for records in runs.values() for one in records if one["kind"] == "evaluation"}
    axes.set(
        xlabel="step",
        ylabel="percent",
        ylim=(0, 100),
        title=f"held-out accuracy (dots, 95 % intervals, n = {_join_numbers(n)}), reward",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def build_card(settings: Mapping[str, Any], records: Sequence[Mapping[str, Any]], *, base: str) -> str:
    """Return a model card; every figure in it stands in the records."""
    train, plan = settings["train"], settings["plan"]
    run = totals(records)
    sampling = train["evaluation"]["temperature"], train["evaluation"]["top_p"]
    lines = [
        "# A memory policy trained with bookwheel",
        "",
        f"Base: {base}. It reads a document {plan['chunk_tokens']} tokens at a time, past one memory of",
        f"{plan['memory_tokens']} tokens, and answers from the memory.",
        "",
        "## Training",
        "",
        f"- {run.warm} supervised steps on ideal traces, then {run.steps} steps of reinforcement learning from the",
        f"  reward of the answers: {train['samples']} samples x {train['group_size']} rollouts, advantages by",
        f"  {train['estimator']}, clip {train['loss']['clip_low']}/{train['loss']['clip_high']},",
        f"  KL {train['loss']['kl']}, learning rate {train['learning_rate']}, seed {train['seed']}.",
        f"- {run.rollouts} rollouts, {run.failed} failed;",
        f"  {run.tokens} tokens read and written.",
        f"- {run.seconds:.0f} seconds on the machine that trained it.",
        "",
        "## Held-out accuracy",
        "",
        f"Temperature {sampling[0]}, top_p {sampling[1]}; samples of the training length, not trained on.",
        "",
        "| step | accuracy | 95 % interval | n | failed |",
        "| ---: | ---: | :---: | ---: | ---: |",
    ]
    lines += [_format_row(one) for one in held_out_scores(records) if not one.warm]
    return "\n".join([*lines, ""])


def _format_row(one: HeldOutScore) -> str:
    interval = f"{100 * one.low:.1f} to {100 * one.high:.1f}"
    return f"| {one.step} | {100 * one.accuracy:.1f} % | {interval} | {one.n} | {one.failed} |"


def _join_numbers(values: set[int]) -> str:
    return ", ".join(map(str, sorted(values))) or "0"
