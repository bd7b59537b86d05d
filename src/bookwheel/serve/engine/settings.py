"""The settings of a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that the server takes at once."""

    body_bytes: int = 32 << 20
    """Of a request."""
    upload_bytes: int = 256 << 20
    """Of an uploaded document."""
    readings: int = 64
    """Under way; one more is declined with 429."""
    calls: int = 16
    """Calls of the model under way."""
    waiting_calls: int = 256
    """Calls in the queue; beyond them, requests that need no reading are declined with 429."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The names that the server answers to, its limits, and what it may open."""

    hosts: frozenset[str] = LOOPBACK
    """Allowed values of the Host header. Any other name was pointed here by someone else's page (DNS rebinding)."""
    limits: Limits = field(default_factory=Limits)
    allow_private: bool = False
    """Documents may be fetched from private addresses."""
    runs_folder: Path | None = None
    """The folder whose evaluations and training runs are shown; None shows none."""


def is_loopback(host: str) -> bool:
    """Return True when only this machine can reach a server bound to this address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
