"""What every reader does about a package that is missing, a file that is damaged, and one that is a zip archive.

An archive is opened within bounds, and whatever of it is not read is named.
"""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final

from bookwheel.documents.sources import SourceFile, SourceWarnings, max_unpacked_size, to_printable
from bookwheel.errors import BookwheelError, MissingExtra, NotStored, SourceError
from bookwheel.text.lexicon import words

_MARKUP_SUFFIXES: Final = (".xml", ".rels", "html", ".htm", ".opf", ".ncx")
# Bytes of markup in one archive at most: it is parsed in memory.
_MOST_MARKUP: Final = 256 << 20
# What a parser's exceptions mean, in words for who gave the file.
_DAMAGES: Final = (
    ((zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError), "its packed data is broken or ends too soon"),
    ((KeyError, IndexError), "a part of it is missing"),
    (NotImplementedError, "it is packed in a way that cannot be read"),
    (RecursionError, "it is nested too deeply"),
)


def import_extra(module: str, purpose: str) -> Any:
    """Import a package that reading needs. Raise MissingExtra if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(purpose, "documents") from error


class LateModule:
    """A module that is imported when the first of its names is needed: it takes long, or its package is an extra."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return self.__dict__.setdefault(name, getattr(import_module(self._name), name))


@contextmanager
def explain_damage(name: str, kind: str, advice: str = "Save it again.") -> Iterator[None]:
    """Turn what a parser raises on damaged input, which can be anything, into a SourceError with advice."""
    try:
        yield
    except (BookwheelError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno:  # the disk's fault; without a number it is a parser's
            raise
        reason = next((words for types, words in _DAMAGES if isinstance(error, types)), "")
        if not reason and (line := getattr(error, "lineno", None)):
            reason = f"its markup is broken in line {line}"
        reason = reason or "it is not built as it should be"
        raise SourceError(f"{name} is a damaged {kind}: {reason}. {advice}") from error


@contextmanager
def skip_damage(warnings: SourceWarnings, what: str, place: str) -> Iterator[None]:
    """Name a leaf that cannot be read, so that one bad leaf does not cost the others of its container."""
    try:
        with explain_damage(place, "part"):
            yield
    except NotStored:
        raise
    except SourceError:
        warnings.add(f"{what} left out, damaged or too deep", place)


@contextmanager
def open_package(
    source: SourceFile, kind: str, advice: str = "Save it again.", *, locked: bool = False
) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive. Raise SourceError for one that is damaged, a zip bomb or, unless it may be, locked."""
    with source.open() as file, explain_damage(source.name, kind, advice), zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        markup = sum(e.file_size for e in entries if e.filename.endswith(_MARKUP_SUFFIXES))
        # Entries can overlap, so that their sizes add up to more than there is.
        packed = min(sum(e.compress_size for e in entries), source.fingerprint.size)
        if markup > _MOST_MARKUP or sum(e.file_size for e in entries) > max_unpacked_size(packed):
            raise SourceError(f"{source.name} unpacks to far more than a document holds: it is rejected as a zip bomb")
        if not locked and any(e.flag_bits & 1 for e in entries):
            raise SourceError(f"{source.name} needs a password: save it without one")
        yield archive


PICTURE_SUFFIXES: Final = words(
    ".png .jpg .jpeg .gif .bmp .tif .tiff .svg .emf .wmf .webp .jp2 .heic .pict .wdp .eps .avif"
)
"""The ends of the names of pictures."""


def name_unread(
    archive: zipfile.ZipFile, name: str, warnings: SourceWarnings, known: re.Pattern[str], read: Collection[str] = ()
) -> None:
    """Name what an archive holds beside what was read and what has no text by its place (`known`)."""
    for path in archive.namelist():
        if path.endswith("/") or path in read or known.match(path):
            continue
        what = "pictures" if PurePath(path).suffix.lower() in PICTURE_SUFFIXES else "embedded files"
        warnings.add(f"{what} that are not read", f"{name}#{to_printable(PurePath(path).name)}")


def place_slide(name: str, number: int, warnings: SourceWarnings, *, is_hidden: bool) -> str:
    """Return the source of a slide's words: what is quoted from a hidden one says so, and a note does."""
    if not is_hidden:
        return name
    warnings.add(f"slides of {name} that are hidden, and are read too", str(number))
    return f"{name}#hidden slide"
