"""One picture of what benchmarks/training/train_labels.py found: rollouts answered right, and what memories recover.

python benchmarks/training/train_labels_plot.py runs/labels lab/labels.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure

COLOURS = {
    "labels": "tab:blue",
    "recovered": "tab:green",
    "dense": "tab:olive",
    "cloze": "tab:purple",
    "both": "tab:brown",
    "random": "tab:grey",
}
WIDTH = 5


def smooth(values: list[float]) -> list[float]:
    """Return means of each value and up to four before it."""
    return [sum(part) / len(part) for at in range(len(values)) if (part := values[max(0, at + 1 - WIDTH) : at + 1])]


def main() -> None:
    """Draw every result of a folder."""
    root, target = Path(sys.argv[1]), Path(sys.argv[2])
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(root.glob("result-*.json"))]
    figure = Figure(figsize=(10, 4), layout="constrained")
    right, recovered = figure.subplots(1, 2)
    for result in sorted(found, key=lambda one: list(COLOURS).index(one["reward"])):
        style = {"color": COLOURS[result["reward"]], "linestyle": "-" if result["seed"] else "--"}
        label = f"{result['reward']}, seed {result['seed']}"
        right.plot([100 * one for one in smooth(result["accuracy"])], label=label, **style)
        if result["recovered"]:
            recovered.plot(smooth(result["recovered"]), **style)
    right.set(xlabel="step", ylabel="rollouts answered right, % (mean of 5 steps)", ylim=(0, 102))
    recovered.set(xlabel="step", ylabel="R of the last memories (mean of 5 steps)")
    right.legend(fontsize="small")
    for axes in (right, recovered):
        axes.grid(alpha=0.3)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
