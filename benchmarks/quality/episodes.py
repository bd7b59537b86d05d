"""Facts over many sessions: what a memory is right about, beside notes, searched passages and the whole text.

    python benchmarks/quality/episodes.py 5 10,50 --seed 7                       the scripted reader
    python benchmarks/quality/episodes.py 5 10 --seed 7 --model local --wordings other --probe after

So many episodes of each kind, number of sessions, language and probe, read by each way. The scripted reader is
`read_perfectly` of `support/perfect_reader.py`: a way that fails with it loses facts, or keeps what was to be
forgotten. `--wordings other` tells the facts in the sentences of `episode_wordings.toml`, on which no rule was made.
`bookwheel eval` measures other models on the same tasks (docs/evaluation.md).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.lab.baselines import lasting
from bookwheel.lab.baselines.one_call import bm25, dense
from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.tasks import Sample, make_samples
from bookwheel.lab.tasks.episodes import KINDS
from bookwheel.lab.tasks.material import load_wordings
from bookwheel.models.local import LocalModel
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.ways.registry import load_way
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Answer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from perfect_reader import read_perfectly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.base import Embeddings, Model
    from bookwheel.reading.loop import Way

PLAN = Plan(chunk_tokens=600, memory_tokens=600, answer_tokens=100)
WINDOW = 2400
SESSION_TOKENS = {"scripted": 160, "local": 70}
WAYS: dict[str, Way] = {
    "memory": lasting.remember,
    "memory-edits": partial(lasting.remember, way="edits"),
    "memory-heads": partial(lasting.remember, way="heads"),
    "notes": partial(lasting.remember, replays=False),
    "bm25": bm25,
    "dense": dense,
    "whole": load_way("whole"),
}


class EmbeddingReader(ScriptedModel):
    """The scripted reader with the vectors of the built-in model's input layer."""

    def __init__(self, embedder: LocalModel) -> None:
        super().__init__(read_perfectly, plan=PLAN, window=WINDOW)
        self._embedder = embedder

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        return await self._embedder.embed(texts)


def use_other_sentences() -> None:
    """Put the sentences of the file beside this one in the place of ours."""
    given = tomllib.loads(Path(__file__).with_name("episode_wordings.toml").read_text("utf-8"))
    for language, table in given.items():
        load_wordings()["episode"][language].update(table)


async def read(sample: Sample, way: Way, model: Model, plan: Plan) -> str | None:
    """Return the answer; None where the document does not fit."""
    answer = ""
    try:
        async for event in way(sample.document, sample.question, model, plan):
            if isinstance(event, Answer):
                answer = event.text
    except InputError:
        return None
    return answer


async def main(given: argparse.Namespace) -> None:
    """Print a row for each number of sessions, language, probe and way, with a column for each kind."""
    print(f"| sessions | | probe | way | {' | '.join(given.kinds)} | CPU s each |\n|{'---|' * (len(given.kinds) + 5)}")
    local = await LocalModel.open(threads=1)
    for sessions in given.sessions:
        for language in given.languages:
            for probe in given.probes:
                for name in given.ways:
                    await measure(given, local, sessions, language, probe, name)


async def measure(
    given: argparse.Namespace, local: LocalModel, sessions: int, language: str, probe: str, name: str
) -> None:
    """Read the episodes of a row and print it."""
    cells, readings, began = [], 0, time.process_time()
    for kind in given.kinds:
        scores = []
        for sample in make_samples(
            f"episode_{kind}",
            tokens=sessions * SESSION_TOKENS[given.model],
            count=given.count,
            seed=given.seed,
            tokenizer=WordTokenizer(),
            language=language,
            probe=probe,
            sessions=sessions,
        ):
            model = EmbeddingReader(local) if given.model == "scripted" else local
            answer = await read(sample, WAYS[name], model, PLAN if given.model == "scripted" else local.plan)
            readings += 1
            if answer is not None:
                scores.append(sample.score(answer).score)
                if given.show:
                    print(f"    {kind} {scores[-1]:.0f} {sample.question} | {sample.golds} | {answer}", flush=True)
        if not scores:
            cells.append("does not fit")
            continue
        shown = wilson_interval(sum(scores), len(scores))
        cells.append(f"{100 * shown.mean:.0f} [{100 * shown.low:.0f}, {100 * shown.high:.0f}]")
    cost = (time.process_time() - began) / readings
    print(f"| {sessions} | {language} | {probe} | {name} | {' | '.join(cells)} | {cost:.1f} |", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("sessions", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", choices=("scripted", "local"), default="scripted")
    parser.add_argument("--wordings", choices=("own", "other"), default="own")
    for option, values in (
        ("ways", WAYS),
        ("kinds", KINDS),
        ("languages", ("en", "zh")),
        ("probes", ("before", "after")),
    ):
        parser.add_argument(f"--{option}", type=lambda text: text.split(","), default=list(values))
    parser.add_argument("--show", action="store_true", help="print each question with its answer")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_arguments()
    if arguments.wordings == "other":
        use_other_sentences()
    asyncio.run(main(arguments))
