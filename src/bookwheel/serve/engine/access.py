"""What a server's clients may do: their keys, with rates and quotas, and the documents that they may have opened.

Keys are stored as hashes. A key file is TOML; `bookwheel serve --new-key NAME --key-file FILE` adds to it and shows the
key once:

    [keys.reading-group]
    sha256 = "…"
    requests_per_minute = 120
    tokens_per_day = 2_000_000

A path is judged by where it leads after every link and `..` is resolved. Hidden files and folders inside a root
(`.ssh`, `.env`) stay hidden. Everything else is refused in the same words whether or not it exists.
"""

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import stat
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Self

from bookwheel.errors import InputError, SourceError
from bookwheel.schema import Ge, parse
from bookwheel.serve.engine.errors import QuotaReached
from bookwheel.serve.engine.usage import UsageStore, today

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
# Of one key. They live in memory only; the key's oldest goes first, and its browser signs in again.
_MOST_SESSIONS: Final = 100
_SECONDS_PER_MINUTE: Final = 60.0
_SECRET_BYTES: Final = 32
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of the file. The server makes long random keys, so a fast hash without salt hides them well enough."""

    name: str
    sha256: str
    requests_per_minute: Annotated[int, Ge(1)] | None = None
    tokens_per_day: Annotated[int, Ge(1)] | None = None


class KeyRing:
    """All keys, the browser sessions that stand for them, and the rate limit of each."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._keys = tuple(keys)
        self._sessions: dict[str, Key] = {}
        self._buckets: dict[str, _TokenBucket] = {
            key.name: _TokenBucket(key.requests_per_minute) for key in keys if key.requests_per_minute
        }

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def find_by_secret(self, secret: str) -> Key | None:
        # Every key is compared, each in constant time, so that the duration tells nothing about any of them.
        sha256, match = hash_secret(secret), None
        for key in self._keys:
            if hmac.compare_digest(key.sha256, sha256):
                match = key
        return match

    def find_by_name(self, name: str) -> Key | None:
        return next((key for key in self._keys if key.name == name), None)

    def create_session(self, key: Key) -> str:
        """Return a token for a browser's cookie, which stands for the key; the key itself stays out of the browser."""
        own = [token for token, owner in self._sessions.items() if owner.name == key.name]
        if len(own) >= _MOST_SESSIONS:
            del self._sessions[own[0]]
        token = secrets.token_urlsafe(_SECRET_BYTES)
        self._sessions[hash_secret(token)] = key
        return token

    def find_by_session(self, token: str) -> Key | None:
        return self._sessions.get(hash_secret(token))

    def take_request(self, key: Key) -> float:
        """Count a request against the key's rate; return 0, or the seconds to wait when it is over the rate."""
        bucket = self._buckets.get(key.name)
        return bucket.take() if bucket else 0.0


class _TokenBucket:
    """A rate limit: full after a minute of rest, so a burst has at most one minute's requests."""

    def __init__(self, per_minute: int) -> None:
        self._rate = per_minute / _SECONDS_PER_MINUTE
        self._capacity = float(per_minute)
        self._level = self._capacity
        self._filled_at = time.monotonic()

    def take(self) -> float:
        now = time.monotonic()
        self._level = min(self._capacity, self._level + (now - self._filled_at) * self._rate)
        self._filled_at = now
        if self._level < 1:
            return (1 - self._level) / self._rate
        self._level -= 1
        return 0.0


class TokenQuota:
    """The tokens that one key may use in a day (UTC). The usage store counts them, so a restart gives none back."""

    def __init__(self, key: Key, usage: UsageStore) -> None:
        self._key = key
        self._usage = usage
        self._day = ""
        self._used = 0
        self._reserved = 0

    def check(self, tokens: int = 1) -> None:
        """Raise QuotaReached when fewer tokens than this are left."""
        if self._day != today():
            self._day, self._used = today(), self._usage.tokens_today(self._key.name)
        limit = self._key.tokens_per_day
        if limit is not None and self._used + self._reserved + tokens > limit:
            raise QuotaReached(
                f"the key {self._key.name} has used {self._used} of its {limit} tokens a day, and this request could "
                f"exceed the rest: continue tomorrow (UTC), or ask whoever runs this server for more"
            )

    @contextmanager
    def reserve(self, tokens: int) -> Iterator[None]:
        """Reserve a call's highest cost while it is under way; raise QuotaReached when it is not left."""
        self.hold(tokens)
        try:
            yield
        finally:
            self.let_go(tokens)

    def hold(self, tokens: int) -> None:
        """Reserve so many tokens until `let_go`; raise QuotaReached when they are not left."""
        self.check(tokens)
        self._reserved += tokens

    def let_go(self, tokens: int) -> None:
        self._reserved -= tokens

    async def settle(self, tokens: int) -> None:
        """Count what a call cost in the end."""
        self._used += tokens
        await asyncio.to_thread(self._usage.add_tokens, self._key.name, tokens)


def read_keys(path: Path) -> KeyRing:
    """Return the keys of a file. Raise InputError when it has none, or a broken one: never an open server."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("keys", {})
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the key file {path} cannot be read: {error}") from error
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path} has no keys: add one with bookwheel serve --new-key NAME --key-file {path}")
    return KeyRing([_parse_key(name, table, path) for name, table in tables.items()])


def _parse_key(name: str, table: Any, path: Path) -> Key:
    # The value is not shown: it may be the key itself.
    if not isinstance(table, dict) or not _HASH.fullmatch(str(table.get("sha256"))):
        raise InputError(f"the key {name} in {path} needs sha256, 64 hex digits")
    return parse(Key, {**table, "name": name}, where=str(path), table=f"keys.{name}")


def add_key(path: Path, name: str) -> str:
    """Make a key, add its hash to the file and return the key, which is never shown again."""
    if not _NAME.fullmatch(name):
        raise InputError(f"a key's name has 1 to 64 letters, digits, - and _: not {name!r}")
    try:
        if path.exists() and name in tomllib.loads(path.read_text(encoding="utf-8")).get("keys", {}):
            raise InputError(f"{path} already has a key {name}: take another name, or remove that one first")
        secret = f"bw-{secrets.token_urlsafe(_SECRET_BYTES)}"
        # Created readable by its owner only; O_APPEND keeps comments and order of an existing file.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f'\n[keys.{name}]\nsha256 = "{hash_secret(secret)}"\n')
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the key file {path} cannot be written: {error}") from error
    return secret


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a key or a session's token, in hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest:
    """The document that a client asks for: exactly one of these, and a name for a text."""

    path: str | None = None
    url: str | None = None
    text: str | None = None
    document: str | None = None
    """The SHA-256 of one that the server has."""
    name: str | None = None

    def list_given(self) -> list[str]:
        return [one for one in ("path", "url", "text", "document") if getattr(self, one) is not None]


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
        if len(given := source.list_given()) != 1:
            raise SourceError(f"give one of path, url, text and document, not {' and '.join(given) or 'none of them'}")
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
