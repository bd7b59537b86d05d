"""The simulated engine against the real one: the same calls, in virtual time and in processor seconds.

    python benchmarks/simulated_against_local.py SAMPLES.jsonl [--chunks 20] [--ways WAY,WAY]

First the local engine's two speeds are measured on fresh prompts: prompt tokens a second, reply tokens a second. Then
it reads the document in each way, and every call's prompt, reply length and processor time is noted. The simulated
engine, which knows nothing but the two speeds and a prefix cache, is given the same calls one after the other. The
table shows both times, and how much faster than the loop each way is on either engine.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_speed import GREEDY, prompt
from simulated_engine import EngineSpeed, SimulatedEngine, simulate

from bookwheel.documents.opening import TextDocument
from bookwheel.lab.tasks import Sample, read_samples
from bookwheel.models.base import ModelWrapper
from bookwheel.models.local import LocalModel
from bookwheel.plan import GatePlan, Scorer
from bookwheel.reading.ways.registry import load_way
from bookwheel.text.chunks import split
from bookwheel.types import Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bookwheel.models.base import Judgement, Likelihood
    from bookwheel.plan import Sampling
    from bookwheel.types import Reply

_ROUNDS = 5
_REPLY = 128


@dataclass
class Call:
    """One call of a reading."""

    prompt: list[str]
    written: int


@dataclass
class CallLog:
    """The calls of a reading, in order, and what the engine spent on them."""

    calls: list[Call] = field(default_factory=list)
    cpu: float = 0.0


class LoggedModel(ModelWrapper):
    """The local model; every call is noted."""

    def __init__(self, model: LocalModel) -> None:
        super().__init__(model)
        self._local = model
        self.log = CallLog()

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Reply, and note the call."""
        return await self._note(messages, lambda: self._local.reply(messages, limit=limit, sampling=sampling))

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        """Judge, and note the call."""
        return await self._note(messages, lambda: self._local.judge(messages, options))

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Score, and note the call."""
        return await self._note(messages, lambda: self._local.likelihood(messages, continuation))

    async def _note(self, messages: Sequence[Message], call: Callable[[], Awaitable[Any]]) -> Any:
        ids = self._local._prompt(messages)
        began = time.process_time()
        result = await call()
        self.log.cpu += time.process_time() - began
        self.log.calls.append(Call(prompt=list(map(str, ids)), written=result.usage.completion_tokens))
        return result


async def measure_speed(model: LocalModel) -> EngineSpeed:
    """Return the engine's speeds: the medians of fresh prompts of the size that the ways send, and of replies."""
    draw, reads, writes = random.Random(1), [], []
    for _ in range(_ROUNDS):
        long = [Message(role="user", content=prompt(draw, 500))]
        began = time.process_time()
        read = await model.reply(long, limit=1, sampling=GREEDY)
        reads.append(read.usage.prompt_tokens / (time.process_time() - began))
        began = time.process_time()
        wrote = await model.reply(long, limit=_REPLY, sampling=GREEDY)
        writes.append((time.process_time() - began) / max(1, wrote.usage.completion_tokens))
    return EngineSpeed(prefill=sorted(reads)[_ROUNDS // 2], base=sorted(writes)[_ROUNDS // 2])


async def read(way: str, document: TextDocument, sample: Sample, threads: int) -> CallLog:
    """Read the document in a fresh engine and return its calls."""
    model = await LocalModel.open(threads=threads)
    # Half of the chunks pass: the speed of the way is what is compared, not its answers.
    plan = replace(model.plan, gate=GatePlan(scorer=Scorer.LIKELIHOOD, threshold=0.0))
    logged = LoggedModel(model)
    async for _ in load_way(way)(document, sample.question, logged, plan):
        pass
    await model.aclose()
    return logged.log


def play(log: CallLog, speed: EngineSpeed) -> float:
    """Return the virtual seconds of the same calls, one after the other."""

    async def work(engine: SimulatedEngine) -> None:
        for call in log.calls:
            await engine.call(call.prompt, call.written)

    return simulate(speed, work).seconds


def main() -> None:
    """Read in each way, play the calls, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--chunks", type=int, default=20)
    parser.add_argument("--ways", default="sequential,edits,gated+edits,quotes")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    sample = next(iter(read_samples(options.samples)))

    async def prepare() -> tuple[EngineSpeed, TextDocument]:
        model = await LocalModel.open(threads=options.threads)
        speed = await measure_speed(model)
        chunks = list(islice(split(sample.document, model.tokenizer, model.plan.chunk_tokens), options.chunks))
        await model.aclose()
        return speed, TextDocument(sample.document.slice(0, chunks[-1].end), name="first chunks")

    speed, document = asyncio.run(prepare())
    print(f"{speed.prefill:.0f} prompt tokens and {1 / speed.base:.1f} reply tokens a second", flush=True)
    print(
        "| way | calls | prompt tokens | reply tokens | real, s | simulated, s | simulated / real | faster, real | "
        "faster, simulated |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    first: tuple[float, float] | None = None
    for way in options.ways.split(","):
        log = asyncio.run(read(way, document, sample, options.threads))
        virtual = play(log, speed)
        first = first or (log.cpu, virtual)
        tokens = sum(len(call.prompt) for call in log.calls), sum(call.written for call in log.calls)
        print(
            f"| `{way}` | {len(log.calls)} | {tokens[0]:,} | {tokens[1]:,} | {log.cpu:.1f} | {virtual:.1f} | "
            f"{virtual / log.cpu:.2f} | {first[0] / log.cpu:.1f} | {first[1] / virtual:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
