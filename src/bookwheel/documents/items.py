"""The files of a document, made ready to be read: unpacked, and converted where they are not plain text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from bookwheel.documents.cancellation import check_cancelled
from bookwheel.documents.conversions import Conversion, convert_all
from bookwheel.documents.formats import STREAMED, Format, read_parts, unpack
from bookwheel.errors import InputError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.documents.conversions import ConversionStore, OpeningProgress
    from bookwheel.documents.sources import SourceFile, SourceWarnings
    from bookwheel.types import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """One file of a document."""

    file: SourceFile
    is_named: bool
    """Named by the user: a fault is then an error; for a file in a folder it is a warning."""
    format: Format = Format.TEXT
    conversion: Conversion | None = None
    """None for text that is streamed from the file."""
    fault: InputError | OSError | None = None
    """The reason that a file of a folder cannot be read."""
    edges: tuple[int, int] = (0, 0)
    """Characters at the beginning and the end that every page of the folder repeats."""

    def parts(self, warnings: SourceWarnings) -> Iterator[Part]:
        """Yield the file's text, without the repeated edges."""
        if self.fault:
            raise self.fault
        if self.conversion is None:
            yield from read_parts(self.file, warnings)
            return
        self.conversion.warn(warnings)
        for part in self.conversion.parts():
            start, end = self.edges
            if start or end:
                warnings.add("text that every page of a folder repeats is read once", self.file.name)
                yield replace(part, text=part.text[start : len(part.text) - end])
            else:
                yield part


def prepare_items(
    items: Sequence[SourceItem], store: ConversionStore, *, everything: bool, progress: OpeningProgress | None
) -> list[SourceItem]:
    """Return the items unpacked and converted. Raise the fault of a file that the user named."""
    ready = [_detect(item, everything=everything) for item in items]
    pending = [at for at, item in enumerate(ready) if not item.fault and item.format not in STREAMED]
    results = convert_all([ready[at].file for at in pending], store, progress)
    for at, result in zip(pending, results, strict=True):
        if isinstance(result, Conversion):
            ready[at] = replace(ready[at], conversion=result)
        else:
            ready[at] = replace(ready[at], fault=result)
    for item in ready:
        if item.fault and item.is_named:
            raise item.fault
    return ready if everything else _cut_repeats(ready)


def _detect(item: SourceItem, *, everything: bool) -> SourceItem:
    """Return the item with its format, unpacked."""
    check_cancelled()
    file = replace(item.file, everything=everything)
    try:
        file, format_ = unpack(file)
        # A folder's pictures are mostly decoration, and each costs seconds.
        if format_ is Format.PICTURE and not item.is_named:
            raise SourceError(f"{file.name} is a picture: give it as a source to have it read by OCR")
    except (InputError, OSError) as error:
        return replace(item, fault=error)
    return replace(item, file=file, format=format_)


def _cut_repeats(items: list[SourceItem]) -> list[SourceItem]:
    """Return the items; pages of a folder without the beginnings and ends that they share."""
    places = [
        at for at, item in enumerate(items) if not item.is_named and item.conversion and item.format is Format.HTML
    ]
    texts = ["".join(part.text for part in conversion.parts()) for at in places if (conversion := items[at].conversion)]
    for at, edges in zip(places, find_repeated_edges(texts), strict=True):
        items[at] = replace(items[at], edges=edges)
    return items


_LEAST_PAGES: Final = 4
_SHARE: Final = 0.5
# Blocks from an edge that are compared.
_MOST_BLOCKS: Final = 40
_BETWEEN: Final = "\n\n"


def find_repeated_edges(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return, for each text, how many characters at its beginning and its end repeat those of an earlier one."""
    if len(texts) < _LEAST_PAGES:
        return [(0, 0)] * len(texts)
    blocks = [text.rstrip("\n").split(_BETWEEN) for text in texts]
    heads = _measure([page[:_MOST_BLOCKS] for page in blocks])
    tails = _measure([page[: -_MOST_BLOCKS - 1 : -1] for page in blocks])
    edges: list[tuple[int, int]] = []
    for text, page, head, tail in zip(texts, blocks, heads, tails, strict=True):
        if head + tail >= len(page):  # nothing of its own: it may be a page that others quote
            edges.append((0, 0))
            continue
        start = sum(len(block) + len(_BETWEEN) for block in page[:head])
        end = sum(len(block) + len(_BETWEEN) for block in page[len(page) - tail :])
        edges.append((start, end + len(text) - len(text.rstrip("\n")) if tail else 0))
    return edges


def _measure(pages: Sequence[Sequence[str]]) -> list[int]:
    """Return how many blocks of each page, from its edge on, stand on most pages and on an earlier one."""
    counts = Counter(block for page in pages for block in set(page))
    common = {block for block, count in counts.items() if count >= _LEAST_PAGES and count > _SHARE * len(pages)}
    seen: set[str] = set()
    lengths: list[int] = []
    for page in pages:
        lengths.append(sum(1 for _ in takewhile(seen.__contains__, page)))
        seen |= common.intersection(page)
    return lengths
