"""Damage is named and never read as if nothing had happened; what is sound can be copied to a new journal."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import JournalError, LostWrites
from bookwheel.journal import Journal
from bookwheel.journal.damage import repair
from bookwheel.journal.listing import list_rows
from bookwheel.journal.memory_rows import MemoryRecord, MemoryVersion, VersionKind
from bookwheel.journal.shelf import Reach
from bookwheel.journal.tables import add_functions, checksum
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading import runner
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import Memory

TEXTS = {
    name: f"Gulls circle over {name} all day. " * 60
    + f"The harbour master of {name} is Ada Quill. "
    + "Rain fell. " * 200
    for name in ("Skarholm", "Vik", "Nes")
}
PLAN = Plan(question_tokens=60, chunk_tokens=120, memory_tokens=60, answer_tokens=60)


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A journal with three readings, closed."""
    path = tmp_path_factory.mktemp("sound") / "journal.sqlite"
    model = ScriptedModel(keyword_reader, plan=PLAN)
    with Journal(path) as journal:
        for name, text in TEXTS.items():
            document = journal.keep(TextDocument(text, name))
            reading = runner.new_reading(document.info, f"Who is harbour master of {name}?", model, PLAN)
            journal.begin(reading)
            asyncio.run(runner.run_reading(reading, document, model, way=load_way("sequential"), journal=journal))
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "journal.sqlite"
    copy.write_bytes(sound.read_bytes())
    return copy


def read_all(path: Path) -> dict[str, object]:
    """All that the journal gives, by place; what it refuses is left out. A refusal is a JournalError, nothing else."""
    found: dict[str, object] = {}
    try:
        journal = Journal(path)
    except JournalError:
        return found
    with journal:
        with suppress(JournalError):
            found["list"] = {reading.id: reading for reading in journal.readings()}
        for name in [*found.get("list", {}), *IDS]:
            try:
                found[f"reading {name}"] = journal.reading(name)
                document = journal.document_of(name)
                found[f"text {name}"] = [(part.text, part.source, part.page) for part in document.parts()]
            except JournalError:
                continue
    return found


IDS: list[str] = []


def flip(path: Path, random_: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
    path.write_bytes(content)


def assert_no_silent_change(path: Path, expected: dict[str, object], *, seed: int, flips: int) -> int:
    """Flip one bit, read everything, and compare; `flips` times. Return how often something was refused."""
    random_, original, refused = random.Random(seed), path.read_bytes(), 0
    for _ in range(flips):
        path.write_bytes(original)
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        flip(path, random_)
        found = read_all(path)
        for place, value in found.items():
            if place == "list":
                listed, all_ = value, expected["list"]
                assert all(all_.get(id_) == reading for id_, reading in listed.items())  # type: ignore[union-attr]
            elif place in expected:
                assert value == expected[place], place
        refused += found != expected
    return refused


@pytest.fixture
def expected(sound: Path, tmp_path: Path) -> dict[str, object]:
    copy = tmp_path / "expected.sqlite"
    copy.write_bytes(sound.read_bytes())
    with Journal(copy) as journal:
        IDS[:] = [reading.id for reading in journal.readings()]
    return read_all(copy)


@pytest.mark.slow
def test_no_flipped_bit_changes_what_is_read_without_a_word(path, expected) -> None:
    assert_no_silent_change(path, expected, seed=11, flips=25)


@pytest.mark.slow
@pytest.mark.long
def test_three_hundred_flipped_bits_change_nothing_silently(path, expected) -> None:
    assert assert_no_silent_change(path, expected, seed=5, flips=300) > 20


def damage(path: Path, update: str) -> None:
    """Change a value behind the back of its checksum."""
    with sqlite3.connect(path) as connection:
        add_functions(connection)
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(update)
        for _, sql in triggers:
            connection.execute(sql)
    connection.close()


def test_a_damaged_reading_is_named_and_blocks_no_other(path, expected) -> None:
    damage(path, f"UPDATE readings SET answer = 'Eve' WHERE id = '{IDS[0]}'")
    with Journal(path) as journal:
        assert [reading.id for reading in journal.readings()] == IDS[1:]
        assert journal.find_damage() == [f"reading {IDS[0]} is damaged"]
        with pytest.raises(JournalError, match=f"reading {IDS[0]} is damaged .*doctor --repair"):
            journal.reading(IDS[0])
        assert journal.reading(IDS[1]) == expected[f"reading {IDS[1]}"]


def test_a_damaged_step_and_a_damaged_text_are_named(path, expected) -> None:
    damage(path, "UPDATE steps SET memory = 'Eve was here' WHERE step = 1 AND reading = 1")
    damage(path, "UPDATE pieces SET content = x'00' WHERE text = 2")
    with Journal(path) as journal:
        with pytest.raises(JournalError, match="step 1 of this reading is damaged"):
            journal.reading(IDS[2])
        document = journal.document_of(IDS[1])
        with pytest.raises(JournalError, match="text of Vik at character 0 is damaged"):
            document.slice(0, 10)
        assert len(journal.find_damage()) == 2


def test_a_damaged_row_is_not_sealed_anew_by_a_change(path, expected) -> None:
    damage(path, f"UPDATE readings SET question = 'Eve?' WHERE id = '{IDS[0]}'")
    with Journal(path) as journal:
        reading = journal.reading(IDS[1])
        with pytest.raises(JournalError, match=r"damaged.*doctor --repair"):
            asyncio.run(journal.end(type(reading)(**{**fields(reading), "id": IDS[0]})))


def fields(value) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def test_repair_keeps_what_is_sound_and_names_what_is_not(path, expected) -> None:
    damage(path, f"UPDATE readings SET answer = 'Eve' WHERE id = '{IDS[0]}'")
    damage(path, "UPDATE steps SET memory = 'Eve was here' WHERE step = 1 AND reading = 1")
    old, lost = repair(path)
    assert old.exists()
    assert any(f"reading {IDS[0]} is damaged" in line for line in lost)
    assert any("step 1 of reading" in line for line in lost)
    with Journal(path) as journal:
        assert journal.find_damage() == []
        assert [reading.id for reading in journal.readings()] == IDS[1:]
        assert journal.reading(IDS[1]) == expected[f"reading {IDS[1]}"]
        assert len(journal.reading(IDS[2]).steps) == 1
        assert list(journal.document_of(IDS[2]).parts())


def test_a_repaired_journal_that_was_whole_is_the_same(path, expected) -> None:
    _, lost = repair(path)
    assert lost == []
    assert read_all(path) == expected


def test_a_journal_being_read_into_is_not_repaired(path, expected) -> None:
    with Journal(path) as journal, journal.claim(IDS[0]), pytest.raises(JournalError, match="end it first"):
        repair(path)


def test_checksums_tell_types_and_borders_apart() -> None:
    values = [("a", "b"), ("ab", ""), (b"a", "b"), (1,), (1.0,), ("1",), (None,), ("None",)]
    assert len({checksum(*row) for row in values}) == len(values)


WRITE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from journal_readings import begin_reading, step
from bookwheel.journal import Journal
journal = Journal(Path({path!r}))
reading = begin_reading(journal)
for index in range(40):
    asyncio.run(journal.add_step(reading.id, step(index, "note " * 20)))
print(reading.id, flush=True)
sys.stdin.read()
"""


def write_and_kill(path: Path) -> str:
    """Write a reading of 40 steps in a process that is killed before it closes the journal; return its id."""
    code = WRITE.format(tests=str(Path(__file__).parent), path=str(path))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        id_ = writer.stdout.readline().decode().strip()
        writer.send_signal(signal.SIGKILL)
    return id_


def flip_log(path: Path, share: float) -> None:
    log = path.with_name(f"{path.name}-wal")
    content = bytearray(log.read_bytes())
    content[int(len(content) * share)] ^= 4
    log.write_bytes(content)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_steps_that_a_damaged_log_has_lost_are_named_and_repair_finds_them_in_it(tmp_path, share) -> None:
    path = tmp_path / "journal.sqlite"
    id_ = write_and_kill(path)
    flip_log(path, share)
    for _ in range(2):  # looking at it changes nothing
        with pytest.raises(LostWrites, match=rf"step 39 of reading {id_}.*doctor --repair"):
            Journal(path)
        with pytest.raises(LostWrites):
            list_rows(path)
    repair(path)
    with Journal(path) as journal:
        assert [step.chunk.index for step in journal.steps(id_)] == list(range(40))
        assert journal.find_damage() == []


def test_a_log_that_is_whole_loses_nothing_and_alarms_nobody(tmp_path) -> None:
    path = tmp_path / "journal.sqlite"
    id_ = write_and_kill(path)
    with Journal(path, read_only=True) as looked:
        assert looked.progress(id_)[0] == 40
    with Journal(path) as journal:
        assert journal.progress(id_)[0] == 40
    log = path.with_name(f"{path.name}-wal")
    assert not log.exists()
    with Journal(path) as journal:
        assert journal.progress(id_)[0] == 40


def test_an_older_copy_in_a_journals_place_is_told_until_it_is_repaired(tmp_path) -> None:
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        journal.keep(TextDocument("first", "first"))
    older = path.read_bytes()
    with Journal(path) as journal:
        journal.keep(TextDocument("second", "second"))
    path.write_bytes(older)
    with pytest.raises(LostWrites, match=r"1 transactions .*document [0-9a-f]{12}"):
        Journal(path)
    repair(path)
    with Journal(path) as journal:
        assert [book.name for book in journal.shelf.list_documents(Reach())] == ["first"]


def test_a_new_journal_in_the_place_of_a_deleted_one_has_lost_nothing(tmp_path) -> None:
    path = tmp_path / "journal.sqlite"
    for _ in range(2):
        with Journal(path) as journal:
            assert journal.shelf.list_documents(Reach()) == []
            journal.keep(TextDocument("first", "first"))
        path.unlink()


@pytest.fixture
def remembered(tmp_path: Path) -> Path:
    """A journal with a lasting memory of two texts and two versions."""
    path = tmp_path / "remembered.sqlite"
    with Journal(path) as journal:
        plan = Plan()
        record = MemoryRecord(name="m", about="all", model="scripted", way="sequential", plan=plan)
        record = journal.memories.begin(record)
        for number, words in ((1, "Ada oils the clock."), (2, "Vik winds it.")):
            journal.memories.add_text(record, words, f"note {number}", "2026-11-24T10:00:00+00:00")
            noted = Memory(text=words, tokens=4, limit=plan.memory_tokens)
            version = MemoryVersion(version=number, kind=VersionKind.READ, memory=noted, text=number, end=len(words))
            journal.memories.add_version(record.number, version)
    return path


@pytest.mark.parametrize(
    ("update", "name", "read"),
    [
        ("memory_versions SET content = 'Eve oils it.' WHERE version = 2", "version 2 of memory 1", "newest_version"),
        ("memory_texts SET content = 'Eve winds it.' WHERE number = 2", "text 2 of memory 1", "load_text"),
        ("memory_texts SET position = 3 WHERE number = 2", "text 2 of memory 1", "list_waiting"),
        ("memories SET about = 'Eve'", "memory 1", "find"),
    ],
)
def test_a_damaged_row_of_a_memory_is_named_refused_and_left_out(remembered, update, name, read) -> None:
    damage(remembered, f"UPDATE {update}")
    arguments = {"newest_version": (1, 60), "load_text": (1, 2), "list_waiting": (1,), "find": ("m",)}[read]
    with Journal(remembered) as journal:
        assert journal.find_damage() == [f"{name} is damaged"]
        with pytest.raises(JournalError, match=r"damaged .*doctor --repair"):
            getattr(journal.memories, read)(*arguments)
    _, lost = repair(remembered)
    assert f"{name} is damaged" in lost
    with Journal(remembered) as journal:
        assert journal.find_damage() == []
        if read == "newest_version":  # the text that was read with it is read again
            assert journal.memories.newest_version(1, 60).version == 1
            assert [text.number for text in journal.memories.list_waiting(1)] == [2]
        if read == "find":
            assert journal.memories.list_all() == []


def test_a_checksum_is_the_one_that_older_journals_have() -> None:
    assert checksum("Ada", 7, None, 2.5, b"\x00", "\ud800") == 3385121774


def test_a_memory_is_copied_into_another_journal_with_all_that_it_holds(remembered, tmp_path) -> None:
    with Journal(remembered) as journal, Journal(tmp_path / "copy.sqlite") as other:
        record = journal.memories.find("m")
        journal.memories.add_answer(record.number, 2, {"answer": "Ada"}, (5, 2))
        journal.memories.keep_place(record.number, "log", "17")
        journal.memories.copy_to(other.memories, record)
        copied = other.memories.find("m")
        for table, number in ((journal.memories, record.number), (other.memories, copied.number)):
            assert [text.source for text in table.list_texts(number)] == ["note 1", "note 2"]
            assert table.load_text(number, 2) == "Vik winds it."
            assert table.newest_version(number, 60).version == 2
            assert table.list_answers(number) == [{"answer": "Ada"}]
            assert table.find_place(number, "log") == "17"
        totals = "SELECT texts, characters, newest FROM memories"
        assert other._reader.fetch_all(totals) == journal._reader.fetch_all(totals)
        assert other.find_damage() == []
