"""What an outsider sends to a server: chats of every protocol, and memories.

Cases of a second outsider, written before the code was looked at; outsider_doors.py runs them.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from outsider import RAW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MOST_SECONDS = 15.0
Case = tuple[str, "Callable[[Path], str]"]
HOSTILE = (
    *("=1+1", "\n=1+1", " \t=cmd()", "\uff1d1+1", "+1", "@SUM(A1)", "\u200b=1+1", "\ufeff=1+1", "\r=1", '"=1'),
    *("<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "https://evil.example/x", "www.evil.example"),
    *("a|b\nc", "]]><x>", "\x1b[2J", "\u202eabc", "\x00", "'; drop table rows; --", "![a](https://evil.example/p.png)"),
)


def echo(messages: Any) -> str:
    """Reply with the whole prompt."""
    return "".join(message.content for message in messages)


class Door:
    """A server in this process, whose model replies with its prompt."""

    def __init__(self, folder: Path, reply: Callable[[Any], str] = echo) -> None:
        from starlette.testclient import TestClient

        from bookwheel.journal import Journal
        from bookwheel.models.scripted import ScriptedModel
        from bookwheel.serve.app import build_app
        from bookwheel.serve.engine.settings import ServerSettings

        self._open = ExitStack()
        self.journal = self._open.enter_context(Journal(folder / "journal.sqlite"))
        models = {"scripted": ScriptedModel(reply)}
        app = build_app(journal=self.journal, models=models, settings=ServerSettings())
        self.client = self._open.enter_context(TestClient(app, base_url="http://127.0.0.1"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def judge(answer: Any) -> str:
    """Return what is wrong with an answer of the server, or nothing."""
    if answer.status_code == 500:
        return f"gave 500: {answer.text[:200]}"
    found = RAW.search(answer.text) if answer.status_code >= 400 else None
    return f"says {found[0]}: {answer.text[:200]}" if found else ""


def send(path: str, body: object, leaf: str = "", method: str = "POST", before: object = None) -> Callable[[Path], str]:
    """Return a case: what is sent is read (its leaf is in the prompt, so in the answer) or refused."""

    def attack(folder: Path) -> str:
        with Door(folder) as door:
            if before:
                door.client.post("/memories", json=before)
            content = body if isinstance(body, bytes) else json.dumps(body)
            answer = door.client.request(method, path, content=content, headers={"content-type": "application/json"})
            if leaf and answer.status_code < 400 and leaf not in answer.text:
                return f"drops {leaf} without a word: {answer.status_code} {answer.text[:300]}"
            return judge(answer)

    return attack


def _user(*blocks: object, **more: object) -> dict[str, object]:
    return {"model": "scripted", "max_tokens": 900, "messages": [{"role": "user", "content": list(blocks)}], **more}


_ASK = {"type": "text", "text": "Who?"}
_LIST = {"type": "text", "text": "leafcited"}
_BLOCKS: dict[str, tuple[dict[str, object], str]] = {
    "document": (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "leafdoc"}},
        "leafdoc",
    ),
    "document of blocks": ({"type": "document", "source": {"type": "content", "content": [_LIST]}}, "leafcited"),
    "PDF": (
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}},
        "leafpdf",
    ),
    "search result": ({"type": "search_result", "source": "s", "title": "t", "content": [_LIST]}, "leafcited"),
    "tool result": ({"type": "tool_result", "tool_use_id": "a", "content": [_LIST]}, "leafcited"),
    "picture of the metadata service": (
        {"type": "image", "source": {"type": "url", "url": "http://169.254.169.254/leafurl"}},
        "leafurl",
    ),
    "block that nobody knows": ({"type": "hologram", "leafholo": "leafholo"}, "leafholo"),
}
_CHAT = {"model": "scripted", "stream": False}
_DEEP = b'{"model":"scripted","messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def list_messages() -> Iterator[Case]:
    for name, (block, leaf) in _BLOCKS.items():
        yield f"messages: {name}", send("/v1/messages", _user(block, _ASK), leaf)
    yield "messages: 100,000 levels", send("/v1/messages", _DEEP)
    yield "messages: NaN", send("/v1/messages", b'{"model":"scripted","max_tokens":NaN,"messages":[]}')
    yield "messages: tokens without end", send("/v1/messages", {**_user(_ASK), "max_tokens": 10**30})
    yield (
        "messages: system of blocks",
        send("/v1/messages", _user(_ASK, system=[{"type": "text", "text": "leafsys"}]), "leafsys"),
    )
    said = [{"role": "assistant", "content": "", "thinking": "leafthink"}, {"role": "user", "content": "Who?"}]
    yield "ollama: thought", send("/api/chat", {**_CHAT, "messages": said})
    seen = [{"role": "user", "content": "Who?", "images": ["bGVhZg=="]}]
    yield "ollama: picture that is none", send("/api/chat", {**_CHAT, "messages": seen}, "leafimage")
    told = [{"role": "tool", "content": "leaftool", "tool_name": "x"}, {"role": "user", "content": "Who?"}]
    yield "ollama: tool", send("/api/chat", {**_CHAT, "messages": told}, "leaftool")
    yield (
        "ollama: options of any kind",
        send(
            "/api/chat",
            {**_CHAT, "messages": said, "options": {"num_ctx": -1, "seed": 1e308, "num_predict": 10**30, "stop": [1]}},
        ),
    )
    heard = [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "bGVhZg==", "format": "wav"}}]}
    ]
    yield "chat: sound", send("/v1/chat/completions", {**_CHAT, "messages": heard}, "leafsound")
    sent = [
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:text/plain;base64,bGVhZg=="}}, _ASK]}
    ]
    yield "chat: file", send("/v1/chat/completions", {**_CHAT, "messages": sent}, "leaf")
    gave = [{"type": "function_call_output", "call_id": "a", "output": "leafout"}, {"role": "user", "content": "Who?"}]
    yield "responses: output of a call", send("/v1/responses", {"model": "scripted", "input": gave}, "leafout")
    asked = [{"type": "item_reference", "id": "leafref"}, {"role": "user", "content": "Who?"}]
    yield "responses: reference", send("/v1/responses", {"model": "scripted", "input": asked}, "leafref")


def list_memories() -> Iterator[Case]:
    new = {"name": "m", "about": "all", "model": "scripted"}
    for name in ("../x", "a/b", "\u202ex", "x" * 10_000, "", ".", "\ud800", "CON", "a\nb", "<b>", " "):
        yield f"memory named {name[:9]!r}", send("/memories", {**new, "name": name})
    yield "memory about 20 MB", send("/memories", {**new, "about": "word " * (4 << 20)})
    text = {"text": "Ada is here.", "source": "s"}
    for at in ("99999999-01-01", "NaN", "-1", "0000-00-00", "2026-02-30", "9" * 5000, 10**30):
        yield f"memory at {str(at)[:12]}", send("/memories/m/texts", {**text, "at": at}, before=new)
    yield "memory of a source of 1 MB", send("/memories/m/texts", {**text, "source": "s" * (1 << 20)}, before=new)
    yield "memory of zeros", send("/memories/m/texts", {**text, "text": "\x00" * 9000}, before=new)
    for path in (
        "/memories/../etc/passwd",
        "/memories/%2e%2e/x",
        "/memories\\..\\x",
        "/etc/passwd",
        "/memories/" + "a/" * 5000,
    ):
        body = {"command": "create", "path": path, "file_text": "x"}
        yield f"memory's file {path[:22]}", send("/memories/m/files", body, before=new)
    yield (
        "memory's file of ranges",
        send(
            "/memories/m/files", {"command": "view", "path": "/memories", "view_range": [10**30, -(10**30)]}, before=new
        ),
    )
    for what in ("", " ", "\n", ".*", "%", "a"):
        yield f"memory forgets {what!r}", _forget(what)
    yield (
        "memory's question of another time",
        send("/memories/m/questions", {"question": "Who?", "as_of": "soon"}, before=new),
    )


def _forget(what: str) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        with Door(folder, lambda _: "Ada wound the clock.") as door:
            door.client.post("/memories", json={"name": "m", "about": "all", "model": "scripted"})
            door.client.post("/memories/m/texts", json={"text": "Bo slept in the tower on Monday.", "source": "s"})
            answer = door.client.post("/memories/m/forgets", json={"text": what})
            log = door.client.get("/memories/m/log").text
            if answer.status_code < 400 and '"s"' not in log and what in {"", " ", "\n", ".*", "%"}:
                return f"forgot everything: {answer.text[:200]}"
            return judge(answer)

    return attack
