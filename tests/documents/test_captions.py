"""Captions: times, speakers, and no words lost where lines are amiss."""

from __future__ import annotations

import pytest

from bookwheel.documents.dispatch import detect_format
from bookwheel.documents.formats import Format
from bookwheel.documents.opening import open_document

from .test_formats import volume

VTT = """WEBVTT

NOTE a note

1
00:00:01.000 --> 00:00:04.000 align:start
<v Ada Quill>The lamp is <i>lit</i> &amp; trimmed.</v>

00:00:05.000 --> 00:00:06.000
<v Bo>At dusk?</v> <v Ada Quill>At dusk.

01:00:05.000 --> 01:00:06.000
Cy: Then we sail.
"""


SRT = (
    "1\r\n00:00:01,000 --> 00:00:02,000\r\nthe lamp\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\nthe lamp\r\nis lit\r\n"
)


def test_captions_have_times_and_speakers(tmp_path) -> None:
    file = volume(tmp_path, "talk.vtt", VTT.encode())
    assert detect_format(file) is Format.CAPTIONS
    text = "".join(part.text for part in open_document([file.path]).parts())
    assert text.split("\n\n")[:-1] == [
        "note: a note",
        "[00:00:01] Ada Quill: The lamp is lit & trimmed.",
        "[00:00:05] Bo: At dusk?",
        "[00:00:05] Ada Quill: At dusk.",
        "[01:00:05] Cy: Then we sail.",
    ]
    rolling = open_document([volume(tmp_path, "talk.srt", SRT.encode()).path])
    assert (
        "".join(part.text for part in rolling.parts())
        == "[00:00:01] caption: the lamp\n\n[00:00:02] caption: is lit\n\n"
    )


def test_captions_lose_no_words_where_lines_are_amiss(tmp_path) -> None:
    srt = (
        "1\n00:00:01,000 --> 00:00:02,000\nBo: No.\n\n2\n00:00:03,000 --> 00:00:04,000\nBo: No.\n"
        "3\n00:00:05,000 --> 00:00:06,000\n- Where?\n- In the mill.\n\n4\n00:00:07,000 --> 00:00:08,000\n\n"
        "5\n00:00:09,000 --> 00:00:10,000\n张三：改成六百。\n\n第二段\n\n6\n00:00:11,000 --> 00:00:11,010\n第二段\n"
    )
    parts = [part.text.strip() for part in open_document([volume(tmp_path, "a.srt", srt.encode()).path]).parts()]
    assert parts == [
        "[00:00:01] Bo: No.",
        "[00:00:03] Bo: No.",
        "[00:00:05] caption: - Where?\n- In the mill.",
        "[00:00:09] 张三: 改成六百。 第二段",
    ]


@pytest.mark.parametrize("times", ["00:00:02,000 --> ", "00:00:02,000 -->", "00:00:02,000 --> soon"])
def test_a_caption_without_an_end_loses_no_words(tmp_path, times):
    text = f"1\n00:00:01,000 --> 00:00:02,000\nOne.\n\n2\n{times}\nTwo.\n\n3\n00:00:04,000 --> 00:00:05,000\nThree.\n"
    document = open_document([volume(tmp_path, "talk.srt", text.encode()).path])
    assert "Two." in "".join(part.text for part in document.parts())


def test_captions_are_of_the_day_that_their_file_tells(tmp_path) -> None:
    cue = "00:00:02.000 --> 00:00:04.000\n<v Ada>Hello.\n"
    names = {
        "board-2025-06-17.vtt": "",
        "GMT20250618-180000_call.vtt": "",
        "a.vtt": "NOTE Recorded 2025-06-19\n\n",
        "b.vtt": "",
    }
    days = [
        {part.at for part in open_document([volume(tmp_path, name, f"WEBVTT\n\n{note}{cue}".encode()).path]).parts()}
        for name, note in names.items()
    ]
    assert days == [{"2025-06-17"}, {"2025-06-18"}, {"2025-06-19"}, {""}]
