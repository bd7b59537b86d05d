"""Count tokens with the server's own tokenizer: vLLM, llama.cpp and SGLang have a /tokenize route.

Counts are exact and nothing is downloaded. Each count costs a small request, so recent ones are cached.
The calls block: a server in the same event loop would deadlock.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

from bookwheel.errors import BadReply, ModelError
from bookwheel.models.sdk_errors import translate_error
from bookwheel.text.tokens import replace_surrogates

if TYPE_CHECKING:
    from bookwheel.models.endpoint import Endpoint

# The first request holds this much text per token of the limit, and more only if that fits.
_CHARACTERS_PER_TOKEN: Final = 8
# A prefix with this share of its limit is long enough.
_CLOSE: Final = 0.98
_MOST_GUESSES: Final = 12
_COUNTS_KEPT: Final = 64
_SECONDS_TO_ANSWER: Final = 15.0


class ServerTokenizer:
    """A tokenizer behind HTTP. We send every server's field names; each takes its own and ignores the others."""

    exact: Final = True

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.name = f"{endpoint.display_url} {model}"
        self._endpoint = endpoint
        self._model = model
        self._client = endpoint.open_sync_client()
        self._count = lru_cache(_COUNTS_KEPT)(lambda text: len(self.ids(text)))

    @classmethod
    def find(cls, endpoint: Endpoint, model: str) -> Self | None:
        """Return the server's tokenizer, or None."""
        probe = cls(replace(endpoint, retries=0, timeout=min(endpoint.timeout, _SECONDS_TO_ANSWER)), model)
        try:
            return cls(endpoint, model) if probe.ids("one two three") else None
        except ModelError:  # hosted servers have no such route, and answer in many ways
            return None
        finally:
            probe.close()

    def count(self, text: str) -> int:
        """Return the server's count of the text's tokens."""
        return self._count(text)

    def fit(self, text: str, limit: int) -> int:
        """Return the character where token number `limit` ends, or a little less."""
        if limit <= 0:
            return 0
        text, head = replace_surrogates(text), limit * _CHARACTERS_PER_TOKEN
        while len(ids := self.ids(text[:head])) <= limit:
            if head >= len(text):
                return len(text)
            head *= 4
        prefix = self._detokenize(ids[:limit]).rstrip("\N{REPLACEMENT CHARACTER}")
        if prefix and text.startswith(prefix):
            return len(prefix)
        return self._search_prefix(text[:head], limit, len(ids))

    def ids(self, text: str, *, special: bool = False) -> list[int]:
        """Return the text's token ids. `special` parses special tokens in it."""
        body = {"content": replace_surrogates(text), "add_special": special, "parse_special": special}
        tokens = self._post("tokenize", body | {"prompt": body["content"], "add_special_tokens": special}).get("tokens")
        if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
            raise BadReply(
                f"{self._endpoint.display_url} sent no token ids from /tokenize; give --tokenizer a tokenizer.json"
            )
        return tokens

    def template_tokens(self) -> int | None:
        """Return an upper bound of the tokens that the chat template adds, or None if the server cannot count them."""
        word = "x"
        user = {"role": "user", "content": word}
        counts = [
            self._count_conversation(conversation)
            for conversation in ([user], [{"role": "system", "content": word}, user])
        ]
        return max((tokens for tokens in counts if tokens is not None), default=None)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _count_conversation(self, messages: list[dict[str, str]]) -> int | None:
        """Count the tokens of a conversation in its template, by /tokenize itself or after /apply-template."""
        try:
            reply = self._post("tokenize", {"messages": messages, "add_generation_prompt": True})
            if type(reply.get("count")) is int:
                return int(reply["count"])
            prompt = self._post("apply-template", {"messages": messages}).get("prompt")
            return len(self.ids(prompt, special=True)) if isinstance(prompt, str) else None
        except ModelError:  # not every template takes a system message, nor every server a conversation
            return None

    def _search_prefix(self, text: str, limit: int, tokens: int) -> int:
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

    def _detokenize(self, ids: list[int]) -> str:
        """Return the text of these ids, or an empty text if the server cannot detokenize."""
        try:
            reply = self._post("detokenize", {"tokens": ids})
        except ModelError:
            return ""
        return next((reply[name] for name in ("content", "prompt", "text") if isinstance(reply.get(name), str)), "")

    def _post(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        from openai import OpenAIError

        try:
            reply = self._client.post(
                f"{self._endpoint.root}/{route}", cast_to=object, body={"model": self._model, **body}
            )
        except (OpenAIError, ValueError) as error:
            raise translate_error(error, self._endpoint, self._model) from error
        return reply if isinstance(reply, dict) else {}
