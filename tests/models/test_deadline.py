"""A call ends at its time or with its reading, also where its library does not end when it is cancelled."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

import anyio
import pytest

from bookwheel.errors import ModelError
from bookwheel.models import deadline
from bookwheel.models.deadline import end_within


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(deadline, "_SECONDS_TO_END", 0.1)
    released.clear()


released = []


async def wait_on():
    while not released:
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()


async def wait_for_a_task():
    await asyncio.create_task(wait_on())


async def miss_a_task():
    """Wait in a group of anyio for a task whose end nobody tells it, as after an error in its `add_done_callback`."""
    async with anyio.create_task_group() as group:
        group._tasks.add(asyncio.create_task(asyncio.sleep(0)))


LIBRARIES = [wait_on, wait_for_a_task, miss_a_task]


def run(work):
    """Run, and let the libraries end only then, as `asyncio.run` waits for what never ends."""

    async def work_and_release():
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: said.append(context["message"]))
        try:
            await work
        finally:
            released.append(True)
        assert not said

    said = []
    asyncio.run(work_and_release())


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_call_that_never_ends_is_late_at_its_deadline(library, caplog):
    began = time.monotonic()
    with caplog.at_level(logging.WARNING), pytest.raises(TimeoutError):
        run(end_within(0.1, library()))
    assert time.monotonic() - began < 10
    assert caplog.text.count("broken off") == 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_and_holds_up_no_reading_that_is_cancelled(library):
    async def cancel():
        reading = asyncio.create_task(end_within(600, library()))
        await asyncio.sleep(0.05)
        reading.cancel()
        await asyncio.wait({reading}, timeout=10)
        assert reading.cancelled()

    run(cancel())


@pytest.mark.parametrize("library", [wait_on, miss_a_task])
def test_what_waits_itself_is_over_when_it_is_broken_off(library):
    """So a program ends, and no loop goes round for it."""

    async def leave():
        with pytest.raises(TimeoutError):
            await end_within(0.05, library())
        await asyncio.sleep(0)
        assert not deadline._left
        assert asyncio.all_tasks() == {asyncio.current_task()}
        began = time.process_time()
        await asyncio.sleep(0.3)
        assert time.process_time() - began < 0.2

    asyncio.run(leave())


def test_a_reply_that_comes_as_its_reading_is_cancelled_is_discarded():
    discarded = []

    async def discard(reply):
        discarded.append(reply)

    async def cancel():
        arrived = asyncio.get_running_loop().create_future()

        async def call():
            return await arrived

        reading = asyncio.create_task(end_within(600, call(), discard))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        arrived.set_result("reply")
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait({reading})
        assert reading.cancelled()

    asyncio.run(cancel())
    assert discarded == ["reply"]


def test_what_a_call_raises_is_raised_and_swallowed_where_nobody_waits():
    async def fail():
        try:
            await asyncio.sleep(0.01)
        finally:
            raise ValueError("odd")

    with pytest.raises(ValueError, match="odd"):
        run(end_within(9, fail()))
    with pytest.raises(TimeoutError):
        run(end_within(0.001, fail()))


def test_no_more_than_so_many_are_left_behind(monkeypatch):
    monkeypatch.setattr(deadline, "_MOST_LEFT", 1)

    async def leave():
        with pytest.raises(TimeoutError):
            await end_within(0.05, wait_for_a_task())
        with pytest.raises(ModelError, match="Start the program again"):
            await end_within(0.05, wait_for_a_task())

    run(leave())


def test_what_another_loop_left_behind_is_none_of_this_one(monkeypatch):
    async def reply():
        return "reply"

    other = asyncio.new_event_loop()
    task = other.create_task(reply())
    monkeypatch.setattr(deadline, "_MOST_LEFT", 1)
    monkeypatch.setattr(deadline, "_left", {task})
    assert asyncio.run(end_within(1, reply())) == "reply"
    other.run_until_complete(task)
    other.close()
