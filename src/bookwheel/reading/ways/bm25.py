"""BM25: retrieval by words. The passages that share the most telling words with the question, then one turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bookwheel.errors import MissingExtra
from bookwheel.reading.ways.single_turn import ask_once, join_chunks, room
from bookwheel.text.chunks import split
from bookwheel.text.sanitize import escape_markup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Chunk, Document, Step

_PASSAGE_TOKENS: Final = 160
_WORD: Final = "[\u4e00-\u9fff\u3400-\u4dbf]|[^\\W\u4e00-\u9fff\u3400-\u4dbf]+"
"""Chinese is searched by characters, everything else by words."""


async def bm25(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from the best passages, as many as fit, shown in the document's order."""
    del done
    limit = room(question, model, plan, "passages", plan.answer_tokens)
    text = await asyncio.to_thread(_found, document, question, model, limit)
    yield await ask_once(question, text, model, plan, "passages")


def _found(document: Document, question: str, model: Model, limit: int) -> str:
    """The text of the best passages within the limit."""
    passages = list(split(document, model.tokenizer, max(8, min(_PASSAGE_TOKENS, limit // 4))))
    taken: list[Chunk] = []
    tokens = 0
    for place in ranked([passage.text for passage in passages], question):
        tokens += passages[place].tokens
        if tokens > limit:
            break
        taken.append(passages[place])
    while taken and model.tokenizer.count(escape_markup(join_chunks(taken))) > limit:
        taken.pop()
    return join_chunks(taken)


def ranked(passages: Sequence[str], question: str) -> list[int]:
    """The places of the passages, the best match for the question first, equal ones in their order."""
    try:
        import bm25s
    except ImportError as missing:
        raise MissingExtra("retrieval with BM25", "evaluation") from missing
    asked, *words = _words([question, *passages])
    known = {word for passage in words for word in passage}
    telling = [word for word in asked if word in known]
    if not telling:
        return list(range(len(passages)))
    index = bm25s.BM25(method="lucene")
    index.index(words, show_progress=False)
    scores = index.get_scores(telling)
    return sorted(range(len(passages)), key=lambda place: -float(scores[place]))


def _words(texts: Sequence[str]) -> list[list[str]]:
    import bm25s

    found: list[list[str]] = bm25s.tokenize(
        list(texts), token_pattern=_WORD, stopwords="english", return_ids=False, show_progress=False
    )
    return found
