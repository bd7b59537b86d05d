"""Limits of keys and of memories hold at the doors of memories, tables, graphs and reports, and each key has its own."""

from __future__ import annotations

import pytest
from graph_model import PLAN, extract_facts, write_facts

from bookwheel.models.scripted import ScriptedModel
from bookwheel.serve.engine.access import Key, KeyRing, hash_secret

OUTLINE = "# T\n\n## Facts\nevery fact: subject, relation, object"


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {name * 8}"}


@pytest.fixture
def doors(serving):
    """Two clients of a server: Ada has what she wants, and Eve 2,000 tokens a day."""
    keys = KeyRing(
        [
            Key(name="ada", sha256=hash_secret("ada" * 8)),
            Key(name="eve", sha256=hash_secret("eve" * 8), tokens_per_day=2000),
        ]
    )
    model = ScriptedModel(extract_facts, plan=PLAN, window=1200)
    with (
        serving(model, keys=keys) as up,
        up.client(headers=bearer("ada")) as ada,
        up.client(headers=bearer("eve")) as eve,
    ):
        yield up, ada, eve


def test_graphs_and_reports_of_a_key_are_nobody_elses(doors) -> None:
    up, ada, eve = doors
    document = ada.post("/documents", content=write_facts().encode()).json()["document"]
    graph = ada.post("/graphs", json={"document": document}).json()["reading"]
    up.service.readings.get_running(graph)
    assert eve.post("/graphs", json={"document": document}).status_code == 404
    assert eve.get(f"/readings/{graph}/graph").status_code == 404
    assert eve.get(f"/readings/{graph}/rows").status_code == 404
    order = {"brief": "facts", "outline": OUTLINE, "documents": [document]}
    assert eve.post("/reports", json=order).status_code == 404
    assert ada.get(f"/readings/{graph}/graph").status_code == 200


def test_a_key_that_has_used_its_day_is_told_at_every_door(doors) -> None:
    _, _, eve = doors
    document = eve.post("/documents", content=write_facts().encode()).json()["document"]
    assert eve.post("/memories", json={"name": "m", "about": "All"}).status_code == 201
    for _ in range(20):
        if eve.post("/memories/m/texts", json={"text": write_facts(), "source": f"s{_}"}).status_code != 200:
            break
    order = {"brief": "facts", "outline": OUTLINE, "documents": [document], "wait": 20}
    answer = eve.post("/memories/m/texts", json={"text": write_facts() + "And more.", "source": "last"})
    assert (answer.status_code, answer.json()["kind"]) == (429, "QuotaReached")
    assert "tokens a day" in answer.json()["error"]
    # What begins is stopped within the day's tokens, and says so.
    started = eve.post("/reports", json=order)
    if started.status_code == 200:
        (id_,) = started.json()["readings"][document]
        assert eve.get(f"/readings/{id_}").json()["status"] == "stopped"
    else:
        assert started.json()["kind"] == "QuotaReached"


def test_limits_of_a_memory_hold(doors) -> None:
    _, ada, _ = doors
    ada.post("/memories", json={"name": "short", "about": "All", "max_characters": 50})
    answer = ada.post("/memories/short/texts", json={"text": "x" * 60, "source": "a"})
    assert (answer.status_code, "50" in answer.json()["error"]) == (400, True)
    ada.post("/memories", json={"name": "slow", "about": "All", "max_tokens_per_day": 10})
    answer = ada.post("/memories/slow/texts", json={"text": write_facts(), "source": "a"})
    assert (answer.json()["kind"], "day" in answer.json()["error"]) == ("BudgetReached", True)
    later = ada.post("/memories/slow/texts", json={"text": "One more.", "source": "b"})
    assert later.json()["kind"] == "BudgetReached"
