"""What every reader of a format does about a package that is missing and about a file that is damaged."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BookwheelError, MissingExtra, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceWarnings


# What a parser's exceptions mean, in words for who gave the file.
_DAMAGES: Final = (
    ((zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError), "its packed data is broken or ends too soon"),
    ((KeyError, IndexError), "a part of it is missing"),
    (NotImplementedError, "it is packed in a way that cannot be read"),
    (RecursionError, "it is nested too deeply"),
)


def import_extra(module: str, purpose: str) -> Any:
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
    except SourceError:
        warnings.add(f"{what} left out, damaged or too deep", place)
