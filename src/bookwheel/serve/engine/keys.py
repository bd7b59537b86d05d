"""Who may ask: keys that are kept as hashes only, each with a rate and a daily budget of its own.

A key file is TOML; `bookwheel serve --new-key NAME --key-file FILE` adds to it and shows the key once:

    [keys.reading-group]
    sha256 = "…"
    requests_per_minute = 120
    tokens_per_day = 2_000_000
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import secrets
import time
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BudgetReached, InputError
from bookwheel.serve.engine.usage import today

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bookwheel.serve.engine.usage import UsageStore

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_MOST_SESSIONS: Final = 10_000
_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key, as the file has it. Keys are made by us and long, so that a fast hash hides them well enough."""

    name: str
    sha256: str
    requests_per_minute: int | None = None
    tokens_per_day: int | None = None


class KeyRing:
    """All keys, the sessions of browsers, and the pace of each key."""

    def __init__(self, keys: Sequence[Key] = ()) -> None:
        self._keys = tuple(keys)
        self._sessions: dict[str, Key] = {}
        self._paces: dict[str, _Pace] = {
            key.name: _Pace(key.requests_per_minute) for key in keys if key.requests_per_minute
        }

    def __bool__(self) -> bool:
        return bool(self._keys)

    def holder(self, secret: str) -> Key | None:
        """Whose key this is. Every key is compared, each in constant time, so that the time tells nothing."""
        given, found = _hashed(secret), None
        for key in self._keys:
            if hmac.compare_digest(key.sha256, given):
                found = key
        return found

    def named(self, name: str) -> Key | None:
        """The key of that name."""
        return next((key for key in self._keys if key.name == name), None)

    def begin_session(self, key: Key) -> str:
        """A token that stands for the key in a browser's cookie; the key itself stays out of the browser."""
        if len(self._sessions) >= _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        token = secrets.token_urlsafe(32)
        self._sessions[_hashed(token)] = key
        return token

    def session(self, token: str) -> Key | None:
        """Whose session this is."""
        return self._sessions.get(_hashed(token))

    def seconds_to_wait(self, key: Key) -> float:
        """0 when the key may ask now."""
        pace = self._paces.get(key.name)
        return pace.seconds_to_wait() if pace else 0.0


class _Pace:
    """So many requests a minute, of which some may come at once."""

    def __init__(self, per_minute: int) -> None:
        self._rate = per_minute / _MINUTE
        self._most = float(per_minute)
        self._have = self._most
        self._at = time.monotonic()

    def seconds_to_wait(self) -> float:
        now = time.monotonic()
        self._have = min(self._most, self._have + (now - self._at) * self._rate)
        self._at = now
        if self._have < 1:
            return (1 - self._have) / self._rate
        self._have -= 1
        return 0.0


class TokenQuota:
    """What one key may still spend today. What was spent is in the ledger, so a restart gives nothing back."""

    def __init__(self, key: Key, ledger: UsageStore) -> None:
        self._key = key
        self._ledger = ledger
        self._day = ""
        self._spent = 0
        self._promised = 0

    def check(self, tokens: int = 1) -> None:
        """Raise BudgetReached when so many are no longer there."""
        if self._day != today():
            self._day, self._spent = today(), self._ledger.spent(self._key.name)
        limit = self._key.tokens_per_day
        if limit is not None and self._spent + self._promised + tokens > limit:
            raise BudgetReached(
                f"the key {self._key.name} has spent {self._spent} of its {limit} tokens a day and this could pass "
                f"them: go on tomorrow (UTC), or ask whoever runs this server for more"
            )

    @contextmanager
    def promise(self, tokens: int) -> Iterator[None]:
        """Set a call's worst cost aside while it is under way."""
        self.check(tokens)
        self._promised += tokens
        try:
            yield
        finally:
            self._promised -= tokens

    async def pay(self, tokens: int) -> None:
        """Count what a call cost."""
        self._spent += tokens
        await asyncio.to_thread(self._ledger.spend, self._key.name, tokens)


def read_keys(path: Path) -> KeyRing:
    """The keys of a file; InputError says what is wrong with it."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("keys", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the key file {path} cannot be read: {error}") from error
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"{path} has no keys: add one with bookwheel serve --new-key NAME --key-file {path}")
    return KeyRing([_key(name, table, path) for name, table in tables.items()])


def _key(name: str, table: Mapping[str, Any], path: Path) -> Key:
    known = {field.name for field in fields(Key)} - {"name"}
    if not isinstance(table, dict) or set(table) - known or not _HASH.fullmatch(str(table.get("sha256"))):
        raise InputError(f"the key {name} in {path} needs sha256, 64 hex digits, and may have: {', '.join(known)}")
    for limit in ("requests_per_minute", "tokens_per_day"):
        if limit in table and (type(table[limit]) is not int or table[limit] < 1):
            raise InputError(f"{limit} of the key {name} in {path} must be a whole number above 0")
    return Key(name=name, **table)


def add_key(path: Path, name: str) -> str:
    """Make a key, add its hash to the file, and give the key: it is never shown again."""
    if not _NAME.fullmatch(name):
        raise InputError(f"a key's name is made of letters, digits, - and _: not {name!r}")
    try:
        if path.exists() and name in tomllib.loads(path.read_text(encoding="utf-8")).get("keys", {}):
            raise InputError(f"{path} has a key {name} already: take another name, or remove that one first")
        secret = f"bw-{secrets.token_urlsafe(32)}"
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f'\n[keys.{name}]\nsha256 = "{_hashed(secret)}"\n')
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the key file {path} cannot be written: {error}") from error
    return secret


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
