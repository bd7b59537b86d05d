"""Graphs and reports over HTTP: started, followed by the same request, shown, written to files, forgotten."""

from __future__ import annotations

import hashlib
import json
import time
from io import BytesIO
from zipfile import ZipFile

import pytest
from graph_model import FACTS, make_graph_model, write_facts
from report_model import make_report_model
from table_model import write_document

from bookwheel.serve.engine.access import Key, KeyRing

OUTLINE = "# Payments\n\n## Who pays\nevery payment: who, amount, due date\n"


def upload(client, text: str, name: str) -> str:
    answer = client.post("/documents", content=text.encode(), headers={"X-Filename": name})
    return answer.json()["document"]


def finish(client, order: dict, *, path: str = "/reports", **query) -> dict:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        answer = client.post(path, json={**order, "wait": 10}, params=query)
        assert answer.status_code == 200, answer.text
        if query or answer.json()["status"] == "written":
            return answer if query else answer.json()
    raise AssertionError(answer.text)


@pytest.fixture
def reports(serving):
    with serving(make_report_model(invents=3)) as up, up.client() as client:
        yield up, client


def test_a_report_is_proposed_read_and_written_and_an_update_reads_only_what_is_new(reports) -> None:
    _, client = reports
    first = upload(client, write_document(6), "a.txt")
    outline = client.post("/outlines", json={"brief": "what is paid"}).json()["outline"]
    assert "every payment: who, amount, due date" in outline
    order = {"brief": "what is paid", "outline": outline, "documents": [first]}
    begun = client.post("/reports", json=order).json()
    assert (begun["status"] in {"reading", "writing", "written"}, begun["total"]) == (True, 1)
    made = finish(client, order)
    section = made["report"]["sections"][0]
    assert (len(section["sentences"]), len(section["left_out"])) == (6, 2)
    text = client.get(f"/documents/{first}/text").text
    for source in made["report"]["sources"]:
        assert source["quote"] in text
        assert source["document"] == first
    (covered,) = made["report"]["coverage"]
    assert covered["used"] + covered["unused"] + covered["unread"] == covered["length"]
    # The same again writes nothing anew; a second document is read, the first is not.
    assert finish(client, order)["report"] == made["report"]
    second = upload(client, write_document(3), "b.txt")
    both = finish(client, {**order, "documents": [first, second]})
    assert both["readings"][first] == made["readings"][first]
    assert {one["source"] for one in both["report"]["sources"]} == {"a.txt", "b.txt"}
    assert len(client.get("/readings").json()) == 2
    assert "Left out" in finish(client, order, format="md").text
    assert finish(client, order, format="html").headers["content-type"].startswith("text/html")


def test_a_report_is_written_anew_after_a_row_is_removed_and_after_a_reading_is_deleted(reports) -> None:
    _, client = reports
    document = upload(client, write_document(4), "a.txt")
    order = {"brief": "what is paid", "outline": OUTLINE, "documents": [document]}
    made = finish(client, order)
    (id_,) = made["readings"][document]
    row = client.get(f"/readings/{id_}/rows").json()["rows"][0]
    client.patch(f"/readings/{id_}/rows", json={"row": row["row"], "removed": True})
    again = finish(client, order)
    assert row["who"] not in json.dumps(again["report"])
    client.delete(f"/readings/{id_}")
    document = upload(client, write_document(4), "a.txt")
    fresh = finish(client, order)
    assert fresh["readings"][document] != [id_]
    assert row["who"] in json.dumps(fresh["report"]["sources"])


def test_a_matrix_asks_each_document_each_question_once(reports) -> None:
    up, client = reports
    documents = [upload(client, write_document(count), name) for count, name in ((3, "a.txt"), (5, "b.txt"))]
    order = {"questions": ["Who pays?", "When?"], "documents": documents}
    made = finish(client, order, path="/matrices")
    assert (made["total"], made["ended"]) == (4, 4)
    rows = made["matrix"]["rows"]
    assert [(row["name"], len(row["cells"])) for row in rows] == [("a.txt", 2), ("b.txt", 2)]
    assert [[cell["reading"] for cell in row["cells"]] for row in rows] == [made["readings"][sha] for sha in documents]
    assert [one["question"] for one in made["matrix"]["syntheses"]] == order["questions"]
    calls = up.model.calls
    assert finish(client, order, path="/matrices")["matrix"] == made["matrix"]
    assert up.model.calls == calls
    page = finish(client, {**order, "title": "Two lists"}, path="/matrices", format="md").text
    assert "# Two lists" in page
    assert "a.txt" in page


def test_a_key_that_has_used_its_tokens_is_told_when_to_go_on(serving) -> None:
    key = Key(name="reader", sha256=hashlib.sha256(b"secret").hexdigest(), tokens_per_day=50)
    settings = {"headers": {"Authorization": "Bearer secret"}}
    with serving(make_report_model(), keys=KeyRing([key])) as up, up.client(**settings) as client:
        refused = client.post("/outlines", json={"brief": "what is paid"})
        words = [{"role": "user", "content": "hello " * 300}]
        chat = client.post("/v1/chat/completions", json={"model": "scripted", "messages": words})
    assert (refused.status_code, refused.json()["kind"]) == (429, "QuotaReached")
    assert "continue tomorrow (UTC)" in refused.json()["error"]
    assert (chat.status_code, chat.json()["error"]["code"]) == (429, "insufficient_quota")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"documents": ["0" * 64]}, 404),
        ({"documents": []}, 400),
        ({"outline": "nothing"}, 400),
        ({"outline": "# T\n## A\nevery payment"}, 400),
        ({"wait": 1000}, 400),
        ({"plan": {"chunk_tokens": "many"}}, 400),
        ({"model": "none"}, 404),
    ],
)
def test_what_is_wrong_with_an_order_is_said_before_anything_is_read(change: dict, status: int, reports) -> None:
    _, client = reports
    document = upload(client, write_document(2), "a.txt")
    order = {"brief": "x", "outline": OUTLINE, "documents": [document]}
    assert client.post("/reports", json={**order, **change}).status_code == status
    assert client.post("/reports", json=order, params={"format": "pdf"}).status_code == 400
    assert client.get("/readings").json() == []


def test_a_graph_is_made_shown_in_part_and_written_to_files(serving) -> None:
    model = make_graph_model()
    with serving(model) as up, up.client() as client:
        id_ = client.post("/graphs", json={"text": write_facts(), "name": "facts.txt"}).json()["reading"]
        up.events(id_)
        found = client.get(f"/readings/{id_}/graph").json()
        assert (found["status"], found["count"], found["superseded"], found["unproven"]) == (
            "answered",
            len(FACTS) - 1,
            1,
            0,
        )
        ada = next(node for node in found["nodes"] if node["name"] == "Ada Quill")
        assert ada["aliases"] == ["the Heron"]
        old = next(fact for fact in found["facts"] if fact["superseded"])
        assert (old["begins"], old["ends"]) == ("1911", "1920")
        assert all(write_facts()[fact["start"] : fact["end"]] == fact["quote"] for fact in found["facts"])
        near = client.get(f"/readings/{id_}/graph", params={"around": "Which brig?", "limit": 1}).json()
        assert [fact["object"] for fact in near["facts"]] == ["the brig Mercy"]
        assert near["count"] == found["count"]
        assert b"<graphml" in client.get(f"/readings/{id_}/graph", params={"format": "graphml"}).content
        packed = client.get(f"/readings/{id_}/graph", params={"format": "csv"}).content
        assert ZipFile(BytesIO(packed)).namelist() == ["graph.nodes.csv", "graph.edges.csv"]
        assert client.get(f"/readings/{id_}/graph", params={"format": "dot"}).status_code == 400
        table = client.post("/readings", json={"text": "x", "question": "every x: y", "way": "collect"}).json()
        up.events(table["reading"])
        assert client.get(f"/readings/{table['reading']}/graph").status_code == 400
