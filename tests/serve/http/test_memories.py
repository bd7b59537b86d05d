"""Lasting memories over HTTP: the same verbs and answers as on the command line, each key with its own."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import pytest
from loopback_server import running
from scanned_page import CONTENT, PICTURE, SHA256, Scan
from value_notes import PLAN, note_values

from bookwheel.models.scripted import ScriptedModel
from bookwheel.serve.engine.access import Key, KeyRing, hash_secret


@pytest.fixture
def server(tmp_path):
    with running(tmp_path, ScriptedModel(note_values, plan=PLAN)) as up:
        yield up


@pytest.fixture
def client(server):
    with server.client() as client:
        begun = client.post("/memories", json={"name": "ada", "about": "Everything about Ada"})
        assert begun.status_code == 201, begun.text
        yield client


def add(client, text, source, **more):
    answer = client.post("/memories/ada/texts", json={"text": text, "source": source, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_is_added_is_read_once_and_answered_with_its_newest_value(client, server) -> None:
    first = add(client, "room = 12", "mail-1", at="2026-05-01")
    assert [change["text"] for change in first["changes"]] == ["room = 12"]
    calls = server.model.calls
    assert add(client, "room = 12", "mail-1")["known"]
    assert server.model.calls == calls
    second = add(client, "room = 31", "mail-2", at="2026-05-02")
    assert second["version"] == 2
    now = client.post("/memories/ada/questions", json={"question": "room?"}).json()
    assert "31" in now["answer"]
    then = client.post("/memories/ada/questions", json={"question": "room?", "as_of": "2026-05-01T12:00Z"}).json()
    assert "12" in then["answer"]
    log = client.get("/memories/ada/log").json()
    assert [row["source"] for row in log["versions"]] == ["mail-1", "mail-2"]
    assert client.get("/memories").json()[0]["texts"] == 2
    assert client.get("/memories/ada?version=1").json()["text"] == "room = 12"
    changes = client.get("/memories/ada/diff?from=1&to=2").json()["changes"]
    assert [(change["old"], change["text"]) for change in changes] == [("room = 12", "room = 31")]


def test_a_text_of_no_time_is_of_the_day_in_its_head(client) -> None:
    assert add(client, "Lübeck, 10 January 2016\n\nDear Mother,\nroom = 12", "letter")["at"].startswith("2016-01-10")
    assert add(client, "Lübeck, 10 January 2016\n\nDear Bo,\nroom = 7", "b", at="2016-02-01")["at"].startswith(
        "2016-02"
    )


def test_a_text_that_is_only_taken_is_read_before_the_next_answer(client) -> None:
    taken = client.post("/memories/ada/texts?wait=0", json={"text": "room = 12", "source": "mail-1"})
    assert (taken.status_code, taken.json()["source"]) == (202, "mail-1")
    add(client, "door = 7", "mail-2")
    assert client.get("/memories/ada").json()["text"] == "door = 7\nroom = 12"


def test_a_document_is_read_with_its_pictures(server, client) -> None:
    kept = server.journal.keep(Scan())
    body = {"document": SHA256}
    assert client.post("/memories/ada/texts", json={**body, "text": "a = 1"}).status_code == 400
    added = client.post("/memories/ada/texts", json=body)
    assert (added.status_code, added.json()["source"]) == (200, "scan.png")
    assert added.json()["text"] == "room = 12"
    path = f"/memories/ada/pictures/{PICTURE.sha256}"
    answer = client.get(path)
    assert answer.content == CONTENT
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == ("image/png", "no-store")
    client.post("/memories/ada/forgets", json={"source": "scan.png"})
    assert client.get(path).status_code == 404
    assert kept.load_picture(PICTURE.sha256)


def test_turns_of_a_chat_that_was_uploaded_have_their_own_times(client) -> None:
    chat = "".join(f"2026-05-{day:02} 10:00 - Ada: new\nroom = {day}\n" for day in (1, 3))
    headers = {"X-Filename": "chat.txt"}
    for more in ("", "2026-05-04 10:00 - Ada: new\ndoor = 7\n"):
        document = client.post("/documents", content=chat + more, headers=headers).json()["document"]
        added = client.post("/memories/ada/texts", json={"document": document, "source": "chat"}).json()
        assert added["steps"] == 1
    assert added["at"].startswith("2026-05-04T10:00")
    asked = {"question": "Which room = room ?", "as_of": "2026-05-02"}
    then = client.post("/memories/ada/questions", json=asked).json()
    assert ("room = 1" in then["answer"], then["evidence"][0]["at"][:10]) == (True, "2026-05-01")
    known = client.post("/memories/ada/texts?wait=0", json={"document": document, "source": "chat"})
    assert (known.status_code, known.json()["known"]) == (202, True)


def test_mails_that_were_uploaded_are_of_the_days_on_which_they_were_sent(client) -> None:
    mails = [
        f"From {who}@x Mon Mar {day:2} 09:00:00 2026\nFrom: {who} <{who}@x>\nDate: {day:02} Mar 2026 09:00:00 +0100\n"
        f"Subject: room\n\nroom = {day}\n\n"
        for who, day in (("Ada", 2), ("Bo", 5))
    ]
    box = client.post("/documents", content="".join(mails), headers={"X-Filename": "in.mbox"}).json()["document"]
    one = client.post("/documents", content=mails[0].partition("\n")[2], headers={"X-Filename": "a.eml"}).json()
    for document, source in ((box, "in.mbox"), (one["document"], "a.eml")):
        assert client.post("/memories/ada/texts", json={"document": document}).json()["source"].startswith(source)
    texts = {one["source"]: one["at"] for one in client.get("/memories/ada/log").json()["versions"]}
    assert texts["in.mbox#1"] == texts["a.eml"] == "2026-03-02T09:00:00+01:00"
    assert texts["in.mbox#2"] == "2026-03-05T09:00:00+01:00"


def test_correct_forget_and_export(client, tmp_path) -> None:
    add(client, "room = 12", "mail-1")
    add(client, "door = 7", "mail-2")
    corrected = client.post("/memories/ada/edits", json={"old": "room = 12", "new": "room = 13"}).json()
    assert corrected["text"] == "door = 7\nroom = 13"
    told = client.post("/memories/ada/forgets", json={"source": "mail-1", "preview": True}).json()
    assert ([text["source"] for text in told["texts"]], told["partial"]) == (["mail-1"], 0)
    told = client.post("/memories/ada/forgets", json={"text": "12", "preview": True}).json()
    assert (len(told["texts"]), told["partial"]) == (1, 1)
    gone = client.post("/memories/ada/forgets", json={"source": "mail-1"}).json()
    assert gone["purged"]
    assert client.get("/memories/ada").json()["text"] == "door = 7"
    (tmp_path / "copy.sqlite").write_bytes(client.get("/memories/ada/export").content)
    with sqlite3.connect(tmp_path / "copy.sqlite") as copy:
        assert copy.execute("SELECT name FROM memories").fetchall() == [("ada",)]
    assert client.patch("/memories/ada", json={"name": "bo"}).json()["memory"] == "bo"
    assert client.delete("/memories/bo").status_code == 204
    assert client.get("/memories/bo").status_code == 404


def test_an_export_is_sent_in_blocks(client, server, monkeypatch) -> None:
    sizes = []

    class Recorded(io.FileIO):
        def read(self, size=-1, /):
            sizes.append(size)
            return super().read(size)

    def open_(path, *options, **more):
        return Recorded(path, "rb") if path.name == "ada.sqlite" else real(path, *options, **more)

    real = Path.open
    monkeypatch.setattr(Path, "open", open_)
    answer = client.get("/memories/ada/export")
    assert len(answer.content) > 1000
    assert len(sizes) > 1
    assert all(0 < size <= 1 << 20 for size in sizes)


def test_what_one_memory_forgets_leaves_the_newest_texts_of_the_others(client, server) -> None:
    client.post("/memories", json={"name": "bo", "about": "Everything about Bo"})
    for name in ("ada", "bo"):
        client.post(f"/memories/{name}/texts", json={"text": "room = 12", "source": "mail-1"})
        client.post(f"/memories/{name}/questions", json={"question": "room?"})
    newest = server.service.memories._newest
    assert len(newest) == 2
    client.post("/memories/ada/forgets", json={"source": "mail-1"})
    assert [len(blocks) for blocks in newest.values()] == [1]


def test_it_is_read_into_by_the_way_of_its_model(tmp_path) -> None:
    model = ScriptedModel(note_values, plan=PLAN)
    model.default_way = "edits"
    with running(tmp_path, model) as up, up.client() as client:
        assert client.post("/memories", json={"name": "ada", "about": "Ada"}).json()["way"] == "edits"


def test_an_agent_keeps_files_in_it(client) -> None:
    def run(**command):
        answer = client.post("/memories/ada/files", json=command)
        assert answer.status_code == 200, answer.text
        return answer.json()

    made = run(command="create", path="/memories/a.md", file_text="room = 12")
    assert made == {"content": "File created successfully at: /memories/a.md", "is_error": False}
    out = run(command="view", path="/memories/../x")
    assert (out["is_error"], "escape" in out["content"]) == (True, True)
    assert client.get("/memories/ada").json()["text"] == "/memories/a.md\troom = 12"
    assert client.post("/memories/ada/files", json={"command": "wipe"}).status_code == 400
    # An agent looks before it writes.
    view = {"command": "view", "path": "/memories"}
    assert client.post("/memories/notes/files", json=view).json()["content"].endswith("\n0B\t/memories")
    assert client.get("/memories/notes").status_code == 404
    create = {"command": "create", "path": "/memories/a.md", "file_text": "The oven is a Miwe."}
    assert not client.post("/memories/notes/files", json=create).json()["is_error"]
    assert client.get("/memories/notes").json()["limit"] >= 200_000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/memories/ada/texts", {"text": "  "}),
        ("/memories/ada/texts", {"text": "a = 1", "at": "yesterday"}),
        ("/memories/ada/questions", {"question": " "}),
        ("/memories/ada/forgets", {}),
        ("/memories/ada/forgets", {"source": "nobody"}),
        ("/memories", {"name": "a b", "about": "x"}),
        ("/memories", {"name": "ada", "about": "x"}),
        ("/memories", {"name": "bo", "about": "x", "way": "bm25"}),
        ("/memories", {"name": "bo", "about": "x", "max_characters": 0}),
    ],
)
def test_what_is_wrong_is_said(client, path, body) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]


def test_a_memory_is_nobody_elses(tmp_path) -> None:
    keys = KeyRing([Key(name=name, sha256=hash_secret(name * 8)) for name in ("ada", "eve")])
    with (
        running(tmp_path, ScriptedModel(note_values, plan=PLAN), keys=keys) as up,
        up.client(headers={"Authorization": "Bearer adaadaadaadaadaadaadaada"}) as ada,
        up.client(headers={"Authorization": f"Bearer {'eve' * 8}"}) as eve,
    ):
        assert ada.post("/memories", json={"name": "ada", "about": "Ada"}).status_code == 201
        add(ada, "room = 12", "mail-1")
        assert eve.get("/memories").json() == []
        for method, path, body in (
            ("GET", "", None),
            ("GET", "/log", None),
            ("GET", "/export", None),
            ("GET", "/diff?from=0&to=1", None),
            ("DELETE", "", None),
            ("PATCH", "", {"name": "mine"}),
            ("POST", "/texts", {"text": "room = 1"}),
            ("POST", "/questions", {"question": "room?"}),
            ("POST", "/edits", {"new": ""}),
            ("POST", "/forgets", {"source": "mail-1"}),
        ):
            answer = eve.request(method, f"/memories/ada{path}", json=body)
            assert answer.status_code == 404, (method, path, answer.text)
        seen = eve.post("/memories/ada/files", json={"command": "view", "path": "/memories"}).json()
        assert seen["content"].endswith("\n0B\t/memories")
        assert eve.post("/memories", json={"name": "ada", "about": "Eve's own"}).status_code == 201
        assert ada.get("/memories/ada").json()["text"] == "room = 12"
