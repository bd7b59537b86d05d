"""Write a section from its rows, with the numbers of the rows behind each sentence; `checking.py` judges them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.reading.loop import converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.reports.checking import SourceLine, WrittenSentence, check_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.claims import Verdict
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan

_TURN: Final = "report"


async def write_sentences(
    title: str, brief: str, sources: Sequence[SourceLine], model: Model, plan: Plan
) -> tuple[WrittenSentence, ...]:
    """Return the sentences that a model writes of a section, each checked against the rows that it names."""
    prompts, known = prompts_for(plan, brief), {one.number: one for one in sources}
    written: list[WrittenSentence] = []
    for group in _group(sources, model, plan):
        lines = "\n".join(one.format() for one in group)
        messages = prompts.turn(_TURN, question=f"{brief}\n{title}", section=lines)
        said = await converse(messages, model, plan.answer_tokens, plan.sampling)
        written += check_sentences(said.reply.text, known)
    # The same sentence twice is one, with the sources of both.
    joined: dict[tuple[str, Verdict], WrittenSentence] = {}
    for one in written:
        same = joined.setdefault((one.text, one.verdict), one)
        numbers = tuple(dict.fromkeys((*same.numbers, *one.numbers)))
        joined[one.text, one.verdict] = replace(same, numbers=numbers)
    return tuple(joined.values())


def _group(sources: Sequence[SourceLine], model: Model, plan: Plan) -> Iterator[list[SourceLine]]:
    """Yield as many sources as a chunk has room for."""
    group: list[SourceLine] = []
    used = 0
    for one in sources:
        tokens = model.tokenizer.count(f"{one.format()}\n")
        if group and used + tokens > plan.chunk_tokens:
            yield group
            group, used = [], 0
        group.append(one)
        used += tokens
    if group:
        yield group
