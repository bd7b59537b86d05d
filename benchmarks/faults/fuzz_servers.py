"""Fuzz what servers and clients send: replies of a model's server, and requests to every route of ours."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from fuzz_cases import AWKWARD, Broken, Case, bend, change_json, check_message, make_json

if TYPE_CHECKING:
    import random
    from pathlib import Path


class Replies:
    """Replies of a model's server: their JSON through the parsers, and sometimes their bytes through a socket."""

    def __init__(self, folder: Path) -> None:
        del folder

    def make(self, draw: random.Random) -> Case:
        """Return one reply, head and body."""
        from worst_replies import GOOD

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
        return {"answer": answer, "stream": stream}

    def run(self, case: Case) -> None:
        """Take it."""
        from worst_replies import Server, call

        server = Server(lambda: iter((case["answer"],)))
        try:
            outcome, _ = asyncio.run(call(server.port, stream=case["stream"], deadline=5))
        finally:
            server.close()
        if outcome.startswith("!"):
            raise Broken(outcome)
        check_message(outcome)

    def close(self) -> None:
        """Nothing stays open."""


_TEXT: Final = b"Ada wound the clock. The state of the door is shut. Bo is a friend of Ada. " * 9
_CHATS: Final = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions", "/api/chat", "/api/show")
_DECLARED: Final = 0.85
_CASES_OF_ONE_SERVER: Final = 300
# Values that a field or a parameter of this name may have, so that a request comes further than to its form.
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "document": ("{sha}", {"text": "Ada wound the clock."}, "last"),
    "documents": (["{sha}"], ["{sha}", "{sha}"]),
    "question": ("Who wound the clock?", "every person: who, what"),
    "questions": (["Who?"], ["Who?", "What is shut?"]),
    "brief": ("who is whose friend",),
    "model": ("scripted", "bookwheel/memory/m", "x"),
    "way": ("sequential", "collect", "graph", "parallel", "quotes", "ranked"),
    "messages": (
        [{"role": "user", "content": "Who wound the clock?"}],
        [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}, {"role": "assistant", "content": "?"}],
        [
            {"role": "system", "content": "Be brief."},
            {"role": "tool", "tool_call_id": "a", "content": "9"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        ],
    ),
    "input": ("Who?", [{"role": "user", "content": [{"type": "input_text", "text": "Who?"}]}]),
    "prompt": ("Who?", ["Who?"], [1, 2]),
    "stream": (False, True),
    "max_tokens": (9, 1, 4096),
    "tools": ([], [{"type": "function", "function": {"name": "f", "parameters": {}}}]),
    "plan": ({"chunk_tokens": 300}, {"budget": {"tokens": 99}}, {"memory_tokens": 64}),
    "name": ("m", "n"),
    "about": ("the door",),
    "text": ("The state of the door is open.",),
    "at": ("2026-05-01", "2026-05-01T09:00+01:00"),
    "source": ("m1", "a.txt"),
    "sql": ("select * from rows", "select count(*), max(who) from rows", "select x'00', 1e999, -1 from rows"),
    "format": ("json", "csv", "xlsx", "md", "html", "jsonl", "graphml", "docx", "nquads"),
    "step": (0, 1, -1),
    "memory": ("Ada wound it.",),
    "command": ("view", "create", "str_replace", "insert", "delete", "rename"),
    "path": ("/memories/a.txt", "/memories", "/memories/../x"),
    "search": ("clock", "door OR", '"'),
    "query": ("clock",),
    "after": ("2026-05-01",),
    "limit": ("1", "500"),
    "start": ("0", "5"),
    "end": ("9", "99999"),
    "number": ("0", "1"),
    "width": ("200",),
}


class Requests:
    """Requests to every route of a server that has a document, a reading with rows, and a memory; and chats."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._servers, self._ran = folder, 0, 0
        self._open = ExitStack()
        self._start()
        self._spec = self._client.get("/openapi.json").json()
        self._paths = sorted(self._spec["paths"])

    def make(self, draw: random.Random) -> Case:
        """Return one request; what the server named itself stands in it by the name of its parameter."""
        path = draw.choice((*self._paths, *_CHATS))
        described = self._spec["paths"].get(path, {})
        methods = [name for name in described if name in {"get", "post", "patch", "delete", "put"}] or ["post"]
        method = draw.choice(methods) if draw.random() < _DECLARED else draw.choice(("get", "post", "put", "delete"))
        filled = re.sub(r"\{[^}]*\}", lambda found: self._fill(found[0], draw), path)
        named = [one["name"] for one in described.get(method, {}).get("parameters", []) if one["in"] == "query"]
        query = {name: str(self._value(name, draw)) for name in named if draw.random() < 0.4}
        body = json.dumps(self._body(described.get(method, {}), draw)).encode("utf-8", "surrogatepass")
        kinds = ("application/json", "text/plain", "multipart/form-data; boundary=b", "\xff")
        return {
            "method": method.upper(),
            "path": filled,
            "query": query,
            "body": bend(body, draw) if draw.random() < 0.3 else body,
            "type": kinds[0] if draw.random() < _DECLARED else draw.choice(kinds),
        }

    def run(self, case: Case) -> None:
        """Send one request."""
        if case["path"] == "/shutdown" or (case["method"] == "GET" and case["path"].endswith("/events")):
            return
        self._ran += 1
        if self._ran % _CASES_OF_ONE_SERVER == 0:
            self._open.close()
            self._start()
        path, body = case["path"], case["body"]
        for name, value in self._names.items():
            path, body = path.replace(f"{{{name}}}", value), body.replace(b"{%s}" % name.encode(), value.encode())
        query = {name: value.encode("utf-8", "replace") for name, value in case["query"].items()}
        headers = {"content-type": case["type"].encode("latin-1")}
        answer = self._client.request(case["method"], path, params=query, content=body, headers=headers)
        if answer.status_code == 500:
            raise Broken(f"{case['method']} {path} gave 500: {answer.text[:200]} for {body[:300]!r}")
        if "json" in answer.headers.get("content-type", "") and answer.status_code >= 400:
            check_message(answer.text)

    def close(self) -> None:
        """End the server."""
        self._open.close()

    def _start(self) -> None:
        from starlette.testclient import TestClient

        from bookwheel.journal import Journal
        from bookwheel.models.scripted import ScriptedModel, keyword_reader
        from bookwheel.serve.app import build_app
        from bookwheel.serve.engine.settings import ServerSettings

        self._servers += 1
        journal = self._open.enter_context(Journal(self._folder / f"journal-{self._servers}.sqlite"))
        app = build_app(journal=journal, models={"scripted": ScriptedModel(keyword_reader)}, settings=ServerSettings())
        client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=True)
        self._client = self._open.enter_context(client)
        sent = {"content-type": "text/plain", "x-filename": "a.txt"}
        sha = self._client.post("/documents", content=_TEXT, headers=sent).json()["document"]
        read = {"document": sha, "question": "every person: who, what", "way": "collect", "model": "scripted"}
        id_ = self._client.post("/readings", json=read).json()["reading"]
        self._client.post("/memories", json={"name": "m", "about": "the door", "model": "scripted"})
        self._client.post("/memories/m/texts", json={"text": "The state of the door is shut.", "source": "m1"})
        self._names = {"sha": sha, "id": id_, "name": "m", "number": "0", "run": "r"}

    @staticmethod
    def _fill(place: str, draw: random.Random) -> str:
        return place if draw.random() < _DECLARED else draw.choice(("0", "x", "%00", "..", "a%2f", "\u0130", "-1"))

    @staticmethod
    def _value(name: str, draw: random.Random) -> Any:
        if name in _VALUES and draw.random() < _DECLARED:
            return draw.choice(_VALUES[name])
        return draw.choice((*AWKWARD, "0", "1", "true", "2026-05-01", "{id}", "{sha}"))

    def _body(self, operation: dict[str, Any], draw: random.Random) -> Any:
        """Return a body with fields of its schema, most of them with a value that could be meant."""
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        schema = self._spec["components"]["schemas"].get(content.get("$ref", "").rpartition("/")[2], {})
        fields, needed = schema.get("properties", {}), schema.get("required", [])
        chosen = [name for name in fields or _VALUES if name in needed or draw.random() < (0.3 if fields else 0.1)]
        value: Any = {
            name: self._value(name, draw) if name in _VALUES else self._typed(fields.get(name, {}), draw)
            for name in chosen
        }
        for _ in range(draw.choice((0, 0, 1, 1, 2, 3))):
            value = change_json(value, draw)
        return value

    @staticmethod
    def _typed(schema: dict[str, Any], draw: random.Random) -> Any:
        """Return a value of the type that a schema names."""
        if "enum" in schema or "const" in schema:
            return draw.choice(schema.get("enum") or [schema["const"]])
        kinds = {"string": "words", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": {}}
        kind = schema.get("type") or next((one["type"] for one in schema.get("anyOf", []) if "type" in one), "")
        return kinds[kind] if kind in kinds and draw.random() < _DECLARED else make_json(draw)
