"""BM25: pick the passages that share the rarest words with the question, then answer in one turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bookwheel.errors import MissingExtra
from bookwheel.reading.ways.single_turn import ask_once, count_one_call, join_chunks, text_budget
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.text.chunks import split
from bookwheel.text.sanitize import escape_markup

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Chunk, Document, Step

PASSAGE_TOKENS: Final = 160
PACKAGE: Final = "bm25s (pip install 'bookwheel[evaluation]')"
# Chinese is searched by characters, everything else by words.
WORD: Final = "[\u4e00-\u9fff\u3400-\u4dbf]|[^\\W\u4e00-\u9fff\u3400-\u4dbf]+"


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
    for place in rank_passages([passage.text for passage in passages], question):
        tokens += passages[place].tokens
        if tokens > limit:
            break
        taken.append(passages[place])
    while taken and model.tokenizer.count(escape_markup(join_chunks(taken))) > limit:
        taken.pop()
    return join_chunks(taken)


def rank_passages(passages: Sequence[str], question: str) -> list[int]:
    """Return the passages' positions, the best match first; equal ones keep their order."""
    scores = score_passages(passages, question)
    return sorted(range(len(passages)), key=lambda place: -scores[place])


def score_passages(passages: Sequence[str], question: str) -> list[float]:
    """Return the score of each passage; 0 for one that shares no word with the question."""
    try:
        import bm25s
    except ImportError as missing:
        raise MissingExtra("retrieval with BM25", "evaluation") from missing
    query, *words = _tokenize([question, *passages])
    known = {word for passage in words for word in passage}
    shared = [word for word in query if word in known]
    if not shared:
        return [0.0] * len(passages)
    index = bm25s.BM25(method="lucene")
    index.index(words, show_progress=False)
    return [float(score) for score in index.get_scores(shared)]


def _tokenize(texts: Sequence[str]) -> list[list[str]]:
    import bm25s

    found: list[list[str]] = bm25s.tokenize(
        list(texts), token_pattern=WORD, stopwords="english", return_ids=False, show_progress=False
    )
    return found


BM25 = WaySpec(run=bm25, package=PACKAGE, list_calls=count_one_call("passages"))
