"""Several questions about one document over HTTP: a reading for each, in lockstep, each with an end of its own."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from bookwheel.serve.engine.access import Key, KeyRing
from bookwheel.serve.engine.settings import Limits, ServerSettings

OTHER = "What circles over the pier?"
THIRD = "What is the price of oats?"
# No two sections are the same.
TEXT = "".join(
    f"On day {n} gulls circle over the pier. " + ("The harbour master of Skarholm is Ada Quill. " if n == 20 else "")
    for n in range(40)
)
SECRET = "a-secret-that-is-long-enough"


@pytest.fixture
def body(words) -> dict:
    _, question = words
    return {"questions": [question, OTHER, THIRD], "text": TEXT}


@pytest.fixture
def watched(gated):
    """A model that remembers about which section each question asked."""

    class Watched(gated):
        def __init__(self) -> None:
            super().__init__()
            self.log: list[tuple[str, str]] = []

        async def reply(self, messages, *, limit, sampling):
            prompt = messages[-1].content
            section = prompt.rpartition("<section>")[2].partition("</section>")[0] if "<section>" in prompt else ""
            self.log.append((section, prompt.rpartition("<question>")[2].partition("</question>")[0].strip()))
            return await super().reply(messages, limit=limit, sampling=sampling)

    return Watched


def start(client, body: dict, *statuses: int) -> list[str]:
    answer = client.post("/readings", json=body)
    assert answer.status_code in (statuses or (201,)), answer.text
    return [reading["reading"] for reading in answer.json()["readings"]]


def statuses(up, ids: list[str]) -> list[str]:
    return [up.events(id_)[-1][2]["status"] for id_ in ids]


def sections(log: list[tuple[str, str]]) -> list[str]:
    return [section for section, _ in log if section]


@pytest.mark.slow
def test_each_question_has_a_reading_of_its_own_about_the_one_document(up, body) -> None:
    with up.client() as client:
        ids = start(client, body)
        assert statuses(up, ids) == ["answered"] * 3
        ended = [client.get(f"/readings/{id_}").json() for id_ in ids]
        listed = client.get("/readings").json()
    assert [one["question"] for one in ended] == body["questions"]
    assert "Ada Quill" in ended[0]["answer"]
    assert len({one["document"]["id"] for one in ended}) == 1
    assert {one["reading"] for one in listed} == set(ids)
    assert all([step["index"] for step in one["steps"]] == list(range(len(one["steps"]))) for one in ended)


@pytest.mark.slow
def test_no_question_is_a_chunk_ahead_of_another(serving, watched, body) -> None:
    model = watched()
    with serving(model) as up, up.client() as client:
        statuses(up, start(client, body))
    read = sections(model.log)
    assert read == sorted(read, key=list(dict.fromkeys(read)).index)
    assert set(Counter(read).values()) == {3}


@pytest.mark.slow
def test_the_document_is_opened_once(up, body, monkeypatch) -> None:
    opened = []
    store = up.service.documents.store_text

    async def store_text(*given):
        opened.append(given)
        return await store(*given)

    monkeypatch.setattr(up.service.documents, "store_text", store_text)
    with up.client() as client:
        statuses(up, start(client, body))
    assert len(opened) == 1


@pytest.mark.slow
def test_one_that_is_cancelled_lets_the_others_go_on_and_is_resumed_alone(serving, gated, body) -> None:
    model = gated()
    model.after(7)
    with serving(model) as up, up.client() as client:
        first, *others = start(client, body)
        up.events(first, until=2)
        assert client.post(f"/readings/{first}/cancel").json()["status"] == "cancelled"
        model.after(10**9)
        assert statuses(up, others) == ["answered"] * 2
        client.post(f"/readings/{first}/resume")
        assert statuses(up, [first]) == ["answered"]
        calls = sum(client.get(f"/readings/{id_}").json()["usage"]["calls"] for id_ in (first, *others))
    # With the one that was cancelled under way.
    assert calls == model.asked


@pytest.mark.slow
def test_one_that_is_deleted_while_the_document_is_opened_leaves_it_to_the_others(serving, gated, body) -> None:
    with serving(gated()) as up, up.client() as client:
        first, *others = start(client, body)
        assert client.delete(f"/readings/{first}").status_code == 204
        assert statuses(up, others) == ["answered"] * 2


@pytest.mark.slow
def test_each_question_has_the_whole_budget(up, body) -> None:
    with up.client() as client:
        ids = start(client, {**body, "plan": {"budget": {"tokens": 600}}})
        assert statuses(up, ids) == ["stopped"] * 3
        spent = [client.get(f"/readings/{id_}").json()["usage"] for id_ in ids]
    assert all(400 < usage["prompt_tokens"] + usage["completion_tokens"] <= 600 for usage in spent)


@pytest.mark.slow
def test_all_questions_together_stay_within_a_keys_tokens_a_day(serving, body) -> None:
    key = Key(name="reader", sha256=hashlib.sha256(SECRET.encode()).hexdigest(), tokens_per_day=2000)
    with (
        serving(keys=KeyRing([key])) as up,
        up.client(headers={"Authorization": f"Bearer {SECRET}"}) as client,
    ):
        ids = start(client, body)
        for id_ in ids:
            client.get(f"/readings/{id_}/events")
        assert [reading.status for reading in up.journal.readings()] == ["stopped"] * 3
        assert 1000 < up.service.usage.tokens_today("reader") <= 2000


@pytest.mark.slow
def test_one_idempotency_key_stands_for_all(serving, gated, body) -> None:
    model = gated()
    model.after(4)
    with serving(model) as up, up.client(headers={"Idempotency-Key": "three"}) as client:
        ids = start(client, body)
        assert start(client, body) == ids
        client.post(f"/readings/{ids[1]}/cancel")
        model.after(10**9)
        # The one that was cancelled goes on, beside those under way.
        assert start(client, body, 200, 201) == ids
        assert statuses(up, ids) == ["answered"] * 3
        seen = model.seen
        assert start(client, body, 200) == ids
        assert client.post("/readings", json={**body, "questions": [OTHER]}).status_code == 422
    assert model.seen == seen


@pytest.mark.slow
def test_after_a_restart_they_go_on_in_lockstep_and_repeat_no_call(serving, gated, watched, body) -> None:
    first, second = gated(), watched()
    first.after(7)
    with serving(first) as up, up.client() as client:
        ids = start(client, body)
        up.events(ids[0], until=2)
    with serving(second) as up:
        assert {entry.leader for entry in up.service.usage.list_open()} <= {ids[0]}
        assert statuses(up, ids) == ["answered"] * 3
        calls = sum(up.journal.reading(id_).usage.calls for id_ in ids)
    # With the calls that the end of the first server cut off.
    assert first.asked + second.seen == calls
    read = sections(second.log)
    assert read == sorted(read, key=list(dict.fromkeys(read)).index)


@pytest.mark.slow
def test_all_start_or_none(serving, gated, body) -> None:
    model = gated()
    model.after(0)
    with serving(model, settings=ServerSettings(limits=Limits(readings=3))) as up, up.client() as client:
        too_many = client.post("/readings", json={**body, "questions": ["Q?"] * 4})
        assert (too_many.status_code, too_many.json()["error"]) == (400, "at most 3 questions at a time here")
        id_ = up.begin()["reading"]
        full = client.post("/readings", json=body)
        assert full.status_code == 429
        assert len(client.get("/readings").json()) == 1
        client.post(f"/readings/{id_}/cancel")
        start(client, body)


def test_a_wrong_question_starts_none(up, body) -> None:
    with up.client() as client:
        wrong = client.post("/readings", json={**body, "questions": [OTHER, " "]})
        assert wrong.status_code == 400
        assert client.get("/readings").json() == []


def test_a_document_that_cannot_be_opened_starts_none(up, body) -> None:
    with up.client() as client:
        missing = client.post("/readings", json={"questions": body["questions"], "document": "0" * 64})
        assert missing.status_code == 404
        assert client.get("/readings").json() == []
    assert len(up.service.readings) == 0


@pytest.mark.parametrize("wrong", [{"questions": []}, {"questions": "Q?"}, {"question": "Q?", "questions": ["Q?"]}, {}])
def test_a_request_has_one_question_or_a_list_of_them(up, wrong) -> None:
    with up.client() as client:
        assert client.post("/readings", json={"text": "x", **wrong}).status_code == 400
