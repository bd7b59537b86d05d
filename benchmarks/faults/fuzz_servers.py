"""Fuzz what servers and clients send: replies of a model's server, and requests to every route of ours."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from fuzz_cases import Broken, bend, change_json, check_message

if TYPE_CHECKING:
    import random
    from pathlib import Path


class Replies:
    """Replies of a model's server: their JSON through the parsers, and sometimes their bytes through a socket."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, draw: random.Random) -> None:
        """Take one reply."""
        from worst_replies import GOOD, Server, call

        value = GOOD
        for _ in range(draw.randrange(1, 4)):
            value = change_json(value, draw)
        body = json.dumps(value).encode("utf-8", "surrogatepass")
        stream = draw.random() < 0.4
        if stream:
            body = b"data: " + body.replace(b'"message"', b'"delta"') + b"\n\ndata: [DONE]\n\n"
        kind = b"text/event-stream" if stream else draw.choice((b"application/json", b"text/html", b"a/b; charset=x"))
        status = draw.choice((b"200 OK",) * 6 + (b"400 Bad", b"429 Slow", b"500 Oh", b"302 Go", b"600 ?"))
        head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-type: " + kind + b"\r\n\r\n"
        answer = bend(head + body, draw) if draw.random() < 0.5 else head + bend(body, draw)
        server = Server(lambda: iter((answer,)))
        try:
            outcome, _ = asyncio.run(call(server.port, stream=stream, deadline=5))
        finally:
            server.close()
        if outcome.startswith("!"):
            raise Broken(outcome)
        check_message(outcome)

    def close(self) -> None:
        """Nothing stays open."""


class Requests:
    """Requests to every route of a server, and chat bodies of every protocol that it speaks."""

    def __init__(self, folder: Path) -> None:
        from starlette.testclient import TestClient

        from bookwheel.journal import Journal
        from bookwheel.models.scripted import ScriptedModel, keyword_reader
        from bookwheel.serve.app import build_app
        from bookwheel.serve.engine.settings import ServerSettings

        self._open = ExitStack()
        journal = self._open.enter_context(Journal(folder / "journal.sqlite"))
        app = build_app(journal=journal, models={"scripted": ScriptedModel(keyword_reader)}, settings=ServerSettings())
        client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=True)
        self._client = self._open.enter_context(client)
        self._paths = sorted(set(self._client.get("/openapi.json").json()["paths"]))
        self._paths += [
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/messages",
            "/api/chat",
            "/api/generate",
            "/v1/completions",
        ]

    def run(self, draw: random.Random) -> None:
        """Send one request."""
        path = re.sub(
            r"\{[^}]*\}",
            lambda _: draw.choice(("0", "x", "%00", "..", "a%2f", "\u0130", "-1")),
            draw.choice(self._paths),
        )
        value: Any = {
            "model": "scripted",
            "messages": [{"role": "user", "content": "Who wound the clock?"}, {"role": "assistant", "content": "?"}],
            "input": "Who?",
            "prompt": "Who?",
            "document": {"text": "Ada wound the clock."},
            "questions": ["Who?"],
            "question": "Who?",
            "stream": False,
            "max_tokens": 9,
            "tools": [],
            "plan": {"chunk_tokens": 300},
        }
        for _ in range(draw.randrange(4)):
            value = change_json(value, draw)
        body = json.dumps(value).encode("utf-8", "surrogatepass")
        method = draw.choice(("GET", "POST", "POST", "POST", "PUT", "DELETE", "PATCH"))
        kinds = (b"application/json", b"text/plain", b"multipart/form-data; boundary=b", b"\xff")
        headers = {"content-type": draw.choice(kinds)}
        if "shutdown" in path or (method == "GET" and path.endswith("/events")):
            return
        answer = self._client.request(method, path, content=bend(body, draw), headers=headers)
        if answer.status_code == 500:
            raise Broken(f"{method} {path} gave 500: {answer.text[:200]} for {body[:300]!r}")
        if "json" in answer.headers.get("content-type", "") and answer.status_code >= 400:
            check_message(answer.text)

    def close(self) -> None:
        """End the server."""
        self._open.close()
