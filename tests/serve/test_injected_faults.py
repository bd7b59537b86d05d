"""One bad reply of the model's server ends no reading and no chat of a server, whatever the exception."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bookwheel.errors import JournalError
from bookwheel.journal import Journal
from bookwheel.models import transport
from bookwheel.models.openai import OpenAIModel
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.engine import running_reading
from bookwheel.serve.engine.settings import ServerSettings

sys.path.append(str(Path(__file__).parents[1] / "models"))
from test_injection import TEXT, Injected

FAULTS = (OSError(24, "too many open files"), RecursionError(), MemoryError(), RuntimeError("odd"), EOFError())


@pytest.mark.parametrize("fails_at", [0, 1, 2, 9])
@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_reading_over_http_is_answered_all_the_same(monkeypatch, tmp_path, error, fails_at):
    injected = Injected(fails_at, error)
    monkeypatch.setattr(
        transport.BoundedClient,
        "_init_transport",
        lambda self, **_: transport.BoundedTransport(injected, self._endpoint),
    )
    monkeypatch.setattr("bookwheel.models.patience._SHORTEST_WAIT", 0.01)
    monkeypatch.setattr("bookwheel.models.patience._LONGEST_WAIT", 0.01)
    plan = Plan(chunk_tokens=256, memory_tokens=64, answer_tokens=32)
    model = OpenAIModel(name="m", base_url="http://127.0.0.1:1/v1", plan=plan)
    body = {"model": "m", "messages": [{"role": "user", "content": "Who wound it?"}], "document": TEXT}
    with Journal(tmp_path / "j.sqlite") as journal:
        app = build_app(journal=journal, models={"m": model}, settings=ServerSettings())
        with TestClient(app, base_url="http://127.0.0.1") as client:
            answer = client.post("/v1/chat/completions", json=body)
            assert answer.status_code == 200, answer.text
            assert "Ada" in answer.json()["choices"][0]["message"]["content"]
            assert client.get("/healthz").status_code == 200
    assert injected.points > fails_at


def test_a_reading_that_breaks_before_its_first_call_does_not_stand_as_under_way(monkeypatch, tmp_path):
    from bookwheel.models.scripted import ScriptedModel, keyword_reader
    from bookwheel.serve.engine import reading_pool

    made = []

    def break_once(*arguments, **settings):
        made.append(arguments)
        if len(made) == 1:
            raise OSError(24, "too many open files")
        return SharedModel(*arguments, **settings)

    SharedModel = reading_pool.SharedModel  # noqa: N806 - a class
    monkeypatch.setattr(reading_pool, "SharedModel", break_once)
    model = ScriptedModel(keyword_reader, plan=Plan(chunk_tokens=256, memory_tokens=64, answer_tokens=32))
    with Journal(tmp_path / "j.sqlite") as journal:
        app = build_app(journal=journal, models={model.name: model}, settings=ServerSettings())
        with TestClient(app, base_url="http://127.0.0.1") as client:
            id_ = client.post("/readings", json={"text": TEXT, "question": "Who wound it?"}).json()["reading"]
            list(client.get(f"/readings/{id_}/events").iter_lines())
            broken = client.get(f"/readings/{id_}").json()
            assert (broken["status"], broken["error"]) == ("failed", "an error of the server; its log says more")
            assert "bookwheel_readings_under_way 0.0" in client.get("/metrics").text
            client.post(f"/readings/{id_}/resume", json={})
            list(client.get(f"/readings/{id_}/events").iter_lines())
            assert client.get(f"/readings/{id_}").json()["status"] == "answered"


def test_a_full_disk_leaves_no_reading_under_way_for_ever(monkeypatch, tmp_path):
    from bookwheel.models.scripted import ScriptedModel, keyword_reader

    failed, whole = [], Journal.end

    async def fill(*_):
        raise JournalError("cannot write: database or disk is full")

    async def end(journal, reading):
        failed.append(reading.status)
        if len(failed) < 3:
            await fill()
        await whole(journal, reading)

    monkeypatch.setattr(running_reading, "_SECONDS_TO_STORE", 0.01)
    monkeypatch.setattr(Journal, "add_step", fill)
    monkeypatch.setattr(Journal, "end", end)
    model = ScriptedModel(keyword_reader, plan=Plan(chunk_tokens=256, memory_tokens=64, answer_tokens=32))
    with Journal(tmp_path / "j.sqlite") as journal:
        app = build_app(journal=journal, models={model.name: model}, settings=ServerSettings())
        with TestClient(app, base_url="http://127.0.0.1") as client:
            id_ = client.post("/readings", json={"text": TEXT, "question": "Who wound it?"}).json()["reading"]
            list(client.get(f"/readings/{id_}/events").iter_lines())
            ended = client.get(f"/readings/{id_}").json()
    assert (ended["status"], ended["error_kind"]) == ("failed", "JournalError")
    assert "disk is full" in ended["error"]


def _break_once(monkeypatch, owner, name, at=0):
    """Let one call of a method fail."""
    calls, whole = [], getattr(owner, name)

    def call(*arguments):
        calls.append(arguments)
        if len(calls) == at + 1:
            raise OSError(24, "too many open files")
        return whole(*arguments)

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize(("name", "at"), [("publish", 1), ("publish", 2), ("finish", 0)])
def test_who_watches_gets_every_step_and_the_end_where_telling_of_one_fails(monkeypatch, tmp_path, name, at):
    from bookwheel.models.scripted import ScriptedModel, keyword_reader
    from bookwheel.serve.engine.running_reading import RunningReading

    _break_once(monkeypatch, RunningReading, name, at)
    model = ScriptedModel(keyword_reader, plan=Plan(chunk_tokens=256, memory_tokens=64, answer_tokens=32))
    with Journal(tmp_path / "j.sqlite") as journal:
        app = build_app(journal=journal, models={model.name: model}, settings=ServerSettings())
        with TestClient(app, base_url="http://127.0.0.1") as client:
            id_ = client.post("/readings", json={"text": TEXT, "question": "Who wound it?"}).json()["reading"]
            lines = list(client.get(f"/readings/{id_}/events").iter_lines())
            told = [line for line in lines if line == "event: step"]
            kept = client.get(f"/readings/{id_}").json()
            assert len(told) == len(kept["steps"]) >= at
            assert "event: status" in lines
            assert "bookwheel_readings_under_way 0.0" in client.get("/metrics").text
            if kept["status"] != "answered":
                client.post(f"/readings/{id_}/resume", json={})
                list(client.get(f"/readings/{id_}/events").iter_lines())
            assert client.get(f"/readings/{id_}").json()["status"] == "answered"


def test_a_document_that_cannot_be_read_is_no_document_that_is_not_there(monkeypatch, tmp_path):
    from bookwheel.errors import JournalError
    from bookwheel.models.scripted import ScriptedModel, keyword_reader

    model = ScriptedModel(keyword_reader)
    with Journal(tmp_path / "j.sqlite") as journal:
        app = build_app(journal=journal, models={model.name: model}, settings=ServerSettings())
        with TestClient(app, base_url="http://127.0.0.1") as client:
            missing = client.get(f"/documents/{'0' * 64}/text")
            assert (missing.status_code, missing.json()["kind"]) == (404, "not_found")

            def break_(_id):
                raise JournalError(f"the journal {journal.path} is damaged")

            monkeypatch.setattr(journal, "document", break_)
            broken = client.get(f"/documents/{'0' * 64}/text")
            assert (broken.status_code, broken.json()["kind"]) == (500, "JournalError")
            assert str(tmp_path) not in broken.text
