"""Documents as they look: their tables of contents, pictures of their pages, and where a passage stands on them."""

import asyncio
import base64
import json
import tempfile
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.documents.cancellation import ChildLimits, run_cancellable
from bookwheel.documents.children import run_in_child
from bookwheel.documents.readers import pdf_pages, pictures
from bookwheel.journal import StoredDocument
from bookwheel.journal.originals import Original
from bookwheel.picture import MARK, is_picture, split_label
from bookwheel.serve.engine.errors import not_found
from bookwheel.serve.engine.sharing import FairQueue
from bookwheel.text.lines import list_headings

_OUTLINE: Final = "outline 1"
# Characters of a text in which headings are looked for.
_MOST_CHARACTERS: Final = 64 << 20
_MOST_PLACES: Final = 50_000
# Files that lie ready for the next page, and pages drawn at once.
_AT_HAND: Final = 4
_DRAWN_AT_ONCE: Final = 2
_LIMITS: Final = ChildLimits(seconds=60, cpu_seconds=20)
# Pictures that are kept for whoever asks next: a view shows a page and thumbnails of it at once.
_PICTURES: Final = 40
_LARGEST_KEPT: Final = 1 << 20
_PDF: Final = b"%PDF-"
# What measures the pages of a file, and what draws one, by the end of its name here.
_MEASURES: Final = {".pdf": pdf_pages.measure_pages, ".picture": pictures.measure_frames}
_DRAWS: Final = {".pdf": pdf_pages.draw_page, ".picture": pictures.draw_frame}
_FINDS: Final = {".pdf": pdf_pages.find_boxes}


class HeadingJson(TypedDict):
    """A line of the table of contents."""

    start: int
    level: int
    title: str


class PageStartJson(TypedDict):
    """Where a source or one of its pages begins."""

    start: int
    source: str
    page: int | None


class OriginalJson(TypedDict):
    """A file that is kept."""

    source: str
    size: int
    pages: list[list[float]]
    """The width and height of each page that can be drawn, in points."""


class OutlineJson(TypedDict):
    """The parts of a document."""

    headings: list[HeadingJson]
    places: list[PageStartJson]
    originals: list[OriginalJson]


class BoxesJson(TypedDict):
    """Where a passage stands on a page."""

    source: str
    page: int
    boxes: list[list[float]]
    """Left, top, right and bottom of each line, as shares of the page's sides."""


class Originals:
    """Draws pages in child processes with limits, a few at once, shared fairly among clients."""

    def __init__(self, most_waiting: int) -> None:
        self._queue = FairQueue(_DRAWN_AT_ONCE, most_waiting=most_waiting)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: OrderedDict[str, Path] = OrderedDict()
        self._pictures: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()

    async def outline(self, document: StoredDocument, client: str) -> OutlineJson:
        places = (await asyncio.to_thread(document.list_pages))[:_MOST_PLACES]
        return {
            "headings": await asyncio.to_thread(_list_headings, document),
            "places": [{"start": start, "source": source, "page": page} for start, source, page in places],
            "originals": [
                {"source": one.source, "size": one.size, "pages": await self._measure(document, one, client)}
                for one in await asyncio.to_thread(document.originals)
            ],
        }

    async def load(self, document: StoredDocument, source: str) -> tuple[str, bytes]:
        """Return the name and the bytes of a file that is kept; without a source, of the first. Raise a 404."""
        original = await _find_original(document, source)
        return original.source, await asyncio.to_thread(document.load_original, original)

    async def draw(self, document: StoredDocument, source: str, page: int, width: int, client: str) -> bytes:
        """Return the PNG of a page, or raise a 404."""
        original = await _find_original(document, source)
        key = (original.sha256, page, width)
        if kept := self._pictures.get(key):
            return kept
        pictures = await self._run(document, original, client, _DRAWS, page, width)
        if not pictures:
            raise not_found("page of that number")
        picture = base64.b64decode(pictures[0])
        if len(picture) <= _LARGEST_KEPT:
            self._pictures[key] = picture
            while len(self._pictures) > _PICTURES:
                self._pictures.popitem(last=False)
        return picture

    async def load_picture(self, document: StoredDocument, label: str) -> bytes:
        """Return the picture that a mark names, or raise a 404."""
        whole, _ = split_label(label) if MARK.fullmatch(f"[{label}]") else ("", None)
        kept = await asyncio.to_thread(document.list_pictures)
        found = next((one for one in kept if one.label == whole), None)
        if found is None:
            raise not_found("picture of that name")
        return await asyncio.to_thread(document.load_picture, found.sha256)

    async def find_boxes(self, document: StoredDocument, start: int, end: int, client: str) -> list[BoxesJson]:
        """Return where the characters from `start` up to `end` stand, on each page that can be drawn."""
        places = await asyncio.to_thread(document.list_pages)
        originals = {one.source: one for one in await asyncio.to_thread(document.originals)}
        kept = await asyncio.to_thread(document.list_pictures)
        ends = [*(place[0] for place in places[1:]), document.length]
        found: list[BoxesJson] = []
        for (first, source, page), last in zip(places, ends, strict=True):
            if page is None or source not in originals or last <= start or first >= end:
                continue
            passage = await asyncio.to_thread(document.slice, max(start, first), min(end, last))
            boxes = await self._run(document, originals[source], client, _FINDS, page, passage)
            there = [one for one in kept if (one.source, one.page) == (source, page)]
            boxes += [[*box] for one in there for box in pictures.mark_passage(one, passage)]
            boxes += [[*one.box] for one in there if one.mark in passage]
            found.append({"source": source, "page": page, "boxes": boxes})
        return found

    async def _measure(self, document: StoredDocument, original: Original, client: str) -> list[list[float]]:
        name = f"pages of {original.row}"
        if kept := await asyncio.to_thread(document.load_index, name):
            sizes: list[list[float]] = json.loads(kept)
            return sizes
        sizes = await self._run(document, original, client, _MEASURES)
        await asyncio.to_thread(document.keep_index, name, json.dumps(sizes).encode())
        return sizes

    async def _run(
        self,
        document: StoredDocument,
        original: Original,
        client: str,
        works: Mapping[str, Callable[..., Iterable[Any]]],
        *more: Any,
    ) -> list[Any]:
        """Return what the function for its kind yields for a file; nothing for one of another kind."""
        async with self._queue.slot(client), self._lend(document, original) as path:
            if path is None or path.suffix not in works:
                return []
            work = works[path.suffix]
            items = partial(run_in_child, work, str(path), *more, name=original.source, limits=_LIMITS, is_urgent=True)
            return await run_cancellable(lambda: list(items()))

    @asynccontextmanager
    async def _lend(self, document: StoredDocument, original: Original) -> AsyncGenerator[Path | None]:
        path = self._files.pop(original.sha256, None)
        if path is None:
            content = await asyncio.to_thread(document.load_original, original)
            end = ".pdf" if _PDF in content[:1024] else ".picture" if is_picture(content) else ""
            if not end:
                yield None
                return
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="bookwheel-pages-")
            path = Path(tempfile.mkstemp(dir=self._folder.name, suffix=end)[1])
            await asyncio.to_thread(path.write_bytes, content)
        try:
            yield path
        finally:
            # Another call may have written the same file meanwhile.
            if (other := self._files.pop(original.sha256, None)) is not None and other != path:
                other.unlink(missing_ok=True)
            self._files[original.sha256] = path
            while len(self._files) > _AT_HAND:
                self._files.popitem(last=False)[1].unlink(missing_ok=True)

    def forget(self) -> None:
        """Let go of all files and pictures: one of them may be of a document that is deleted."""
        self._pictures.clear()
        while self._files:
            self._files.popitem()[1].unlink(missing_ok=True)

    def close(self) -> None:
        self.forget()
        if self._folder:
            self._folder.cleanup()


async def _find_original(document: StoredDocument, source: str) -> Original:
    originals = await asyncio.to_thread(document.originals)
    found = next((one for one in originals if source in {"", one.source}), None)
    if found is None:
        raise not_found("file of that document; only its text is kept")
    return found


def _list_headings(document: StoredDocument) -> list[HeadingJson]:
    if kept := document.load_index(_OUTLINE):
        headings: list[HeadingJson] = json.loads(kept)
        return headings
    found = list_headings(document.slice(0, min(document.length, _MOST_CHARACTERS)))
    headings = [{"start": one.start, "level": one.level, "title": one.title} for one in found]
    document.keep_index(_OUTLINE, json.dumps(headings).encode())
    return headings
