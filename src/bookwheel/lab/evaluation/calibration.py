"""Measure what a model's judgements of chunks are worth, on samples whose evidence is known.

A chunk matters when it holds some of the evidence of its sample. Judgements see the memory that a perfect reader would
have by then, so what is measured is the judgement and not the writing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.models.base import Ability, find_abilities, require_ability
from bookwheel.plan import Scorer
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.cascade import HalvingScorer
from bookwheel.text.chunks import split
from bookwheel.types import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bookwheel.lab.tasks.base import Sample
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChunk:
    """A chunk, its score, and whether it matters."""

    task: str
    score: float
    matters: bool


async def list_scorers(model: Model) -> list[Scorer]:
    """Return the judgements that the model offers; InputError if it offers none."""
    abilities = await find_abilities(model)
    scorers = [scorer for scorer in Scorer if Ability(scorer) in abilities]
    if not scorers:
        raise InputError(
            f"{model.name} gives no log-probabilities, so it cannot judge and needs no calibration: read with "
            f"--way edits, or with a server such as vLLM or llama.cpp"
        )
    return scorers


async def score_samples(
    model: Model,
    plan: Plan,
    samples: Sequence[Sample],
    scorer: Scorer,
    *,
    at_once: int = 8,
    watch: Callable[[int], None] = lambda _count: None,
) -> list[ScoredChunk]:
    """Return the scores of all chunks of the samples. `watch` gets the number of chunks scored so far."""
    judging = await require_ability(model, Ability(scorer), way="gated")
    places = asyncio.Semaphore(at_once)
    scored = 0

    async def score(sample: Sample) -> list[ScoredChunk]:
        nonlocal scored
        judge = HalvingScorer(scorer, judging, prompts_for(plan, sample.question), sample.question)
        chunks = list(split(sample.document, model.tokenizer, plan.chunk_tokens))
        rows = []
        async with places:
            for chunk, text in zip(chunks, ("", *ideal_memories(sample, chunks)), strict=False):
                memory = Memory(text=text, tokens=model.tokenizer.count(text), limit=plan.memory_tokens)
                verdict = await judge.score(memory, chunk)
                rows.append(ScoredChunk(task=sample.task, score=verdict.score, matters=_matters(sample, chunk)))
                scored += 1
                watch(scored)
        return rows

    return [row for rows in await asyncio.gather(*map(score, samples)) for row in rows]


def _matters(sample: Sample, chunk: Chunk) -> bool:
    """Return whether the chunk holds a piece of evidence that a perfect reader takes a note of."""
    return any(piece.note and piece.start < chunk.end and piece.end > chunk.start for piece in sample.evidence)
