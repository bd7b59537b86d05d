"""Blocking work ends for its caller at once, whatever it waits for."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress

import pytest

from bookwheel.documents.cancellation import CancelScope, ChildLimits, check_cancelled, run_cancellable
from bookwheel.errors import SourceError, WorkCancelled


def test_result_and_error_come_back() -> None:
    assert asyncio.run(run_cancellable(divmod, 7, 2)) == (3, 1)

    def fail() -> None:
        raise SourceError("no such file")

    with pytest.raises(SourceError, match="no such file"):
        asyncio.run(run_cancellable(fail))


def test_nothing_is_cancelled_outside_a_scope() -> None:
    check_cancelled()
    with CancelScope() as scope:
        scope.cancel()
        with pytest.raises(WorkCancelled):
            check_cancelled()
    check_cancelled()


def test_a_thread_that_hangs_in_the_system_is_left_behind(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    begun = threading.Event()

    def wait_for_writer() -> None:
        begun.set()
        (tmp_path / "pipe").open("rb").close()

    async def main() -> None:
        task = asyncio.create_task(run_cancellable(wait_for_writer))
        while not begun.is_set():  # noqa: ASYNC110  another thread sets it
            await asyncio.sleep(0.005)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    (tmp_path / "pipe").open("wb").close()  # lets the thread end


def test_work_in_python_ends_at_its_next_look() -> None:
    ended, begun = threading.Event(), threading.Event()

    def spin() -> None:
        try:
            while True:
                begun.set()
                check_cancelled()
        finally:
            ended.set()

    async def main() -> None:
        task = asyncio.create_task(run_cancellable(spin))
        while not begun.is_set():  # noqa: ASYNC110  another thread sets it
            await asyncio.sleep(0.001)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended.wait(60)


def test_a_callback_runs_once_and_only_while_it_is_registered() -> None:
    calls: list[str] = []
    scope = CancelScope()
    with scope.on_cancel(lambda: calls.append("over")):
        pass
    with scope.on_cancel(lambda: calls.append("under way")):
        scope.cancel()
        scope.cancel()
    assert calls == ["under way"]
    with pytest.raises(WorkCancelled), scope.on_cancel(lambda: calls.append("late")):
        pass


def test_an_inner_call_has_the_limits_of_the_outer_one() -> None:
    from bookwheel.documents.cancellation import current_scope

    limits = ChildLimits(seconds=7)

    async def main() -> ChildLimits | None:
        return await run_cancellable(
            lambda: asyncio.run(run_cancellable(lambda: current_scope().limits)), limits=limits
        )

    assert asyncio.run(main()) == limits
