"""Counting with the tokenizer of the server itself, where it has a /tokenize: vLLM, llama.cpp and SGLang do.

Counts are exact and nothing has to be downloaded; each costs one small request, so those of repeated texts are kept.
The calls block: a server inside the same event loop would wait for itself.
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

_CHARACTERS_PER_TOKEN: Final = 8
"""More text than this for each token of a limit is not sent before less has been seen to fit."""
_CLOSE: Final = 0.98
"""A prefix with so much of its limit is long enough."""
_MOST_GUESSES: Final = 12
_COUNTS_KEPT: Final = 64
_SECONDS_TO_ANSWER: Final = 15.0


class ServerTokenizer:
    """A tokenizer behind HTTP. Servers differ in the names of the fields: each takes its own and skips the others'."""

    exact: Final = True

    def __init__(self, endpoint: Endpoint, model: str) -> None:
        self.name = f"{endpoint.display_url} {model}"
        self._endpoint = endpoint
        self._model = model
        self._client = endpoint.open_sync_client()
        self._count = lru_cache(_COUNTS_KEPT)(lambda text: len(self.ids(text)))

    @classmethod
    def find(cls, endpoint: Endpoint, model: str) -> Self | None:
        """The server's tokenizer; None where it offers none."""
        probe = cls(replace(endpoint, retries=0, timeout=min(endpoint.timeout, _SECONDS_TO_ANSWER)), model)
        try:
            return cls(endpoint, model) if probe.ids("one two three") else None
        except ModelError:  # hosted servers have no such route, and say so in many ways
            return None
        finally:
            probe.close()

    def count(self, text: str) -> int:
        """As the server counts."""
        return self._count(text)

    def fit(self, text: str, limit: int) -> int:
        """Where token number `limit` ends, or a little before."""
        if limit <= 0:
            return 0
        text, head = replace_surrogates(text), limit * _CHARACTERS_PER_TOKEN
        while len(ids := self.ids(text[:head])) <= limit:
            if head >= len(text):
                return len(text)
            head *= 4
        shown = self._text(ids[:limit]).rstrip("\N{REPLACEMENT CHARACTER}")
        if shown and text.startswith(shown):
            return len(shown)
        return self._search(text[:head], limit, len(ids))

    def ids(self, text: str, *, special: bool = False) -> list[int]:
        """The text's token ids; `special` reads a chat template's markers as what they stand for."""
        body = {"content": replace_surrogates(text), "add_special": special, "parse_special": special}
        tokens = self._post("tokenize", body | {"prompt": body["content"], "add_special_tokens": special}).get("tokens")
        if not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
            raise BadReply(
                f"{self._endpoint.display_url} sent no token ids from /tokenize; give --tokenizer a tokenizer.json"
            )
        return tokens

    def template_tokens(self) -> int | None:
        """At most what the chat template adds to a system and a user message; None where it cannot be told."""
        word = "x"
        user = {"role": "user", "content": word}
        found = [self._chat(conversation) for conversation in ([user], [{"role": "system", "content": word}, user])]
        return max((tokens for tokens in found if tokens is not None), default=None)

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def _chat(self, messages: list[dict[str, str]]) -> int | None:
        """The tokens of a conversation as the model would see it: by /tokenize itself or by /apply-template."""
        try:
            said = self._post("tokenize", {"messages": messages, "add_generation_prompt": True})
            if type(said.get("count")) is int:
                return int(said["count"])
            prompt = self._post("apply-template", {"messages": messages}).get("prompt")
            return len(self.ids(prompt, special=True)) if isinstance(prompt, str) else None
        except ModelError:  # not every template takes a system message, nor every server a conversation
            return None

    def _search(self, text: str, limit: int, tokens: int) -> int:
        """The same by asking for counts of prefixes, each guessed from those before."""
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

    def _text(self, ids: list[int]) -> str:
        """The text of these ids, empty when the server does not tell it."""
        try:
            said = self._post("detokenize", {"tokens": ids})
        except ModelError:
            return ""
        return next((said[name] for name in ("content", "prompt", "text") if isinstance(said.get(name), str)), "")

    def _post(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        from openai import OpenAIError

        try:
            said = self._client.post(
                f"{self._endpoint.root}/{route}", cast_to=object, body={"model": self._model, **body}
            )
        except (OpenAIError, ValueError) as error:
            raise translate_error(error, self._endpoint, self._model) from error
        return said if isinstance(said, dict) else {}
