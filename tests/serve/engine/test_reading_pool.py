"""Readings over HTTP: begun, followed, stopped, gone on with, changed by hand; nothing lost over a restart."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from bookwheel.errors import JournalError, Refused
from bookwheel.journal import Journal
from bookwheel.journal.files import connect
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.serve.app import build_app
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.engine.starting import _request_again
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.types import Status


@pytest.mark.slow
def test_a_reading_is_begun_followed_to_its_end_and_kept(up) -> None:
    begun = up.begin()
    assert begun["status"] == "reading"
    events = up.events(begun["reading"])
    steps = [data for kind, _, data in events if kind == "step"]
    assert [step["index"] for step in steps] == list(range(len(steps)))
    assert (steps[0]["start"], steps[-1]["end"]) == (0, begun["document"]["length"])
    assert [kind for kind, _, _ in events[-2:]] == ["answer", "status"]
    assert "Ada Quill" in events[-2][2]["answer"]
    assert events[-1][2]["status"] == "answered"
    with up.client() as client:
        whole = client.get(f"/readings/{begun['reading']}").json()
        listed = client.get("/readings", params={"search": "harbour"}).json()
    assert whole["steps"] == steps
    assert "Ada Quill" in whole["evidence"][0]["quote"]
    assert [reading["reading"] for reading in listed] == [begun["reading"]]
    assert "steps" not in listed[0]


@pytest.mark.slow
def test_a_broken_line_is_taken_up_after_the_last_event_that_was_seen(serving, gated) -> None:
    model = gated()
    model.after(5)
    with serving(model) as up:
        id_ = up.begin()["reading"]
        first = up.events(id_, until=3)
        model.after(10**9)
        rest = up.events(id_, last=first[-1][1])
        again = up.events(id_)
    assert [data["index"] for kind, _, data in first + rest if kind == "step"] == [
        data["index"] for kind, _, data in again if kind == "step"
    ]
    assert first + rest == again


@pytest.mark.slow
def test_origins_and_text_lead_back_to_the_document(up, words) -> None:
    id_ = up.begin()["reading"]
    up.events(id_)
    with up.client() as client:
        lines = client.get(f"/readings/{id_}/origins").json()
        quote = next(line for line in lines if "Ada Quill" in line["line"])["quote"]
        sha = client.get(f"/readings/{id_}").json()["document"]["id"]
        span = client.get(f"/documents/{sha}/text", params={"start": quote["start"], "end": quote["end"]}).json()
        too_much = client.get(f"/documents/{sha}/text", params={"start": 0, "end": 300_000})
        backwards = client.get(f"/documents/{sha}/text", params={"start": 50, "end": 4})
    assert span["text"] == quote["quote"] == words[0][quote["start"] : quote["end"]]
    assert too_much.status_code == backwards.status_code == 400


@pytest.mark.slow
def test_a_cancelled_reading_keeps_its_steps_and_goes_on_without_repeating_a_call(serving, gated) -> None:
    model = gated()
    model.after(4)
    with serving(model) as up, up.client() as client:
        id_ = up.begin()["reading"]
        up.events(id_, until=4)
        stopped = client.post(f"/readings/{id_}/cancel").json()
        assert (stopped["status"], len(stopped["steps"])) == ("cancelled", 4)
        # With the call under way, whose reply nobody waited for.
        assert stopped["usage"]["calls"] == model.asked
        model.after(10**9)
        assert client.post(f"/readings/{id_}/resume", json={}).json()["status"] == "reading"
        ended = up.events(id_)[-1][2]
    assert ended["status"] == "answered"
    assert ended["usage"]["calls"] == model.asked <= model.seen + 1


@pytest.mark.slow
def test_a_budget_stops_a_reading_and_a_new_one_lets_it_go_on(up) -> None:
    id_ = up.begin(plan={"budget": {"tokens": 600}})["reading"]
    assert up.events(id_)[-1][2]["status"] == "stopped"
    with up.client() as client:
        client.post(f"/readings/{id_}/resume", json={"plan": {"budget": {"tokens": 100_000}}})
        assert client.get(f"/readings/{id_}").json()["plan"]["budget"]["tokens"] == 100_000
    assert up.events(id_)[-1][2]["status"] == "answered"


@pytest.mark.slow
def test_a_fork_reads_on_from_the_changed_memory_and_leaves_the_old_reading(up) -> None:
    id_ = up.begin()["reading"]
    up.events(id_)
    with up.client() as client:
        forked = client.post(f"/readings/{id_}/fork", json={"step": 2, "memory": "The harbour master is Bo Lind."})
        assert forked.status_code == 201
        up.events(forked.json()["reading"])
        new, old = (client.get(f"/readings/{name}").json() for name in (forked.json()["reading"], id_))
        too_long = client.post(f"/readings/{id_}/fork", json={"step": 0, "memory": "word " * 900})
        no_step = client.post(f"/readings/{id_}/fork", json={"step": 900, "memory": "word"})
    assert (new["parent"], old["status"], new["status"]) == (id_, "answered", "answered")
    assert any("Bo Lind" in step["memory"] for step in new["steps"])
    assert (too_long.status_code, no_step.status_code) == (400, 400)


@pytest.mark.slow
def test_a_deleted_reading_is_gone_even_while_it_is_read(serving, gated) -> None:
    model = gated()
    model.after(2)
    with serving(model) as up, up.client() as client:
        id_ = up.begin()["reading"]
        assert client.delete(f"/readings/{id_}").status_code == 204
        assert client.get(f"/readings/{id_}").status_code == 404
        assert client.get("/readings").json() == []


@pytest.mark.slow
def test_a_restart_in_mid_reading_goes_on_by_itself_and_repeats_no_call(serving, gated, words) -> None:
    first, second = gated(), gated()
    first.after(5)
    with serving(first) as up:
        id_ = up.begin()["reading"]
        up.events(id_, until=5)
    with serving(second) as up:
        events = up.events(id_)
        whole = up.journal.reading(id_, texts=True)
    assert events[-1][2]["status"] == "answered"
    assert "".join(step.chunk.text for step in whole.steps) == words[0]
    assert first.seen == 5
    assert first.seen + second.seen == len(whole.steps) + 1
    # The call that the end of the first server cut off may have been paid for.
    assert whole.usage.calls == first.asked + second.seen


@pytest.mark.slow
def test_a_reading_that_failed_for_a_passing_reason_goes_on_at_the_next_start(serving, gated, words) -> None:
    model = ScriptedModel(keyword_reader, window=400, faults={3: Refused("the key was revoked")})
    model.plan = gated().plan
    with serving(model) as up:
        refused = up.begin()["reading"]
        assert up.events(refused)[-1][2]["status"] == "failed"
        ids = {name: up.begin()["reading"] for name in ("passing", "awaited", "old")}
        for id_ in ids.values():
            assert up.events(id_)[-1][2]["status"] == "answered"
        passing = {"status": Status.FAILED, "error": "no server answers", "error_kind": "Unreachable", "answer": None}
        for id_ in ids.values():
            reading = replace(up.journal.reading(id_), **passing)
            asyncio.run(up.journal.end(reading))
        up.service.usage._execute("UPDATE readings SET open = -1 WHERE id = ?", ids["awaited"])
        old = "2020-01-01T00:00:00+00:00"
        connect(up.journal.path).execute("UPDATE readings SET created = ? WHERE id = ?", (old, ids["old"]))
    again = gated()
    with serving(again) as up, up.client() as client:
        assert up.events(ids["passing"])[-1][2]["status"] == "answered"
        statuses = {name: client.get(f"/readings/{id_}").json()["status"] for name, id_ in ids.items()}
        assert client.get(f"/readings/{refused}").json()["status"] == "failed"
    assert statuses == {"passing": "answered", "awaited": "failed", "old": "failed"}
    assert again.seen == 1


async def _hang(_journal: Journal):
    await asyncio.sleep(60)


async def _find_locked(journal: Journal):
    raise JournalError(f"cannot read the journal {journal.path}: database is locked")


@pytest.mark.parametrize(("open_document", "status"), [(_hang, Status.READING), (_find_locked, Status.FAILED)])
def test_a_reading_whose_document_did_not_open_before_the_servers_end_goes_on_at_the_next_start(
    serving, gated, open_document, status: Status
) -> None:
    first = gated()
    first.after(3)
    with serving(first) as up:
        id_ = up.begin()["reading"]
        up.events(id_, until=3)
    with Journal(up.journal.path) as journal:
        service = build_app(journal=journal, models={first.name: first}).state.service

        async def continue_and_close() -> None:
            (entry,) = service.usage.list_open()
            request = await _request_again(service, entry)
            service.readings.start(replace(request, open_document=lambda: open_document(journal)))
            await asyncio.sleep(0.1)
            await service.readings.close()

        asyncio.run(continue_and_close())
        kept = journal.reading(id_)
        assert kept.status is status
        assert str(journal.path) not in kept.error
    with serving(gated()) as up:
        assert up.events(id_)[-1][2]["status"] == "answered"


@pytest.mark.slow
def test_a_reading_that_a_person_cancelled_does_not_come_back_with_the_server(serving, gated) -> None:
    model = gated()
    model.after(3)
    with serving(model) as up, up.client() as client:
        id_ = up.begin()["reading"]
        client.post(f"/readings/{id_}/cancel")
    again = gated()
    with serving(again) as up:
        assert up.events(id_)[-1][2]["status"] == "cancelled"
    assert again.seen == 0


@pytest.mark.slow
def test_the_same_idempotency_key_is_the_same_reading_also_after_a_restart(serving, gated, words) -> None:
    model, headers = gated(), {"Idempotency-Key": "one"}
    text, question = words
    model.after(2)
    with serving(model) as up, up.client(headers=headers) as client, ThreadPoolExecutor(4) as many:
        body = {"question": question, "text": text}
        ids = {answer.json()["reading"] for answer in many.map(lambda _: client.post("/readings", json=body), range(4))}
        other = client.post("/readings", json={**body, "question": "Another one?"})
        assert len(ids) == 1
        assert other.status_code == 422
        assert len(client.get("/readings").json()) == 1
    with serving() as up, up.client(headers=headers) as client:
        assert client.post("/readings", json=body).json()["reading"] in ids
        assert len(client.get("/readings").json()) == 1


@pytest.mark.slow
def test_a_reading_that_was_resumed_still_answers_the_request_that_began_it(serving, gated, words) -> None:
    model = gated()
    model.after(2)
    body, headers = {"question": words[1], "text": words[0]}, {"Idempotency-Key": "one"}
    with serving(model) as up, up.client(headers=headers) as client:
        id_ = client.post("/readings", json=body).json()["reading"]
        client.post(f"/readings/{id_}/cancel")
        model.after(10**9)
        client.post(f"/readings/{id_}/resume")
        assert client.post("/readings", json=body).json()["reading"] == id_


@pytest.mark.slow
def test_a_kill_between_ledger_and_journal_leaves_nothing_behind(serving, words) -> None:
    """What was entered but never begun is forgotten at the next start, and its request begins anew."""
    body, headers = {"question": words[1], "text": words[0]}, {"Idempotency-Key": "one"}
    with serving() as up, up.client(headers=headers) as client:
        up.service.usage.save_reading(UsageEntry(id="f" * 12, key_name="", idempotency_key="one"))
        id_ = client.post("/readings", json=body).json()["reading"]
        assert client.post("/readings", json=body).json()["reading"] == id_
        up.events(id_)
        up.service.usage.save_reading(UsageEntry(id="e" * 12, key_name="", idempotency_key="two"))
    with serving() as up:
        assert up.service.usage.list_open() == []
        assert up.service.usage.find_reading("", "two") is None
        assert [reading.id for reading in up.journal.readings()] == [id_]


@pytest.mark.slow
def test_what_was_left_out_of_a_document_is_told(up) -> None:
    with up.client() as client:
        told = client.post("/documents", content=b"The rent is nine crowns. \xff\xfe\x81 " * 3).json()
        assert "encoding is a guess" in told["notes"][0]
        assert client.post("/documents", content=b"The rent is nine crowns.").json()["notes"] == []


@pytest.mark.slow
def test_one_reading_too_many_is_told_when_to_come_back(serving, gated) -> None:
    model = gated()
    model.after(0)
    with serving(model, settings=ServerSettings(limits=Limits(readings=2))) as up, up.client() as client:
        ids = [up.begin()["reading"] for _ in range(2)]
        full = client.post("/readings", json={"question": "Why?", "text": "words"})
        assert full.status_code == 429
        assert int(full.headers["Retry-After"]) >= 1
        assert "try again later" in full.json()["error"]
        client.post(f"/readings/{ids[0]}/cancel")
        up.begin()


@pytest.mark.slow
def test_a_failing_model_leaves_a_reading_that_says_why_and_goes_on(serving) -> None:
    model = ScriptedModel(keyword_reader, window=400, faults={3: Refused("the key was revoked")})
    model.plan = model.plan.with_values(
        {"chunk_tokens": 60, "memory_tokens": 40, "answer_tokens": 30, "question_tokens": 60}
    )
    with serving(model) as up, up.client() as client:
        id_ = up.begin()["reading"]
        failed = up.events(id_)[-1][2]
        client.post(f"/readings/{id_}/resume")
        assert up.events(id_)[-1][2]["status"] == "answered"
    assert (failed["status"], failed["error"]) == ("failed", "the key was revoked")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": "", "text": "x"},
        {"question": "Q?"},
        {"question": "Q?", "text": "x", "url": "http://example.org"},
        {"question": "Q?", "text": " "},
        {"question": "Q?", "text": 3},
        {"question": "Q?", "text": "x", "plan": {"budget": {"tokens": 0}}},
        {"question": "Q?", "text": "x", "plan": {"chunk_tokens": "many"}},
        {"question": "Q?", "text": "x", "plan": {"chunk_tokens": 100_000}},
        {"question": "Q?", "text": "x", "plan": {"chunktokens": 100}},
        {"question": "Q?", "text": "x", "plan": {"layout": "upside-down"}},
        {"question": "Q?", "text": "x", "plan": {"prompts": "/etc/passwd"}},
        {"question": "Q? " * 100, "text": "x"},
        {"question": "Q?", "text": "x", "way": "backwards"},
        {"question": "Q?", "text": "x", "more": 1},
        [],
    ],
)
def test_bad_input_is_a_sentence_and_nothing_is_kept(up, body: object) -> None:
    with up.client() as client:
        answer = client.post("/readings", json=body)
        assert answer.status_code == 400, answer.text
        assert len(answer.json()["error"]) > 10
        assert client.get("/readings").json() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["standard", "small", "tiny"])
def test_a_request_may_name_any_prompt_set_that_is_shipped(up, name) -> None:
    told = up.begin(plan={"prompts": name, "language": "en"})
    assert up.events(told["reading"])[-1][2]["status"] == "answered"


def test_an_unknown_model_or_name_is_not_found(up) -> None:
    with up.client() as client:
        assert client.post("/readings", json={"question": "Q?", "text": "x", "model": "gpt"}).status_code == 404
        assert client.post("/readings", json={"question": "Q?", "document": "0" * 64}).status_code == 404
        assert client.get("/readings/last").status_code == 404
        assert client.get("/nothing").json()["kind"] == "not_found"


@pytest.mark.slow
def test_health_metrics_and_description_are_there(up) -> None:
    up.events(up.begin()["reading"])
    with up.client() as client:
        assert client.get("/healthz").json()["status"] == "ok"
        told = client.get("/metrics").text
        description = client.get("/openapi.json").json()
        models = client.get("/models").json()
    assert 'bookwheel_readings_ended_total{status="answered"} 1.0' in told
    assert 'bookwheel_tokens_total{model="scripted",of="prompt"}' in told
    assert {"/readings", "/readings/{id}/events", "/v1/chat/completions"} <= set(description["paths"])
    assert [model["name"] for model in models] == ["scripted"]
