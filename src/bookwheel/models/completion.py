"""Reading one chat completion as a server sends it, whole or in pieces, without trusting its shape.

Purely JSON values in and a `Completion` out; it knows nothing of HTTP. Pieces are put together into the same shape
that an unstreamed reply has, so that both are read by the same lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BadReply, ServerFault, Unreachable
from bookwheel.types import Finish

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_FINISHES: Final = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.FILTER,
    "safety": Finish.FILTER,
}
"""All other reasons are a stop of the model's own, but for these:"""
_BROKEN_OFF: Final = frozenset({"abort", "error"})
_REASONING: Final = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What one reply says; None stands for what the server did not tell."""

    text: str
    finish: Finish
    prompt_tokens: int | None
    completion_tokens: int | None
    prompt_ids: tuple[int, ...] | None
    reply_ids: tuple[int, ...] | None
    logprobs: tuple[float, ...] | None


def parse_completion(body: object, limit: int) -> Completion:
    """The completion in a reply's JSON; BadReply when there is none."""
    if not isinstance(body, Mapping):
        raise BadReply(
            f"the server's reply is no completion but {_describe_type(body)}. Is this a chat model's address?"
        )
    choice = next(iter(_as_list(body.get("choices"))), None)
    if not isinstance(choice, Mapping):
        raise BadReply("the server's reply has no choices, so it says nothing. Look at the server's log and try again.")
    reason = str(choice.get("finish_reason")).lower()
    if reason in _BROKEN_OFF:
        raise ServerFault(f"the server broke its reply off (finish_reason {reason}). Its log may say why; try again.")
    usage, logprobs = _as_mapping(body.get("usage")), _as_list(_as_mapping(choice.get("logprobs")).get("content"))
    finish = _FINISHES.get(reason, Finish.STOP)
    written = _parse_count(usage.get("completion_tokens"))
    return Completion(
        text=_extract_text(_as_mapping(choice.get("message")), finish, written, limit),
        finish=finish,
        prompt_tokens=_parse_count(usage.get("prompt_tokens")) or None,  # no prompt is empty: 0 is a count not made
        completion_tokens=written,
        prompt_ids=_parse_ids(body.get("prompt_token_ids")),
        reply_ids=_parse_ids(choice.get("token_ids"))
        or _parse_ids([_as_mapping(entry).get("id") for entry in logprobs]),
        logprobs=_parse_logprobs(logprobs),
    )


def _extract_text(message: Mapping[str, Any], finish: Finish, written: int | None, limit: int) -> str:
    """The reply's text. Empty is a reply too, but not where the text must have gone elsewhere."""
    content = message.get("content")
    if isinstance(content, list):  # some servers send it in typed parts
        content = "".join(str(_as_mapping(part).get("text") or "") for part in content)
    if content is not None and not isinstance(content, str):
        raise BadReply(f"the reply's content is {_describe_type(content)}, not text. Is this a chat model?")
    if content:
        return content
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        return refusal
    reasoned = any(message.get(name) for name in _REASONING)
    if reasoned and finish is Finish.LENGTH:
        raise BadReply(
            f"the model spent its whole limit of {limit} tokens on reasoning and wrote no reply. "
            f"Raise --memory-tokens and --answer-tokens, or turn the model's reasoning off or down."
        )
    if message.get("tool_calls") or message.get("function_call"):
        raise BadReply(
            "the model asked for a tool in place of replying; choose a model or server set-up without tools."
        )
    if content is None and finish is not Finish.FILTER and (reasoned or written is None or written > 1):
        where = "all of it went into the reasoning field" if reasoned else "its content is null"
        raise BadReply(
            f"the reply has no text: {where}. Turn the model's reasoning or the server's reasoning parser off."
        )
    return ""


async def join_stream(chunks: AsyncIterator[object]) -> dict[str, Any]:
    """The whole reply that streamed pieces make up. Unreachable when they end before the reply does."""
    body: dict[str, Any] = {}
    message: dict[str, Any] = {}
    choice: dict[str, Any] = {"message": message}
    async for chunk in chunks:
        piece = _as_mapping(chunk)
        body |= {"usage": piece["usage"]} if piece.get("usage") else {}
        for part in map(_as_mapping, _as_list(piece.get("choices"))):
            body["choices"] = [choice]
            choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
            _append_delta(message, _as_mapping(part.get("delta")))
    if "choices" in body and choice["finish_reason"] is None:
        raise Unreachable(
            "the connection broke in mid-reply: the stream ended before the reply did. "
            "Resume when the server and the network are well again."
        )
    return body


def _append_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Put one more piece of a message behind those that came before."""
    for name in ("content", "refusal", *_REASONING):
        if isinstance(delta.get(name), str):
            message[name] = (message.get(name) or "") + delta[name]
    if delta.get("tool_calls"):
        message["tool_calls"] = True


def _parse_ids(found: object) -> tuple[int, ...] | None:
    """Token ids, when each of them is one."""
    ids = _as_list(found)
    return tuple(ids) if ids and all(type(value) is int for value in ids) else None


def _parse_logprobs(entries: list[Any]) -> tuple[float, ...] | None:
    """Log-probabilities, from `logprob` or, after sampling, from llama.cpp's `prob`; None where one is missing."""
    found = []
    for entry in map(_as_mapping, entries):
        value, share = entry.get("logprob"), entry.get("prob")
        if value is None and isinstance(share, int | float) and share > 0:
            value = math.log(share)
        if not isinstance(value, int | float) or not math.isfinite(value):
            return None
        found.append(float(value))
    return tuple(found) or None


def _parse_count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _describe_type(value: object) -> str:
    names = {str: "a text", list: "a list", bool: "a yes or no", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), "an object")
