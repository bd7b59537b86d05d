"""The settings of a server."""

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal, TypeAlias

FollowUp: TypeAlias = Literal["memory", "read"]
"""How a further question about a document is answered: from its finished memory first, or by reading it again."""
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
    conversions: int = 2
    """Documents that are converted at once, each in a process of its own."""
    fetches: int = 8
    """Addresses that are fetched at once."""
    waiting_documents: int = 64
    """Documents that wait for a conversion or a fetch; beyond them, requests are declined with 429."""
    conversion_seconds: int = 120
    """Of the processor's time for one document; on the clock it may take four times as long."""
    conversion_memory: int = 2 << 30
    """Address space of the process that converts it."""
    text_bytes: int = 512 << 20
    """Of the text that a document is converted to."""
    fetch_seconds: float = 120.0
    """Of one address, headers and redirects included."""
    header_seconds: float = 20.0
    """From the first byte of a request, or the opening of a connection, to the end of its headers."""
    body_silence: float = 30.0
    """Between two pieces of a request's body."""
    body_rate: int = 4096
    """Bytes a second that a body must bring on average, after `body_silence`."""
    connections: int = 1024
    """Open at once; one more is declined with 503."""
    journal_bytes: int | None = None
    """Of the journal's file; when it is full, no document is stored and no reading begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The names that the server answers to, its limits, and what it may open."""

    hosts: frozenset[str] = LOOPBACK
    """Allowed values of the Host header. Any other name was pointed here by someone else's page (DNS rebinding)."""
    limits: Limits = field(default_factory=Limits)
    allow_private: bool = False
    """Documents may be fetched from private addresses."""
    follow_up: FollowUp = "memory"
    """For chats that do not say it themselves."""
    is_shared: bool = False
    """All keys see each other's readings and documents."""
    runs_folder: Path | None = None
    """The folder whose evaluations and training runs are shown; None shows none."""


def is_loopback(host: str) -> bool:
    """Return True when only this machine can reach a server bound to this address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
