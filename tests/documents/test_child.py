"""Work in a child process keeps its results and its errors exactly, and ends at its limits or at once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from bookwheel.documents import children
from bookwheel.documents.cancellation import CancelScope, ChildLimits, run_cancellable
from bookwheel.documents.children import close_children, run_in_child
from bookwheel.errors import ConversionLimit, ConverterCrash, MissingExtra, SourceError, WorkCancelled

WORK = """
import os, sys, time, tempfile
from bookwheel.errors import MissingExtra, SourceError

def echo(*values):
    yield from values

def facts():
    print("a library prints")
    os.write(1, b"more of it")
    yield {"pid": os.getpid(), "environment": dict(os.environ), "folder": tempfile.mkdtemp()}

def fail(kind):
    yield "first"
    if kind == "source":
        raise SourceError("a.pdf needs a password")
    if kind == "extra":
        raise MissingExtra("reading PDF", "documents")
    if kind == "system":
        raise FileNotFoundError(2, "No such file", "a.pdf")
    if kind == "abort":
        os.abort()
    if kind == "kill":
        os.kill(os.getpid(), 9)
    if kind == "memory":
        bytearray(4 << 30)
    if kind == "file":
        with open(os.path.join(tempfile.gettempdir(), "big"), "wb") as file:
            file.truncate(1 << 24)
    raise AttributeError("NoneType has no page")

def endless(value):
    while True:
        yield value

def spin():
    while True:
        pass

def tick(seconds):
    for _ in range(1000):
        time.sleep(seconds)
        yield "tick"

def read_pictures(seconds, more):
    from resource import RLIMIT_CPU, getrlimit
    from bookwheel.documents.child import allow_more
    before, _ = getrlimit(RLIMIT_CPU)
    allow_more(more)
    time.sleep(seconds)
    yield getrlimit(RLIMIT_CPU)[0] - before

def read_more_pictures(seconds, times):
    from bookwheel.documents.child import allow_more
    for _ in range(times):
        allow_more(seconds)
        time.sleep(seconds)
        yield "read"

def sleep(seconds):
    yield os.getpid()
    time.sleep(seconds)
    yield "woke"
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A module of work that children can import."""
    (tmp_path / "hostile_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "hostile_work", raising=False)
    close_children()  # those of other tests do not have it on their path
    import hostile_work

    yield hostile_work
    close_children()


def run(function, *arguments, **limits):
    return list(run_in_child(function, *arguments, name="a.pdf", limits=ChildLimits(**limits)))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_items_cross_exactly_and_in_order(work) -> None:
    values = ["\ud83d", "\ude00", "\ud83d\ude00", "", "\0\n", 3, None, ["part", {"page": 1}], "長" * 100_000]
    assert run(work.echo, *values) == values


def test_a_child_serves_again_and_one_that_died_idle_is_replaced(work) -> None:
    first = run(work.facts)[0]["pid"]
    assert run(work.facts)[0]["pid"] == first
    os.kill(first, signal.SIGKILL)
    assert run(work.facts)[0]["pid"] != first


def test_a_child_has_no_keys_and_a_folder_that_goes_with_it(work, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    facts = run(work.facts)[0]
    assert "sk-secret" not in facts["environment"].values()
    assert Path(facts["folder"]).parent == Path(facts["environment"]["TMPDIR"])
    assert Path(facts["folder"]).is_dir()
    close_children()
    assert not Path(facts["environment"]["TMPDIR"]).exists()


@pytest.mark.parametrize(
    ("kind", "type_", "message"),
    [
        ("source", SourceError, "a.pdf needs a password"),
        ("extra", MissingExtra, r"pip install .*\[documents\]'"),
        ("system", FileNotFoundError, "No such file"),
        ("abort", ConverterCrash, r"a\.pdf cannot .*SIGABRT"),
        ("kill", ConverterCrash, r"a\.pdf was not converted: .* no memory left"),
        ("other", ConverterCrash, r"a\.pdf cannot .* did not expect what it holds"),
        ("memory", ConversionLimit, r"a\.pdf takes more than 1024 MiB of memory"),
        ("file", OSError, "File too large"),
    ],
)
def test_errors_keep_type_and_message(work, kind: str, type_: type[Exception], message: str) -> None:
    items = run_in_child(work.fail, kind, name="a.pdf", limits=ChildLimits(memory_bytes=1 << 30, output_bytes=1 << 20))
    assert next(items) == "first"
    with pytest.raises(type_, match=message) as caught:
        next(items)
    assert type(caught.value) is type_
    assert run(work.echo, "the next document") == ["the next document"]


@pytest.mark.slow
def test_work_ends_at_its_limits(work) -> None:
    with pytest.raises(ConversionLimit, match=r"a\.pdf takes more than 0\.2 seconds"):
        run(work.sleep, 600, seconds=0.2)
    with pytest.raises(ConversionLimit, match=r"a\.pdf takes more than 1 MiB of text"):
        run(work.endless, "x" * 1000, output_bytes=1 << 20)
    with pytest.raises(ConversionLimit, match=r"a\.pdf takes more than 1 MiB of text"):
        run(work.echo, "x" * (1 << 21), output_bytes=1 << 20)


@pytest.mark.slow
def test_processor_time_is_limited_for_each_piece_of_work(work) -> None:
    for _ in range(2):
        with pytest.raises(ConversionLimit, match=r"a\.pdf takes more than 1 seconds of processor time"):
            run(work.spin, cpu_seconds=1)
    assert run(work.echo, 1, cpu_seconds=1) == [1]


def test_closing_the_generator_kills_the_child(work) -> None:
    items = run_in_child(work.sleep, 600, name="a.pdf")
    pid = next(items)
    items.close()
    assert not is_alive(pid)


def test_a_scope_cancels_from_another_thread_and_stays_cancelled(work) -> None:
    with CancelScope() as scope:
        items = run_in_child(work.sleep, 600, name="a.pdf")
        pid = next(items)
        threading.Timer(0.01, scope.cancel).start()
        with pytest.raises(WorkCancelled):
            next(items)
        assert not is_alive(pid)
        with pytest.raises(WorkCancelled):
            run(work.echo, 1)
    assert run(work.echo, 1) == [1]


def test_a_cancelled_task_kills_its_child_and_ends_at_once(work) -> None:
    pids = []

    def convert() -> None:
        for pid in run_in_child(work.sleep, 600, name="a.pdf"):
            pids.append(pid)  # noqa: PERF402  before the generator ends

    async def main() -> None:
        task = asyncio.create_task(run_cancellable(convert))
        while not pids:  # noqa: ASYNC110  another thread fills it
            await asyncio.sleep(0.005)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    deadline = time.monotonic() + 60
    while is_alive(pids[0]) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not is_alive(pids[0])


def test_a_caller_in_line_can_be_cancelled(work, monkeypatch) -> None:
    monkeypatch.setattr(children._pool, "_slots", threading.BoundedSemaphore(1))
    first = run_in_child(work.sleep, 600, name="a.pdf")
    next(first)
    with CancelScope() as scope:
        threading.Timer(0.01, scope.cancel).start()
        with pytest.raises(WorkCancelled):
            run(work.echo, 1)
    first.close()
    assert run(work.echo, 1) == [1]


def test_work_that_somebody_looks_on_at_never_waits_for_conversions(work, monkeypatch) -> None:
    monkeypatch.setattr(children._pool, "_slots", threading.BoundedSemaphore(1))
    first = run_in_child(work.sleep, 600, name="a.pdf")
    next(first)
    assert list(run_in_child(work.echo, 1, name="a.pdf", is_urgent=True)) == [1]
    first.close()


@pytest.mark.slow
def test_limits_come_from_the_scope_around(work) -> None:
    async def main() -> None:
        await run_cancellable(
            lambda: list(run_in_child(work.sleep, 600, name="a.pdf")), limits=ChildLimits(seconds=0.2)
        )

    with pytest.raises(ConversionLimit, match=r"0\.2 seconds"):
        asyncio.run(main())


def test_a_process_that_cannot_start_is_a_true_sentence(work, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(SourceError, match="no process can be started"):
        run(work.echo, 1)


@pytest.mark.slow
def test_a_child_ends_with_a_killed_parent(work, tmp_path) -> None:
    script = (
        "import hostile_work, signal, os\n"
        "from bookwheel.documents.children import run_in_child\n"
        "for pid in run_in_child(hostile_work.sleep, 600, name='a'):\n"
        "    print(pid, flush=True)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(pid)


def test_a_crash_keeps_its_reason_for_who_mends_the_converter(work) -> None:
    with pytest.raises(ConverterCrash) as caught:
        run(work.fail, "other")
    assert caught.value.__notes__ == ["AttributeError: NoneType has no page"]


def test_the_callers_time_does_not_count(work) -> None:
    items = run_in_child(work.echo, 1, 2, 3, name="a.pdf", limits=ChildLimits(seconds=0.4))
    assert next(items) == 1
    time.sleep(0.6)
    assert list(items) == [2, 3]


def test_several_waits_count_together(work) -> None:
    items = run_in_child(work.tick, 0.02, name="a.pdf", limits=ChildLimits(seconds=0.3))
    with pytest.raises(ConversionLimit, match=r"a\.pdf takes more than 0\.3 seconds"):
        list(items)


def test_one_thread_watches_over_the_time_of_all_items(work, monkeypatch) -> None:
    started, start = [], threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (started.append(self), start(self))[1])
    assert run(work.echo, *range(100)) == [*range(100)]
    assert len(started) == 1


def test_time_for_pictures_is_added_to_both_limits(work) -> None:
    assert run(work.read_pictures, 0.6, 7.5, seconds=0.3) == [8]
    with pytest.raises(ConversionLimit):
        run(work.read_pictures, 60, 7.5, seconds=0.1, picture_seconds=0.1)


def test_all_pictures_of_one_piece_of_work_share_their_time(work) -> None:
    with pytest.raises(ConversionLimit):
        run(work.read_more_pictures, 0.1, 100, seconds=0.3, picture_seconds=0.3)


def test_a_child_that_reads_a_pdf_loads_no_loop_of_events():
    reads = "bookwheel.documents.child, bookwheel.documents.conversions, bookwheel.documents.readers.pdf"
    code = f"import sys, {reads}; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
