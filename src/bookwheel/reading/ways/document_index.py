"""What of a document does not depend on the question, computed once: its chunks, its windows, and their words.

The last few are kept in memory, and beside a document that can keep them, as one of a journal can: when another process
asks about it, it is cut and indexed already. There they go with the document.
"""

from __future__ import annotations

import json
import sys
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

from bookwheel.flags import Flag
from bookwheel.reading.ways.passages import PassageIndex
from bookwheel.text.chunks import DocumentHead, split
from bookwheel.text.ranking import WordIndex, list_words
from bookwheel.text.tokens import Tokenizer
from bookwheel.types import Chunk, Document, Step

Value = TypeVar("Value")

VERSION: Final = 8
"""Raised when the chunks, windows, passages or stems of a text change: what was kept of it before is then made anew."""
_KEPT: Final = 8
# Characters; a shorter document is cut and indexed in less than a tenth of a second.
_LEAST_KEPT: Final = 50_000
# An estimating tokenizer has one name for all of its scales, and their counts of this differ.
_PROBE: Final = "The keeper lit the lamp in 1891, and wrote it down. " * 20


@runtime_checkable
class IndexKeeper(Protocol):
    """A document that keeps what was computed of it."""

    @property
    def id(self) -> str: ...

    def load_index(self, name: str) -> bytes | None: ...

    def keep_index(self, name: str, content: bytes) -> None:
        """Keep it until the text is deleted, where that can be done."""
        ...


def index_passages(document: Document) -> PassageIndex:
    """Return the windows of a document with their words."""
    return _recall(
        document,
        "windows",
        make=lambda: PassageIndex.build(_read_text(document)),
        pack=PassageIndex.to_blocks,
        unpack=lambda blocks: PassageIndex.from_blocks(_read_text(document), blocks),
    )


def cut_chunks(document: Document, tokenizer: Tokenizer, size: int) -> list[Chunk]:
    """Return the chunks of a document without their texts."""
    return _recall(
        document,
        f"chunks {_name_cut(tokenizer, size)}",
        make=lambda: [replace(chunk, text="") for chunk in split(document, tokenizer, size)],
        pack=lambda chunks: [json.dumps([(one.end, one.tokens, one.sources, one.pages) for one in chunks]).encode()],
        unpack=lambda blocks: _build_chunks(json.loads(blocks[0])),
    )


def cut_around(document: Document, tokenizer: Tokenizer, size: int, done: Sequence[Step]) -> list[Chunk]:
    """Return the chunks of a document around those that a reading has read, as it cut them.

    One that goes on with another tokenizer has other chunks than this one would cut.
    """
    chunks, read = cut_chunks(document, tokenizer, size), list_read(done)
    if read <= {(chunk.start, chunk.end) for chunk in chunks}:
        return chunks
    around: list[Chunk] = []
    position = 0
    for start, end in (*sorted(read), (chunks[-1].end, chunks[-1].end)):
        if position < start:
            between = split(DocumentHead(document, start), tokenizer, size, start=position)
            around += [replace(chunk, text="") for chunk in between]
        if start < end:
            around.append(Chunk(index=0, start=start, end=end, text="", tokens=0))
        position = max(position, end)
    return [replace(chunk, index=index) for index, chunk in enumerate(around)]


def list_read(done: Sequence[Step]) -> set[tuple[int, int]]:
    """Return the spans of the sections that a reading has read."""
    spans = ((step.chunk.start, step.chunk.end) for step in done if Flag.UNREAD not in step.flags)
    return {(start, end) for start, end in spans if start < end}


def index_chunks(
    document: Document, tokenizer: Tokenizer, size: int, chunks: Sequence[Chunk] | None = None
) -> WordIndex:
    """Return the index of the words of a document's chunks; it is kept where they are those of any reading."""
    usual = cut_chunks(document, tokenizer, size)

    def make() -> WordIndex:
        index = WordIndex()
        for chunk in chunks or usual:
            text = document.slice(chunk.start, chunk.end)
            index.add(list_words(text), len(text))
        return index

    if chunks and chunks != usual:
        return make()
    name = f"words {_name_cut(tokenizer, size)}"
    return _recall(document, name, make=make, pack=WordIndex.to_blocks, unpack=WordIndex.from_blocks)


def _name_cut(tokenizer: Tokenizer, size: int) -> str:
    return f"{size} {tokenizer.count(_PROBE)} {tokenizer.name}"


def _build_chunks(rows: Iterable[tuple[int, int, list[str], list[int]]]) -> list[Chunk]:
    chunks: list[Chunk] = []
    start = 0
    for index, (end, tokens, sources, pages) in enumerate(rows):
        chunk = Chunk(index=index, start=start, end=end, text="", tokens=tokens)
        chunks.append(replace(chunk, sources=tuple(sources), pages=tuple(pages)))
        start = end
    return chunks


def _read_text(document: Document) -> str:
    if document.length is not None:
        return document.slice(0, document.length)
    return "".join(part.text for part in document.parts())


@dataclass(slots=True)
class _Slot:
    """A value that is computed by the first who asks; others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Any = None


_SLOTS: Final[OrderedDict[tuple[str, str], _Slot]] = OrderedDict()
_CHANGING: Final = threading.Lock()


def _recall(
    document: Document,
    name: str,
    *,
    make: Callable[[], Value],
    pack: Callable[[Value], list[bytes]],
    unpack: Callable[[list[bytes]], Value],
) -> Value:
    """Return what is kept of a document under this name, in memory or beside it; else make and keep it."""
    keeper = document if isinstance(document, IndexKeeper) else None
    text = "" if keeper else _read_text(document)
    identity = keeper.id if keeper else f"{len(text)} {hash(text)}"
    with _CHANGING:
        slot = _SLOTS.setdefault((identity, name), _Slot())
        _SLOTS.move_to_end((identity, name))
        while len(_SLOTS) > _KEPT:
            _SLOTS.popitem(last=False)
    with slot.lock:
        if slot.value is None:
            full_name = name_index(name)
            content = keeper.load_index(full_name) if keeper else None
            slot.value = unpack_blocks(content, unpack) if content else None
            if slot.value is None:
                slot.value = make()
                if keeper and (document.length or 0) >= _LEAST_KEPT:
                    keeper.keep_index(full_name, pack_blocks(pack(slot.value)))
        return cast("Value", slot.value)


def name_index(name: str) -> str:
    """Return the name under which an index is kept, which changes with what it is made by."""
    return f"{VERSION} {sys.byteorder} {name}"


def pack_blocks(blocks: list[bytes], level: int = 1) -> bytes:
    """Return the blocks of an index as one, with a checksum; at level 0 words stand in it in plain letters."""
    sizes = json.dumps([len(block) for block in blocks]).encode()
    return zlib.compress(b"\n".join((sizes, b"".join(blocks))), level)


def unpack_blocks(content: bytes, unpack: Callable[[list[bytes]], Value]) -> Value | None:
    """Return the value, or None where what was kept is damaged: it can be made anew."""
    try:
        sizes, _, rest = zlib.decompress(content).partition(b"\n")
        blocks, at = [], 0
        for size in json.loads(sizes):
            blocks.append(rest[at : at + size])
            at += size
        return unpack(blocks)
    except (zlib.error, ValueError, IndexError, TypeError):
        return None
