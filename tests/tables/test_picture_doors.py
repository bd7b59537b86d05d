"""Rows out of pictures over HTTP, over MCP and on the command line: each with its picture, box and confidence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("PIL")
pytest.importorskip("starlette")

from drawn import Log, collect_table_rows, draw_dues, make_picture
from table_model import PLAN, make_model

from bookwheel.picture import PictureLine

DUES = "every payment: who, amount"
LINES = tuple(
    PictureLine(text=text, box=(left, top, left + 0.3, top + 0.1), confidence=sure)
    for text, left, top, sure in (
        ("Tenant 1", 0.1, 0.2, 0.99),
        ("101 crowns", 0.5, 0.2, 0.91),
        ("Tenant 2", 0.1, 0.6, 0.97),
        ("102 crowns", 0.5, 0.6, 0.98),
    )
)
TABLE = "| who | amount |\n| --- | --- |\n| Tenant 1 | 101 crowns |\n| Tenant 2 | 102 crowns |"
WANTED = [
    ("Tenant 1", 1, "page 1, figure 1", "0.1 0.6 0.8 0.65", 0.91, True, False),
    ("Tenant 2", 1, "page 1, figure 1", "0.1 0.8 0.8 0.85", 0.97, True, False),
]


def make_log() -> Log:
    return Log(make_picture(1, "red", LINES), words=TABLE)


def show_facts(rows) -> list[tuple]:
    names = ("who", "page", "picture", "box", "confidence", "proven")
    return [(*(row[name] for name in names), row.get("seen", False)) for row in rows]


@pytest.fixture
def model():
    return make_model(collect_table_rows)


def test_rows_over_http_say_where_in_which_picture_they_stand(serving, model) -> None:
    with serving(model) as up, up.client() as client:
        kept = up.journal.keep(make_log())
        body = {"document": kept.id, "question": DUES, "way": "collect"}
        id_ = client.post("/readings", json=body).json()["reading"]
        up.events(id_)
        table = client.get(f"/readings/{id_}/rows").json()
        lines = client.get(f"/readings/{id_}/rows", params={"format": "jsonl"}).text.splitlines()
        asked = client.get(f"/readings/{id_}/rows", params={"sql": "select picture, confidence from rows"}).json()
    assert show_facts(table["rows"]) == WANTED
    assert show_facts(map(json.loads, lines)) == WANTED
    assert asked["rows"] == [["page 1, figure 1", 0.91], ["page 1, figure 1", 0.97]]


def test_rows_over_mcp_say_where_in_which_picture_they_stand(tmp_path: Path, model) -> None:
    pytest.importorskip("mcp")
    from mcp import Client
    from mcp_service import call, service_of

    from bookwheel.serve.engine.access import AccessPolicy
    from bookwheel.serve.mcp.server import build_server

    async def main() -> None:
        async with (
            service_of(tmp_path, model, plan=PLAN) as service,
            Client(build_server(service, AccessPolicy()), mode="auto") as client,
        ):
            kept = service.journal.keep(make_log())
            said = await call(client, "read", document=kept.id, question=DUES, way="collect", wait_seconds=40)
            page = await call(client, "rows", reading=said["reading"])
        assert show_facts(page["rows"]) == WANTED

    asyncio.run(main())


@pytest.mark.slow  # the real recogniser
def test_rows_of_a_drawn_table_on_the_command_line_say_where_they_stand(run, tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    draw_dues().save(tmp_path / "dues.png")
    out = tmp_path / "rows.jsonl"
    code, _, told = run("collect", str(tmp_path / "dues.png"), DUES, "--out", str(out))
    assert code == 0
    assert "read by OCR, which makes mistakes" in told
    table = json.loads(run("collect", "last", "--json")[1])
    assert show_facts(map(json.loads, out.read_text().splitlines())) == show_facts(table["rows"])
    assert [row["who"] for row in table["rows"]] == ["Tenant 1", "Tenant 2"]
    tops = []
    for row in table["rows"]:
        assert (row["page"], row["picture"], row["proven"], row["seen"]) == (1, "page 1, figure 1", True, False)
        assert 0.9 < row["confidence"] <= 1
        left, top, right, bottom = map(float, row["box"].split())
        assert 0.07 < left < 0.1
        assert 0.6 < right < 0.75
        assert 0.1 < bottom - top < 0.2
        tops.append(top)
    assert 0.38 < tops[0] < 0.55
    assert 0.63 < tops[1] < 0.8
