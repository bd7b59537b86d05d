"""Who said what, and when: sessions of agents, exports of chats, captions. Nothing said is lost, and faults are named."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from conversion import convert

from bookwheel import read
from bookwheel.documents.formats import Format, detect_format
from bookwheel.documents.opening import open_document
from bookwheel.documents.transcripts import format_instant

from .test_formats import volume

CLAUDE = [
    {"type": "summary", "summary": "Choosing a database", "leafUuid": "u9"},
    {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": "s1",
        "timestamp": "2026-03-01T09:30:00.123Z",
        "cwd": "/home/ada/mill",
        "message": {"role": "user", "content": "Which database do we take for the mill?"},
    },
    {
        "type": "assistant",
        "uuid": "u2",
        "parentUuid": "u1",
        "sessionId": "s1",
        "timestamp": "2026-03-01T09:31:00Z",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "One file would do."},
                {"type": "text", "text": "We decided to keep the readings of the mill in SQLite."},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls data"}},
            ],
        },
    },
    {
        "type": "user",
        "uuid": "u3",
        "sessionId": "s1",
        "isSidechain": True,
        "timestamp": "2026-03-01T09:31:05Z",
        "message": {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "mill.db"}]},
                {"type": "image", "source": {}},
            ],
        },
    },
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    {"type": "system", "subtype": "info", "content": "Conversation compacted", "timestamp": "2026-03-01T09:32:00Z"},
]
CODEX = [
    {
        "timestamp": "2026-04-20T16:44:37.772Z",
        "type": "session_meta",
        "payload": {"id": "x", "cwd": "/home/ada/mill", "git": {"branch": "main"}, "instructions": "long " * 9},
    },
    {"timestamp": "2026-04-20T16:44:38Z", "type": "event_msg", "payload": {"type": "user_message", "message": "Go."}},
    {
        "timestamp": "2026-04-20T16:44:38Z",
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
    },
    {
        "timestamp": "2026-04-20T16:44:40Z",
        "type": "response_item",
        "payload": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look first."}], "content": None},
    },
    {
        "timestamp": "2026-04-20T16:44:41Z",
        "type": "response_item",
        "payload": {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"},
    },
    {
        "timestamp": "2026-04-20T16:44:42Z",
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c", "output": "wheel.py"},
    },
    {
        "timestamp": "2026-04-20T16:44:43Z",
        "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    },
    {
        "timestamp": "2026-04-20T16:44:43Z",
        "type": "event_msg",
        "payload": {"type": "agent_message", "message": "Done."},
    },
    {"timestamp": "2026-04-20T16:44:44Z", "type": "event_msg", "payload": {"type": "token_count", "info": None}},
]


def lines(records) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def node(key, parent, role, text, **message):
    content = {"content_type": "text", "parts": [text]}
    said = {"author": {"role": role}, "create_time": 1764000000.5, "content": content, **message}
    return {key: {"id": key, "parent": parent, "children": [], "message": said}}


CHATGPT = [
    {
        "title": "Lamp oil",
        "create_time": 1764000000.0,
        "current_node": "d",
        "mapping": {
            "root": {"id": "root", "parent": None, "children": ["a"], "message": None},
            **node("h", "root", "system", "hidden words", weight=0),
            **node("a", "h", "user", "Which oil burns longest?"),
            **node("b", "a", "assistant", "An answer that was edited away."),
            **node("c", "a", "user", "And in winter?"),
            **node("d", "c", "assistant", "Colza oil."),
        },
    }
]
CLAUDE_EXPORT = [
    {
        "name": "Lamps",
        "chat_messages": [
            {"sender": "human", "text": "Which lamp?", "created_at": "2026-01-15T10:30:00Z"},
            {
                "sender": "assistant",
                "text": "",
                "content": [{"type": "text", "text": "The Argand lamp."}],
                "created_at": "2026-01-15T10:31:00Z",
                "attachments": [{"file_name": "lamps.txt", "extracted_content": "Argand, 1780"}],
            },
        ],
    }
]
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


def shown(tmp_path, name, data, **options):
    return convert(volume(tmp_path, name, data), **options)


def test_a_session_of_claude_code_says_who_when_and_where(tmp_path) -> None:
    file = volume(tmp_path, "session.jsonl", lines(CLAUDE))
    assert detect_format(file) is Format.SESSION
    document = open_document([file.path])
    text = "".join(part.text for part in document.parts())
    assert text.split("\n\n")[:-1] == [
        "summary: Choosing a database",
        "[2026-03-01 09:30:00Z] user: Which database do we take for the mill?",
        "[2026-03-01 09:31:00Z] assistant (thinking): One file would do.",
        "[2026-03-01 09:31:00Z] assistant: We decided to keep the readings of the mill in SQLite.",
        '[2026-03-01 09:31:00Z] assistant runs Bash: {"command": "ls data"}',
        "[2026-03-01 09:31:05Z] tool: mill.db",
        "[2026-03-01 09:32:00Z] system: Conversation compacted",
    ]
    sources = [part.source for part in document.parts()]
    assert "session.jsonl#assistant, 2026-03-01 09:31:00Z, line 3" in sources
    assert any("pictures" in note for note in document.notes)
    assert any("file-history-snapshot" in note for note in document.notes)


def test_a_quote_from_a_session_shows_speaker_time_and_place(tmp_path) -> None:
    (tmp_path / "session.jsonl").write_bytes(lines(CLAUDE))
    question = "What did we decide to keep the readings of the mill in?"
    reading = read(tmp_path / "session.jsonl", question, model="scripted", journal=tmp_path / "j.sqlite")
    assert "SQLite" in reading.answer.text
    assert [quote.source for quote in reading.evidence] == ["session.jsonl#assistant, 2026-03-01 09:31:00Z, line 3"]


def test_a_session_of_codex_is_read_once_though_it_is_written_twice(tmp_path) -> None:
    file = volume(tmp_path, "rollout.jsonl", lines(CODEX))
    assert detect_format(file) is Format.SESSION
    text = "".join(part.text for part in open_document([file.path]).parts())
    assert [line.partition("] ")[2] for line in text.split("\n\n")[:-1]] == [
        "session: folder /home/ada/mill, branch main",
        "user: Go.",
        "assistant (thinking): Look first.",
        'assistant runs shell: {"command":["ls"]}',
        "tool: wheel.py",
        "assistant: Done.",
    ]


def test_a_broken_line_of_a_session_is_kept_and_named(tmp_path) -> None:
    data = lines(CLAUDE[1:2]) + b'{"type": "user", "mess\n[1]\n' + lines(CLAUDE[2:3])
    file = volume(tmp_path, "session.jsonl", data)
    document = open_document([file.path])
    text = "".join(part.text for part in document.parts())
    assert 'no record: {"type": "user", "mess' in text
    assert "SQLite" in text
    assert any("line 2" in note and "line 3" in note for note in document.notes)


def test_of_a_chat_the_branch_is_read_that_was_seen_last(tmp_path) -> None:
    for name, data in (("conversations.json", json.dumps(CHATGPT).encode()), ("export.zip", pack(CHATGPT))):
        file = volume(tmp_path, name, data)
        assert detect_format(file) is Format.CHATS
        document = open_document([file.path])
        text = "".join(part.text for part in document.parts())
        assert text.split("\n\n")[:-1] == [
            "# Lamp oil (2025-11-24 16:00:00Z)",
            "[2025-11-24 16:00:00Z] user: Which oil burns longest?",
            "[2025-11-24 16:00:00Z] user: And in winter?",
            "[2025-11-24 16:00:00Z] assistant: Colza oil.",
        ]
        assert f"{name}#assistant, 2025-11-24 16:00:00Z, Lamp oil" in [part.source for part in document.parts()]
        assert any("edited branches" in note for note in document.notes)
        assert any("hidden" in note for note in document.notes)


def pack(value, name="conversations.json", **more) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
        for inside, content in more.items():
            archive.writestr(inside, json.dumps(content))
    return packed.getvalue()


def test_an_export_of_claude_is_a_chat_too(tmp_path) -> None:
    document = open_document([volume(tmp_path, "conversations.json", json.dumps(CLAUDE_EXPORT).encode()).path])
    text = "".join(part.text for part in document.parts())
    assert "[2026-01-15 10:31:00Z] assistant: The Argand lamp." in text
    assert "assistant attaches lamps.txt: Argand, 1780" in text


def test_a_broken_export_gives_what_is_whole(tmp_path) -> None:
    data = json.dumps([*CHATGPT, *CHATGPT]).encode()[:-300]
    document = open_document([volume(tmp_path, "conversations.json", data).path])
    assert "Colza oil." in "".join(part.text for part in document.parts())
    assert any("broken" in note for note in document.notes)


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


ANDROID = """12/03/22, 14:08 - Messages and calls are end-to-end encrypted.
12/03/22, 14:08 - Ada: The key is under the stone.
It is the grey one.
13/03/22, 9:05 - Bo Fell: <Media omitted>
"""
WHATSAPP = {
    "android": (ANDROID, "[2022-03-12 14:08] Ada: The key is under the stone.\nIt is the grey one."),
    "german": (
        "12.03.22, 14:08 - Ada: Der Schlüssel liegt unter dem Stein.\n13.03.22, 09:05 - Bo: <Medien ausgeschlossen>\n",
        "[2022-03-12 14:08] Ada: Der Schlüssel liegt unter dem Stein.",
    ),
    "iphone": (
        "[12.03.22, 14:08:18] Ada: Hallo\n\u200e[13.03.22, 09:05:00] Bo: \u200eBild weggelassen\n",
        "[2022-03-12 14:08:18] Ada: Hallo",
    ),
    "american": (
        "3/12/22, 2:08\u202fPM - Ada: Hello\n3/13/22, 9:05\u202fAM - Bo: Hi\n",
        "[2022-03-12 14:08] Ada: Hello",
    ),
    "american iphone": (
        "[3/12/22, 12:08:18 AM] Ada: Hello\n[3/13/22, 9:05:00 PM] Bo: Hi\n",
        "[2022-03-12 00:08:18] Ada: Hello",
    ),
    "chinese": ("2022/3/12 下午2:08 - 张三: 你好\n2022/3/13 上午9:05 - 李四: 好\n", "[2022-03-12 14:08] 张三: 你好"),
    "chinese day": (
        "2022/3/5 晚上8:05 - 张三: 你好\n2022/3/6 凌晨1:05 - 李四: <省略多媒体文件>\n2022/3/6 中午12:05 - 张三: 好\n",
        "[2022-03-05 20:05] 张三: 你好\n\n[2022-03-06 01:05] 李四: <省略多媒体文件>\n\n[2022-03-06 12:05] 张三: 好",
    ),
    "chinese signs": (
        "2022年3月5日 下午2:08 - 张三: 你好\n2022年3月6日 上午9:05 - 李四: 好\n",
        "[2022-03-05 14:08] 张三: 你好",
    ),
    "korean": (
        "[2022. 3. 5. 오후 2:08:18] Ada: 안녕\n[2022. 3. 6. 오전 9:05:00] Bo: 네\n",
        "[2022-03-05 14:08:18] Ada: 안녕",
    ),
    "arabic": ("٥/٣/٢٠٢٢، ٢:٠٨ م - آدا: مرحبا\n١٥/٣/٢٠٢٢، ٩:٠٥ ص - بو: نعم\n", "[2022-03-05 14:08] آدا: مرحبا"),
    "bulgarian": ("5.03.2022 г., 14:08 - Ада: да\n15.03.2022 г., 9:05 - Бо: не\n", "[2022-03-05 14:08] Ада: да"),
    "hungarian": ("2022. 03. 05. 14:08 - Ada: szia\n2022. 03. 06. 9:05 - Bo: igen\n", "[2022-03-05 14:08] Ada: szia"),
    "thai": ("5/3/2565 14:08 - Ada: hi\n15/3/2565 09:05 - Bo: hi\n", "[2022-03-05 14:08] Ada: hi"),
    "mexican": (
        "5/3/22, 2:08 p.\u00a0m. - Ada: hola\n15/3/22, 9:05 a.\u00a0m. - Bo: <Multimedia omitido>\n",
        "[2022-03-05 14:08] Ada: hola",
    ),
    "finnish": (
        "[12.3.2022 klo 14.08.18] Ada: Moi\n[13.3.2022 klo 9.05.00] Bo: Hei\n",
        "[2022-03-12 14:08:18] Ada: Moi",
    ),
}


@pytest.mark.parametrize(("chat", "first"), WHATSAPP.values(), ids=WHATSAPP)
def test_whatsapp_is_read_in_the_order_of_its_phones_dates(tmp_path, chat, first) -> None:
    file = volume(tmp_path, "chat.txt", chat.encode())
    assert detect_format(file) is Format.WHATSAPP
    document = open_document([file.path])
    text = "".join(part.text for part in document.parts())
    assert first in text
    assert ("pictures" in " ".join(document.notes)) is (
        "edia" in chat or "Bild" in chat or "Medien" in chat or "文件" in chat
    )
    packed = volume(tmp_path, "chat.zip", pack(chat, "_chat.txt"))
    assert "".join(part.text for part in open_document([packed.path]).parts()) == text


def test_dates_that_could_be_either_are_told_by_their_order_or_said(tmp_path) -> None:
    forward = "1/2/22, 10:00 - Ada: one\n1/3/22, 10:00 - Ada: two\n1/4/22, 10:00 - Ada: three\n2/1/22, 10:00 - Ada: x\n"
    document = open_document([volume(tmp_path, "a.txt", forward.encode()).path])
    assert "[2022-01-02 10:00] Ada: one" in "".join(part.text for part in document.parts())
    assert not document.notes
    either = "1/2/22, 10:00 - Ada: one\n1/2/22, 11:00 - Ada: two\n"
    document = open_document([volume(tmp_path, "b.txt", either.encode()).path])
    assert "[2022-02-01 10:00] Ada: one" in "".join(part.text for part in document.parts())
    assert any("exchanged" in note for note in document.notes)


def test_what_whatsapp_says_itself_is_told_from_what_people_say(tmp_path) -> None:
    android = (
        "15/01/2024, 09:41 - Ada changed the subject from “Mill: old” to “Mill”\n"
        "15/01/2024, 09:42 - Ada: Meet at 10:30 - bring the key: the big one\n"
        "15/01/2024, 09:43 - Ada: plan.pdf (Datei angehängt)\nLook at the wheel\n"
    )
    document = open_document([volume(tmp_path, "chat.txt", android.encode()).path])
    assert [part.text.strip() for part in document.parts()] == [
        "[2024-01-15 09:41] WhatsApp: Ada changed the subject from “Mill: old” to “Mill”",
        "[2024-01-15 09:42] Ada: Meet at 10:30 - bring the key: the big one",
        "[2024-01-15 09:43] Ada: plan.pdf (Datei angehängt)\nLook at the wheel",
    ]
    assert any("pictures" in note for note in document.notes)
    persian = "1402/10/25, 09:44 - Bo: of another calendar\n1402/10/26, 09:44 - Ada: so it is\n"
    document = open_document([volume(tmp_path, "c.txt", persian.encode()).path])
    assert next(document.parts()).text == "[1402/10/25, 09:44] Bo: of another calendar\n\n"
    assert any("time that is none" in note for note in document.notes)
    own = "\u200e"
    iphone = (
        f"[15/01/2024, 09:41:05] {own}Ada changed the name: Mill\n[15/01/2024, 09:42:05] Bo: {own}图像已忽略\n"
        f"[15/01/2024, 09:43:05] Bo: The rent is 550 {own}<This message was edited>\n"
        f"[15/01/2024, 09:44:05] Bo: {own}This message was deleted.\n"
    )
    parts = [part.text for part in open_document([volume(tmp_path, "b.txt", iphone.encode()).path]).parts()]
    assert "WhatsApp: Ada changed the name: Mill" in parts[0]
    assert "Bo: 图像已忽略" in parts[1]
    assert "Bo: The rent is 550 <This message was edited>" in parts[2]
    assert "Bo: This message was deleted." in parts[3]


def test_words_that_are_said_twice_in_a_session_are_read_twice(tmp_path) -> None:
    def say(number, role, words, **more):
        message = {"role": role, "content": words}
        return {"type": role, "uuid": f"u{number}", "sessionId": "s", "message": message, **more}

    claude = [say(1, "user", "continue"), say(2, "assistant", "Done."), say(3, "user", "continue"), say(3, "user", "x")]
    codex = [
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Go."}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Go."}},
    ]
    for records, words in ((claude, ["continue", "Done.", "continue"]), (codex * 2, ["Go.", "Go."])):
        document = open_document([volume(tmp_path, "a.jsonl", lines(records)).path])
        assert [part.text.strip().partition(": ")[2] for part in document.parts()] == words


def test_records_of_other_kinds_give_their_words_once(tmp_path) -> None:
    result = {"Ok": {"content": [{"type": "text", "text": "Oil costs 7."}]}}
    records = [
        {"type": "attachment", "sessionId": "s", "attachment": {"type": "queued_command", "prompt": "Paint it red."}},
        {"type": "event_msg", "payload": {"type": "mcp_tool_call_end", "result": result}},
        {"type": "event_msg", "payload": {"type": "agent_message", "message": "All done."}},
        {"type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": "All done."}},
        {"type": "compacted", "payload": {"message": "The wheel is mended."}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "redacted_thinking", "data": "x"}]}},
        {"type": "session_meta", "payload": {"instructions": "Be kind."}},
    ]
    document = open_document([volume(tmp_path, "a.jsonl", lines(records)).path])
    assert [part.text.strip() for part in document.parts()] == [
        "user (queued): Paint it red.",
        "mcp_tool_call_end: Oil costs 7.",
        "assistant: All done.",
        "compacted: The wheel is mended.",
    ]
    assert any("redacted_thinking" in note for note in document.notes)
    assert any("instructions" in note for note in document.notes)


def test_sources_and_sounds_in_a_chat_are_named(tmp_path) -> None:
    cited = "\ue200cite\ue202turn0search0\ue201"
    references = [{"matched_text": cited, "alt": "(mills.org)"}]
    parts = [{"content_type": "audio_asset_pointer"}, {"content_type": "audio_transcription", "text": "Who owns it?"}]
    mapping = {
        **node("a", None, "user", ""),
        **node("b", "a", "tool", ""),
        **node("c", "b", "assistant", f"Bo does {cited}.", metadata={"content_references": references}),
    }
    mapping["a"]["message"]["content"] = {"content_type": "multimodal_text", "parts": parts}
    quote = {"content_type": "tether_quote", "url": "https://m.org", "title": "The mill", "text": "It is Bo's."}
    mapping["b"]["message"]["content"] = quote
    chat = [{"title": "Mill", "current_node": "c", "mapping": mapping}]
    document = open_document([volume(tmp_path, "a.zip", pack(chat, **{"user.json": {}, "chat.html": ""})).path])
    said = [part.text.strip().partition("] ")[2] for part in document.parts()][1:]
    assert said == [
        "user: Who owns it?",
        "tool: The mill\nhttps://m.org\nIt is Bo's.",
        "assistant: Bo does (mills.org).",
    ]
    notes = " ".join(document.notes)
    assert "audio_asset_pointer" in notes
    assert "user.json" in notes
    assert "chat.html" not in notes


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


@pytest.mark.parametrize("times", ["00:00:02,000 --> ", "00:00:02,000 -->", "00:00:02,000 --> soon"])
def test_a_caption_without_an_end_loses_no_words(tmp_path, times):
    text = f"1\n00:00:01,000 --> 00:00:02,000\nOne.\n\n2\n{times}\nTwo.\n\n3\n00:00:04,000 --> 00:00:05,000\nThree.\n"
    document = open_document([volume(tmp_path, "talk.srt", text.encode()).path])
    assert "Two." in "".join(part.text for part in document.parts())
