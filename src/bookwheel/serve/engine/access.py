"""What a stranger may have read: nothing on the disk but what lies inside the roots, and the public internet.

A path is judged by where it really leads, after every link and `..` in it. What is hidden inside a root (`.ssh`,
`.env`) stays hidden. What lies outside is refused in the same words whether or not it is there.
"""

from __future__ import annotations

import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from bookwheel.errors import SourceError
from bookwheel.text.documents import TextDocument, open_document

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bookwheel.types import Document

_WEB: Final = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest:
    """What a client wants read; exactly one of path, url and text."""

    path: str | None = None
    url: str | None = None
    text: str | None = None
    name: str | None = None
    """What to call the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """Which documents may be opened for others."""

    roots: tuple[Path, ...] = ()
    """Folders (or files) that may be read; resolved."""
    allow_private: bool = False
    """Whether addresses inside this network may be fetched."""

    @classmethod
    def of(cls, roots: Iterable[Path], *, allow_private: bool = False) -> Self:
        """The reach with these roots; SourceError for one that is not there."""
        found = []
        for root in roots:
            try:
                found.append(root.expanduser().resolve(strict=True))
            except OSError as error:
                raise SourceError(f"the root {root} cannot be opened: {error.strerror}. Give a folder.") from error
        return cls(roots=tuple(found), allow_private=allow_private)

    def check(self, asked: SourceRequest) -> None:
        """Raise SourceError, before anything is opened, for what is out of reach."""
        given = [name for name in ("path", "url", "text") if getattr(asked, name) is not None]
        if len(given) != 1:
            raise SourceError(f"give one of path, url and text, not {' and '.join(given) or 'none of them'}")
        if asked.path is not None:
            self.inside(asked.path)
        if asked.url is not None and not _WEB.match(asked.url):
            raise SourceError(f"{asked.url!r} is not an address: it must begin with http:// or https://")
        if asked.text is not None and not asked.text.strip():
            raise SourceError("the text is empty: give some text to read")

    def open(self, asked: SourceRequest) -> Document:
        """The document. Fetching and converting can take long, so this belongs in a thread."""
        self.check(asked)
        if asked.text is not None:
            return TextDocument(asked.text, name=asked.name or "text")
        if asked.url is not None:
            return open_document([asked.url], allow_private=self.allow_private)
        return open_document([self.inside(asked.path or "")])

    def inside(self, path: str) -> Path:
        """Where a path really leads, if that is inside a root; a relative one is looked for in each of them."""
        if not self.roots:
            raise SourceError("no files may be read here: start the server with --root FOLDER, or send the text")
        found = [real for root in self.roots if (real := _within(root, path))]
        if not found:
            names = ", ".join(root.name for root in self.roots)
            raise SourceError(f"{path} is not inside what may be read here ({names}), or is hidden there")
        for real in found:
            with suppress(OSError):
                mode = real.stat().st_mode
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    return real
        raise SourceError(f"{path} is not there, or neither a file nor a folder: check the path")


def _within(root: Path, path: str) -> Path | None:
    """The path with all links followed, when it stays inside the root and out of its hidden places."""
    try:
        real = (root / path).resolve()
        inside = real.relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return None
    return None if any(part.startswith(".") for part in inside.parts) else real
