"""A lasting memory keeps pictures: by marks in its lines, once by hash, shown, edited and forgotten with its lines."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("PIL")

from drawn import name_colour, write_png
from PIL import Image

from bookwheel import LastingMemory
from bookwheel.claims import Verdict
from bookwheel.errors import JournalError
from bookwheel.journal import Journal
from bookwheel.journal.damage import repair
from bookwheel.memory.record import show_version
from bookwheel.models.scripted import ScriptedModel
from bookwheel.picture import Picture, PictureLine
from bookwheel.plan import Plan
from bookwheel.types import Part

PLAN = Plan(chunk_tokens=400, memory_tokens=300, answer_tokens=60)


class Scan:
    """A page of words, and one with a picture."""

    notes = ()

    def __init__(self, name: str, colour: str, words: str = "") -> None:
        self.name = name
        self.content = write_png(Image.new("RGB", (300, 200), colour))
        lines = (PictureLine(text=words, box=(0.1, 0.2, 0.6, 0.3), confidence=0.93),) if words else ()
        self.picture = Picture(
            label="page 2, figure 1",
            source=name,
            page=2,
            box=(0.0, 0.5, 1.0, 1.0),
            sha256=hashlib.sha256(self.content).hexdigest(),
            width=300,
            height=200,
            lines=lines,
            content=self.content,
        )
        self.words = words

    def parts(self, start: int = 0):
        yield Part(text="The ferry came at noon.\n", source=self.name, page=1)
        text = f"{self.picture.mark}\n{self.words}\n"
        yield Part(text=text, source=self.name, page=2, pictures=(self.picture,))


class Seer:
    """Notes the mark of each picture that it sees first, and answers with the colour that it sees then."""

    def __init__(self) -> None:
        self.sent: list = []

    def __call__(self, messages) -> str:
        message = messages[-1]
        self.sent.append(message)
        colours = [name_colour(one) for one in message.pictures]
        if "<section>" not in message.content:
            return f"\\boxed{{The sail was {' and '.join(colours) or 'unknown'}}}"
        old = message.content.partition("<memory>\n")[2].partition("\n</memory>")[0]
        lines = [f"{one.mark} shows the sail" for one in message.pictures]
        kept = [line for line in old.splitlines() if "shows" in line]
        return "\n".join(dict.fromkeys((*kept, *lines))) or "UNCHANGED"


def open_memory(path: Path, seer=None, vision="qwen") -> LastingMemory:
    model = ScriptedModel(seer or Seer(), plan=PLAN, vision=vision)
    return LastingMemory("log", about="the sails", model=model, journal=path)


def read_files(folder: Path) -> bytes:
    """Return the bytes of a journal and of what SQLite keeps beside it."""
    return b"".join(file.read_bytes() for file in folder.glob("j.sqlite*") if file.is_file())


def list_hashes(path: Path) -> set[str]:
    with sqlite3.connect(path) as connection:
        return {row[0] for row in connection.execute("SELECT sha256 FROM pictures")}


def test_a_picture_stays_in_sight_as_long_as_a_line_points_at_it(tmp_path: Path) -> None:
    path, seer, scan = tmp_path / "j.sqlite", Seer(), Scan("scan.pdf", "red")
    memory = open_memory(path, seer)
    memory.read(scan)
    memory.read("Rain fell on the roofs all day.", source="mail")
    assert memory.text == "[scan.pdf, page 2, figure 1] shows the sail"
    said = memory.ask("What colour was the sail?")
    assert said.answer == "The sail was red"
    assert said.verdict is Verdict.SEEN
    (quote,) = said.evidence
    assert (quote.quote, quote.page, quote.box) == ("[scan.pdf, page 2, figure 1]", 2, (0.0, 0.5, 1.0, 1.0))
    assert list_hashes(path) == {scan.picture.sha256}
    with Journal(path) as journal:
        record = journal.memories.find("log")
        (shown,) = show_version(journal.memories, record)["pictures"]
    assert (shown["label"], shown["sha256"]) == ("scan.pdf, page 2, figure 1", scan.picture.sha256)


def test_an_edited_line_shows_what_it_points_at_and_without_a_mark_nothing(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "j.sqlite")
    memory.read(Scan("scan.pdf", "blue"))
    tokens = memory.versions[-1].memory.tokens
    memory.edit("[scan.pdf, page 2, figure 1] shows", "a lost picture showed")
    assert memory.versions[-1].memory.tokens < tokens - 50
    assert memory.ask("What colour was the sail?").answer != "The sail was blue" or "texts" in memory.ask("?").origin
    memory.edit("a lost picture showed", "[scan.pdf, page 2, figure 1, box 0 0 0.5 0.5] shows")
    assert memory.ask("What colour was the sail?").answer == "The sail was blue"


def test_the_bytes_are_gone_with_the_last_text_that_has_them(tmp_path: Path) -> None:
    path, scan = tmp_path / "j.sqlite", Scan("scan.pdf", "red")
    memory = open_memory(path)
    memory.read(scan, source="first")
    memory.read(scan, source="second")
    memory.forget(source="first")
    assert list_hashes(path) == {scan.picture.sha256}
    assert "figure 1] shows" in memory.text
    memory.forget(source="second")
    assert memory.text == ""
    assert list_hashes(path) == set()
    assert scan.content not in read_files(tmp_path)


def test_words_that_were_recognised_in_a_picture_take_it_along(tmp_path: Path) -> None:
    path, scan = tmp_path / "j.sqlite", Scan("scan.pdf", "red", "Ada Quill owes 312 crowns")
    other = Scan("other.pdf", "blue", "Bo Fell")
    seer = Seer()
    memory = open_memory(path, seer)
    memory.read(scan)
    memory.read(other)
    seer.sent.clear()
    memory.forget(text="312 Crowns")
    assert list_hashes(path) == {other.picture.sha256}
    assert memory.text == "[other.pdf, page 2, figure 1] shows the sail"
    assert not any(one.sha256 == scan.picture.sha256 for message in seer.sent for one in message.pictures)
    assert scan.content not in read_files(tmp_path)


def test_two_pictures_of_one_name_have_labels_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    memory = open_memory(path)
    red, blue = Scan("photo.png", "red"), Scan("photo.png", "blue")
    memory.read(red)
    memory.read(blue)
    assert memory.read(blue).is_known
    assert memory.text.splitlines() == [
        "[photo.png, page 2, figure 1] shows the sail",
        f"[photo.png, page 2, figure 1 #{blue.picture.sha256[:6]}] shows the sail",
    ]
    assert memory.ask("What colour was the sail?").answer == "The sail was red and blue"


def test_a_text_only_model_reads_words_with_page_box_and_confidence(tmp_path: Path) -> None:
    def reply(messages) -> str:
        content = messages[-1].content
        assert not messages[-1].pictures
        return "Ada Quill owes 312 crowns" if "<section>" in content else "\\boxed{Ada Quill owes 312 crowns}"

    memory = open_memory(tmp_path / "j.sqlite", reply, vision=None)
    memory.read(Scan("scan.pdf", "red", "Ada Quill owes 312 crowns"))
    said = memory.ask("What does Ada Quill owe?")
    (quote,) = said.evidence
    assert (quote.page, quote.picture, quote.confidence) == (2, "scan.pdf, page 2, figure 1", 0.93)
    assert quote.box == pytest.approx((0.1, 0.6, 0.6, 0.65))


def test_an_export_takes_its_pictures_along(tmp_path: Path) -> None:
    scan = Scan("scan.pdf", "red")
    memory = open_memory(tmp_path / "j.sqlite")
    memory.read(scan)
    memory.export(tmp_path / "copy.sqlite")
    model = ScriptedModel(Seer(), plan=PLAN, vision="qwen")
    copy = LastingMemory(tmp_path / "copy.sqlite", model=model)
    assert copy.ask("What colour was the sail?").answer == "The sail was red"


def test_what_is_left_of_a_damaged_journal_has_its_pictures(tmp_path: Path) -> None:
    path, lost, kept = tmp_path / "j.sqlite", Scan("lost.pdf", "red"), Scan("kept.pdf", "blue")
    memory = open_memory(path)
    memory.read(lost)
    memory.read(kept)
    with sqlite3.connect(path) as connection:
        triggers = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'memory_texts'"
        )
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE memory_texts SET at = '2020' WHERE number = 1")
    repair(path)
    assert list_hashes(path) == {kept.picture.sha256}
    with Journal(path) as journal:
        pictures = journal.memories.pictures(journal.memories.find("log").number)
        assert [one.label for one in pictures.of_text(2)] == ["kept.pdf, page 2, figure 1"]
        assert pictures.find_page(2, 30) == 2


def test_a_damaged_picture_is_told(tmp_path: Path) -> None:
    path, scan = tmp_path / "j.sqlite", Scan("scan.pdf", "red")
    open_memory(path).read(scan)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE pictures SET content = x'00'")
    with Journal(path) as journal, pytest.raises(JournalError, match="damaged or gone"):
        journal.memories.pictures(journal.memories.find("log").number).load(scan.picture.sha256)


def test_a_memory_counts_its_pictures_in_its_limit(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "j.sqlite")
    memory.read(Scan("scan.pdf", "red"))
    version = memory.versions[-1]
    assert 60 < version.memory.tokens <= PLAN.memory_tokens
    update = memory.edit("shows the sail", "shows the sail " + "and the pier " * 70)
    assert update.notes
    assert "the sail" not in update.after.memory.text


def test_pictures_of_a_document_and_of_a_memory_are_kept_once(tmp_path: Path) -> None:
    path, scan = tmp_path / "j.sqlite", Scan("scan.pdf", "red")
    scan.length = None
    with Journal(path) as journal:
        kept = journal.keep(scan)
        assert len(kept.list_pictures()) == 1
    memory = open_memory(path)
    memory.read(replace_name(scan))
    assert list_hashes(path) == {scan.picture.sha256}
    memory.forget(source="scan.pdf")
    assert list_hashes(path) == {scan.picture.sha256}


def replace_name(scan: Scan) -> Scan:
    scan.picture = replace(scan.picture, box=(0.0, 0.0, 1.0, 0.5))
    return scan
