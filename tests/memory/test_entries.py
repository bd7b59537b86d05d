"""A file that tells of several days is read as texts of their own times."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bookwheel import LastingMemory
from bookwheel.documents.opening import TextDocument, open_document
from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.memory.entries import NewFile, mark_lines, split_file
from bookwheel.types import Part

MAIL = "From: {who} <x@y>\nTo: t@y\nDate: {day} Mar 2026 09:00:00 +0100\nSubject: Rent\n\nThe rent of the mill is {rent}.\n\n"
MAILS = {"b.eml": ("Ada", 2, 500), "a.eml": ("Bo", 9, 550)}


def write_mail(who: str, day: int, rent: int) -> str:
    return MAIL.format(who=who, day=day, rent=rent)


def split(document, named, at=None):
    return split_file(NewFile(parts=tuple(document.parts()), name=document.name, named=named), at)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mails").mkdir()
    for name, mail in MAILS.items():
        (tmp_path / "mails" / name).write_text(write_mail(*mail))
    return tmp_path


def test_mails_of_a_folder_and_of_a_mailbox_are_texts_of_their_dates(folder) -> None:
    found = split(open_document([folder / "mails"]), "mails")
    assert [(one.source, one.at) for one in found] == [
        ("mails/b.eml", "2026-03-02T09:00:00+01:00"),
        ("mails/a.eml", "2026-03-09T09:00:00+01:00"),
    ]
    box = folder / "in.mbox"
    box.write_text("".join(f"From x Mon Mar  2 10:00:00 2026\n{write_mail(*mail)}" for mail in MAILS.values()))
    found = split(open_document([box]), "in.mbox")
    assert [one.source for one in found] == ["in.mbox#1", "in.mbox#2"]
    assert "500" in found[0].words
    (whole,) = split(open_document([box]), "in.mbox", "2026-01-01")
    assert (whole.at, "500" in whole.words, "550" in whole.words) == ("2026-01-01", True, True)


def test_days_of_a_chat_are_texts_and_quiet_days_go_together(tmp_path) -> None:
    long = "The wheel turned well today. " * 20
    said = [(1, "Hello."), (2, long), (2, "Good night."), (3, "Rent is 550."), (1, "Of another room.")]
    chat = "".join(f"2026-03-{day:02} 10:0{at} - Ada: {words}\n" for at, (day, words) in enumerate(said))
    (tmp_path / "chat.txt").write_text(chat)
    found = split(open_document([tmp_path / "chat.txt"]), "chat.txt")
    assert [(one.source, one.at) for one in found] == [
        ("chat.txt", "2026-03-01 10:04"),
        ("chat.txt", "2026-03-02 10:02"),
        ("chat.txt", "2026-03-03 10:03"),
    ]
    assert found[1].words.startswith("[2026-03-01 10:00] Ada: Hello.")
    assert split(TextDocument("words"), "note")[0].at is None


def test_a_memory_reads_mails_by_date_and_forgets_them_together(folder) -> None:
    memory = LastingMemory("mill", about="The mill", model="scripted", journal=folder / "j.sqlite")
    update = memory.read(folder / "mails")
    assert (update.steps, update.is_known) == (2, False)
    question = "What is the rent of the mill?"
    assert "550" in memory.ask(question).answer
    assert "500" in memory.ask(question, as_of="2026-03-05").answer
    (folder / "mails" / "c.eml").write_text(write_mail("Ada", 16, 575))
    assert memory.read(folder / "mails").steps == 1
    assert memory.read(folder / "mails").is_known
    with pytest.raises(InputError):
        memory.forget(source="mail")
    memory.forget(source="mails/c.eml")
    assert "550" in memory.ask(question).answer
    assert memory.forget(source="mails").sources == ("mails/b.eml", "mails/a.eml")
    assert memory.text == ""


MINUTES = {"2026-01-12-minutes.md": 140, "20260413_minutes.md": 150, "2026-13-45.md": 1, "rules.md": 2}


def test_files_of_a_folder_are_texts_of_their_own_of_the_day_that_their_names_have(tmp_path) -> None:
    for name, fee in MINUTES.items():
        (tmp_path / name).write_text(f"The fee of the club is {fee}.\n")
    (tmp_path / "chat.txt").write_text("2026-02-15 09:12 - Ada: The fee is 145.\n2026-02-15 09:13 - Bo: So it is.\n")
    found = split(open_document([tmp_path]), "club")
    assert [(one.source, one.at) for one in found] == [
        ("club/2026-01-12-minutes.md", "2026-01-12"),
        ("club/chat.txt", "2026-02-15 09:13"),
        ("club/20260413_minutes.md", "2026-04-13"),
        ("club/2026-13-45.md", None),
        ("club/rules.md", None),
    ]
    assert [
        one.at for one in split(open_document([tmp_path / "2026-01-12-minutes.md"]), "m/2026-01-12-minutes.md")
    ] == ["2026-01-12"]


def test_a_day_to_come_in_a_name_does_not_date_the_text() -> None:
    today = datetime.now().astimezone().date()
    days = [str(today), str(today + timedelta(days=1)), "2999-12-31"]
    assert [split(TextDocument("words"), f"lease-until-{day}.txt")[0].at for day in days] == [days[0], None, None]


CHAT = """03.06.26, 09:12 - Mira: The regatta starts at 10:30.
04.06.26, 18:10 - Tomasz: The marina fee was 240 euros.
15.06.26, 08:01 - Mira: The regatta starts at 11:15.
"""


@pytest.fixture
def rowing(tmp_path):
    return LastingMemory("boat", about="The rowing club", model="scripted", journal=tmp_path / "j.sqlite")


def read_chat(memory, tmp_path, words=CHAT):
    (tmp_path / "chat.txt").write_text(words)
    return memory.read(tmp_path / "chat.txt", source="chat")


def read_bytes(folder) -> bytes:
    return b"".join(one.read_bytes() for one in folder.glob("j.sqlite*") if one.is_file())


def test_quiet_days_of_one_text_are_known_day_by_day(rowing, tmp_path) -> None:
    assert read_chat(rowing, tmp_path).steps == 1
    question = "When does the regatta start?"
    now = rowing.ask(question)
    assert ("11:15" in now.answer, [one.at[:10] for one in now.superseded]) == (True, ["2026-06-03"])
    then = rowing.ask(question, as_of="2026-06-04")
    assert ("10:30" in then.answer, then.evidence[0].at[:16], then.superseded) == (True, "2026-06-03T09:12", ())
    assert rowing.ask("What was the marina fee?", as_of="2026-06-03").verdict == "absent"
    assert rowing.ask(question, as_of="2026-06-02").answer == "Nothing was known then."


def test_days_before_a_time_are_forgotten_out_of_a_text_of_later_ones(rowing, tmp_path) -> None:
    read_chat(rowing, tmp_path)
    stone = rowing.forget(before="2026-06-04")
    assert (stone.sources, stone.replayed) == (("chat",), 1)
    assert b"10:30" not in read_bytes(tmp_path)
    assert rowing.ask("When does the regatta start?", as_of="2026-06-05").verdict == "absent"
    assert "240" in rowing.ask("What was the marina fee?", as_of="2026-06-05").answer
    assert "11:15" in rowing.ask("When does the regatta start?").answer


def test_of_a_file_that_has_grown_only_the_rest_is_read(rowing, tmp_path) -> None:
    read_chat(rowing, tmp_path)
    grown = CHAT + "16.06.26, 07:00 - Joel: The keys are with Petra.\n"
    assert read_chat(rowing, tmp_path, grown).steps == 1
    with Journal(tmp_path / "j.sqlite") as journal:
        tables = journal.memories
        texts = dict(tables.load_texts(1, [one.number for one in tables.list_texts(1)]))
    assert [("Petra" in words, "regatta" in words) for words in texts.values()] == [(False, True), (True, False)]
    assert read_chat(rowing, tmp_path, grown).is_known
    assert read_chat(rowing, tmp_path, grown.replace("10:30", "10:45")).steps == 1
    rowing.forget(source="chat")
    assert read_chat(rowing, tmp_path, grown).steps == 1


def test_of_a_file_that_was_changed_only_the_changed_paragraphs_are_read(rowing, tmp_path) -> None:
    diary, figures = tmp_path / "diary.txt", ["one", "two", "three", "four"]
    entries = [
        f"{n} May 2026\n\nThe boat was out.\nThe oar of Petra is number {name}.\n" for n, name in enumerate(figures, 1)
    ]
    diary.write_text("\n".join(entries))
    rowing.read(diary)
    rowing.edit("number two", "number nine")
    diary.write_text("\n".join(entries).replace("number three", "number seven"))
    assert rowing.read(diary).steps == 1
    with Journal(tmp_path / "j.sqlite") as journal:
        (_, (_, words)) = journal.memories.load_texts(1, [1, 2])
    assert words == "3 May 2026\n\nThe boat was out.\nThe oar of Petra is number seven.\n"
    assert rowing.read(diary).is_known
    changed = CHAT.replace("240", "250")
    read_chat(rowing, tmp_path)
    read_chat(rowing, tmp_path, changed)
    with Journal(tmp_path / "j.sqlite") as journal:
        *_, (_, turn) = journal.memories.load_texts(1, [3, 4])
    assert ("250 euros" in turn, len(turn.splitlines())) == (True, 1)
    # What stood there once and was changed since is new again.
    diary.write_text("\n".join(entries))
    assert rowing.read(diary).steps == 1


def test_a_file_of_a_folder_is_the_same_by_itself(rowing, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letters").mkdir()
    for name in ("a", "b"):
        (tmp_path / "letters" / f"{name}.txt").write_text(f"Dear Nora,\n\nthe boat is called {name}.\n")
    assert rowing.read(Path("letters/a.txt"), source="letters/a.txt").steps == 1
    assert rowing.read(Path("letters")).steps == 1
    assert rowing.read(Path("letters/b.txt"), source="letters/b.txt").is_known


def test_a_forgotten_mail_does_not_come_back_with_its_mailbox(rowing, tmp_path) -> None:
    box = tmp_path / "in.mbox"
    mails = [f"From x Mon Mar  2 10:00:00 2026\n{write_mail(*mail)}" for mail in MAILS.values()]
    box.write_text("".join(mails))
    rowing.read(box, source="in.mbox")
    rowing.forget(source="in.mbox#1")
    box.write_text("".join([*mails, mails[1].replace("550", "575")]))
    update = rowing.read(box, source="in.mbox")
    assert (update.steps, update.text.source) == (1, "in.mbox#3")
    assert "in.mbox#1 was forgotten on 20" in update.notes[0]
    sums = [mark.encode() for rent in (500, 550) for mark in mark_lines(f"The rent of the mill is {rent}.")]
    assert [one in read_bytes(tmp_path) for one in sums] == [False, True]
    rowing.forget(source="in.mbox")
    assert rowing.read(box, source="in.mbox").steps == 3


def test_the_day_in_a_files_name_holds_under_another_id_too() -> None:
    file = NewFile(parts=[Part(text="It is cancelled.", source="2026-06-08.txt")], name="2026-06-08.txt", named="copy")
    assert [(one.source, one.at) for one in split_file(file)] == [("copy", "2026-06-08")]


def test_a_document_without_words_says_so(rowing) -> None:
    with pytest.raises(InputError, match="empty"):
        rowing.read(TextDocument(" \n"))


def test_words_that_were_forgotten_do_not_come_back_with_the_rest_of_their_file(rowing, tmp_path) -> None:
    read_chat(rowing, tmp_path)
    rowing.forget(text="240 euros")
    assert read_chat(rowing, tmp_path).is_known
    read_chat(rowing, tmp_path, CHAT + "16.06.26, 07:00 - Joel: The keys are with Petra.\n")
    assert b"240 euros" not in read_bytes(tmp_path)
    # Under the same name, but not the same file any more: it is read anew, and said so.
    again = read_chat(rowing, tmp_path, "16.06.26, 07:30 - Joel: Hello.\n" + CHAT.replace("euros", "euro"))
    assert any("were forgotten on" in note for note in again.notes)


def test_the_form_for_scripts_calls_that_of_a_class_of_ones_own() -> None:
    class Own(LastingMemory):
        async def aread(self, source_or_text, **_options):
            return source_or_text

    assert Own("ada").read("mine") == "mine"


def test_a_file_that_changes_back_is_read_again(rowing) -> None:
    def add(words: str) -> bool:
        return rowing.read(TextDocument(words, name="gate.txt")).is_known

    said = ["The gate is open.", "The gate is locked.", "The gate is open.", "The gate is open."]
    assert [add(words) for words in said] == [False, False, False, True]
