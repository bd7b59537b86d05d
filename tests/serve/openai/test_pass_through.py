"""Requests that need no reading, in front of another endpoint: passed on as they are, answered as it answers."""

from __future__ import annotations

from contextlib import ExitStack

import openai
import pytest
from openai import OpenAI

from bookwheel.models.openai import OpenAIModel
from bookwheel.models.patience import Patience
from bookwheel.serve.openai import pass_through
from bookwheel.text.tokens import WordTokenizer

HELLO = [{"role": "user", "content": "Hello there"}]


@pytest.fixture
def chain(serving, gated):
    """A server in front of another one of ours, which stands for any endpoint."""
    with ExitStack() as stack:
        behind = stack.enter_context(serving(gated(name="far", window=900), folder="behind"))
        model = OpenAIModel(
            name="far",
            base_url=f"{behind.url}/v1",
            api_key="sk-inner-secret",
            window=600,
            plan=behind.model.plan,
            tokenizer=WordTokenizer(),
            retries=0,
        )
        front = stack.enter_context(serving(model, folder="front"))
        yield front, behind, stack.enter_context(OpenAI(base_url=f"{front.url}/v1", api_key="x", max_retries=0))


@pytest.mark.slow
def test_a_short_request_reaches_the_endpoint_unchanged_and_its_answer_comes_back(chain) -> None:
    front, behind, ai = chain
    said = ai.chat.completions.create(model="far", messages=HELLO)
    with OpenAI(base_url=f"{behind.url}/v1", api_key="x") as direct:
        bare = direct.chat.completions.create(model="far", messages=HELLO)
    assert said.choices == bare.choices
    assert said.usage == bare.usage
    assert front.journal.readings() == []
    with front.client() as plain:
        assert 'bookwheel_calls_total{model="far"} 1.0' in plain.get("/metrics").text


@pytest.mark.slow
def test_a_streamed_one_is_passed_on_piece_by_piece(chain) -> None:
    _, behind, ai = chain
    pieces = list(ai.chat.completions.create(model="far", messages=HELLO, stream=True))
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert behind.model.calls == 1


@pytest.mark.slow
def test_a_long_one_is_read_through_the_endpoint(chain, words) -> None:
    front, _, ai = chain
    messages = [{"role": "user", "content": text} for text in words]
    said = ai.chat.completions.create(model="far", messages=messages)
    assert "Ada Quill" in said.choices[0].message.content
    assert front.journal.reading("last").model == "far"


@pytest.mark.slow
def test_the_endpoints_refusal_comes_back_with_its_status_and_without_its_key(chain) -> None:
    _, behind, ai = chain
    with pytest.raises(openai.BadRequestError, match="wizard"):
        ai.chat.completions.create(model="far", messages=[{"role": "wizard", "content": "Hi"}, *HELLO])
    assert behind.model.calls == 0


def test_an_endpoint_that_is_gone_is_a_bad_gateway(serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_through, "_PATIENCE", Patience(seconds=0))
    model = OpenAIModel(name="far", base_url="http://127.0.0.1:9/v1", api_key="sk-inner-secret", window=400, retries=0)
    with serving(model) as front, front.client() as plain:
        answer = plain.post("/v1/chat/completions", json={"model": "far", "messages": HELLO})
    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "server_error"
    assert "sk-inner-secret" not in answer.text


def test_too_many_waiting_calls_are_declined_with_a_time_to_come_back(serving, gated) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from bookwheel.serve.engine.settings import Limits, ServerSettings

    model = gated()
    model.after(0)
    limits = Limits(calls=1, waiting_calls=1)
    with (
        serving(model, settings=ServerSettings(limits=limits)) as up,
        up.client() as plain,
        ThreadPoolExecutor(2) as many,
    ):
        body = {"model": "scripted", "messages": HELLO}
        held = [many.submit(plain.post, "/v1/chat/completions", json=body) for _ in range(2)]
        while up.service.queue.waiting < 1:
            pass
        full = plain.post("/v1/chat/completions", json=body)
        model.after(10**9)
        assert [answer.result().status_code for answer in held] == [200, 200]
    assert full.status_code == 429
    assert int(full.headers["Retry-After"]) >= 1
