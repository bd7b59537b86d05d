"""Convert files to text in child processes, several at a time, and keep the results by the file's hash.

    with CancelScope():
        convert_all(files, warnings, store=ConversionStore.in_cache(), progress=show)

A conversion is a file of JSON lines: the parts, then the warnings. In the user's cache it serves every later reading of
the same bytes under the same name; `clear_conversions` empties it, as forgetting a reading must. Without a cache,
conversions are temporary files that go with their document. Plain text is not converted but streamed from its file.
"""

from __future__ import annotations

import contextvars
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import weakref
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from bookwheel.documents.cancellation import CancelScope, check_cancelled, current_scope
from bookwheel.documents.child import MOST_CHILDREN, run_in_child
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.errors import InputError, WorkCancelled
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Raise it when a reader of ours gives another text: older conversions are then left alone, and go as the oldest.
_VERSION: Final = 2
# The libraries whose text a conversion may be. A new release of one may read a file better.
_CONVERTERS: Final = (
    "pypdfium2",
    "lxml",
    "mammoth",
    "python-pptx",
    "python-calamine",
    "striprtf",
    "charset-normalizer",
)
_MOST_CACHED: Final = 512 << 20
_BLOCK: Final = 1 << 20


class OpeningProgress(Protocol):
    """Called while files are converted."""

    def __call__(self, name: str, done: int, total: int, page: int | None) -> None:
        """Show that `done` of `total` files are converted, and that `name` is at this page."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The text of one file, converted, in a file of its own."""

    path: Path
    folder: TempFolder | None = None
    """Keeps a temporary folder as long as this object."""

    def parts(self) -> Iterator[Part]:
        """Yield the parts as the reader made them."""
        for row in self._rows():
            if row[0] == "part":
                yield Part(text=row[1], source=row[2], page=row[3])

    def warn(self, warnings: SourceWarnings) -> None:
        """Add what the reader warned of."""
        for row in self._rows():
            if row[0] == "warning":
                warnings.add(row[1], row[2])

    def _rows(self) -> Iterator[list[Any]]:
        with self.path.open(encoding="utf-8", errors="surrogatepass") as lines:
            for line in lines:
                yield json.loads(line)


class TempFolder:
    """A temporary folder that is deleted with the last reference to it; made when something is written."""

    def __init__(self) -> None:
        self.path = Path(tempfile.gettempdir()) / f"bookwheel-{secrets.token_hex(8)}"
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class ConversionStore:
    """The folder that conversions are in."""

    def __init__(self, folder: Path | TempFolder) -> None:
        self._temporary = folder if isinstance(folder, TempFolder) else None
        self.folder = folder.path if isinstance(folder, TempFolder) else folder

    @classmethod
    def in_cache(cls) -> ConversionStore:
        """Return the store in the user's cache, or a temporary one if that cannot be written."""
        folder = conversions_path()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return cls.in_temp()
        return cls(folder) if os.access(folder, os.W_OK | os.X_OK) else cls.in_temp()

    @classmethod
    def in_temp(cls) -> ConversionStore:
        """Return a store that goes with the last conversion in it."""
        return cls(TempFolder())

    def find(self, key: str) -> Conversion | None:
        """Return the kept conversion. Its time is renewed, because the oldest go first."""
        path = self.folder / f"{key}.jsonl"
        with suppress(OSError):
            os.utime(path)
            return Conversion(path=path, folder=self._temporary)
        return None

    def write(self, key: str, rows: Iterator[list[Any]]) -> Conversion:
        """Write the rows to a file, which gets its name when it is complete."""
        path = self.folder / f"{key}.jsonl"
        if self._temporary:
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
        if self._temporary is None:
            _drop_oldest(self.folder)
        return Conversion(path=path, folder=self._temporary)


def conversions_path() -> Path:
    """Return the folder of conversions in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "bookwheel" / "conversions"


def clear_conversions() -> None:
    """Delete all conversions in the user's cache."""
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


def convert_all(
    files: Sequence[SourceFile], store: ConversionStore, progress: OpeningProgress | None = None
) -> list[Conversion | InputError | OSError]:
    """Convert files side by side. Return for each its conversion or the error that it ended with."""
    report = _Report(len(files), progress)
    if len(files) < 2:  # noqa: PLR2004
        return [_try_convert(file, store, report) for file in files]
    outer = current_scope()
    pool = ThreadPoolExecutor(MOST_CHILDREN, thread_name_prefix="bookwheel conversion")
    with CancelScope(outer.limits) as scope, outer.on_cancel(scope.cancel), pool:
        try:
            run = [contextvars.copy_context().run for _ in files]  # a context runs in one thread at a time
            futures = [
                pool.submit(begin, _try_convert, file, store, report) for begin, file in zip(run, files, strict=True)
            ]
            return _collect(futures)
        except BaseException:
            scope.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _collect(futures: list[Future[Conversion | InputError | OSError]]) -> list[Conversion | InputError | OSError]:
    # In short waits, so that Ctrl-C reaches the main thread, and so that one failure does not wait for all.
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        check_cancelled()
    return [future.result() for future in futures]


class _Report:
    """Counts finished files for the progress display."""

    def __init__(self, total: int, progress: OpeningProgress | None) -> None:
        self._total = total
        self._done = 0
        self._progress = progress

    def show(self, name: str, page: int | None = None) -> None:
        if self._progress:
            self._progress(name, self._done, self._total, page)

    def finish(self, name: str) -> None:
        self._done += 1
        self.show(name)


def _try_convert(file: SourceFile, store: ConversionStore, report: _Report) -> Conversion | InputError | OSError:
    try:
        return convert(file, store, report.show)
    except WorkCancelled:
        raise
    except (InputError, OSError) as error:
        return error
    finally:
        report.finish(file.name)


def convert(file: SourceFile, store: ConversionStore, show: Callable[[str, int | None], None]) -> Conversion:
    """Return the conversion of a file: the kept one, or a new one made in a child process."""
    key = _make_key(file)
    show(file.name, None)
    if kept := store.find(key):
        return kept
    items = run_in_child(convert_in_child, file.to_values(), name=file.name)

    def rows() -> Iterator[list[Any]]:
        try:
            for row in items:
                if row[0] == "page":
                    show(file.name, row[1])
                else:
                    yield row
        finally:
            items.close()

    return store.write(key, rows())


def _make_key(file: SourceFile) -> str:
    """Return the name under which the conversion of these bytes is kept."""
    from bookwheel.documents.readers.ocr import describe_ocr

    digest = hashlib.sha256()
    with file.open() as stream:
        for block in iter(partial(stream.read, _BLOCK), b""):
            check_cancelled()
            digest.update(block)
    facts = [file.name, file.media, file.charset, file.suffix, file.everything, describe_ocr()]
    digest.update(json.dumps([*facts, _VERSION, *find_releases()]).encode())
    return digest.hexdigest()


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
    """Yield the parts of a file, the pages that were looked at, and at the end the warnings, as JSON values."""
    from bookwheel.documents.formats import read_parts

    warnings = SourceWarnings()
    for part in read_parts(SourceFile.from_values(values), warnings):
        yield ["part", part.text, part.source, part.page] if part.text else ["page", part.page]
    for what, where in warnings.items():
        yield ["warning", what, where]
