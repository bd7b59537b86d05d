"""BM25: pick the passages that share the rarest words with the question, then answer in one turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.single_turn import ask_once, count_one_call, join_chunks, text_budget
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.text.chunks import split
from bookwheel.text.ranking import score_texts
from bookwheel.text.sanitize import escape_markup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Chunk, Document, Step

PASSAGE_TOKENS: Final = 160


async def bm25(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from the best passages, as many as fit, shown in the document's order."""
    del done
    limit = text_budget(question, model, plan, "passages", plan.answer_tokens)
    text = await asyncio.to_thread(_select_passages, document, question, model, limit)
    yield await ask_once(question, text, model, plan, "passages")


def _select_passages(document: Document, question: str, model: Model, limit: int) -> str:
    """Return the text of the best passages within the limit."""
    passages = list(split(document, model.tokenizer, max(8, min(PASSAGE_TOKENS, limit // 4))))
    taken: list[Chunk] = []
    tokens = 0
    scores = score_texts([passage.text for passage in passages], question)
    for place in sorted(range(len(passages)), key=lambda place: -scores[place]):
        tokens += passages[place].tokens
        if tokens > limit:
            break
        taken.append(passages[place])
    while taken and model.tokenizer.count(escape_markup(join_chunks(taken))) > limit:
        taken.pop()
    return join_chunks(taken)


BM25 = WaySpec(run=bm25, list_calls=count_one_call("passages"))
