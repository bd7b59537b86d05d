"""`bookwheel serve` and `bookwheel mcp`: who may use them, and how they end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx2
import pytest

from bookwheel.cli.main import main
from bookwheel.cli.serve import hold_journal

pytest.importorskip("starlette")
pytest.importorskip("prometheus_client")

from bookwheel.journal import Journal
from bookwheel.plan import Plan
from bookwheel.types import Status

TEXT = "Gulls circle over the pier all day. " * 200
SMALL = {"chunk_tokens": 40, "memory_tokens": 20, "answer_tokens": 20}

HELD = """
import asyncio, sys
from bookwheel.cli.main import main
from bookwheel.models.scripted import ScriptedModel

reply = ScriptedModel.reply

async def held(self, messages, **settings):
    if self.calls >= 9:
        await asyncio.sleep(3600)
    return await reply(self, messages, **settings)

ScriptedModel.reply = held
main(sys.argv[1:])
"""
"""The command with a model that never comes to its tenth reply."""


@contextmanager
def served(
    folder: Path, *python: str, model: Sequence[str] = ("--model", "scripted")
) -> Iterator[tuple[subprocess.Popen, httpx2.Client]]:
    words = ["serve", *model, "--port", "0", "--journal", str(folder / "journal.sqlite")]
    process = subprocess.Popen(
        [sys.executable, *(python or ("-m", "bookwheel")), *words],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        address = None
        while address is None:
            line = process.stderr.readline()
            assert line, "the server ended before it began"
            address = re.search(r"(?<=is at )http://[\w.]+:\d+", line)
        with httpx2.Client(base_url=address[0], timeout=60, trust_env=False) as client:
            while True:
                try:
                    client.get("/healthz")
                    break
                except httpx2.ConnectError:
                    continue
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize(
    "end", [signal.SIGKILL, *(pytest.param(end, marks=pytest.mark.long) for end in (signal.SIGTERM, signal.SIGINT))]
)
@pytest.mark.slow
def test_a_server_that_is_ended_loses_no_step_and_goes_on_when_it_is_back(tmp_path: Path, end: signal.Signals) -> None:
    with served(tmp_path, "-c", HELD) as (process, client):
        body = {"question": "Who circles?", "text": TEXT, "plan": SMALL}
        id_ = client.post("/readings", json=body).json()["reading"]
        with client.stream("GET", f"/readings/{id_}/events") as events:
            lines = events.iter_lines()
            for _ in range(5):
                next(line for line in lines if line == "event: step")
        process.send_signal(end)
        code = process.wait(timeout=60)
    assert code == (-signal.SIGKILL if end is signal.SIGKILL else 0)
    with Journal(tmp_path / "journal.sqlite") as journal:
        kept = journal.reading(id_)
    assert kept.status is Status.READING
    with served(tmp_path) as (_, client):
        with client.stream("GET", f"/readings/{id_}/events") as events:
            events.read()
        reading = client.get(f"/readings/{id_}").json()
    assert reading["status"] == "answered"
    assert [step["start"] for step in reading["steps"][1:]] == [step["end"] for step in reading["steps"][:-1]]
    assert reading["steps"][: len(kept.steps)][-1]["end"] == kept.steps[-1].chunk.end
    # A server that is ended in order knows of the call that it cuts off, which may have been paid for.
    assert reading["usage"]["calls"] == len(reading["steps"]) + 1 + (end is not signal.SIGKILL)


def test_a_server_begins_while_its_model_is_away_and_meets_it_when_it_comes(tmp_path: Path) -> None:
    listed = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 3000}]}

    class Listing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(listed).encode()
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.send_error(404)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    away = ["--model", "m", "--base-url", f"http://127.0.0.1:{port}/v1"]
    with served(tmp_path, model=away) as (_, client):
        assert client.get("/documents").json() is not None
        assert client.get("/models").json()[0]["window"] is None
        with HTTPServer(("127.0.0.1", port), Listing) as model:
            threading.Thread(target=model.serve_forever, daemon=True).start()
            plan, until = Plan().within(3000).to_json(), time.monotonic() + 60
            while (known := client.get("/models").json()[0])["plan"] != plan and time.monotonic() < until:
                time.sleep(0.05)
            model.shutdown()
    assert (known["window"], known["plan"]) == (3000, plan)


def test_a_second_server_of_a_journal_is_warned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "journal.sqlite"
    with hold_journal(journal):
        assert not capsys.readouterr().err
        with hold_journal(journal):
            assert f"another server (process {os.getpid()})" in " ".join(capsys.readouterr().err.split())
    with hold_journal(journal):
        assert not capsys.readouterr().err


def test_a_taken_port_is_an_error_that_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--model", "scripted", "--port", port, "--journal", str(tmp_path / "j.sqlite")])
    assert ended.value.code == 2
    assert "--port" in capsys.readouterr().err


def test_a_server_without_keys_has_a_token_where_somebody_sees_its_link(monkeypatch) -> None:
    from bookwheel.cli.serve import ServerOptions

    monkeypatch.delenv("BOOKWHEEL_TOKEN", raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert len(ServerOptions().make_token()) >= 32
    assert ServerOptions().make_token() != ServerOptions(token=True).make_token()
    assert ServerOptions(token=False).make_token() == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert ServerOptions().make_token() == ""
    monkeypatch.setenv("BOOKWHEEL_TOKEN", "chosen")
    assert ServerOptions().make_token() == "chosen"


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delenv("BOOKWHEEL_MCP_KEY", raising=False)

    def call(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["mcp", "--model", "scripted", "--journal", str(tmp_path / "journal.sqlite"), *words])
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, "")
        return " ".join(said.err.split())

    return call


def test_without_the_extra_it_says_what_to_install(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert "[mcp]" in refused()


def test_others_are_not_served_without_a_key(refused) -> None:
    pytest.importorskip("mcp")
    assert "BOOKWHEEL_MCP_KEY" in refused("--http", "--host", "0.0.0.0")
    assert "fewer than 16" in refused("--http", "--host", "0.0.0.0", "--key", "short")


def test_a_root_that_is_not_there_is_refused(refused, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    assert "cannot be opened" in refused("--root", str(tmp_path / "nothing"))


def test_the_variable_of_the_token_is_no_yes_or_no(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKWHEEL_TOKEN", "chosen-by-me")
    assert run("serve", "--new-key", "anna", "--key-file", tmp_path / "keys.toml").code == 0
