"""A reply is seen while it is written by who asks for it, and nothing is streamed for anybody else."""

from __future__ import annotations

import threading
from typing import ClassVar

import pytest

from bookwheel.models.base import REPLY_WATCHER


def streaming(gated):
    """A model that tells a watcher its reply in two parts, and notes whether there was one."""

    class Streaming(gated):
        watched: ClassVar[list[bool]] = []

        async def reply(self, messages, *, limit, sampling):
            watch = REPLY_WATCHER.get()
            self.watched.append(watch is not None)
            if watch:
                watch("The harbour")
            return await super().reply(messages, limit=limit, sampling=sampling)

    return Streaming()


@pytest.mark.slow
def test_a_reply_is_seen_while_it_is_written(serving, gated) -> None:
    model = streaming(gated)
    model.after(1)
    with serving(model) as up:
        id_ = up.begin()["reading"]
        # The second call is held: it began before anybody watched. The third is watched from its beginning.
        with up.client() as client, client.stream("GET", f"/readings/{id_}/events?live=1") as answer:
            while not up.service.readings.get_running(id_).watchers:
                threading.Event().wait(0.005)
            model.after(10**9)
            events = [line.partition(": ")[2] for line in answer.iter_lines() if line.startswith(("event", "data"))]
    written = [data for kind, data in zip(events[::2], events[1::2], strict=True) if kind == "writing"]
    assert any('"The harbour"' in data and '"kind": "reply"' in data for data in written)
    assert events[-2] == "status"


@pytest.mark.slow
def test_who_does_not_ask_sees_no_reply_being_written(serving, gated) -> None:
    model = streaming(gated)
    with serving(model) as up:
        kinds = {kind for kind, _, _ in up.events(up.begin()["reading"])}
    assert kinds == {"step", "answer", "status"}
    assert not any(model.watched)
