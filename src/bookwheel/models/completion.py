"""Parse one chat completion, streamed or not, without trusting its shape.

JSON values go in, a `Completion` comes out; nothing here knows HTTP. A stream is first joined into the body of an
unstreamed reply, so both take the same path.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bookwheel.errors import BadReply, EmptyReply, ServerFault, Unreachable
from bookwheel.text.tokens import EstimatingTokenizer, are_possible, least_tokens
from bookwheel.types import Finish, Usage

# Every other reason, except the two below, means that the model stopped by itself.
_FINISHES: Final = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.FILTER,
    "safety": Finish.FILTER,
}
_ABORTED: Final = frozenset({"abort", "error"})
# A server that reports more has miscounted; SQLite could not store it.
_MOST_TOKENS: Final = 1 << 40
_MOST_ID: Final = 1 << 31
# Larger integers do not become floats. No comparison with NaN holds, so that it is none either.
_MOST_NUMBER: Final = 1e300
# No tokenizer has longer tokens on average, and some servers write past the limit.
_CHARACTERS_PER_TOKEN: Final = 256
_LEAST_CHARACTERS: Final = 1 << 16
_REASONING: Final = ("reasoning_content", "reasoning")
_TEXTS: Final = ("content", "refusal", *_REASONING)
_TYPE_NAMES: Final = {str: "a text", list: "a list", bool: "a yes or no", int: "a number", float: "a number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The content of one reply. None marks what the server did not report."""

    text: str
    finish: Finish
    prompt_tokens: int | None
    completion_tokens: int | None
    prompt_ids: tuple[int, ...] | None
    reply_ids: tuple[int, ...] | None
    logprobs: tuple[float, ...] | None
    has_reasoning: bool
    """True if `completion_tokens` counts a reasoning field too, which is not in the text."""


def parse_completion(body: object, limit: int) -> Completion:
    """Return the completion in a reply's JSON. Raise BadReply if it has none."""
    if not isinstance(body, Mapping):
        raise BadReply(
            f"the server's reply is not a completion but {_describe_type(body)}. Is this a chat model's address?",
            is_charged=True,
        )
    choices = as_list(body.get("choices"))
    # A server that makes several may list them in any order.
    choice = next((one for one in choices if as_mapping(one).get("index") == 0), next(iter(choices), None))
    if not isinstance(choice, Mapping):
        raise BadReply("the server's reply has no choices. Look at the server's log and try again.", is_charged=True)
    reason, message = str(choice.get("finish_reason")).lower(), as_mapping(choice.get("message"))
    if reason in _ABORTED:
        content = message.get("content")
        raise ServerFault(
            f"the server aborted its reply (finish_reason {reason}). Its log may say why; try again.",
            is_charged=True,
            received=content if isinstance(content, str) else None,
        )
    usage, logprobs = as_mapping(body.get("usage")), as_list(as_mapping(choice.get("logprobs")).get("content"))
    finish, completion_tokens = _FINISHES.get(reason, Finish.STOP), parse_count(usage.get("completion_tokens"))
    text = _extract_text(message, finish, completion_tokens, limit)
    check_length(len(text), limit)
    return Completion(
        text=text,
        finish=finish,
        # 0 means "not counted": a prompt is never empty.
        prompt_tokens=parse_count(usage.get("prompt_tokens")) or None,
        completion_tokens=completion_tokens,
        prompt_ids=parse_ids(body.get("prompt_token_ids")),
        reply_ids=parse_ids(choice.get("token_ids")) or parse_ids([as_mapping(entry).get("id") for entry in logprobs]),
        logprobs=_parse_logprobs(logprobs),
        has_reasoning=_has_reasoning(message),
    )


def check_length(characters: int, limit: int) -> None:
    """Raise BadReply for a text that cannot have `limit` tokens."""
    most = _LEAST_CHARACTERS + _CHARACTERS_PER_TOKEN * limit
    if characters > most:
        raise BadReply(
            f"the server's reply has more than {most:,} characters, and {limit} tokens were asked for. "
            f"Does the server keep to max_tokens? Look at its settings and its log.",
            is_charged=True,
        )


def _has_reasoning(message: Mapping[str, Any]) -> bool:
    return any(message.get(name) for name in _REASONING)


def _extract_text(message: Mapping[str, Any], finish: Finish, completion_tokens: int | None, limit: int) -> str:
    """Return the reply's text. An empty text is valid unless the tokens went into another field."""
    content = message.get("content")
    if isinstance(content, list):  # some servers send it in typed parts
        content = "".join(str(as_mapping(part).get("text") or "") for part in content)
    if content is not None and not isinstance(content, str):
        raise BadReply(
            f"the reply's content is {_describe_type(content)}, not text. Is this a chat model?", is_charged=True
        )
    refusal = message.get("refusal")
    if content or (isinstance(refusal, str) and refusal):
        return content or str(refusal)
    has_reasoning = _has_reasoning(message)
    if has_reasoning and finish is Finish.LENGTH:
        raise EmptyReply(
            f"the model used its whole limit of {limit} tokens for reasoning and wrote no reply. "
            f"Raise --memory-tokens and --answer-tokens, or turn the model's reasoning off or down.",
            is_charged=True,
        )
    if message.get("tool_calls") or message.get("function_call"):
        raise EmptyReply(
            "the model called a tool instead of replying; use a model or a server configuration without tools.",
            is_charged=True,
        )
    wrote_something = has_reasoning or completion_tokens is None or completion_tokens > 1
    if content is None and finish is not Finish.FILTER and wrote_something:
        where = "all tokens went into the reasoning field" if has_reasoning else "its content is null"
        raise EmptyReply(
            f"the reply has no text: {where}. Turn the model's reasoning or the server's reasoning parser off.",
            is_charged=True,
        )
    return ""


class StreamedReply:
    """The chunks of a stream, joined into the body of one reply. What came before a break stays to be counted."""

    def __init__(self, limit: int, watch: Callable[[str], None] | None = None) -> None:
        self._limit = limit
        self._body: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self._characters = 0
        self._calls_tools = False
        self._watch = watch

    @property
    def received(self) -> str:
        """The text that has arrived, reasoning included."""
        return "".join("".join(self._texts[name]) for name in (*_REASONING, "content", "refusal"))

    async def join(self, chunks: AsyncIterator[object]) -> dict[str, Any]:
        """Return the body of the reply. Raise Unreachable if the stream ends early, BadReply if it never does."""
        finish: object = None
        has_choice = False
        async for chunk in chunks:
            piece = as_mapping(chunk)
            self._body |= {"usage": piece["usage"]} if piece.get("usage") else {}
            for part in map(as_mapping, as_list(piece.get("choices"))):
                # Of several choices the first is read; some servers number none.
                index = part.get("index")
                if index == 0 or type(index) is not int:
                    has_choice = True
                    finish = part.get("finish_reason") or finish
                    self._append(as_mapping(part.get("delta")))
            if self._watch:
                self._watch("".join(self._texts["content"]))
        if has_choice and finish is None:
            raise broken_stream(self.received)
        if has_choice:
            message: dict[str, Any] = {name: "".join(texts) for name, texts in self._texts.items() if texts}
            message |= {"tool_calls": True} if self._calls_tools else {}
            self._body["choices"] = [{"message": message, "finish_reason": finish}]
        return self._body

    def _append(self, delta: Mapping[str, Any]) -> None:
        for name, texts in self._texts.items():
            if isinstance(text := delta.get(name), str):
                texts.append(text)
                self._characters += len(text)
        check_length(self._characters, self._limit)
        self._calls_tools = self._calls_tools or bool(delta.get("tool_calls"))


def broken_stream(received: str | None = None) -> Unreachable:
    """Return what is said of a stream that ends without saying that its reply does."""
    return Unreachable(
        "the connection broke in mid-reply: the stream ended before the reply did. "
        "Resume when the server and the network work again.",
        is_charged=True,
        received=received,
    )


def parse_ids(value: object) -> tuple[int, ...] | None:
    """Return the token ids, or None unless every entry can be one."""
    ids = as_list(value)
    return tuple(ids) if ids and all(type(id_) is int and 0 <= id_ < _MOST_ID for id_ in ids) else None


def _parse_logprobs(entries: list[Any]) -> tuple[float, ...] | None:
    """Return the log-probabilities, or None if one is missing. llama.cpp sends `prob` for those after sampling."""
    logprobs = []
    for entry in map(as_mapping, entries):
        value, probability = parse_number(entry.get("logprob")), parse_number(entry.get("prob"))
        if value is None and probability is not None and probability > 0:
            value = math.log(probability)
        if value is None:
            return None
        logprobs.append(value)
    return tuple(logprobs) or None


def parse_number(value: object) -> float | None:
    """Return a finite number, or None for what is none, or beyond every number that a model can mean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _MOST_NUMBER else None


def parse_count(value: object) -> int | None:
    """Return a count of tokens, or None for what can be none."""
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def settle_usage(body: Mapping[str, Any], texts: Sequence[str], started: float) -> Usage:
    """Return the usage of a call that wrote one token at most, by our own count where the server's cannot be."""
    usage = as_mapping(body.get("usage"))
    prompt_tokens = parse_count(usage.get("prompt_tokens")) or 0
    if not (prompt_tokens and are_possible(prompt_tokens, texts)):
        prompt_tokens = max(least_tokens(texts), sum(map(EstimatingTokenizer().count, texts)))
    completion_tokens, seconds = parse_count(usage.get("completion_tokens")) or 0, time.perf_counter() - started
    return Usage(calls=1, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, seconds=seconds)


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """Return a JSON list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def _describe_type(value: object) -> str:
    return "null" if value is None else _TYPE_NAMES.get(type(value), "an object")
