"""The server's limits hold for a reading as a whole: resumed, sent again, continued after a restart, forked."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from bookwheel.errors import Overloaded
from bookwheel.plan import Budget, Plan
from bookwheel.serve.engine.running_reading import ReadingRequest
from bookwheel.types import DocumentInfo, Reading, Status

LIMIT = 1200


def limited(model, tokens: int = LIMIT) -> dict:
    return {"scripted": replace(model.plan, budget=Budget(tokens=tokens))}


def spent(up, id_: str) -> int:
    return up.journal.reading(id_).usage.tokens


@pytest.mark.slow
def test_resuming_again_and_again_does_not_pass_the_servers_limit(serving, gated) -> None:
    model = gated()
    with serving(model, plans=limited(model)) as up, up.client() as client:
        id_ = up.begin()["reading"]
        assert up.events(id_)[-1][2]["status"] == "stopped"
        for _ in range(4):
            refused = client.post(f"/readings/{id_}/resume", json={"plan": {"budget": {"tokens": 10 * LIMIT}}})
            assert (refused.status_code, refused.json()["kind"]) == (400, "ServerLimitReached")
            assert "this server's limit" in refused.json()["error"]
        assert 0 < spent(up, id_) <= LIMIT
    with serving(model, plans=limited(model, 100 * LIMIT)) as up, up.client() as client:
        assert client.post(f"/readings/{id_}/resume").json()["status"] == "reading"
        assert up.events(id_)[-1][2]["status"] == "answered"


@pytest.mark.slow
def test_a_budget_of_the_client_below_the_servers_can_be_renewed_until_that_is_used_up(serving, gated, words) -> None:
    model = gated()
    with serving(model, plans=limited(model)) as up, up.client() as client:
        id_ = up.begin(plan={"budget": {"tokens": LIMIT // 2}})["reading"]
        assert up.events(id_)[-1][2]["status"] == "stopped"
        before = spent(up, id_)
        client.post(f"/readings/{id_}/resume", json={"plan": {"budget": {"tokens": LIMIT}}}).raise_for_status()
        assert "this server's limit" in up.events(id_)[-1][2]["error"]
        assert before < spent(up, id_) <= LIMIT
        chat = [{"role": "user", "content": text} for text in words]
        said = client.post("/v1/chat/completions", json={"model": "scripted", "messages": chat})
        kept = said.json()["reading"]
        assert said.json()["usage"]["total_tokens"] == spent(up, kept)
    assert (said.status_code, said.json()["error"]["code"]) == (400, "server_limit_reached")
    assert "resume" not in said.json()["error"]["message"]
    # What was read can be found.
    assert said.headers["x-bookwheel-reading"] == kept
    assert f"/readings/{kept}" in said.json()["error"]["message"]


@pytest.mark.slow
def test_calls_that_are_cancelled_count_so_that_resuming_does_not_pass_the_servers_limit(serving, gated) -> None:
    model = gated()
    model.after(0)
    with serving(model, plans=limited(model)) as up, up.client() as client:
        id_ = up.begin()["reading"]
        while up.journal.reading(id_).status is not Status.STOPPED:
            asked = up.journal.reading(id_).usage.calls
            while model.asked == asked and up.journal.reading(id_).status is Status.READING:
                time.sleep(0.01)
            client.post(f"/readings/{id_}/cancel")
            assert up.journal.reading(id_).usage.calls == model.asked < LIMIT // 100
            client.post(f"/readings/{id_}/resume", json={})
        metrics = client.get("/metrics").text
        assert 0 < spent(up, id_) <= LIMIT
    assert f'bookwheel_calls_total{{model="scripted"}} {float(model.asked)}' in metrics


@pytest.mark.slow
def test_the_same_request_again_gets_no_second_budget(serving, gated) -> None:
    model = gated()
    with serving(model, plans=limited(model)) as up, up.client() as client:
        body = {"question": "Who is the harbour master?", "text": "Gulls circle over the pier. " * 200}
        for _ in range(3):
            answer = client.post("/readings", json=body, headers={"Idempotency-Key": "once"}).json()
            assert up.events(answer["reading"])[-1][2]["status"] == "stopped"
        assert 0 < spent(up, answer["reading"]) <= LIMIT


@pytest.mark.slow
def test_a_restart_gives_no_second_budget(serving, gated) -> None:
    model = gated()
    model.after(3)
    with serving(model, plans=limited(model)) as up:
        id_ = up.begin()["reading"]
        up.events(id_, until=3)
    again = gated()
    with serving(again, plans=limited(again)) as up:
        assert up.events(id_)[-1][2]["status"] == "stopped"
        assert 0 < spent(up, id_) <= LIMIT


@pytest.mark.slow
def test_a_fork_has_the_servers_limit_whatever_its_parent_had(serving, gated) -> None:
    with serving(gated()) as up:
        id_ = up.begin()["reading"]
        assert up.events(id_)[-1][2]["status"] == "answered"
    model = gated()
    with serving(model, plans=limited(model)) as up, up.client() as client:
        fork = client.post(f"/readings/{id_}/fork", json={"step": 0, "memory": "nothing yet"}).json()
        copied = sum(step["usage"]["prompt_tokens"] + step["usage"]["completion_tokens"] for step in fork["steps"])
        assert up.events(fork["reading"])[-1][2]["status"] == "stopped"
        assert spent(up, fork["reading"]) - copied <= LIMIT


@pytest.mark.slow
def test_a_reading_that_waits_for_its_model_says_so_until_it_goes_on(serving, gated, monkeypatch) -> None:
    monkeypatch.setattr("bookwheel.models.patience._choose_wait", lambda _state: 0.2)
    busy = Overloaded("the model is busy", retry_after=0)
    model = gated(faults=dict.fromkeys(range(2, 6), busy))
    with serving(model) as up, up.client() as client:
        id_ = up.begin()["reading"]
        seen = up.events(id_)
        waits = [data for kind, _, data in seen if kind == "waiting"]
        assert "waiting" not in client.get(f"/readings/{id_}").json()
    assert waits
    assert {wait["error"] for wait in waits} == {"the model is busy"}
    assert [wait["tries"] for wait in waits] == sorted(wait["tries"] for wait in waits)
    assert seen[-1][2]["status"] == "answered"
    assert seen[-1][2]["gaps"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("short_waits")
def test_a_reading_waits_for_its_model_and_the_log_says_so(serving, gated, caplog) -> None:
    model = gated(faults={2: Overloaded("the model is busy", retry_after=0)})
    with caplog.at_level("WARNING"), serving(model) as up:
        id_ = up.begin()["reading"]
        assert up.events(id_)[-1][2]["status"] == "answered"
    assert f"reading {id_} waits for the model" in caplog.text


@pytest.mark.parametrize("status", [Status.STOPPED, Status.ANSWERED])
def test_an_answer_whose_judging_the_limit_ended_is_no_reading_that_cannot_go_on(status: Status) -> None:
    plan = Plan(budget=Budget(tokens=LIMIT))
    ended = Reading(id="a", document=DocumentInfo(id="", name="", length=9), question="Q?", plan=plan, model="m")
    ended = replace(ended, status=status, error="stopped", error_kind="BudgetReached")
    named = ReadingRequest(reading=ended, open_document=None, limits=plan.budget).name_limit(ended)
    assert ("this server's limit" in named.error) == (status is Status.STOPPED)
