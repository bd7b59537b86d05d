"""The server's metrics for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from bookwheel.types import Status, Usage

_METHODS: Final = frozenset({"GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"})


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        # A registry for each server, because two servers can live in one process.
        registry = self._registry = CollectorRegistry()
        self._requests = Counter("bookwheel_requests", "HTTP requests.", ["method", "status"], registry=registry)
        self._started = Counter("bookwheel_readings_begun", "Readings begun or gone on with.", registry=registry)
        self._ended = Counter("bookwheel_readings_ended", "Readings that ended, by how.", ["status"], registry=registry)
        self._running = Gauge("bookwheel_readings_under_way", "Readings under way.", registry=registry)
        self._calls = Counter("bookwheel_calls", "Calls of the model.", ["model"], registry=registry)
        self._tokens = Counter(
            "bookwheel_tokens", "Tokens read and written by the model.", ["model", "of"], registry=registry
        )
        self._seconds = Histogram("bookwheel_call_seconds", "How long a call took, turn included.", registry=registry)

    def count_request(self, method: str, status: int) -> None:
        """Count a request that was answered."""
        # A client can invent methods; each would become a time series of its own.
        self._requests.labels(method if method in _METHODS else "other", str(status)).inc()

    def count_start(self) -> None:
        """Count a reading that starts or continues."""
        self._started.inc()
        self._running.inc()

    def count_end(self, status: Status) -> None:
        """Count a reading that ended."""
        self._ended.labels(str(status)).inc()
        self._running.dec()

    def count_call(self, model: str, usage: Usage, seconds: float) -> None:
        """Count a call of the model and its tokens."""
        self._calls.labels(model).inc()
        self._tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        self._tokens.labels(model, "completion").inc(usage.completion_tokens)
        self._seconds.observe(seconds)

    def render(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
