"""Chunks are cut ahead of the reader, in a thread, and are the same as without."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.text.ahead import split_ahead
from bookwheel.text.chunks import split
from bookwheel.text.tokens import EstimatingTokenizer, WordTokenizer

TEXT = "The keeper lit the lamp at dusk and wrote it down.\n" * 300


class Watched(WordTokenizer):
    """Notes the thread of each question, and fails or waits when it is told to."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.asked = 0
        self.asked_twice = threading.Event()
        self.fails_at: int | None = None

    def fit(self, text: str, limit: int) -> int:
        self.threads.add(threading.get_ident())
        self.asked += 1
        if self.asked > 1:
            self.asked_twice.set()
        if self.asked == self.fails_at:
            raise RuntimeError("the tokenizer is gone")
        return super().fit(text, limit)


async def collect(document, tokenizer, limit, **place):
    return [chunk async for chunk in split_ahead(document, tokenizer, limit, **place)]


@pytest.mark.parametrize("tokenizer", [WordTokenizer(), EstimatingTokenizer()])
@pytest.mark.parametrize("limit", [64, 600])
@pytest.mark.parametrize("place", [{}, {"start": 102, "index": 3}])
def test_chunks_cut_ahead_are_those_of_split(tokenizer, limit, place) -> None:
    document = TextDocument(TEXT)
    assert asyncio.run(collect(document, tokenizer, limit, **place)) == list(split(document, tokenizer, limit, **place))


def test_an_empty_document_has_no_chunks_ahead() -> None:
    assert asyncio.run(collect(TextDocument(""), WordTokenizer(), 600)) == []


def test_the_event_loop_never_tokenizes_a_large_chunk() -> None:
    tokenizer = Watched()
    asyncio.run(collect(TextDocument(TEXT), tokenizer, 600))
    assert tokenizer.asked > 3
    assert threading.get_ident() not in tokenizer.threads


def test_one_chunk_and_no_more_is_cut_ahead() -> None:
    async def run() -> None:
        tokenizer = Watched()
        chunks = split_ahead(TextDocument(TEXT), tokenizer, 600)
        await anext(chunks)
        assert await asyncio.to_thread(tokenizer.asked_twice.wait, 5)
        await asyncio.sleep(0.02)
        assert tokenizer.asked == 2

    asyncio.run(asyncio.wait_for(run(), 10))


def test_an_error_ahead_is_raised_where_its_chunk_is_due_and_not_before() -> None:
    async def run() -> None:
        tokenizer = Watched()
        tokenizer.fails_at = 2
        chunks = split_ahead(TextDocument(TEXT), tokenizer, 600)
        assert (await anext(chunks)).index == 0
        with pytest.raises(RuntimeError, match="gone"):
            await anext(chunks)

    asyncio.run(run())


def test_a_reading_that_stops_leaves_no_unseen_error(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        tokenizer = Watched()
        tokenizer.fails_at = 2
        await anext(split_ahead(TextDocument(TEXT), tokenizer, 600))
        assert await asyncio.to_thread(tokenizer.asked_twice.wait, 5)
        await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 10))
    assert not caplog.records
