"""Each key sees, deletes and fills only its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bookwheel.serve.engine.access import Key, KeyRing, hash_secret
from bookwheel.serve.engine.settings import Limits, ServerSettings

NAMES = ("ada", "eve")


def keys() -> KeyRing:
    return KeyRing([Key(name=name, sha256=hash_secret(name * 8)) for name in NAMES])


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {name * 8}"}


@pytest.fixture
def clients(serving, words) -> Iterator[tuple]:
    """Ada's and Eve's clients, and a reading and an uploaded document of Ada's."""
    with (
        serving(keys=keys()) as up,
        up.client(headers=bearer("ada")) as ada,
        up.client(headers=bearer("eve")) as eve,
    ):
        headers = {"X-Filename": "merger-with-acme.txt"}
        sha = ada.post("/documents", content=words[0].encode(), headers=headers).json()["document"]
        id_ = ada.post("/readings", json={"question": words[1], "document": sha}).json()["reading"]
        yield up, ada, eve, id_, sha


@pytest.mark.slow
def test_a_reading_is_nobody_elses(clients) -> None:
    _, ada, eve, id_, _ = clients
    assert ada.get(f"/readings/{id_}").status_code == 200
    for path in ("", "/events", "/origins"):
        assert eve.get(f"/readings/{id_}{path}").status_code == 404
    for path in ("/cancel", "/resume", "/fork", "/worth", "/judge"):
        body = {"step": 0, "memory": "Eve was here."} if path == "/fork" else {}
        assert eve.post(f"/readings/{id_}{path}", json=body).status_code == 404
    assert eve.delete(f"/readings/{id_}").status_code == 404
    assert [reading["reading"] for reading in ada.get("/readings").json()] == [id_]
    assert eve.get("/readings").json() == []
    assert eve.get("/readings?search=harbour").json() == []


@pytest.mark.slow
def test_a_shelf_is_nobody_elses(clients) -> None:
    _, ada, eve, id_, sha = clients
    assert [book["name"] for book in ada.get("/documents").json()] == ["merger-with-acme.txt"]
    assert eve.get("/documents").json() == []
    assert eve.get("/search?query=harbour").json() == []
    assert {hit["document"] for hit in ada.get("/search?query=harbour").json()} == {sha}
    paths = (f"/documents/{sha}", f"/documents/{sha}/find?text=pier", f"/readings/{id_}/export")
    assert [eve.get(path).status_code for path in (*paths, f"/readings/{id_}/calls/0")] == [404] * 4
    for path in (f"/documents/{sha}", f"/readings/{id_}"):
        assert eve.patch(path, json={"name": "Eve's"}).status_code == 404
    assert eve.delete(f"/documents/{sha}").status_code == 404
    assert [book["name"] for book in ada.get("/documents").json()] == ["merger-with-acme.txt"]


def test_a_picture_is_nobody_elses(clients) -> None:
    drawn = pytest.importorskip("drawn")
    up, ada, eve, _, _ = clients
    picture = drawn.make_picture(1, "red")
    kept = up.journal.keep(drawn.Log(picture))
    up.service.usage.add_document("ada", kept.id, kept.row)
    path = f"/documents/{kept.id}/pictures?label={picture.label}"
    assert [client.get(path).status_code for client in (ada, eve)] == [200, 404]


@pytest.mark.slow
def test_what_one_key_calls_and_deletes_stays_as_it_is_for_the_other(clients, words) -> None:
    _, ada, eve, _, sha = clients
    assert eve.post("/documents", content=words[0].encode(), headers={"X-Filename": "mine.txt"}).status_code == 201
    ada.patch(f"/documents/{sha}", json={"name": "Project Ada", "starred": True})
    (book,) = eve.get("/documents").json()
    assert (book["name"], book["starred"], book["readings"]) == ("mine.txt", False, 0)
    assert ada.delete(f"/documents/{sha}").status_code == 204
    assert ada.get("/documents").json() == []
    assert eve.get(f"/documents/{sha}/text").json()["text"] == words[0]


@pytest.mark.slow
def test_a_document_is_nobody_elses_and_its_hash_tells_nothing(clients, words) -> None:
    _, ada, eve, _, sha = clients
    assert ada.get(f"/documents/{sha}/text").status_code == 200
    assert eve.get(f"/documents/{sha}/text").status_code == 404
    assert eve.get(f"/v1/files/file-{sha}").status_code == 404
    answer = eve.post("/readings", json={"question": words[1], "document": sha})
    assert answer.status_code == 404
    message = {"role": "user", "content": words[1]}
    chat = {"model": "bookwheel/scripted", "messages": [message], "document": f"file-{sha}"}
    assert eve.post("/v1/chat/completions", json=chat).status_code == 404


@pytest.mark.slow
def test_the_same_text_keeps_each_ones_name(clients, words) -> None:
    _, ada, eve, _, sha = clients
    own = eve.post("/documents", content=words[0].encode(), headers={"X-Filename": "notes.txt"}).json()
    assert own["document"] == sha
    assert own["name"] == "notes.txt"
    assert ada.get(f"/v1/files/file-{sha}").json()["filename"] == "merger-with-acme.txt"
    assert eve.get(f"/v1/files/file-{sha}").json()["filename"] == "notes.txt"


@pytest.mark.slow
def test_one_key_cannot_take_the_place_of_another(serving, gated, words) -> None:
    model = gated()
    model.after(0)
    settings = ServerSettings(limits=Limits(readings=4))
    with serving(model, keys=keys(), settings=settings) as up:
        body = {"question": words[1], "text": words[0]}
        with up.client(headers=bearer("eve")) as eve, up.client(headers=bearer("ada")) as ada:
            statuses = [eve.post("/readings", json=body).status_code for _ in range(4)]
            assert statuses == [201, 201, 429, 429]
            assert ada.post("/readings", json=body).status_code == 201
        model.after(10**9)


@pytest.mark.slow
def test_a_fork_and_a_reading_take_no_more_than_the_journal_may_have(serving, words, monkeypatch) -> None:
    settings = ServerSettings(limits=Limits(journal_bytes=1 << 30))
    with serving(settings=settings) as up, up.client() as client:
        id_ = client.post("/readings", json={"question": words[1], "text": words[0]}).json()["reading"]
        up.events(id_)
        monkeypatch.setattr("bookwheel.serve.engine.documents.measure_journal", lambda _path: 1 << 30)
        sha = up.journal.reading(id_).document.id
        answers = [
            client.post(f"/readings/{id_}/fork", json={"step": 0, "memory": "copied"}),
            client.post("/readings", json={"question": words[1], "document": sha}),
            client.post("/documents", content=b"more"),
        ]
        assert [(one.status_code, one.json()["kind"]) for one in answers] == [(507, "disk_quota")] * 3
        assert len(client.get("/readings").json()) == 1


@pytest.mark.slow
def test_documents_that_come_together_find_room_one_after_the_other(serving) -> None:
    from random import Random

    limit = 1 << 20
    texts = [Random(seed).randbytes(100_000).hex().encode() for seed in range(16)]
    settings = ServerSettings(limits=Limits(journal_bytes=limit, conversions=8))
    with serving(settings=settings) as up, up.client() as client, ThreadPoolExecutor(16) as many:
        statuses = [one.status_code for one in many.map(lambda text: client.post("/documents", content=text), texts)]
        stored = up.journal.path.stat().st_size
    assert {201, 507} == set(statuses)
    assert stored <= limit


@pytest.mark.slow
def test_a_team_may_share(serving, words) -> None:
    settings = ServerSettings(is_shared=True)
    with serving(keys=keys(), settings=settings) as up, up.client(headers=bearer("ada")) as ada:
        id_ = ada.post("/readings", json={"question": words[1], "text": words[0]}).json()["reading"]
        with up.client(headers=bearer("eve")) as eve:
            assert eve.get(f"/readings/{id_}").status_code == 200
            assert [reading["reading"] for reading in eve.get("/readings").json()] == [id_]


@pytest.mark.slow
def test_tools_over_mcp_find_only_the_keys_own(clients) -> None:
    pytest.importorskip("mcp")
    import anyio
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    up, _, _, id_, _ = clients

    async def look(name: str) -> list[bool]:
        async with (
            httpx2.AsyncClient(headers=bearer(name), trust_env=False) as http,
            Client(streamable_http_client(f"{up.url}/mcp", http_client=http)) as client,
        ):
            found = []
            for reading in (id_, id_[:6], "last"):
                for tool in ("wait", "timeline", "cancel", "resume"):
                    extra = {"wait_seconds": 0} if tool in {"wait", "resume"} else {}
                    found.append(not (await client.call_tool(tool, {"reading": reading, **extra})).is_error)
            listed = await client.call_tool("list_readings", {})
            return [*found, bool(listed.structured_content["readings"])]

    assert not any(anyio.run(look, "eve"))
    assert all(anyio.run(look, "ada"))
