"""The library over HTTP: the shelf, names and stars, search, find, exports, and the prompt of every call."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import JournalError
from bookwheel.journal import Journal
from bookwheel.journal.readings import load_reading, row_id
from bookwheel.models.base import Ability
from bookwheel.serve.engine import summaries
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.library import find_places


@pytest.fixture
def client(up):
    with up.client() as client:
        yield client


def read(up, **body: object) -> dict:
    id_ = up.begin(**body)["reading"]
    return up.events(id_)[-1][2]


@pytest.mark.slow
def test_a_document_has_one_place_with_all_its_questions(up, client, words) -> None:
    sha = read(up)["document"]["id"]
    second = read(up, text=None, document=sha, question="Where do gulls circle?")
    (book,) = client.get("/documents").json()
    assert (book["document"], book["readings"], book["newest"]["reading"]) == (sha, 2, second["reading"])
    thread = client.get(f"/readings?document={sha}").json()
    assert [reading["question"] for reading in thread] == ["Where do gulls circle?", words[1]]
    assert client.get(f"/readings?document={'0' * 64}").json() == []
    assert [reading["question"] for reading in client.get("/readings?limit=1&offset=1").json()] == [words[1]]
    newest = client.get("/readings?limit=1").json()[0]["reading"]
    assert [reading["question"] for reading in client.get(f"/readings?limit=1&before={newest}").json()] == [words[1]]
    assert client.get("/readings?before=gone").status_code == 404


def test_names_and_stars_are_given_and_taken_back(up, client) -> None:
    reading = read(up)
    id_, sha = reading["reading"], reading["document"]["id"]
    own = client.get(f"/documents/{sha}").json()["name"]
    named = client.patch(f"/documents/{sha}", json={"name": " Harbour notes ", "starred": True}).json()
    assert (named["name"], named["starred"]) == ("Harbour notes", True)
    assert client.get("/documents?search=harbour+notes").json() == [named]
    assert client.patch(f"/documents/{sha}", json={"name": ""}).json()["name"] == own
    assert client.patch(f"/readings/{id_}", json={"starred": True}).json() == {"name": "", "starred": True}
    assert client.patch(f"/readings/{id_}", json={"name": "first"}).json() == {"name": "first", "starred": True}
    assert [(one["name"], one["starred"]) for one in client.get("/readings").json()] == [("first", True)]
    assert client.get(f"/readings/{id_}").json()["name"] == "first"
    assert client.patch(f"/readings/{id_}", json={"title": "first"}).status_code == 400
    assert client.patch(f"/readings/{id_}", json={"name": "x" * 300}).status_code == 200
    assert client.patch(f"/readings/{id_}", json={"name": "x" * 301}).status_code == 400


def test_a_list_says_what_each_reading_is_now(up, client) -> None:
    def check(**expected: object) -> None:
        (listed,) = client.get("/readings").json()
        whole = client.get(f"/readings/{listed['reading']}").json()
        assert listed == {name: whole[name] for name in listed}
        assert expected == {name: listed.get(name) for name in expected}

    up.model.after(1)
    id_ = up.begin()["reading"]
    up.events(id_, until=1)
    check(status="reading", answer=None, name=None)
    up.model.after(2)
    up.events(id_, until=2)
    check(status="reading", answer=None, name=None)
    up.model.after(1000)
    up.events(id_)
    check(status="answered", answer="The harbour master of Skarholm is Ada Quill.", name=None)
    client.patch(f"/readings/{id_}", json={"name": "first"})
    check(name="first", starred=None)
    client.patch(f"/readings/{id_}", json={"name": "", "starred": True})
    check(name=None, starred=True)
    client.delete(f"/readings/{id_}")
    assert client.get("/readings").json() == []


def test_only_what_changed_is_made_anew_for_a_list(up, client, monkeypatch) -> None:
    made: list[str] = []

    def load(row):
        made.append(row_id(row))
        return load_reading(row)

    monkeypatch.setattr(summaries, "load_reading", load)

    def list_made() -> list[str]:
        made.clear()
        assert len(client.get("/readings").json()) == 2
        return sorted(made)

    ids = sorted(read(up, question=question)["reading"] for question in ("Who came?", "Who left?"))
    assert (list_made(), list_made()) == (ids, [])
    client.patch(f"/readings/{ids[1]}", json={"starred": True})
    assert (list_made(), list_made()) == (ids[1:], [])
    client.delete(f"/readings/{ids[0]}")
    third = read(up)["reading"]
    assert (list_made(), list_made()) == (sorted([ids[1], third]), []), "nothing of a deleted reading is kept"
    monkeypatch.setattr(summaries, "_MOST_CHARACTERS", 100)
    assert (list_made(), list_made()) == (sorted([ids[1], third]),) * 2, "too long to be kept"


def test_a_deleted_document_takes_its_readings_with_it(up, client) -> None:
    reading = read(up)
    sha = reading["document"]["id"]
    assert client.delete(f"/documents/{sha}").status_code == 204
    assert client.get("/readings").json() == client.get("/documents").json() == []
    assert client.get("/search?query=harbour").json() == []
    assert client.delete(f"/documents/{sha}").status_code == 404


def test_search_finds_passages_and_memories(up, client) -> None:
    reading = read(up)
    hits = client.get("/search?query=ada+quill").json()
    assert {hit["reading"] for hit in hits} == {reading["reading"], ""}
    passage = next(hit for hit in hits if not hit["reading"])
    text = client.get(f"/documents/{passage['document']}/text?start={passage['start']}&end={passage['end']}").json()
    assert text["text"] == passage["snippet"]
    assert client.get("/search").status_code == 400
    client.patch(f"/documents/{passage['document']}", json={"name": "Harbour notes"})
    assert {hit["name"] for hit in client.get("/search?query=ada+quill").json()} == {"Harbour notes"}


def test_a_text_is_found_in_a_document_in_any_case_and_over_line_ends(tmp_path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal:
        text = "x" * ((1 << 18) - 3) + " Ada\n  QUILL. " + "y" * 50 + "ada quill"
        document = journal.keep(TextDocument(text, "x"))
        places = find_places(document, "ada quill", 0, 10)
        assert [text[start:end] for start, end in places] == ["Ada\n  QUILL", "ada quill"]
        assert find_places(document, "ada quill", places[0][1], 10) == places[1:]
        assert find_places(document, "ada quill", 0, 1) == places[:1]
        assert find_places(document, "a.a", 0, 10) == find_places(document, " ", 0, 10) == []


def test_find_answers_with_spans(up, client) -> None:
    sha = read(up)["document"]["id"]
    (place,) = client.get(f"/documents/{sha}/find?text=skarholm").json()
    span = client.get(f"/documents/{sha}/text", params=place).json()
    assert span == {**place, "text": "Skarholm"}
    assert client.get(f"/documents/{sha}/find?text=").status_code == 400


def test_any_part_of_a_long_text_is_given_and_no_part_that_is_too_long(up, client) -> None:
    text = "word " * 60_000
    sha = client.post("/documents", content=text.encode()).json()["document"]
    late = {"start": 250_000, "end": 250_004}
    assert client.get(f"/documents/{sha}/text", params=late).json() == {**late, "text": "word"}
    assert client.get(f"/documents/{sha}/text", params={"start": 0, "end": 200_001}).status_code == 400
    beyond = client.get(f"/documents/{sha}/text", params={"start": 400_000, "end": 400_010}).json()
    assert beyond["text"] == ""


def test_a_reading_is_exported(up, client) -> None:
    id_ = read(up)["reading"]
    page = client.get(f"/readings/{id_}/export?format=html")
    assert "Ada Quill" in page.text
    assert page.headers["content-disposition"] == f'attachment; filename="reading-{id_}.html"'
    assert client.get(f"/readings/{id_}/export").text == page.text
    markdown = client.get(f"/readings/{id_}/export?format=markdown")
    assert markdown.text.startswith("#")
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert client.get(f"/readings/{id_}/export?format=pdf").status_code == 400


@pytest.mark.parametrize("way", ["sequential", "edits"])
@pytest.mark.slow
def test_the_prompt_of_every_call_is_rebuilt(up, client, words, way) -> None:
    reading = client.get(f"/readings/{read(up, way=way)['reading']}").json()
    steps = len(reading["steps"])
    assert steps > 2
    for number in range(steps + 1):
        call = client.get(f"/readings/{reading['reading']}/calls/{number}").json()
        prompt = "\n".join(message["content"] for message in call["messages"])
        assert call["same"]
        assert words[1] in prompt
        if number == steps:
            assert call["reply"] == reading["answer_turn"]["reply"]
        else:
            start, end = reading["steps"][number]["start"], reading["steps"][number]["end"]
            assert words[0][start:end].strip() in prompt
            assert call["reply"] == reading["steps"][number]["reply"]
    assert client.get(f"/readings/{reading['reading']}/calls/{steps + 1}").status_code == 404


def test_a_model_says_what_it_can_do_and_how_it_reads(client) -> None:
    (model,) = client.get("/models").json()
    assert (model["abilities"], model["way"]) == ([], "sequential")
    assert {"sequential", "edits"} <= set(model["ways"])
    assert "gated" not in model["ways"]
    assert "dense" not in model["ways"]


def test_a_model_that_does_not_answer_keeps_nobody_waiting(serving, gated, monkeypatch) -> None:
    probed, awake = [], threading.Event()

    async def ask(_model: object) -> frozenset[Ability]:
        probed.append(1)
        while not awake.is_set():  # noqa: ASYNC110 - the test wakes it from another thread
            await asyncio.sleep(0.002)
        return frozenset({Ability.JUDGE})

    monkeypatch.setattr("bookwheel.serve.app.find_abilities", ask)
    monkeypatch.setattr("bookwheel.serve.app._PROBE_SECONDS", 0.01)
    with serving(gated()) as up, up.client() as client:
        for _ in range(2):
            assert client.get("/models").json()[0]["abilities"] is None
        awake.set()
        monkeypatch.setattr("bookwheel.serve.app._PROBE_SECONDS", 60)
        assert client.get("/models").json()[0]["abilities"] == ["judge"]
    assert len(probed) == 1


def test_several_files_of_one_upload_are_one_document(up, client) -> None:
    parts = [
        ("file", (name, words)) for name, words in (("b.txt", "Bo pays 9."), ("a.txt", "Ada pays 4."), ("b.txt", "No."))
    ]
    told = client.post("/documents", files=parts).json()
    text = client.get(f"/documents/{told['document']}/text?start=0&end={told['length']}").json()["text"]
    assert [line for line in text.splitlines() if line][1::2] == ["Bo pays 9.", "Ada pays 4.", "No."]
    assert len({line for line in text.splitlines() if line.startswith("=====")}) == 3
    assert client.post("/documents", files=[("other", ("b.txt", "Bo"))]).status_code == 400


def test_an_address_names_a_reading_by_the_beginning_of_its_id(up, client) -> None:
    id_ = read(up)["reading"]
    told = client.get(f"/readings/{id_}/rows")
    for short in (id_, id_[:6]):
        assert client.get(f"/readings/{short}").json()["reading"] == id_
        assert client.get(f"/readings/{short}/rows").json() == told.json()
        assert client.get(f"/readings?before={short}").json() == []
        assert client.patch(f"/readings/{short}", json={"name": short}).status_code == 200
    assert [client.get(f"/readings/{name}").status_code for name in ("last", id_[:3])] == [404, 404]
    assert client.delete(f"/readings/{id_[:6]}").status_code == 204
    assert client.get("/readings").json() == []


def test_a_beginning_of_several_ids_names_them(up, client, monkeypatch) -> None:
    monkeypatch.setattr(up.service.journal, "match_ids", lambda name: [f"{name}{n}" for n in range(4)])
    with pytest.raises(ApiError, match="'ab' matches more than one reading, as ab0, ab1, ab2; give more of the id"):
        asyncio.run(up.service.find_id("ab", None))


def test_a_journal_that_cannot_be_read_is_not_taken_for_a_missing_reading(up, client, monkeypatch) -> None:
    def fail(_name: str) -> list[str]:
        raise JournalError(f"cannot read the journal {up.journal.path}: database is locked")

    monkeypatch.setattr(up.service.journal, "match_ids", fail)
    answer = client.get("/readings/abcdefgh")
    assert (answer.status_code, answer.json()["kind"]) == (500, "JournalError")
    assert answer.json()["error"] == "cannot read the journal of this server: database is locked"
