"""One picture of what benchmarks/training/train_labels.py found: held-out answers before and after, by reward and task.

python benchmarks/training/train_labels_plot.py lab/labels.svg runs/labels/results.jsonl [MORE…]
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

REWARDS: Final = ("labels", "recovered", "dense", "cloze", "both", "random")
MARKS: Final = "osD^v"


def cell(result: dict[str, Any]) -> tuple[str, str]:
    """Return the panel of a result."""
    return result["task"], result["warm"]


def main() -> None:
    """Draw a panel for each task and warm start."""
    target, *files = map(Path, sys.argv[1:])
    found = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    found = sorted((one for one in found if one["labelled"] == 1), key=lambda one: (*cell(one), one["seed"]))
    panels = [(name, list(results)) for name, results in groupby(found, cell)]
    figure = Figure(figsize=(3.4 * len(panels), 3.6), layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, ((task, warm), results) in zip(all_axes, panels, strict=True):
        for result in results:
            at = REWARDS.index(result["reward"]) + 0.14 * (result["seed"] - 1)
            before, after = result["before"][0], result["after"][0]
            mark, colour = MARKS[result["seed"] % len(MARKS)], f"C{result['seed']}"
            axes.plot([at, at], [100 * before["accuracy"], 100 * after["accuracy"]], color=colour, alpha=0.4)
            axes.plot(at, 100 * before["accuracy"], "_", color=colour)
            axes.plot(at, 100 * after["accuracy"], mark, color=colour)
        axes.set_title(f"{task.removeprefix('toy-')}, warm start by {warm}", fontsize="small")
        axes.set_xticks(range(len(REWARDS)), REWARDS, rotation=60)
        axes.set_ylim(0, 102)
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("held-out answers right, %\n(dash: before; marks: seeds)")
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
