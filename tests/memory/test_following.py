"""A followed file is read once, line by line, whatever happens to it; a standing question tells when its answer changes."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import time
from contextlib import aclosing

import pytest
from value_notes import note_values

from bookwheel.errors import SourceError
from bookwheel.journal.memory_rows import MemoryLimits
from bookwheel.memory import following
from bookwheel.memory.following import FollowedFile, FollowedStream, follow, open_followed

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(following, "_POLL", 0.005)
    monkeypatch.setattr(following, "_REST", 0.005)


async def gather(opened, growing, *, until, **settings):
    """Return the events up to the first one that `until` is true of."""
    events = []
    async with aclosing(follow(opened, growing, every=0.01, **settings)) as stream:
        async with asyncio.timeout(60):
            async for event in stream:
                events.append(event)
                if until(event):
                    break
    return events


@pytest.fixture
def follow_file():
    opened = []

    def open_file(path):
        opened.append(FollowedFile(path))
        return opened[-1]

    yield open_file
    for file in opened:
        file.close()


def reads(word):
    return lambda event: event["event"] == "read" and word in event["text"]


def take_all(file: FollowedFile) -> list[str]:
    """Return the texts of a file until two looks find nothing new."""
    texts, empty = [], 0
    while empty < 2:
        text = file.take().text
        empty = 0 if text else empty + 1
        texts += [text] if text else []
    return texts


def test_a_line_that_is_still_written_waits_for_its_end(tmp_path, follow_file):
    log = tmp_path / "log"
    file = follow_file(log)
    assert take_all(file) == []  # not there yet
    log.write_text("a = 1\nb = ")
    assert take_all(file) == ["a = 1\n"]
    with log.open("a") as more:
        more.write("2\n")
    assert take_all(file) == ["b = 2\n"]


def test_a_rotated_file_is_read_to_its_end_and_then_the_new_one(tmp_path, follow_file):
    log = tmp_path / "log"
    log.write_text("a = 1\nb = 2")
    file = follow_file(log)
    assert file.take().text == "a = 1\n"
    log.rename(tmp_path / "log.1")
    with (tmp_path / "log.1").open("a") as more:
        more.write("2\nlast")
    assert take_all(file) == ["b = 22\n"]  # the new file is not there yet
    log.write_text("c = 3\n")
    assert take_all(file) == ["last", "c = 3\n"]


def test_a_file_that_was_cut_shorter_is_read_from_its_beginning(tmp_path, follow_file):
    log = tmp_path / "log"
    log.write_text("a = 1\nb = 2\n")
    file = follow_file(log)
    assert take_all(file) == ["a = 1\nb = 2\n"]
    log.write_text("c = 3\n")
    assert take_all(file) == ["c = 3\n"]


def test_letters_are_never_cut_and_strange_bytes_end_nothing(tmp_path, follow_file):
    log = tmp_path / "log"
    log.write_bytes("名 = 灯塔\n".encode() + b"\xff\xfe = 2\n" + "灯".encode()[:2])
    assert take_all(follow_file(log)) == ["名 = 灯塔\n\ufffd\ufffd = 2\n"]


def test_a_stream_gives_its_last_line_without_an_end(tmp_path):
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as stream:
        os.write(write_end, b"a = 1\nb = 2")
        os.close(write_end)
        source = FollowedStream(stream, "pipe")
        assert source.take().text == "a = 1\n"
        last = source.take()
    assert (last.text, last.is_last) == ("b = 2", True)


async def test_what_comes_is_read_and_a_second_follower_goes_on_where_the_first_was_killed(session, begin, tmp_path):
    opened = await begin(session)
    log = tmp_path / "app.log"
    log.write_text("a = 1\n")
    await gather(opened, open_followed(opened, log, "app.log"), source="app.log", until=reads("a = 1"))
    with log.open("a") as more:
        more.write("a = 1\nb = 2\n")  # a line that was there before is news all the same
    calls = session.model.calls
    await gather(opened, open_followed(opened, log, "app.log"), source="app.log", until=reads("b = 2"))
    assert session.model.calls == calls + 1
    texts = opened.tables.list_texts(opened.record.number)
    assert [opened.tables.load_text(opened.record.number, text.number) for text in texts] == [
        "a = 1\n",
        "a = 1\nb = 2\n",
    ]


class Unreadable:
    """A source whose first look takes a while and fails, as at a folder."""

    name = "folder"

    def __init__(self):
        self.is_closed = False

    def take(self):
        time.sleep(0.2)
        raise SourceError("cannot follow folder: Is a directory")

    def close(self):
        self.is_closed = True


@pytest.mark.parametrize("interrupts", [1, 2])
async def test_who_stops_while_the_first_look_fails_gets_no_traceback(session, begin, interrupts):
    opened, source, said = await begin(session), Unreadable(), []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: said.append(context["message"]))

    async def read():
        async with aclosing(follow(opened, source)) as events:
            async for _ in events:
                pass

    reading = asyncio.create_task(read())
    for _ in range(interrupts):
        await asyncio.sleep(0.05)
        reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert source.is_closed
    await asyncio.sleep(0.3)
    del reading
    gc.collect()
    await asyncio.sleep(0)
    assert said == []


async def test_another_file_in_its_place_is_read_from_its_beginning_after_a_restart(session, begin, tmp_path):
    opened = await begin(session)
    log = tmp_path / "app.log"
    log.write_text("a = 1\n")
    await gather(opened, open_followed(opened, log, "app.log"), source="app.log", until=reads("a = 1"))
    log.unlink()
    log.write_text("c = 3\nd = 4\n")
    events = await gather(opened, open_followed(opened, log, "app.log"), source="app.log", until=reads("c = 3"))
    assert "another file" in events[0]["note"]


async def test_a_place_is_kept_only_together_with_its_text(session, begin, tmp_path, monkeypatch):
    opened = await begin(session)
    log = tmp_path / "app.log"
    log.write_text("a = 1\n")
    before = opened.tables.find_place(opened.record.number, "app.log")

    def fail(*_arguments):
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr("bookwheel.journal.memories.write_time", fail)
        with pytest.raises(Exception, match="disk I/O error"):
            await gather(opened, open_followed(opened, log, "app.log"), source="app.log", until=reads("a = 1"))
    assert opened.tables.find_place(opened.record.number, "app.log") == before == ""


async def test_a_standing_question_tells_only_changes_and_what_changed(session, begin, tmp_path):
    opened = await begin(session)
    log = tmp_path / "app.log"
    log.write_text("door = open\n")
    told = []
    async with aclosing(follow(opened, FollowedFile(log), every=0.01, question="door?")) as stream:
        async with asyncio.timeout(60):
            async for event in stream:
                if event["event"] == "answer":
                    told.append(event)
                if event["event"] == "read" and "noise" not in event["text"]:
                    with log.open("a") as more:
                        more.write("noise = 1\n")
                elif event["event"] == "read" and len(told) == 1 and "shut" not in event["text"]:
                    with log.open("a") as more:
                        more.write("door = shut\n")
                if len(told) == 2:
                    break
    assert ["open" in told[0]["answer"], told[0]["before"]] == [True, None]
    assert "shut" in told[1]["answer"]
    assert "open" in told[1]["before"]
    assert any("shut" in change["text"] for change in told[1]["changes"])
    answers = opened.tables.list_answers(opened.record.number)
    assert len(answers) == 2  # the questions whose answer was the same leave nothing


async def test_a_day_that_is_used_up_is_waited_for_and_said(session, begin, tmp_path, monkeypatch):
    opened = await begin(session, limits=MemoryLimits(max_tokens_per_day=1))
    log = tmp_path / "app.log"
    log.write_text("a = 1\n")
    await gather(opened, FollowedFile(log), until=reads("a = 1"))
    log.write_text("longer = 2\nb = 3\n")
    events = []
    async with aclosing(follow(opened, FollowedFile(log), every=0.01)) as stream:
        async with asyncio.timeout(60):
            async for event in stream:
                events.append(event)
                if event["event"] == "note" and "of today" in event["note"]:
                    monkeypatch.setattr(type(opened.tables), "count_tokens_today", lambda *_: 0)
                if event["event"] == "read":
                    break
    assert [event["event"] for event in events] == ["note", "read"]


async def test_lines_come_in_chunks_when_they_come_fast(make_session, begin, tmp_path):
    session = make_session(script=note_values)
    opened = await begin(session)
    log = tmp_path / "app.log"
    log.write_text("".join(f"k{n % 3} = {n}\n" for n in range(400)))
    events = await gather(opened, FollowedFile(log), until=reads("k0 = 399"))
    assert len(opened.tables.list_texts(opened.record.number)) == 1
    assert sum(event["steps"] for event in events) == session.model.calls > 10


async def test_a_standing_question_waits_on_a_day_that_is_used_up(session, begin):
    opened = await begin(session, limits=MemoryLimits(max_tokens_per_day=1))
    read_end, write_end = os.pipe()
    os.write(write_end, b"door = open\n")
    os.close(write_end)
    with os.fdopen(read_end, "rb") as stream:
        async with aclosing(follow(opened, FollowedStream(stream, "pipe"), every=0.01, question="door?")) as events:
            assert [event["event"] async for event in events] == ["read"]
