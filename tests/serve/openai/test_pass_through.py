"""Requests that need no reading: passed on as they are, paid for as they may cost, answered as the endpoint answers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import openai
import pytest
from openai import OpenAI

from bookwheel.errors import BudgetReached, TimedOut
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.patience import Patience
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Plan
from bookwheel.serve.engine.access import Key, KeyRing, TokenQuota, hash_secret
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.engine.sharing import Metrics
from bookwheel.serve.engine.usage import UsageStore
from bookwheel.serve.openai import pass_through
from bookwheel.serve.openai.conversation import parse_messages
from bookwheel.serve.openai.pass_through import PassedCall, PassThrough, check_budget, set_limit, worst_prompt_tokens
from bookwheel.serve.openai.requests import ChatShape
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Usage

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
    model = OpenAIModel(name="far", base_url="http://127.0.0.1:9/v1", api_key="sk-inner-secret", window=400)
    with serving(model) as front, front.client() as plain:
        answer = plain.post("/v1/chat/completions", json={"model": "far", "messages": HELLO})
    assert answer.status_code == 502
    assert answer.json()["error"]["type"] == "server_error"
    assert "sk-inner-secret" not in answer.text


def test_too_many_waiting_calls_are_declined_with_a_time_to_come_back(serving, gated) -> None:
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


def test_a_refusal_that_names_a_time_to_come_back_comes_back_at_once_with_it(serving, gated) -> None:
    busy = ServerSettings(limits=Limits(waiting_calls=0))
    with serving(gated(name="far"), settings=busy, folder="behind") as behind:
        model = OpenAIModel(name="far", base_url=f"{behind.url}/v1", window=600, tokenizer=WordTokenizer())
        with serving(model, folder="front") as front, front.client() as plain:
            full = plain.post("/v1/chat/completions", json={"model": "far", "messages": HELLO})
        with behind.client() as plain:
            assert 'bookwheel_requests_total{method="POST",status="429"} 1.0' in plain.get("/metrics").text
    assert (full.status_code, full.headers["Retry-After"], full.headers.get("x-should-retry")) == (429, "5", None)


WORST = Usage(calls=1, prompt_tokens=100, completion_tokens=50)


def chat_of(text: str, **fields: object) -> ChatShape:
    return ChatShape(model="m", messages=[{"role": "user", "content": text}], **fields)


def model_of(window: int | None = 100) -> ScriptedModel:
    model = ScriptedModel(lambda messages: "yes", window=window)
    model.template_tokens = 8
    return model


def test_the_worst_prompt_counts_texts_tools_and_messages_and_pictures_fill_the_window() -> None:
    model, messages = model_of(), [{"role": "user", "content": "four words are here"}]
    contents = parse_messages(chat_of("four words are here").messages)
    bare = worst_prompt_tokens(contents, {"messages": messages}, model, 900)
    assert bare == 8 + 4 + 8
    assert worst_prompt_tokens(contents, {"messages": messages, "tools": [{"name": "x" * 320}]}, model, 900) > bare + 99
    picture = [{"type": "image_url", "image_url": {"url": "data:"}}]
    seen = ChatShape(model="m", messages=[{"role": "user", "content": picture}])
    assert worst_prompt_tokens(parse_messages(seen.messages), {"messages": messages}, model, 900) == 900


@pytest.mark.parametrize(
    ("budget", "refused"),
    [
        (Budget(tokens=149), True),
        (Budget(tokens=150), False),
        (Budget(cost=0.9, price_in=5000, price_out=10000), True),
        (Budget(cost=1.0, price_in=5000, price_out=10000), False),
    ],
)
def test_a_chat_beyond_the_servers_budget_is_refused_before_it_is_sent(budget: Budget, refused: bool) -> None:
    if refused:
        with pytest.raises(BudgetReached, match="max_tokens"):
            check_budget(WORST, budget)
    else:
        check_budget(WORST, budget)


@pytest.mark.parametrize(
    ("body", "unsupported", "limits"),
    [
        ({}, (), {"max_tokens": 9}),
        ({}, ("max_tokens",), {"max_completion_tokens": 9}),
        ({"max_tokens": 400}, (), {"max_tokens": 9}),
        ({"max_tokens": 1, "max_completion_tokens": 400}, (), {"max_tokens": 9, "max_completion_tokens": 9}),
    ],
)
def test_every_field_that_an_endpoint_may_read_has_the_limit(body, unsupported, limits) -> None:
    set_limit(body, 9, unsupported)
    assert body == limits


@pytest.mark.parametrize("name", ["n_predict", "best_of", "max_new_tokens", "options"])
def test_a_field_that_could_pass_the_limit_is_refused(name: str) -> None:
    with pytest.raises(ApiError, match=name):
        set_limit({"max_tokens": 1, name: 400}, 1, ())


def test_the_smaller_of_two_limits_counts() -> None:
    assert chat_of("x", max_tokens=400, max_completion_tokens=1).limit == 1
    assert chat_of("x", max_tokens=1, max_completion_tokens=400).limit == 1


def test_fields_of_a_message_and_unknown_ones_count_as_prompt() -> None:
    model = model_of()
    contents = parse_messages(chat_of("four words are here").messages)
    bare = worst_prompt_tokens(contents, {"messages": [{"role": "user", "content": "x"}]}, model, 900)
    hidden = {"role": "user", "content": "x", "reasoning_content": "x" * 3200}
    assert worst_prompt_tokens(contents, {"messages": [hidden]}, model, 900) > bare + 990
    body = {"messages": [{"role": "user", "content": "x"}], "documents": [{"text": "x" * 3200}]}
    assert worst_prompt_tokens(contents, body, model, 900) > bare + 990


@pytest.fixture
def quota(tmp_path):
    store = UsageStore(tmp_path / "journal.sqlite")
    yield TokenQuota(Key(name="a", sha256="", tokens_per_day=1000), store), store
    store.close()


def chunk(text: str) -> dict:
    return {"choices": [{"delta": {"content": text}}]}


@pytest.mark.parametrize(
    ("payloads", "ending", "tokens"),
    [
        ([chunk("abcd"), {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}], {}, 10),
        ([chunk("x" * 16), chunk("x" * 16)], {}, 110),
        ([{"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "x" * 320}}]}}]}], {}, 150),
        ([], {}, 100),
        ([], {"is_whole": False}, 150),
        ([chunk("x" * 32)], {"is_charged": False}, 0),
        ([{"usage": {"prompt_tokens": "7", "completion_tokens": -1}}, 7, None, {"choices": [3]}], {}, 0),
    ],
)
def test_a_call_is_counted_once_by_the_best_that_is_known(quota, payloads, ending, tokens) -> None:
    budget, store = quota

    async def run() -> None:
        call = PassedCall("m", WORST, budget, Metrics())
        call.open()
        for payload in payloads:
            call.observe(payload)
        await call.close(**ending)
        await call.close()

    asyncio.run(run())
    assert store.tokens_today("a") == tokens
    budget.check(1000 - tokens)


def test_calls_side_by_side_cannot_reserve_more_than_there_is(quota) -> None:
    budget, _ = quota
    calls = [PassedCall("m", WORST, budget, Metrics()) for _ in range(10)]
    for call in calls[:6]:
        call.open()
    for call in calls[6:]:
        with pytest.raises(BudgetReached):
            call.open()


@pytest.fixture
def guarded(serving, gated):
    """A server with keys and quotas in front of another one of ours."""
    with ExitStack() as stack:
        model = gated(name="far", window=900)
        behind = stack.enter_context(serving(model, folder="behind"))
        endpoint = OpenAIModel(
            name="far",
            base_url=f"{behind.url}/v1",
            api_key="k",
            window=600,
            plan=behind.model.plan,
            tokenizer=WordTokenizer(),
        )
        keys = KeyRing([Key(name="alice", sha256=hash_secret("secret"), tokens_per_day=3000)])
        front = stack.enter_context(serving(endpoint, folder="front", keys=keys))
        yield front, behind


def body(**more: object) -> dict:
    return {"model": "far", "messages": [{"role": "user", "content": "Hello there " * 100}], **more}


HEADERS = {"Authorization": "Bearer secret"}


@pytest.mark.slow
def test_requests_side_by_side_stay_within_a_keys_tokens(guarded) -> None:
    front, behind = guarded
    with front.client() as client, ThreadPoolExecutor(10) as many:
        sends = [
            many.submit(client.post, "/v1/chat/completions", json=body(max_tokens=150), headers=HEADERS)
            for _ in range(10)
        ]
        statuses = sorted(answer.result().status_code for answer in sends)
    spent = front.service.usage.tokens_today("alice")
    assert 0 < spent <= 3000
    assert statuses[0] == 200
    assert behind.model.calls == statuses.count(200)


@pytest.mark.slow
def test_a_stream_that_the_client_leaves_is_paid_for(guarded) -> None:
    front, _ = guarded
    with (
        front.client() as client,
        client.stream("POST", "/v1/chat/completions", json=body(stream=True), headers=HEADERS) as answer,
    ):
        next(answer.iter_lines())
    with front.client() as client:  # the server has seen the end of the first request by then
        client.get("/healthz")
        while not front.service.usage.tokens_today("alice"):
            client.get("/healthz")
    assert front.service.usage.tokens_today("alice") >= 200


@pytest.mark.slow
def test_the_reply_of_a_limited_key_has_a_limit_too(guarded) -> None:
    front, behind = guarded
    limits = []
    reply = behind.model.reply

    async def noted(messages, *, limit, sampling):
        limits.append(limit)
        return await reply(messages, limit=limit, sampling=sampling)

    behind.model.reply = noted
    with OpenAI(base_url=f"{front.url}/v1", api_key="secret", max_retries=0) as ai:
        ai.chat.completions.create(**body())
    assert limits == [150]


@pytest.mark.slow
def test_a_limited_server_refuses_a_chat_that_could_cost_more(serving, gated) -> None:
    with ExitStack() as stack:
        behind = stack.enter_context(serving(gated(name="far", window=900), folder="behind"))
        model = OpenAIModel(name="far", base_url=f"{behind.url}/v1", window=600, tokenizer=WordTokenizer())
        plans = {"far": Plan(budget=Budget(tokens=400))}
        front = stack.enter_context(serving(model, folder="front", plans=plans))
        with front.client() as client:
            refused = client.post("/v1/chat/completions", json=body(max_tokens=250))
            passed = client.post("/v1/chat/completions", json=body(max_tokens=30))
    assert (refused.status_code, refused.json()["error"]["code"], passed.status_code) == (400, "budget_reached", 200)
    assert behind.model.calls == 1


class Chunks:
    """A stream of an endpoint, up to an error."""

    def __init__(self, *finishes, error=None, is_done=False):
        self.finishes, self.error, self.is_done = finishes, error, is_done

    async def __aiter__(self):
        for finish in self.finishes:
            yield {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": finish}]}
        if self.error:
            raise self.error

    async def close(self):
        pass


class Uncounted:
    def observe(self, chunk):
        pass

    async def close(self):
        pass


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        (Chunks(None, "stop"), ""),
        (Chunks(None, is_done=True), ""),
        (Chunks(), ""),
        (Chunks(None), "the stream ended before the reply did"),
        (Chunks(None, error=TimedOut("sent no whole reply within 20 s")), "sent no whole reply within 20 s"),
        (Chunks(None, error=OSError(104, "reset")), "broke in mid-reply"),
    ],
)
def test_a_passed_stream_that_breaks_ends_in_an_event_that_says_so(chunks, said) -> None:
    model = OpenAIModel(name="far", base_url="http://localhost:1/v1", api_key="x")

    async def forward():
        return [one async for one in PassThrough._forward_chunks(None, chunks, model, Uncounted())]

    *pieces, last = [None, *asyncio.run(forward())]
    assert said in last["error"]["message"] if said else "error" not in (last or {})
    assert len(pieces) == len(chunks.finishes) + bool(said)
