"""The documents that a client may have opened: files inside the configured roots, and the public web.

A path is judged by where it leads after every link and `..` is resolved. Hidden files and folders inside a root
(`.ssh`, `.env`) stay hidden. Everything else is refused in the same words whether or not it exists.
"""

from __future__ import annotations

import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from bookwheel.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_WEB: Final = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest:
    """The document that a client asks for: exactly one of path, url and text."""

    path: str | None = None
    url: str | None = None
    text: str | None = None
    name: str | None = None
    """A name for the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPolicy:
    """The roots and addresses that may be opened for clients."""

    roots: tuple[Path, ...] = ()
    """Folders (or files) that may be read; resolved."""
    allow_private: bool = False
    """Addresses inside this network may be fetched."""

    @classmethod
    def from_roots(cls, roots: Iterable[Path], *, allow_private: bool = False) -> Self:
        """Resolve the roots. Raise SourceError for one that does not exist."""
        resolved = []
        for root in roots:
            try:
                resolved.append(root.expanduser().resolve(strict=True))
            except OSError as error:
                raise SourceError(f"the root {root} cannot be opened: {error.strerror}. Give a folder.") from error
        return cls(roots=tuple(resolved), allow_private=allow_private)

    def check(self, source: SourceRequest) -> None:
        """Raise SourceError for a source that may not be opened, before anything is."""
        given = [name for name in ("path", "url", "text") if getattr(source, name) is not None]
        if len(given) != 1:
            raise SourceError(f"give one of path, url and text, not {' and '.join(given) or 'none of them'}")
        if source.path is not None:
            self.resolve(source.path)
        if source.url is not None and not _WEB.match(source.url):
            raise SourceError(f"{source.url!r} is not an address: it must begin with http:// or https://")
        if source.text is not None and not source.text.strip():
            raise SourceError("the text is empty: give some text to read")

    def resolve(self, path: str) -> Path:
        """Return where a path leads, if that is inside a root; look for a relative path in each of them."""
        if not self.roots:
            raise SourceError("no files may be read here: start the server with --root FOLDER, or send the text")
        candidates = [real for root in self.roots if (real := _resolve_in(root, path))]
        if not candidates:
            names = ", ".join(root.name for root in self.roots)
            raise SourceError(f"{path} is not inside what may be read here ({names}), or is hidden there")
        for real in candidates:
            with suppress(OSError):
                mode = real.stat().st_mode
                # Devices and pipes could block for ever, or never end.
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    return real
        raise SourceError(f"{path} does not exist, or is neither a file nor a folder: check the path")


def _resolve_in(root: Path, path: str) -> Path | None:
    """Follow all links; return the path when it stays inside the root and outside its hidden places."""
    try:
        real = (root / path).resolve()
        inside = real.relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return None
    return None if any(part.startswith(".") for part in inside.parts) else real
