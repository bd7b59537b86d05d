"""Count tokens with the server's own tokenizer: vLLM, llama.cpp and SGLang have a /tokenize route.

Counts are exact and nothing is downloaded. A text is sent once: its count is kept, two readers who ask at the same time
share one request, and where the server sends the text of each token (vLLM, llama.cpp) one request answers every
question about a chunk. The requests run in an event loop of their own, so that a tokenizer can be asked from any
thread; the reading loop cuts its chunks in one.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, Self, TypeVar

from bookwheel.background import LoopThread
from bookwheel.errors import BadReply, ModelError
from bookwheel.models.client import Client
from bookwheel.models.completion import parse_count, parse_ids
from bookwheel.models.endpoint import Endpoint
from bookwheel.text.tokens import ScannedText, replace_surrogates

# The first request holds this much text per token of the limit, and more only if that fits.
_CHARACTERS_PER_TOKEN: Final = 8
# A prefix with this share of its limit is long enough.
_CLOSE: Final = 0.98
_MOST_GUESSES: Final = 12
_COUNTS_KEPT: Final = 256
# Characters: memories, questions and templates are asked about again, chunks are not.
_LONGEST_KEPT: Final = 1 << 14
_SECONDS_TO_ANSWER: Final = 15.0
# Seconds before another try: a text is also counted where no reading would go on after a failure.
_WAITS: Final = (0.5, 1.0, 2.0, 4.0)
_T = TypeVar("_T")


class ServerTokenizer:
    """A tokenizer behind HTTP. We send every server's field names; each takes its own and ignores the others."""

    exact: Final = True

    def __init__(self, endpoint: Endpoint, model: str, waits: Sequence[float] = _WAITS) -> None:
        self.name = f"{endpoint.display_url} {model}"
        self._endpoint = endpoint
        self._model = model
        self._waits = waits
        self._thread = LoopThread("bookwheel tokenizer")
        self._requests: OrderedDict[str, asyncio.Future[_TokenizedText]] = OrderedDict()

    @classmethod
    async def find(cls, endpoint: Endpoint, model: str) -> Self | None:
        probe = cls(replace(endpoint, timeout=min(endpoint.timeout, _SECONDS_TO_ANSWER)), model, waits=())
        try:
            found = await asyncio.wrap_future(probe._thread.submit(probe._tokenize("one two three")))
            return cls(endpoint, model) if found.count else None
        except ModelError:  # hosted servers have no such route, and answer in many ways
            return None
        finally:
            await asyncio.to_thread(probe.close)

    def count(self, text: str) -> int:
        return self._wait(self._tokenize_once(text)).count

    def remember(self, text: str, tokens: int) -> None:
        """Keep a count that the server has sent with a reply."""
        known = self._thread.loop.create_future()
        known.set_result(_TokenizedText(text=text, count=tokens))
        self._thread.loop.call_soon_threadsafe(self._requests.setdefault, text, known)

    def fit(self, text: str, limit: int) -> int:
        """Return the character where token number `limit` ends, or a little less."""
        if limit <= 0:
            return 0
        head = limit * _CHARACTERS_PER_TOKEN
        while (fit := self.scan(text[:head]).fit(limit)) == head < len(text):
            head *= 4
        return fit

    def scan(self, text: str) -> ScannedText:
        return _ServerScan(self, self._wait(self._tokenize_once(text)))

    def search_prefix(self, text: str, limit: int, ids: Sequence[int]) -> int:
        """Return a prefix of at most `limit` tokens, of a server that does not send the text of each token."""
        prefix = self._wait(self._detokenize(ids[:limit])).rstrip("\N{REPLACEMENT CHARACTER}")
        if prefix and text.startswith(prefix):
            return len(prefix)
        return self._guess_prefix(text, limit, len(ids))

    async def template_tokens(self) -> int | None:
        """Return an upper bound of the tokens that the chat template adds, or None if the server cannot count them."""
        word = "x"
        user = {"role": "user", "content": word}
        conversations = ([user], [{"role": "system", "content": word}, user])
        counts = [
            await asyncio.wrap_future(self._thread.submit(self._count_conversation(conversation)))
            for conversation in conversations
        ]
        return max((tokens for tokens in counts if tokens is not None), default=None)

    def close(self) -> None:
        """Close the connections and end the thread."""
        if not self._thread.loop.is_closed():
            # A reading that was interrupted leaves its request behind, and Python complains of a task that never ends.
            self._thread.end_tasks()
            if "_client" in self.__dict__:
                self._wait(self._client.close())
            self._thread.close()

    def _wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._thread.submit(work).result()

    @cached_property
    def _client(self) -> Client:
        return self._endpoint.open_client()

    async def _tokenize_once(self, text: str) -> _TokenizedText:
        """Return the text's tokens, by the request that is under way or has been answered, if there is one."""
        text = replace_surrogates(text)
        if len(text) > _LONGEST_KEPT:
            return await self._tokenize(text)
        if text not in self._requests:
            self._requests[text] = asyncio.ensure_future(self._tokenize(text))
            while len(self._requests) > _COUNTS_KEPT:
                self._requests.popitem(last=False)
        self._requests.move_to_end(text)
        try:
            return await asyncio.shield(self._requests[text])
        except ModelError:
            # The next one to ask tries again.
            self._requests.pop(text, None)
            raise

    async def _tokenize(self, text: str, *, special: bool = False) -> _TokenizedText:
        """Send a text. `special` parses special tokens in it."""
        fields = {"add_special": special, "parse_special": special, "add_special_tokens": special}
        pieces = {"with_pieces": True, "return_token_strs": True}
        reply = await self._post("tokenize", {"content": text, "prompt": text, **fields, **pieces})
        tokens: Any = reply.get("tokens")
        texts: Any = reply.get("token_strs")
        if isinstance(tokens, list) and all(isinstance(token, dict) for token in tokens):
            texts = [token.get("piece") for token in tokens]
            tokens = [token.get("id") for token in tokens]
        if not isinstance(tokens, list) or (tokens and not parse_ids(tokens)):
            url = self._endpoint.display_url
            raise BadReply(f"{url} sent no token ids from /tokenize; give --tokenizer a tokenizer.json")
        ends = _find_ends(text, texts) if isinstance(texts, list) and len(texts) == len(tokens) else None
        return _TokenizedText(text=text, count=len(tokens), ids=() if ends else tokens, ends=ends)

    async def _count_conversation(self, messages: list[dict[str, str]]) -> int | None:
        """Count the tokens of a conversation in its template, by /tokenize itself or after /apply-template."""
        try:
            reply = await self._post("tokenize", {"messages": messages, "add_generation_prompt": True})
            if count := parse_count(reply.get("count")):
                return count
            prompt = (await self._post("apply-template", {"messages": messages})).get("prompt")
            return (await self._tokenize(prompt, special=True)).count if isinstance(prompt, str) else None
        except ModelError:  # not every template takes a system message, nor every server a conversation
            return None

    def _guess_prefix(self, text: str, limit: int, tokens: int) -> int:
        """Find the fitting prefix by counting prefixes, each chosen by interpolation."""
        low, low_tokens, high, high_tokens = 0, 0, len(text), tokens
        for _ in range(_MOST_GUESSES):
            if high - low <= 1 or low_tokens >= limit * _CLOSE:
                break
            share = (limit - low_tokens) / (high_tokens - low_tokens)
            guess = min(high - 1, max(low + 1, low + int((high - low) * share)))
            count = self.count(text[:guess])
            if count <= limit:
                low, low_tokens = guess, count
            else:
                high, high_tokens = guess, count
        return low

    async def _detokenize(self, ids: Sequence[int]) -> str:
        """Return the text of these ids, or an empty text if the server cannot detokenize."""
        try:
            reply = await self._post("detokenize", {"tokens": list(ids)})
        except ModelError:
            return ""
        return next((reply[name] for name in ("content", "prompt", "text") if isinstance(reply.get(name), str)), "")

    async def _post(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        body = {"model": self._model, **body}
        for wait in (*self._waits, None):
            try:
                reply = await self._client.ask(f"{self._endpoint.root}/{route}", body, self._model)
            except ModelError as error:
                if wait is None or not error.is_passing:
                    raise
                await asyncio.sleep(wait)
            else:
                return reply if isinstance(reply, dict) else {}
        raise AssertionError("the last try returns or raises")


@dataclass(frozen=True, slots=True, kw_only=True)
class _TokenizedText:
    """A text with the server's tokens."""

    text: str
    count: int
    ids: Sequence[int] = ()
    """Kept only where the server does not send the text of each token."""
    ends: Sequence[int] | None = None
    """The byte where each token ends."""


class _ServerScan:
    """A text that the server has tokenized."""

    # Nothing is known of how the server's tokenizer splits words.
    is_local: Final = False

    def __init__(self, tokenizer: ServerTokenizer, tokenized: _TokenizedText) -> None:
        self._tokenizer = tokenizer
        self._tokenized = tokenized

    def fit(self, limit: int) -> int:
        text, ends = self._tokenized.text, self._tokenized.ends
        if self._tokenized.count <= limit:
            return len(text)
        if ends is None:
            return self._tokenizer.search_prefix(text, limit, self._tokenized.ids)
        return len(text.encode()[: ends[limit - 1]].decode(errors="ignore"))

    def count(self, end: int) -> int:
        """Count a token that is cut in two as one more, as the parts are tokens too."""
        text, ends = self._tokenized.text, self._tokenized.ends
        if end >= len(text):
            return self._tokenized.count
        if ends is None:
            return self._tokenizer.count(text[:end])
        place = len(text[:end].encode())
        whole = bisect_right(ends, place)
        return whole + (whole == 0 or ends[whole - 1] < place)


def _find_ends(text: str, pieces: Sequence[Any]) -> list[int] | None:
    """Return the byte where each token's text ends, or None if together they are not the text.

    llama.cpp sends the text, or bytes where it is part of a character. vLLM sends the vocabulary's entries: of
    byte-level tokenizers these have one character for each byte.
    """
    if all(isinstance(piece, str) for piece in pieces):
        is_text = "".join(pieces) == text
        sizes = [len(piece.encode()) if is_text else len(piece) for piece in pieces]
    elif all(isinstance(piece, str | list) for piece in pieces):
        sizes = [len(piece.encode() if isinstance(piece, str) else piece) for piece in pieces]
    else:
        return None
    ends = list(accumulate(sizes))
    return ends if ends and ends[-1] == len(text.encode()) else None
