"""A file that tells of several days is read as texts of their own times."""

from __future__ import annotations

import pytest

from bookwheel import LastingMemory
from bookwheel.documents.opening import TextDocument, open_document
from bookwheel.errors import InputError
from bookwheel.memory.entries import split_document

MAIL = "From: {who} <x@y>\nTo: t@y\nDate: {day} Mar 2026 09:00:00 +0100\nSubject: Rent\n\nThe rent of the mill is {rent}.\n\n"
MAILS = {"b.eml": ("Ada", 2, 500), "a.eml": ("Bo", 9, 550)}


def write_mail(who: str, day: int, rent: int) -> str:
    return MAIL.format(who=who, day=day, rent=rent)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mails").mkdir()
    for name, mail in MAILS.items():
        (tmp_path / "mails" / name).write_text(write_mail(*mail))
    return tmp_path


def test_mails_of_a_folder_and_of_a_mailbox_are_texts_of_their_dates(folder) -> None:
    found = split_document(open_document([folder / "mails"]), "mails")
    assert [(one.source, one.at) for one in found] == [
        ("mails/b.eml", "2026-03-02T09:00:00+01:00"),
        ("mails/a.eml", "2026-03-09T09:00:00+01:00"),
    ]
    box = folder / "in.mbox"
    box.write_text("".join(f"From x Mon Mar  2 10:00:00 2026\n{write_mail(*mail)}" for mail in MAILS.values()))
    found = split_document(open_document([box]), "in.mbox")
    assert [one.source for one in found] == ["in.mbox#1", "in.mbox#2"]
    assert "500" in found[0].words
    (whole,) = split_document(open_document([box]), "in.mbox", "2026-01-01")
    assert (whole.at, "500" in whole.words, "550" in whole.words) == ("2026-01-01", True, True)


def test_days_of_a_chat_are_texts_and_quiet_days_go_together(tmp_path) -> None:
    long = "The wheel turned well today. " * 20
    said = [(1, "Hello."), (2, long), (2, "Good night."), (3, "Rent is 550."), (1, "Of another room.")]
    chat = "".join(f"2026-03-{day:02} 10:0{at} - Ada: {words}\n" for at, (day, words) in enumerate(said))
    (tmp_path / "chat.txt").write_text(chat)
    found = split_document(open_document([tmp_path / "chat.txt"]), "chat.txt")
    assert [(one.source, one.at) for one in found] == [
        ("chat.txt", "2026-03-01 10:04"),
        ("chat.txt", "2026-03-02 10:02"),
        ("chat.txt", "2026-03-03 10:03"),
    ]
    assert found[1].words.startswith("[2026-03-01 10:00] Ada: Hello.")
    assert split_document(TextDocument("words"), "note")[0].at is None


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
