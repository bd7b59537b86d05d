from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookwheel.errors import Rejected, ServerFault
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_tokenizer import ServerTokenizer
from bookwheel.text.chunks import split
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Part

TOKENIZE, DETOKENIZE = "/tokenize", "/detokenize"
WORDS = WordTokenizer()
PROSE = "The lamp was lit at nine. Nobody had seen the keeper since the storm, and the boat was gone.\n\n" * 40


class Memo:
    name, length = "memo", None

    def parts(self, start=0):
        yield Part(text=PROSE[start:], source="memo")


@pytest.fixture
def tokenizer(server, acts):
    """A server that counts like WordTokenizer and detokenizes when it is told to under some name."""

    def make(detokenized_as: str | None = "content") -> ServerTokenizer:
        def tokenize(handler):
            text = server.bodies(TOKENIZE)[-1]["content"]
            acts.sends({"tokens": list(range(WORDS.count(text)))})(handler)

        def detokenize(handler):
            text, ids = server.bodies(TOKENIZE)[-1]["content"], server.bodies(DETOKENIZE)[-1]["tokens"]
            acts.sends({detokenized_as: text[: WORDS.fit(text, len(ids))]})(handler)

        server.plays(tokenize, route=TOKENIZE)
        if detokenized_as:
            server.plays(detokenize, route=DETOKENIZE)
        made.append(ServerTokenizer(Endpoint.resolve(server.url), "m", waits=()))
        return made[-1]

    made = []
    yield make
    for tokenizer in made:
        tokenizer.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["content", "prompt", "text"])
def test_counts_and_fits_are_the_servers(tokenizer, name):
    counted = tokenizer(name)
    assert counted.count(PROSE) == WORDS.count(PROSE)
    for limit in (1, 7, 100, 10_000):
        assert counted.fit(PROSE, limit) == WORDS.fit(PROSE, limit)
    assert counted.fit(PROSE, 0) == 0


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 900), dense=st.integers(0, 400))
@pytest.mark.slow
def test_without_detokenizing_a_fit_is_close_and_never_over(tokenizer, limit, dense):
    counted, text = tokenizer(None), "a, " * dense + PROSE
    fit = counted.fit(text, limit)
    assert WORDS.count(text[:fit]) <= limit
    assert fit == len(text) or WORDS.count(text[:fit]) >= min(limit - 1, 0.9 * limit)


def test_a_fit_asks_little_and_sends_little(tokenizer, server):
    counted = tokenizer()
    counted.fit(PROSE * 50, 20)
    assert len(server.asked) == 2
    assert len(server.bodies(TOKENIZE)[0]["content"]) < 200


def test_a_repeated_text_is_counted_once(tokenizer, server):
    counted = tokenizer()
    assert counted.count("who signed?") == counted.count("who signed?") == 3
    assert len(server.asked) == 1


@pytest.mark.slow
def test_chunks_by_the_servers_tokens_tile_the_text(tokenizer):
    chunks = list(split(Memo(), tokenizer(), 60))
    assert "".join(chunk.text for chunk in chunks) == PROSE
    assert all(chunk.tokens <= 60 for chunk in chunks)
    assert len(chunks) < 1.4 * WORDS.count(PROSE) / 60


def split_words(text: str) -> list[str]:
    return [match[0] for match in WordTokenizer._token.finditer(text)]


@pytest.fixture
def with_pieces(server, acts):
    """A server that sends each token's text, as llama.cpp and vLLM do."""

    def make(shape) -> ServerTokenizer:
        def tokenize(handler):
            acts.sends(shape(split_words(server.bodies(TOKENIZE)[-1]["content"])))(handler)

        server.plays(tokenize, route=TOKENIZE)
        made.append(ServerTokenizer(Endpoint.resolve(server.url), "m", waits=()))
        return made[-1]

    made = []
    yield make
    for tokenizer in made:
        tokenizer.close()


def as_llama_cpp(pieces):
    return {"tokens": [{"id": n, "piece": piece if n % 2 else list(piece.encode())} for n, piece in enumerate(pieces)]}


def as_vllm(pieces):
    return {"tokens": list(range(len(pieces))), "token_strs": ["".join(map(chr, piece.encode())) for piece in pieces]}


@pytest.mark.parametrize("shape", [as_llama_cpp, as_vllm])
@pytest.mark.parametrize("text", [PROSE, "灯塔看守人 wrote é😀 " * 60])
def test_one_request_answers_every_question_about_a_text(with_pieces, server, shape, text):
    scanned = with_pieces(shape).scan(text)
    for limit in (1, 7, 100, 10_000):
        assert scanned.fit(limit) == WORDS.fit(text, limit)
    for end in (1, 5, 50, len(text)):
        assert WORDS.count(text[:end]) == scanned.count(end)
    assert len(server.asked) == 1


@pytest.mark.parametrize("shape", [as_llama_cpp, as_vllm])
def test_a_chunk_is_one_request_at_most_and_no_text_is_sent_twice(with_pieces, server, shape):
    chunks = list(split(Memo(), with_pieces(shape), 60))
    assert "".join(chunk.text for chunk in chunks) == PROSE
    assert all(chunk.tokens == WORDS.count(chunk.text) <= 60 for chunk in chunks)
    sent = [body["content"] for body in server.bodies(TOKENIZE)]
    assert len(sent) == len(set(sent)) <= len(chunks)


def test_pieces_that_are_not_the_text_are_not_trusted(with_pieces):
    def broken(pieces):
        return {"tokens": list(range(len(pieces))), "token_strs": [piece[:-1] for piece in pieces]}

    assert with_pieces(broken).scan("one two three")._tokenized.ends is None


def test_readers_who_ask_at_the_same_time_share_a_request(server, acts):
    server.plays(acts.sends({"tokens": [1, 2, 3]}), route=TOKENIZE)
    counted = ServerTokenizer(Endpoint.resolve(server.url), "m", waits=())
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(counted.count, ["who signed it?"] * 40)) == {3}
    assert len(server.asked) == 1
    counted.close()


def test_a_count_that_came_with_a_reply_is_not_asked_for(tokenizer, server):
    counted = tokenizer()
    counted.remember("Signed by Ada.", 17)
    assert counted.count("Signed by Ada.") == 17
    assert not server.asked


def test_a_failed_count_is_asked_for_again(tokenizer, server, acts):
    counted = tokenizer()
    server.plays(acts.fault(500, "worker died"), acts.sends({"tokens": [1]}), route=TOKENIZE)
    with pytest.raises(ServerFault):
        counted.count("text")
    assert counted.count("text") == 1


@pytest.mark.parametrize(
    "bad", [{"detail": "Not Found"}, {"tokens": []}, {"tokens": ["a"]}, {"tokens": None}, [], "<html>"]
)
def test_a_server_without_a_tokenizer_has_none(server, acts, bad):
    server.plays(acts.sends(bad), route=TOKENIZE)
    assert asyncio.run(ServerTokenizer.find(Endpoint.resolve(server.url), "m")) is None


def test_looking_for_a_tokenizer_does_not_wait_for_retries(server, acts):
    server.plays(acts.fault(503, "what?"), route=TOKENIZE)
    assert asyncio.run(ServerTokenizer.find(Endpoint.resolve(server.url), "m")) is None
    assert len(server.asked) == 1


def test_a_fault_that_may_pass_is_tried_again_and_one_that_stays_is_not(tokenizer, server, acts):
    counted = tokenizer()
    counted._waits = (0.0, 0.0)
    server.plays(acts.fault(503, "busy"), acts.fault(503, "busy"), acts.sends({"tokens": [1]}), route=TOKENIZE)
    assert counted.count("text") == 1
    server.plays(acts.fault(400, "no text"), acts.sends({"tokens": [1]}), route=TOKENIZE)
    with pytest.raises(Rejected):
        counted.count("another text")


def test_a_server_that_fails_later_is_told(tokenizer, server, acts):
    counted = tokenizer()
    server.plays(acts.fault(500, "worker died"), route=TOKENIZE)
    with pytest.raises(ServerFault, match="worker died"):
        counted.count("text")


def test_lone_surrogates_count_like_replacement_characters(tokenizer):
    assert tokenizer().count("a\ud800b") == WORDS.count("a\ufffdb")


def test_a_request_that_is_interrupted_leaves_nothing_behind(server, caplog):
    began, go_on = threading.Event(), threading.Event()

    def hang(handler):
        began.set()
        go_on.wait()

    async def run():
        search = asyncio.ensure_future(ServerTokenizer.find(Endpoint.resolve(server.url), "m"))
        await asyncio.to_thread(began.wait)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search

    server.plays(hang, route=TOKENIZE)
    asyncio.run(run())
    go_on.set()
    gc.collect()
    assert "Task was destroyed" not in caplog.text
