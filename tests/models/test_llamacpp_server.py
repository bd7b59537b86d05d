"""The SDK against a real server: llama.cpp's own, with the local weights, on loopback."""

from __future__ import annotations

import asyncio
import math

import pytest

from bookwheel.errors import WindowExceeded
from bookwheel.models.offers import find_offers
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.server_models import ServerSoftware, list_served_models
from bookwheel.models.server_tokenizer import ServerTokenizer
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.loop import read
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Answer, Finish, Message, Part

pytestmark = [pytest.mark.weights, pytest.mark.slow]

DRAWN = Sampling(temperature=0.7, top_p=0.95, seed=1)
MIXED = "Lighthouse — 灯塔 — φάρος 🗼!  The keeper's log, <|im_start|> 1911:\r\n\tnine lamps, 40% oil.\n" * 5


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def with_model(url, act, **settings):
    async def run():
        model = await OpenAIModel(name="local-test", base_url=url, timeout=60, **settings).connect()
        try:
            return await act(model)
        finally:
            await model.aclose()

    return asyncio.run(run())


def ask(model, text="Name a fruit.", *, limit=24, sampling=DRAWN):
    return model.reply([Message(role="user", content=text)], limit=limit, sampling=sampling)


def test_connecting_learns_all_that_the_server_tells(llama):
    async def act(model):
        (served,) = await list_served_models(model.endpoint)
        reply = await ask(model, "x", limit=1)
        assert served.software is ServerSoftware.LLAMA_CPP
        assert model.window == served.window == 2048
        assert isinstance(model.tokenizer, ServerTokenizer)
        room = model.tokenizer.count("x") + model.template_tokens
        assert reply.usage.prompt_tokens <= room <= reply.usage.prompt_tokens + 24

    with_model(llama, act)


@pytest.mark.parametrize("limit", [6, 200])
def test_streamed_and_whole_replies_are_the_same(llama, limit):
    streamed, whole = (
        with_model(llama, lambda model: ask(model, "Say yes.", limit=limit), stream=stream) for stream in (True, False)
    )
    assert streamed.text
    assert (streamed.text, streamed.finish) == (whole.text, whole.finish)
    assert (streamed.usage.prompt_tokens, streamed.usage.completion_tokens) == (
        whole.usage.prompt_tokens,
        whole.usage.completion_tokens,
    )
    assert (whole.finish is Finish.LENGTH) == (whole.usage.completion_tokens == limit)


def test_recorded_tokens_are_those_that_were_read_and_sampled(llama):
    async def act(model):
        reply = await ask(model, "Say yes.", limit=400, sampling=Sampling(temperature=1, top_p=1, seed=2))
        tokenizer = model.tokenizer
        text = tokenizer._wait(tokenizer._detokenize(reply.tokens.reply))
        start = tokenizer._wait(tokenizer._detokenize(reply.tokens.prompt))
        return reply, text, start

    reply, text, start = with_model(llama, act, record_tokens=True, stream=True)
    assert reply.finish is Finish.STOP
    assert text.startswith(reply.text)
    assert start.endswith("assistant\n")
    assert "Say yes." in start
    assert len(reply.tokens.prompt) == reply.usage.prompt_tokens
    assert len(reply.tokens.reply) == len(reply.tokens.logprobs) == reply.usage.completion_tokens
    assert all(logprob <= 0 for logprob in reply.tokens.logprobs)


def test_recorded_logprobs_are_of_the_distribution_that_was_sampled_from(llama):
    def record(temperature):
        # A plan allows no more than 2; 4 is nearly uniform.
        settings = {"record_tokens": True, "extra_body": {"temperature": temperature}}
        sampling = Sampling(top_p=1, seed=5)
        return with_model(llama, lambda model: ask(model, limit=1, sampling=sampling), **settings).tokens

    assert record(0).logprobs == (0.0,)
    bare, hot = record(1), record(4)
    assert bare.prompt == hot.prompt
    spread = math.log(49152)
    assert -spread - 4 < hot.logprobs[0] < -4


def test_the_servers_tokenizer_counts_and_fits_alike(llama):
    async def act(model):
        tokenizer = model.tokenizer
        total = tokenizer.count(MIXED)
        for limit in (1, 5, 33, total // 2, total - 1):
            fit = tokenizer.fit(MIXED, limit)
            assert limit - 4 <= tokenizer.count(MIXED[:fit]) <= limit + 1
            searched = tokenizer._guess_prefix(MIXED, limit, total)
            assert 0.9 * limit - 2 <= tokenizer.count(MIXED[:searched]) <= limit
        assert tokenizer.fit(MIXED, total) == len(MIXED)
        assert tokenizer.count("<|im_start|>") > 1

    with_model(llama, act)


def test_a_prompt_beyond_the_window_names_both_numbers(llama):
    async def act(model):
        with pytest.raises(WindowExceeded) as caught:
            await ask(model, "word " * 3000)
        return str(caught.value)

    said = with_model(llama, act)
    assert "n_ctx = 2048" in said
    assert "n_prompt_tokens = 30" in said


def test_a_whole_document_is_read_through_the_endpoint(llama):
    text = MIXED[: len(MIXED) // 2]

    class Log:
        name, length = "log", len(text)

        def parts(self, start=0):
            yield Part(text=text[start:], source="log")

        def slice(self, start, end):
            return text[start:end]

    plan = Plan(
        question_tokens=64, chunk_tokens=80, memory_tokens=12, answer_tokens=12, sampling=Sampling(temperature=0)
    )

    async def act(model):
        return [event async for event in read(Log(), "How many lamps are there?", model, plan)]

    *steps, answer = with_model(llama, act)
    assert isinstance(answer, Answer)
    assert "".join(step.chunk.text for step in steps) == text
    assert len(steps) > 1
    for step in steps:
        usage = step.conversation.reply.usage
        assert step.chunk.tokens <= 80
        assert usage.prompt_tokens >= step.chunk.tokens
        assert escape_markup(step.chunk.text) in step.conversation.messages[-1].content


def test_it_judges_and_scores(llama):
    async def act(model):
        messages = [Message(role="user", content="Mara Quill keeps the lamp.\n\nWrite one question about this.")]
        right = await model.likelihood(messages, "Who keeps the lamp?")
        wrong = await model.likelihood(messages, "Which bank lent the money?")
        judgement = await model.judge(
            [Message(role="user", content="Is ice cold? Reply with Yes or No.")], ("Yes", "No")
        )
        assert right.mean > wrong.mean + 1
        assert max(judgement.logprobs) < 0
        assert judgement.usage.completion_tokens == 1

    with_model(llama, act)


def test_what_the_server_offers_is_found_by_trying(llama):
    offers = with_model(llama, find_offers, record_tokens=True)
    assert {str(offer.kind): offer.is_offered for offer in offers} == {
        "judge": True,
        "likelihood": True,
        "token ids": True,
        "tokenizer": True,
        "window": True,
        "prefix cache": True,
        "embeddings": False,
        "pictures": False,
    }
