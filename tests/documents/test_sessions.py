"""Sessions of agents and exports of their chats: who said what and when, each once; faults are named."""

from __future__ import annotations

import json

from exports import pack

from bookwheel import read
from bookwheel.documents.dispatch import detect_format
from bookwheel.documents.formats import Format
from bookwheel.documents.opening import open_document

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
