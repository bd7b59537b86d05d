"""Exports of Slack: names in the place of ids, and what hangs on a message stands with it."""

from __future__ import annotations

import json

from exports import pack

from bookwheel.documents.dispatch import detect_format
from bookwheel.documents.formats import Format
from bookwheel.documents.opening import open_document

from .test_formats import volume

USERS = [{"id": "U1", "team_id": "T", "name": "ada", "profile": {"display_name": "Ada", "real_name": "Ada Quill"}}]


DAY = [
    {
        "type": "message",
        "user": "U1",
        "ts": "1764000000.000100",
        "text": "The fee is <https://x.org/fee|here>, <@U1> &amp; all",
    },
    {
        "type": "message",
        "user": "U2",
        "ts": "1764000060.000100",
        "thread_ts": "1764000000.000100",
        "text": "17 crowns.",
    },
    {
        "type": "message",
        "subtype": "bot_message",
        "username": "clock",
        "ts": "1764000070.000100",
        "text": "",
        "blocks": [],
    },
    {"type": "message", "user": "U1", "ts": "1764000080.000100", "text": "", "files": [{"name": "fee.pdf"}]},
]


def test_slack_names_people_in_an_archive_and_in_a_folder(tmp_path) -> None:
    files = {"users.json": USERS, "general/2025-11-24.json": DAY}
    (tmp_path / "folder" / "general").mkdir(parents=True)
    for name, value in files.items():
        (tmp_path / "folder" / name).write_text(json.dumps(value))
    archive = volume(tmp_path, "slack.zip", pack(USERS, "users.json", **{"general/2025-11-24.json": DAY}))
    assert detect_format(archive) is Format.SLACK
    for path in (archive.path, tmp_path / "folder"):
        document = open_document([path])
        text = "".join(part.text for part in document.parts())
        assert "[2025-11-24 16:00:00Z] Ada: The fee is here (https://x.org/fee), @Ada & all" in text
        assert "U2: 17 crowns." in text
        assert "Ada: [file: fee.pdf]" in text
        assert any(part.source.endswith("#U2, 2025-11-24 16:01:00Z, #general (thread)") for part in document.parts())
        assert any("without words" in note for note in document.notes)


def test_what_hangs_on_a_message_of_slack_stands_with_it(tmp_path) -> None:
    def say(ts, **more):
        return {"type": "message", "user": "U1", "ts": f"17640000{ts}.000100", "text": "", **more}

    card = {"pretext": "Opened", "title": "#7", "title_link": "https://g/7", "text": "It squeaks", "fallback": "no"}
    day = [
        say(
            10,
            text="The rent is 550 <!subteam^S|@money> <!date^1^x|Nov 24>",
            edited={"user": "U1", "ts": "1764000500.0"},
        )
        | {"reactions": [{"name": "+1", "users": ["U1"], "count": 3}]},
        say(20, subtype="bot_message", attachments=[card | {"fields": [{"title": "Label", "value": "bug"}]}]),
        say(30, subtype="message_changed", message={"text": "560"}, previous_message={"text": "550"}),
        say(40, subtype="message_deleted", previous_message={"user": "U1", "text": "a slip"}),
        say(50, text="See", blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "the chart"}}]),
        say(60, files=[{"mode": "tombstone"}]),
    ]
    direct = {"dms.json": [{"id": "D1", "members": ["U1", "U2"]}], "D1/2025-11-24.json": day, "logs.json": []}
    rooms = {"channels.json": [{"name": "mill", "purpose": {"value": "For all"}, "topic": {"value": "Oil"}}]}
    document = open_document([volume(tmp_path, "s.zip", pack(USERS, "users.json", **direct, **rooms)).path])
    parts = list(document.parts())
    assert parts[0].text == "Channel #mill: For all · Oil\n"
    assert parts[1].source.endswith("#Ada, U2")
    assert [part.text.partition(": ")[2].strip() for part in parts[1:]] == [
        "The rent is 550 @money Nov 24\n(edited 2025-11-24 16:08:20Z)\n[:+1: Ada, 2 more]",
        "Opened\n#7 (https://g/7)\nIt squeaks\nLabel: bug",
        "(edits a message) 560\n(was: 550)",
        "(deletes a message) (was: a slip)",
        "See\nthe chart",
        "[file: deleted]",
    ]
    assert any("logs.json" in note for note in document.notes)


def test_a_message_without_words_is_told_and_a_deleted_one_has_its_old_speaker(tmp_path) -> None:
    day = [
        {"type": "message", "user": "U1", "ts": "1764000010.000100", "text": ""},
        {"type": "message", "ts": "1764000020.000100", "previous_message": {"user": "U1", "text": "a slip"}}
        | {"subtype": "message_deleted"},
    ]
    document = open_document(
        [volume(tmp_path, "s.zip", pack(USERS, "users.json", **{"general/2025-11-24.json": day})).path]
    )
    (part,) = document.parts()
    assert "Ada: (deletes a message)" in part.text
    assert "messages without words: s.zip#general" in document.notes
