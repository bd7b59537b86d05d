"""What is measured, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from bookwheel.types import Status, Usage


class Metrics:
    """The counters of one server; a registry of their own lets two live in one process."""

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self._requests = Counter("bookwheel_requests", "HTTP requests.", ["method", "status"], registry=own)
        self._begun = Counter("bookwheel_readings_begun", "Readings begun or gone on with.", registry=own)
        self._ended = Counter("bookwheel_readings_ended", "Readings that ended, by how.", ["status"], registry=own)
        self._now = Gauge("bookwheel_readings_under_way", "Readings under way.", registry=own)
        self._calls = Counter("bookwheel_calls", "Calls of the model.", ["model"], registry=own)
        self._tokens = Counter(
            "bookwheel_tokens", "Tokens read and written by the model.", ["model", "of"], registry=own
        )
        self._seconds = Histogram("bookwheel_call_seconds", "How long a call took, turn included.", registry=own)

    def request(self, method: str, status: int) -> None:
        """A request was answered."""
        known = method if method in {"GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"} else "other"
        self._requests.labels(known, str(status)).inc()

    def begun(self) -> None:
        """A reading begins."""
        self._begun.inc()
        self._now.inc()

    def ended(self, status: Status) -> None:
        """A reading has ended."""
        self._ended.labels(str(status)).inc()
        self._now.dec()

    def called(self, model: str, usage: Usage, seconds: float) -> None:
        """The model has replied."""
        self._calls.labels(model).inc()
        self._tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        self._tokens.labels(model, "completion").inc(usage.completion_tokens)
        self._seconds.observe(seconds)

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)
