"""Make the files of a document ready to be read: convert what is not plain text, and keep the results by their hash.

Files are converted in child processes, several at a time, and detected there too where that takes a parser, so that a
damaged one ends nothing but its own child. A conversion is a file of JSON lines: the format, the parts, the warnings.
In the user's cache it serves every later reading of the same bytes under the same name; `clear_conversions` empties it,
as forgetting a reading must. Without a cache, conversions are temporary files that go with their document. Plain text
is not converted but streamed from its file.
"""

from __future__ import annotations

import base64
import contextvars
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from bookwheel.documents.cancellation import CancelScope, check_cancelled, current_scope
from bookwheel.documents.children import MOST_CHILDREN, run_in_child
from bookwheel.documents.dispatch import STREAMED, read_as, read_parts, unpack
from bookwheel.documents.formats import Format, look_at
from bookwheel.documents.readers.ocr import describe_ocr
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.errors import InputError, SourceError, WorkCancelled
from bookwheel.picture import Picture, PictureLine
from bookwheel.types import Part

# Raise it when a reader of ours gives another text: older conversions are then left alone, and go as the oldest.
_VERSION: Final = 22
# The libraries whose text a conversion may be. A new release of one may read a file better.
_CONVERTERS: Final = (
    *("pypdfium2", "lxml", "mammoth", "python-pptx", "python-calamine", "striprtf", "charset-normalizer"),
)
_PICTURE: Final = ("label", "source", "page", "box", "sha256", "width", "height")
_MOST_CACHED: Final = 512 << 20
# Of the blocks that pages of a folder repeat: pages and their share that have one, blocks from an edge.
_LEAST_PAGES: Final = 4
_SHARE: Final = 0.5
_MOST_BLOCKS: Final = 40
_BETWEEN: Final = "\n\n"

OpeningProgress = Callable[[str, int, int, int | None], None]
"""Called while files are converted with a file's name, how many are done, how many there are, and the page it is at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The text of one file, converted, in a file of its own."""

    path: Path
    store: ConversionStore
    """Keeps its folder as long as this object."""
    remake: Callable[[], Conversion] | None = None
    """Converts once more, to a file that no other process empties; of one in the cache."""

    def rows(self, kind: str) -> Iterator[list[Any]]:
        """Yield what the reader made of one kind: `part` (see `part_to_row`), `warning` (what, where), `format`."""
        try:
            opened = self.path.open(encoding="utf-8", errors="surrogatepass")
        except FileNotFoundError:
            if self.remake is None:
                raise
            # Another process has emptied the cache, because it forgot a reading.
            yield from self.remake().rows(kind)
            return
        with opened as lines:
            for line in lines:
                row = json.loads(line)
                if row[0] == kind:
                    yield row[1:]


class ConversionStore:
    """The folder that conversions are in; without one a temporary folder, which goes with the last conversion in it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._is_temporary = folder is None
        self.folder = folder or Path(tempfile.gettempdir()) / f"bookwheel-{secrets.token_hex(8)}"
        if self._is_temporary:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    @classmethod
    def in_cache(cls) -> ConversionStore:
        """Return the store in the user's cache, or a temporary one if that cannot be written."""
        folder = conversions_path()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return cls()
        return cls(folder if os.access(folder, os.W_OK | os.X_OK) else None)

    def find(self, key: str, remake: Callable[[], Conversion]) -> Conversion | None:
        """Return the kept conversion. Its time is renewed, because the oldest go first."""
        path = self.folder / f"{key}.jsonl"
        with suppress(OSError):
            os.utime(path)
            return Conversion(path=path, store=self, remake=remake)
        return None

    def write(self, key: str, rows: Iterator[list[Any]], remake: Callable[[], Conversion] | None = None) -> Conversion:
        """Write the rows to a file, which gets its name when it is complete."""
        path = self.folder / f"{key}.jsonl"
        self.folder.mkdir(mode=0o700, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=self.folder, suffix=".draft")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                for row in rows:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        if not self._is_temporary:
            _drop_oldest(self.folder)
        return Conversion(path=path, store=self, remake=remake)


def conversions_path() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "bookwheel" / "conversions"


def clear_conversions() -> None:
    for path in conversions_path().glob("*.jsonl"):
        path.unlink(missing_ok=True)


def _drop_oldest(folder: Path) -> None:
    """Delete the conversions that were not used for longest, above the size that the cache may have."""
    files: list[tuple[float, int, Path]] = []
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):  # another process has deleted it
            status = path.stat()
            files.append((status.st_mtime, status.st_size, path))
    total = 0
    for _, size, path in sorted(files, reverse=True):
        total += size
        if total > _MOST_CACHED:
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """One file of a document."""

    file: SourceFile
    is_named: bool
    """Named by the user: a fault is then an error; for a file in a folder it is a warning."""
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
        for what, where in self.conversion.rows("warning"):
            warnings.add(what, where)
        start, end = self.edges
        if start or end:
            warnings.add("text that every page of a folder repeats is read once", self.file.name)
        for row in self.conversion.rows("part"):
            part = part_from_row(row)
            yield replace(part, text=part.text[start : len(part.text) - end])


def drop_doubles(items: Iterable[SourceItem], notes: SourceWarnings) -> list[SourceItem]:
    """Return the items without those that are one file with an earlier one: beside its folder, or by a hard link."""
    found: dict[object, SourceItem] = {}
    for item in items:
        key: object = item.file.path
        with suppress(OSError):  # it is gone, and is told when it is opened
            status = item.file.path.stat()
            key = status.st_dev, status.st_ino
        if first := found.get(key):
            notes.add("the same file again, and read once", f"{item.file.name} (as {first.file.name})")
            found[key] = replace(first, is_named=first.is_named or item.is_named)
        else:
            found[key] = item
    return list(found.values())


def prepare_items(
    items: Sequence[SourceItem],
    store: ConversionStore,
    progress: OpeningProgress | None = None,
    missing: Sequence[SourceError] = (),
) -> list[SourceItem]:
    """Return the items converted where they are not plain text. Raise the faults of files that the user named."""
    # Where others are missing, their faults are raised with those; the folders beside them are not converted.
    ready = list(items)
    pending: list[int] = []
    for at, item in enumerate(ready):
        check_cancelled()
        try:
            format_ = look_at(item.file)
            # A folder's pictures are mostly decoration, and each costs seconds.
            if format_ is Format.PICTURE and not item.is_named:
                raise SourceError(f"{item.file.name} is a picture: give it as a source to have it read by OCR")
        except (InputError, OSError) as error:
            ready[at] = replace(item, fault=error)
        else:
            pending += [] if format_ in STREAMED else [at]
    if missing:
        pending = [at for at in pending if ready[at].is_named]
    for at, result in zip(pending, _convert_all([ready[at].file for at in pending], store, progress), strict=True):
        if isinstance(result, Conversion):
            ready[at] = replace(ready[at], conversion=result)
        else:
            ready[at] = replace(ready[at], fault=result)
    if faults := [*missing, *(item.fault for item in ready if item.fault and item.is_named)]:
        # What is wrong with the machine goes before; else one error names all files.
        told = list(dict.fromkeys(map(str, faults)))
        first = next((fault for fault in faults if isinstance(fault, OSError)), faults[0])
        raise first if isinstance(first, OSError) or len(told) == 1 else SourceError("\n".join(told))
    pages = {
        at: "".join(text for text, *_ in item.conversion.rows("part"))
        for at, item in enumerate(ready)
        if item.conversion and not (item.is_named or item.file.everything)
        if next(item.conversion.rows("format"), None) == [Format.HTML]
    }
    for at, edges in zip(pages, find_repeated_edges(list(pages.values())), strict=True):
        ready[at] = replace(ready[at], edges=edges)
    return ready


def _convert_all(
    files: Sequence[SourceFile], store: ConversionStore, progress: OpeningProgress | None
) -> list[Conversion | InputError | OSError]:
    """Convert files side by side. Return for each its conversion or the error that it ended with."""
    done = 0
    # Looked up once: the files of a folder that were all converted before cost hardly anything else.
    describe_reader = cache(describe_ocr)

    def convert(file: SourceFile) -> Conversion | InputError | OSError:
        nonlocal done

        def show(page: int | None = None) -> None:
            if progress:
                progress(file.name, done, len(files), page)

        try:
            show()
            return _convert(file, describe_reader(file.ocr), store, show)
        except WorkCancelled:
            raise
        except (InputError, OSError) as error:
            return error
        finally:
            done += 1
            show()

    if len(files) < 2:  # noqa: PLR2004
        return [convert(file) for file in files]
    outer = current_scope()
    pool = ThreadPoolExecutor(MOST_CHILDREN, thread_name_prefix="bookwheel conversion")
    with CancelScope(outer.limits) as scope, outer.on_cancel(scope.cancel), pool:
        try:
            # A context runs in one thread at a time.
            futures = [pool.submit(contextvars.copy_context().run, convert, file) for file in files]
            pending = set(futures)
            while pending:  # in short waits, so that Ctrl-C reaches the main thread
                ended, pending = wait(pending, timeout=0.5, return_when=FIRST_EXCEPTION)
                for future in ended:
                    future.result()
                check_cancelled()
            return [future.result() for future in futures]
        except BaseException:
            scope.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _convert(file: SourceFile, reader: str, store: ConversionStore, show: Callable[[int | None], None]) -> Conversion:
    """Return the conversion of a file: the kept one, or a new one made in a child process.

    The `reader` is what pictures are read with: another one gives another text.
    """
    digest = hashlib.sha256()
    with file.open() as stream:
        while block := stream.read(1 << 20):
            check_cancelled()
            digest.update(block)
    facts = [file.name, file.media, file.charset, file.suffix, file.everything, reader]
    digest.update(json.dumps([*facts, _VERSION, *find_releases()]).encode())
    key = digest.hexdigest()

    def rows() -> Iterator[list[Any]]:
        with closing(run_in_child(convert_in_child, file.to_values(), name=file.name)) as items:
            for row in items:
                if row[0] == "page":
                    show(row[1])
                else:
                    yield row

    @cache
    def remake() -> Conversion:
        return ConversionStore().write(key, rows())

    return store.find(key, remake) or store.write(key, rows(), remake)


def part_to_row(part: Part) -> list[Any]:
    """Return a part as JSON values: text, source, page, and where it has any its pictures, time and entry."""
    pictures = [
        [
            *(getattr(one, name) for name in _PICTURE),
            [[line.text, line.box, line.confidence] for line in one.lines],
            base64.b64encode(one.content).decode(),
        ]
        for one in part.pictures
    ]
    more = [pictures, part.at, part.entry]
    return [part.text, part.source, part.page, *(more if any(more) else [])]


def part_from_row(row: Sequence[Any]) -> Part:
    text, source, page, *more = row
    shown, at, entry = more or ((), "", "")
    pictures = []
    for *facts, lines, content in shown:
        values = dict(zip(_PICTURE, facts, strict=True)) | {"content": base64.b64decode(content)}
        values["box"] = tuple(values["box"])
        read = tuple(PictureLine(text=words, box=(*box,), confidence=sure) for words, box, sure in lines)
        pictures.append(Picture(**values, lines=read))
    return Part(text=text, source=source, page=page, pictures=tuple(pictures), at=at, entry=entry)


@cache
def find_releases() -> tuple[str, ...]:
    """Return the releases of the libraries that convert; an empty one for those that are not installed."""
    from importlib.metadata import PackageNotFoundError, version

    versions = []
    for name in _CONVERTERS:
        try:
            versions.append(version(name))
        except PackageNotFoundError:
            versions.append("")
    return tuple(versions)


def convert_in_child(values: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield a file's format, its parts, the pages that were looked at, and at the end the warnings, as JSON values."""
    warnings = SourceWarnings()
    file, format_ = unpack(SourceFile.from_values(values))
    yield ["format", format_]
    for part in read_as(format_, file, warnings):
        yield ["part", *part_to_row(part)] if part.text else ["page", part.page]
    for what, where in warnings.items():
        yield ["warning", what, where]


def find_repeated_edges(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return, for each text, how many characters at its beginning and its end repeat those of an earlier one."""
    if len(texts) < _LEAST_PAGES:
        return [(0, 0)] * len(texts)
    pages = [text.rstrip("\n").split(_BETWEEN) for text in texts]
    heads = _count_repeats([page[:_MOST_BLOCKS] for page in pages])
    tails = _count_repeats([page[: -_MOST_BLOCKS - 1 : -1] for page in pages])
    edges: list[tuple[int, int]] = []
    for text, page, head, tail in zip(texts, pages, heads, tails, strict=True):
        if head + tail >= len(page):  # nothing of its own: it may be a page that others quote
            edges.append((0, 0))
            continue
        start = sum(len(block) + len(_BETWEEN) for block in page[:head])
        end = sum(len(block) + len(_BETWEEN) for block in page[len(page) - tail :])
        edges.append((start, end + len(text) - len(text.rstrip("\n")) if tail else 0))
    return edges


def _count_repeats(pages: Sequence[Sequence[str]]) -> list[int]:
    """Return how many blocks of each page, from its edge on, stand on most pages and on an earlier one."""
    counts = Counter(block for page in pages for block in set(page))
    common = {block for block, count in counts.items() if count >= _LEAST_PAGES and count > _SHARE * len(pages)}
    seen: set[str] = set()
    lengths: list[int] = []
    for page in pages:
        lengths.append(sum(1 for _ in takewhile(seen.__contains__, page)))
        seen |= common.intersection(page)
    return lengths
