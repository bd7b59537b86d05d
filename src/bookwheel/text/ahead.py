"""Cut chunks in a thread, one ahead of the call in flight, so that the event loop never waits for a tokenizer.

The chunks are those of `split` whatever the timing: each begins where the one before it ends, and a call in flight
changes nothing about that.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self

from bookwheel.text.chunks import split
from bookwheel.text.tokens import EstimatingTokenizer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Chunk, Document

# A smaller chunk is cut sooner than a thread is woken.
_LEAST_TOKENS: Final = 512


def split_ahead(
    document: Document, tokenizer: Tokenizer, limit: int, *, start: int = 0, index: int = 0
) -> AsyncIterator[Chunk]:
    """Yield the chunks of `split`. While one is read, the next is cut."""
    chunks = split(document, tokenizer, limit, start=start, index=index)
    return _Ahead(chunks, in_thread=limit >= _LEAST_TOKENS and not isinstance(tokenizer, EstimatingTokenizer))


class _Ahead:
    """The chunks, and the one that is being cut."""

    def __init__(self, chunks: Iterator[Chunk], *, in_thread: bool) -> None:
        self._chunks = chunks
        self._in_thread = in_thread
        self._upcoming: asyncio.Future[Chunk | None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        if self._in_thread:
            chunk = await (self._upcoming or self._cut())
            self._upcoming = self._cut() if chunk else None
        else:
            chunk = next(self._chunks, None)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    def _cut(self) -> asyncio.Future[Chunk | None]:
        cutting = asyncio.get_running_loop().run_in_executor(None, next, self._chunks, None)
        # A reading that stops does not wait for the chunk ahead, and nobody misses an error in it.
        cutting.add_done_callback(_ignore_error)
        return cutting


def _ignore_error(cutting: asyncio.Future[Chunk | None]) -> None:
    if not cutting.cancelled():
        cutting.exception()
