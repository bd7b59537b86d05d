"""How a server is set up."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much at once."""

    body: int = 32 << 20
    """Bytes of a request."""
    upload: int = 256 << 20
    """Bytes of an uploaded document."""
    readings: int = 64
    """Readings under way; one more is declined with 429."""
    calls: int = 16
    """Calls of the model under way."""
    waiting: int = 256
    """Calls that wait for their turn before requests that need no reading are declined with 429."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What the server answers to, and how much it takes."""

    hosts: frozenset[str] = LOOPBACK
    """The names that a request may call the server by; any other is a page that had its name pointed here."""
    limits: Limits = field(default_factory=Limits)
    allow_private: bool = False
    """Whether documents may be fetched from private addresses."""
    runs: Path | None = None
    """The folder whose evaluations and training runs are shown; None shows none."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to this address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
