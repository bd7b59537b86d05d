"""What each way costs in right answers: the same documents read by the faithful loop and by every way, pair by pair.

    python benchmarks/quality/ways_quality.py [--n 500] [--spread 2.48] [--recall 0.995] [--json FILE] [--plot FILE.svg]

Each document hides two facts that answer the question only together, among lines that mention the same names. The
scripted reader notes whatever it is shown, so the faithful loop is right every time, and a way loses what it did
not show. Its judgements err: at a spread of 2.48 their AUC is 0.96, and the threshold keeps 99.5 % of the chunks that
matter, as `bookwheel calibrate` does. `--times FILE` takes the seconds of each way from what `ways_speed.py --json`
wrote, for the plot.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bookwheel.flags import Flag
from bookwheel.lab.evaluation.statistics import compare_pairs, wilson_interval
from bookwheel.plan import GatePlan, Plan
from bookwheel.reading.runner import run_reading
from bookwheel.reading.ways.registry import load_way

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

from simulated_engine import SPEEDS, SimulatedEngine
from ways_policy import Case, Policy, make_case
from ways_speed import RECALL, WAYS, SimulatedModel, calibrate, start

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK: Final = 100
CHUNKS: Final = 30
MENTIONS: Final = 5
MEMORY: Final = 300


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One way on all documents."""

    way: str
    right: list[bool]
    skipped: float
    """Share of the chunks that were judged and not read."""
    read: float
    """Share of the document that was shown to the model at all."""


class InstantEngine(SimulatedEngine):
    """An engine that takes no time: here only the answers count."""

    def __init__(self) -> None:
        super().__init__(SPEEDS["endpoint"])

    async def call(self, prompt: Sequence[str], reply_tokens: int) -> int:
        """Return at once."""
        del prompt, reply_tokens
        return 0


def read_all(way: str, cases: list[Case], policy: Policy, recall: float) -> Outcome:
    """Read every document with a way."""
    plan = Plan(
        chunk_tokens=CHUNK,
        memory_tokens=MEMORY,
        answer_tokens=64,
        language="en",
        gate=GatePlan(threshold=calibrate(policy, recall)),
    )
    right, steps, skipped, unread, length = [], 0, 0, 0, 0

    async def work() -> None:
        nonlocal steps, skipped, unread, length
        model = SimulatedModel(InstantEngine(), policy, plan)
        for case in cases:
            reading = await run_reading(start(case, model, plan, way), case.document, model, way=load_way(way))
            right.append(bool(reading.answer and reading.answer.text == case.gold))
            steps += len(reading.steps)
            skipped += sum(Flag.SKIPPED in step.flags for step in reading.steps)
            unread += sum(s.chunk.end - s.chunk.start for s in reading.steps if Flag.UNREAD in s.flags)
            length += case.document.length or 0

    asyncio.run(work())
    return Outcome(way=way, right=right, skipped=skipped / steps, read=1 - unread / length)


def draw(outcomes: list[Outcome], seconds: dict[str, float], path: Path) -> None:
    """Draw accuracy against time."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bookwheel", "font.size": 9}):
        figure = Figure(figsize=(7.6, 4.6), layout="constrained")
        axes: Any = figure.add_subplot()
        slowest = max(seconds.values())
        for number, outcome in enumerate(outcomes):
            share = wilson_interval(sum(outcome.right), len(outcome.right))
            x, y = seconds[outcome.way], 100 * share.mean
            bars = [[y - 100 * share.low], [100 * share.high - y]]
            axes.errorbar(
                [x],
                [y],
                yerr=bars,
                fmt="osD^vP*X<>hpd8"[number % 14],
                capsize=2,
                elinewidth=0.7,
                markersize=6,
                label=f"{outcome.way} ({slowest / x:.1f}x)",
            )
        axes.set_xscale("log")
        ticks = [tick for tick in (5, 10, 20, 50, 100, 200, 500, 1000) if tick <= slowest * 1.3]
        axes.set_xticks(ticks, [f"{tick}" for tick in ticks], minor=False)
        axes.xaxis.minorticks_off()
        axes.axhspan(98, 100, alpha=0.12, color="green", linewidth=0)
        axes.set_ylim(min(95, min(100 * sum(o.right) / len(o.right) for o in outcomes) - 2), 100.6)
        axes.set_xlabel("seconds for 100 chunks (5,000 tokens in, 50 out a second)")
        axes.set_ylabel("right answers, per cent")
        axes.grid(alpha=0.3)
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    path.write_text(out.getvalue(), encoding="utf-8")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--spread", type=float, default=2.48)
    parser.add_argument("--recall", type=float, default=RECALL)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--times", type=Path)
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    cases = [make_case(seed, tokens=CHUNK * CHUNKS, mentions=MENTIONS) for seed in range(1, arguments.n + 1)]
    policy = Policy(limit=MEMORY, spread=arguments.spread)
    outcomes: list[Outcome] = []
    print("| way | right | 95 % interval | points lost, paired | document read | chunks skipped |")
    print("|---|---|---|---|---|---|")
    for way in arguments.ways.split(","):
        outcomes.append(read_all(way, cases, policy, arguments.recall))
        one, base = outcomes[-1], outcomes[0]
        share = wilson_interval(sum(one.right), len(one.right))
        lost = compare_pairs([float(value) for value in base.right], [float(value) for value in one.right])
        print(
            f"| {way} | {sum(one.right)}/{len(one.right)} | {share.low:.3f} to {share.high:.3f} | "
            f"{100 * lost.mean:.1f} ({100 * lost.low:.1f} to {100 * lost.high:.1f}) | {one.read:.0%} | "
            f"{one.skipped:.0%} |",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes]))
    if arguments.plot:
        rows = json.loads(arguments.times.read_text())["rows"]
        seconds = {row["way"]: row["seconds"] for row in rows if (row["memory"], row["concurrency"]) == (MEMORY, 1)}
        draw([outcome for outcome in outcomes if outcome.way in seconds], seconds, arguments.plot)


if __name__ == "__main__":
    main()
