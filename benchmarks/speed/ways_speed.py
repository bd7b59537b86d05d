"""How much faster each way reads: the ways themselves against a simulated engine, in virtual time.

    python benchmarks/speed/ways_speed.py [--speed endpoint|7b] [--chunks 180] [--json FILE]

For each way: seconds of a reading at concurrency 1, and of 16 readings of 16 documents at once, for memories of 300 and
of 1,024 tokens; then what a second question about the same document adds. Chunks have 5,000 tokens; one in ten mentions
what the question is about. Deterministic: the same arguments give the same figures on every machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from math import exp
from pathlib import Path
from typing import Any, Final

from bookwheel.flags import Flag
from bookwheel.lab.evaluation.calibration import find_threshold
from bookwheel.models.base import Ability, Judgement, Likelihood
from bookwheel.plan import GatePlan, Layout, Plan, Sampling
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.reading.several import run_readings
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import DocumentInfo, Message, Reading, Reply, Usage

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from simulated_engine import SPEEDS, EngineSpeed, SimulatedEngine, simulate
from ways_policy import Case, Policy, SpaceTokenizer, make_case

CHUNK: Final = 5000
MENTIONED: Final = 0.1
RECALL: Final = 0.995
"""That `bookwheel calibrate` wants by default."""
WAYS: Final = (
    "sequential",
    "edits",
    "heads",
    "gated",
    "gated+heads",
    "gated+edits",
    "gated+edits+look-back",
    "planned+gated+edits",
    "early-exit",
    "gated+edits+early-exit",
    "parallel",
    "parallel+gated+edits",
    "ranked",
    "ranked+edits",
    "ranked+gated+edits",
)


class SimulatedModel:
    """A policy behind a simulated engine."""

    def __init__(self, engine: SimulatedEngine, policy: Policy, plan: Plan) -> None:
        self.name = "simulated"
        self.window = None
        self.tokenizer = SpaceTokenizer()
        self.template_tokens = 0
        self.plan = plan
        self._engine = engine
        self._policy = policy

    async def reply(self, messages: list[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Reply after as long as the engine takes."""
        del sampling
        text = " ".join(self._policy.reply(messages).split(" ")[: limit + 64])
        return Reply(text=text, usage=await self._call(messages, len(text.split())))

    async def abilities(self) -> frozenset[Ability]:
        """Return that it can judge."""
        return frozenset({Ability.JUDGE})

    async def judge(self, messages: list[Message], options: tuple[str, ...]) -> Judgement:
        """Judge after as long as the engine takes."""
        logprobs = tuple(self._policy.judge(messages, options))
        return Judgement(options=tuple(options), logprobs=logprobs, usage=await self._call(messages, 1))

    async def likelihood(self, messages: list[Message], continuation: str) -> Likelihood:
        """Refuse: nothing here asks for it."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Do nothing."""

    async def _call(self, messages: list[Message], written: int) -> Usage:
        prompt = messages[-1].content.split()
        began = asyncio.get_running_loop().time()
        await self._engine.call(prompt, written)
        seconds = asyncio.get_running_loop().time() - began
        return Usage(calls=1, prompt_tokens=len(prompt), completion_tokens=written, seconds=seconds)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement."""

    way: str
    memory: int
    concurrency: int
    seconds: float
    speedup: float
    calls: int
    prompt: int
    cached: int
    written: int
    writing: float
    """Share of the engine's time in which it only wrote."""
    right: int
    read: float
    """Share of the documents that was shown to the model at least once, to judge or to read."""


def make_plan(memory: int, policy: Policy) -> Plan:
    """Return the plan, with the threshold that keeps 99 % of the chunks that matter."""
    return Plan(
        chunk_tokens=CHUNK,
        memory_tokens=memory,
        answer_tokens=64,
        layout=Layout.MEMORY_FIRST,
        language="en",
        gate=GatePlan(threshold=calibrate(policy)),
    )


def calibrate(policy: Policy, recall: float = RECALL) -> float:
    """Find the threshold on sections of other documents."""
    sections = [(f"calibration {n}" + " Halcyon1" * (n % 10 == 0), n % 10 == 0) for n in range(5000)]
    scores = []
    for text, _ in sections:
        prompt = f"<section>\n{text}\n</section>\n<question>\nHalcyon1\n</question>"
        yes, no = policy.judge([Message(role="user", content=prompt)], ("Yes", "No"))
        scores.append(exp(yes) / (exp(yes) + exp(no)))
    return find_threshold(scores, [matters for _, matters in sections], recall=recall)


def start(case: Case, model: SimulatedModel, plan: Plan, way: str, question: str | None = None) -> Reading:
    """Return a reading of the case that has not begun."""
    info = DocumentInfo(id="0" * 64, name=case.document.name, length=case.document.length or 0)
    return new_reading(info, question or case.question, model, plan, way)


def measure(speed: EngineSpeed, way: str, memory: int, cases: list[Case], *, hoards: bool) -> dict[str, Any]:
    """Read all cases at once with a way; return what it took."""
    policy = Policy(limit=memory, hoards=hoards)
    plan = make_plan(memory, policy)

    async def work(engine: SimulatedEngine) -> list[Reading]:
        model = SimulatedModel(engine, policy, plan)
        return list(
            await asyncio.gather(
                *(run_reading(start(case, model, plan, way), case.document, model, way=load_way(way)) for case in cases)
            )
        )

    run = simulate(speed, work)
    right = sum(
        bool(reading.answer and reading.answer.text == case.gold)
        for reading, case in zip(run.outcome, cases, strict=True)
    )
    unread = sum(
        step.chunk.end - step.chunk.start
        for reading in run.outcome
        for step in reading.steps
        if Flag.UNREAD in step.flags
    )
    counts = run.counts
    return {
        "read": 1 - unread / sum(case.document.length or 0 for case in cases),
        "way": way,
        "memory": memory,
        "concurrency": len(cases),
        "seconds": run.seconds,
        "calls": counts.calls,
        "prompt": counts.prompt,
        "cached": counts.cached,
        "written": counts.written,
        "writing": counts.writing / counts.busy,
        "right": right,
    }


def measure_questions(speed: EngineSpeed, way: str, memory: int, case: Case, count: int) -> float:
    """Return the seconds of so many questions about one document in lockstep."""
    policy = Policy(limit=memory)
    plan = make_plan(memory, policy)
    questions = [case.question, *(f"{case.question[:-1]} according to clerk {n}?" for n in range(1, count))]

    async def work(engine: SimulatedEngine) -> list[Reading]:
        model = SimulatedModel(engine, policy, plan)
        readings = [start(case, model, plan, way, question) for question in questions]
        return await run_readings(readings, case.document, model, way=load_way(way))

    return simulate(speed, work).seconds


def measure_extras(speed: EngineSpeed) -> list[dict[str, Any]]:
    """Print and return what further questions on one document cost."""
    print("\n| way | memory | first question | five questions | an extra one |\n|---|---|---|---|---|")
    case = make_case(99, tokens=40 * CHUNK, mentions=4)
    extras = []
    for memory in (300, 1024):
        for way in ("sequential", "edits", "gated", "gated+edits"):
            one, five = (measure_questions(speed, way, memory, case, count) for count in (1, 5))
            extra = (five - one) / 4 / one
            extras.append({"way": way, "memory": memory, "one": one, "five": five, "extra": extra})
            print(f"| {way} | {memory} | {one:,.0f} s | {five:,.0f} s | {extra:.3f} of the first |", flush=True)
    return extras


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", choices=SPEEDS, default="endpoint")
    parser.add_argument("--chunks", type=int, default=180)
    parser.add_argument("--chunks-at-16", type=int, default=40)
    parser.add_argument("--mentions", type=float, default=MENTIONED, help="lines about the subject for each chunk")
    parser.add_argument("--hoards", action="store_true", help="changes add lines and drop none")
    parser.add_argument("--extras", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    speed, rows = SPEEDS[arguments.speed], []
    print(
        "| way | memory | at once | seconds | faster | calls | prompt | cached | written | only writing | "
        "document read | right |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for concurrency, chunks in ((1, arguments.chunks), (16, arguments.chunks_at_16)):
        cases = [
            make_case(seed, tokens=chunks * CHUNK, mentions=int(chunks * arguments.mentions))
            for seed in range(1, concurrency + 1)
        ]
        for memory in (300, 1024):
            slowest = None
            for way in arguments.ways.split(","):
                figures = measure(speed, way, memory, cases, hoards=arguments.hoards)
                slowest = slowest or figures["seconds"]
                row = Row(**figures, speedup=slowest / figures["seconds"])
                rows.append(row)
                print(
                    f"| {way} | {memory} | {concurrency} | {row.seconds:,.0f} | {row.speedup:.1f} | {row.calls} | "
                    f"{row.prompt:,} | {row.cached / row.prompt:.0%} | {row.written:,} | {row.writing:.0%} | "
                    f"{row.read:.0%} | {row.right}/{concurrency} |",
                    flush=True,
                )
    extras = measure_extras(speed) if arguments.extras else []
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": [asdict(row) for row in rows], "extras": extras}, indent=1))


if __name__ == "__main__":
    main()
