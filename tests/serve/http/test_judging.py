"""An answer that is there is judged by a model over HTTP, within limits and rights as any call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookwheel.models.registry import ModelAddress
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Plan
from bookwheel.serve.engine.access import Key, KeyRing, hash_secret

TEXT, QUESTION = "The keeper of the lamp is Ada Quill. Rain fell for weeks.", "Who keeps the lamp?"
PLAN = Plan(question_tokens=60, chunk_tokens=200, memory_tokens=40, answer_tokens=30)


def reader(*, judgement: str = "Yes", plan: Plan = PLAN) -> ScriptedModel:
    """Return a model that answers in words of its own, and says so when it is asked to judge."""

    def reply(messages):
        text = messages[-1].content
        turns = "everything that", "cannot be true", "or a part of it?"
        return judgement if any(turn in text for turn in turns) else "The one who tends it is Miss Quill."

    return ScriptedModel(reply, plan=plan)


def read(up, client) -> dict:
    id_ = client.post("/readings", json={"question": QUESTION, "text": TEXT}).json()["reading"]
    client.get(f"/readings/{id_}/events")
    return client.get(f"/readings/{id_}").json()


def test_a_model_judges_an_answer_that_is_there_without_reading_again(serving):
    with serving(reader()) as up, up.client() as client:
        (model,) = client.get("/models").json()
        asked = read(up, client)
        judged = client.post(f"/readings/{asked['reading']}/judge?changes=1", json={"model": model["name"]})
        kept = client.get(f"/readings/{asked['reading']}?changes=1").json()
    assert model["judges"] is True
    assert (asked["sign"], [claim["judge"] for claim in asked["claims"]]) == ("red", ["words"])
    assert judged.status_code == 200, judged.text
    assert judged.json() == kept
    assert (kept["sign"], [claim["judge"] for claim in kept["claims"]]) == ("green", ["scripted"])
    assert kept["usage"]["calls"] == asked["usage"]["calls"] + 2
    assert kept["steps"][0]["changes"]


def test_what_is_under_way_or_held_is_not_judged_meanwhile(serving, gated):
    model = gated()
    model.after(2)
    with serving(model) as up, up.client() as client:
        id_ = up.begin()["reading"]
        refused = client.post(f"/readings/{id_}/judge")
        assert (refused.status_code, refused.json()["kind"]) == (409, "under_way")
        model.after(10**9)
        up.events(id_)
        with up.journal.claim(id_):
            held = client.post(f"/readings/{id_}/judge")
    assert (held.status_code, held.json()["kind"]) == (409, "JournalError")
    assert "wait for it" in held.json()["error"]


def test_judging_keeps_to_the_servers_limits_for_all_runs_together(serving):
    model = reader()
    with serving(model) as up, up.client() as client:
        asked = read(up, client)
        path = f"/readings/{asked['reading']}/judge"
        spent = asked["usage"]["prompt_tokens"] + asked["usage"]["completion_tokens"]
        own = client.post(path, json={"plan": {"budget": {"tokens": 1}}})
        up.service.plans[model.name] = replace(PLAN, budget=Budget(tokens=spent + 1))
        theirs = client.post(path)
        kept = client.get(f"/readings/{asked['reading']}").json()
    for refused in (own, theirs):
        assert (refused.status_code, refused.json()["kind"]) == (400, "BudgetReached")
    assert (kept["claims"], kept["usage"]) == (asked["claims"], asked["usage"])


def test_judging_is_paid_from_the_keys_quota(serving):
    key = Key(name="ada", sha256=hash_secret("ada" * 8), tokens_per_day=2000)
    headers = {"Authorization": f"Bearer {'ada' * 8}"}
    with serving(reader(), keys=KeyRing([key])) as up, up.client(headers=headers) as client:
        asked, used = read(up, client), up.service.usage.tokens_today
        before = used("ada")
        assert client.post(f"/readings/{asked['reading']}/judge").status_code == 200
        assert used("ada") > before
        up.service.usage.add_tokens("ada", 2000)
        up.service._quotas.clear()
        refused = client.post(f"/readings/{asked['reading']}/judge")
    assert (refused.status_code, refused.json()["kind"]) == (429, "QuotaReached")


@pytest.mark.parametrize(
    ("model", "body", "status", "words"),
    [
        (reader(plan=replace(PLAN, prompts="small")), {}, 400, "only quotes and cannot judge"),
        (reader(), {"model": "nobody"}, 404, "no model 'nobody' here"),
        (reader(judgement="Perhaps."), {}, 502, "verdicts stay as they were"),
    ],
)
def test_who_cannot_judge_says_so_and_changes_nothing(serving, model, body, status, words):
    with serving(model) as up, up.client() as client:
        asked = read(up, client)
        refused = client.post(f"/readings/{asked['reading']}/judge", json=body)
        kept = client.get(f"/readings/{asked['reading']}").json()
    assert refused.status_code == status
    assert words in refused.json()["error"]
    assert "--" not in refused.json()["error"]
    assert kept["claims"] == asked["claims"]


def test_what_has_no_answer_cannot_be_judged(serving):
    with serving(reader()) as up, up.client() as client:
        body = {"question": QUESTION, "text": TEXT, "plan": {"budget": {"tokens": 1}}}
        id_ = client.post("/readings", json=body).json()["reading"]
        client.get(f"/readings/{id_}/events")
        refused = client.post(f"/readings/{id_}/judge")
    assert refused.status_code == 400
    assert "no answer to judge" in refused.json()["error"]


def test_an_answer_is_told_before_the_model_has_judged_it(serving, gated):
    model = gated()
    with serving(model) as up, up.client() as client:
        first = up.events(up.begin()["reading"])
        # As many steps and the answer again, and no judgement.
        model.after(model.seen + len(first) - 1)
        id_ = up.begin(plan={"verdict": "model"})["reading"]
        kind, _, answer = up.events(id_, until=len(first) - 1)[-1]
        meanwhile = client.get(f"/readings/{id_}").json()
        model.after(10**9)
        kinds = [kind for kind, _, _ in up.events(id_)]
    assert kind == "answer"
    assert (meanwhile["status"], meanwhile["answer"], meanwhile["verdict"]) == ("reading", answer["answer"], None)
    assert kinds[-2:] == ["answer", "status"]
    assert kinds.count("answer") == 1


def test_the_command_line_finds_the_model_of_a_reading_that_the_server_made(serving):
    model = reader()
    address = ModelAddress(model="scripted", url="http://127.0.0.1:9/v1", window=400)
    with serving(model, addresses={model.name: address}) as up, up.client() as client:
        asked = read(up, client)
        assert up.journal.address_of(asked["reading"]) == address
