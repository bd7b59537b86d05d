"""What is a transcript and what is none, times with their zones, and what is not built as it should be."""

from __future__ import annotations

import pytest
from exports import ANDROID

from bookwheel.documents.dispatch import detect_format
from bookwheel.documents.formats import Format
from bookwheel.documents.opening import open_document
from bookwheel.documents.transcripts import format_instant

from .test_formats import volume


def test_parts_of_mails_and_turns_have_their_time(tmp_path) -> None:
    mail = "From: Ada <a@x>\nTo: t@x\nDate: Tue, 3 Mar 2026 08:00:00 +0800\nSubject: Rent\n\nIt is 550.\n"
    (single,) = open_document([volume(tmp_path, "a.eml", mail.encode()).path]).parts()
    assert (single.at, single.entry) == ("2026-03-03T08:00:00+08:00", "a.eml")
    box = f"From x Mon Mar  2 10:00:00 2026\n{mail}\nFrom x Mon Mar  2 10:00:00 2026\n{mail.replace('Tue', 'No')}"
    parts = list(open_document([volume(tmp_path, "a.mbox", box.encode()).path]).parts())
    assert [part.entry for part in parts] == ["a.mbox#1", "a.mbox#1", "a.mbox#2", "a.mbox#2"]
    assert parts[1].source == "a.mbox#Ada, 2026-03-03 08:00:00+08:00, message 1"
    turns = list(open_document([volume(tmp_path, "chat.txt", ANDROID.encode()).path]).parts())
    assert [part.at for part in turns] == ["2022-03-12 14:08", "2022-03-12 14:08", "2022-03-13 09:05"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows.jsonl", b'{"id": 1, "text": "a row"}\n{"id": 2}\n'),
        ("package.json", b'{"name": "mill", "version": "1.0.0"}'),
        ("server.log", b"[2024-01-02T10:00:00] INFO: up\n[2024-01-02T10:00:01] INFO: down\n"),
        ("notes.txt", b"12/03/22, a good day\nNothing else.\n"),
        ("notes.txt", b"First words.\n12/03/22, 14:08 - Ada: quoted\n13/03/22, 14:08 - Bo: quoted\n"),
        ("talk.txt", b"00:00:01,000 --> 00:00:02,000\nwords\n"),
    ],
)
def test_other_texts_stay_what_they_are(tmp_path, name, data) -> None:
    assert detect_format(volume(tmp_path, name, data)) is Format.TEXT


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'{"sessionId": 1, "message": {"role": [], "content": [null, 7, {"text": {"text": "deep"}}]}}'),
        (
            "a.jsonl",
            b"""{"type": "response_item", "payload": {"type": 7, "content": {"a": []}}}\n{"sessionId":{},"content":"x"}""",
        ),
        (
            "conversations.json",
            b'[{"mapping": {"a": {"parent": "b", "message": {"content": {"parts": [3]}}}, "b": {"parent": "a"}}}]',
        ),
        ("conversations.json", b'{"chat_messages": [null, {"text": null}, {"content": "x", "author": 3}]}'),
        (
            "day.json",
            b'[{"ts": "1764000000.000100", "text": null, "files": [null], "blocks": [{"elements": [{"text": "b"}]}]}, 3]',
        ),
        ("a.vtt", b"WEBVTT\n\n00:99 --> 00:02\nx\n\n00:01.000 --> 00:02.000\n<v >y"),
    ],
)
def test_what_is_not_built_as_it_should_be_breaks_nothing(tmp_path, name, data) -> None:
    document = open_document([volume(tmp_path, name, data).path])
    assert "".join(part.text for part in document.parts()).strip()


def test_times_keep_their_zone() -> None:
    assert format_instant("2026-03-01T09:30:00+05:30") == "2026-03-01 09:30:00+05:30"
    assert format_instant("1764000000.0001") == "2025-11-24 16:00:00Z"
    assert format_instant(10**30) == format_instant("soon") == ""
