"""Facts over many sessions, for a scripted reader that knows their sentences: what the memory does, and nothing else.

    python benchmarks/quality/episodes.py 10 1600,32000

So many episodes of each kind, length, language and probe, read by each way. The model is `read_perfectly` of
`bookwheel.lab.tasks.episodes`; a way that fails with it loses facts, or keeps what was to be forgotten. `bookwheel
eval` measures real models on the same tasks (docs/evaluation.md).
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING

from bookwheel.lab.baselines import lasting
from bookwheel.lab.baselines.one_call import bm25
from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.tasks import Sample, make_samples
from bookwheel.lab.tasks.episodes import KINDS, read_perfectly
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Answer

if TYPE_CHECKING:
    from bookwheel.reading.loop import Way

PLAN = Plan(chunk_tokens=600, memory_tokens=600, answer_tokens=100)
WINDOW = 2400
WAYS: dict[str, Way] = {
    "memory": lasting.remember,
    "memory-edits": partial(lasting.remember, way="edits"),
    "notes": partial(lasting.remember, replays=False),
    "bm25": bm25,
}


async def read(sample: Sample, way: Way) -> tuple[str, int]:
    """Return the answer, and the calls that it took."""
    model = ScriptedModel(read_perfectly, plan=PLAN, window=WINDOW)
    answer = ""
    async for event in way(sample.document, sample.question, model, PLAN):
        if isinstance(event, Answer):
            answer = event.text
    return answer, model.calls


def main(count: int, lengths: list[int]) -> None:
    """Print a row for each length and way, with a column for each kind."""
    print(f"| tokens | probe | way | {' | '.join(KINDS)} | calls |\n|{'---|' * (len(KINDS) + 4)}")
    for length in lengths:
        for probe in ("before", "after"):
            for name, way in WAYS.items():
                cells, calls, readings = [], 0, 0
                for kind in KINDS:
                    scores = []
                    for language in ("en", "zh"):
                        samples = make_samples(
                            f"episode_{kind}",
                            tokens=length,
                            count=count,
                            seed=1,
                            tokenizer=WordTokenizer(),
                            language=language,
                            probe=probe,
                        )
                        for sample in samples:
                            answer, spent = asyncio.run(read(sample, way))
                            scores.append(sample.score(answer).score)
                            calls, readings = calls + spent, readings + 1
                    shown = wilson_interval(sum(scores), len(scores))
                    cells.append(f"{100 * shown.mean:.0f} [{100 * shown.low:.0f}, {100 * shown.high:.0f}]")
                print(f"| {length} | {probe} | {name} | {' | '.join(cells)} | {calls / readings:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(length) for length in sys.argv[2].split(",")])
