"""One picture of what benchmarks/training/train_tiny.py found: learning on the left, longer documents on the right.

python benchmarks/training/train_tiny_plot.py runs/tiny lab/tiny-cpu.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

COLOURS = {"warm": "tab:grey", "trained": "tab:blue", "miscredited": "tab:orange"}
NAMES = {
    "warm": "warm start alone",
    "trained": "reinforcement learning",
    "miscredited": "the same, credit over conversations",
}


def evaluations(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == "evaluation"]


def main() -> None:
    root, target = Path(sys.argv[1]), Path(sys.argv[2])
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(root.glob("result-*.json"))]
    figure = Figure(figsize=(10, 4), layout="constrained")
    learning, lengths = figure.subplots(1, 2, sharey=True)
    for result in found:
        for name in result["policies"]:
            held = evaluations(root / f"{name}-{result['seed']}")
            steps = [one["step"] - held[0]["step"] for one in held]
            marker = "o" if name == "warm" else None
            learning.plot(steps, [100 * one["accuracy"] for one in held], color=COLOURS[name], marker=marker, alpha=0.8)
    for name in found[0]["policies"]:
        for shift, result in zip((0.94, 1.0, 1.06), found, strict=False):
            told = result["policies"][name]["lengths"]
            means = [100 * one["accuracy"] for one in told]
            bars = [[100 * (one["accuracy"] - one["low"]) for one in told]]
            bars.append([100 * (one["high"] - one["accuracy"]) for one in told])
            label = NAMES[name] if result is found[0] else None
            places = [one["chunks"] * shift for one in told]
            style = {"color": COLOURS[name], "marker": "o", "capsize": 2, "alpha": 0.8}
            lengths.errorbar(places, means, yerr=bars, label=label, **style)
    learning.set(xlabel="steps of reinforcement", ylabel="held-out accuracy, %", ylim=(0, 102))
    learning.set_title(f"four chunks, {len(found)} seeds")
    lengths.set(xlabel="chunks of the document", xscale="log")
    lengths.set_title("best checkpoint, other samples, 95 % intervals")
    lengths.legend(loc="lower left")
    for axes in (learning, lengths):
        axes.grid(alpha=0.3)
    figure.savefig(target)


if __name__ == "__main__":
    main()
