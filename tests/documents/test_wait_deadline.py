"""A deadline for waits counts no other time."""

from __future__ import annotations

import threading
import time

from bookwheel.documents import wait_deadline
from bookwheel.documents.wait_deadline import WaitDeadline


def test_the_callers_time_does_not_count(monkeypatch) -> None:
    monkeypatch.setattr(wait_deadline, "_SHORTEST_TIMER", 0.005)
    expired = threading.Event()
    with WaitDeadline(0.01, expired.set) as deadline:
        time.sleep(0.05)
        assert not expired.is_set()
        with deadline.waiting():
            assert expired.wait(60)


def test_several_waits_count_together(monkeypatch) -> None:
    monkeypatch.setattr(wait_deadline, "_SHORTEST_TIMER", 0.005)
    expired = threading.Event()
    with WaitDeadline(0.05, expired.set) as deadline:
        for _ in range(1000):
            with deadline.waiting():
                time.sleep(0.005)
            if expired.is_set():
                break
    assert expired.is_set()
