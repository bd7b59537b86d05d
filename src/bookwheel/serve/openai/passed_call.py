"""What one passed-through call may cost, and what it did cost.

The worst case is reserved before the call is sent, so that calls side by side cannot pass a limit together. It is
settled once, whatever ends the call: by the endpoint's own count, else by what was received.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BudgetReached
from bookwheel.serve.engine.errors import ApiError
from bookwheel.text.tokens import EstimatingTokenizer
from bookwheel.types import Usage

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from bookwheel.models.base import Model
    from bookwheel.plan import Budget
    from bookwheel.serve.engine.keys import TokenQuota
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.serve.openai.messages import ChatContents

# Roles and separators that a chat template puts around each message.
_TOKENS_PER_MESSAGE: Final = 8
_COUNTED: Final = frozenset({"role", "content"})
_TEXTS: Final = ("content", "reasoning_content", "reasoning", "refusal")
# Fields by which some endpoint writes more than max_tokens says: llama.cpp, vLLM, TGI, Ollama.
_OTHER_LIMITS: Final = frozenset(
    {"n_predict", "n_cmpl", "best_of", "max_new_tokens", "max_output_tokens", "max_length", "num_predict", "options"}
)
_LIMITS: Final = ("max_tokens", "max_completion_tokens")


def worst_prompt_tokens(contents: ChatContents, body: Mapping[str, Any], model: Model, room: int) -> int:
    """Return the most tokens that the prompt can have; what is not text may fill all of the room."""
    if contents.others or contents.files:
        return room
    count, estimate = model.tokenizer.count, EstimatingTokenizer().count
    # Any field may end up in the prompt: tools, schemas, documents, the reasoning of an earlier reply.
    extras = [value for name, value in body.items() if name != "messages"]
    extras += [value for message in body["messages"] for name, value in message.items() if name not in _COUNTED]
    fields = sum(estimate(json.dumps(value)) for value in extras if isinstance(value, str | list | dict))
    texts = sum(count(text.text) for text in contents.texts)
    return model.template_tokens + texts + fields + _TOKENS_PER_MESSAGE * len(body["messages"])


def set_limit(body: dict[str, Any], limit: int, unsupported: Container[str]) -> None:
    """Give the reply this limit, whichever field the endpoint reads. Raise a 400 for a field that could pass it."""
    if others := _OTHER_LIMITS & set(body):
        name = min(others)
        message = f"{name} could make the reply longer than max_tokens, and a limit holds here: leave it out"
        raise ApiError(400, message, kind="invalid_request", param=name)
    given = [name for name in _LIMITS if body.get(name) is not None]
    for name in given or [_LIMITS["max_tokens" in unsupported]]:
        body[name] = limit


def check_budget(worst: Usage, budget: Budget) -> None:
    """Raise BudgetReached when the call could cost more than the server allows for one request."""
    if budget.tokens is not None and worst.tokens > budget.tokens:
        raise BudgetReached(
            f"this chat could use {worst.tokens} tokens, and the limit here is {budget.tokens}: lower max_tokens"
        )
    cost = budget.price(worst.prompt_tokens, worst.completion_tokens)
    if budget.cost is not None and cost > budget.cost:
        raise BudgetReached(f"this chat could cost {cost:.4g}, and the limit here is {budget.cost:g}: lower max_tokens")


class PassedCall:
    """The account of one call. `close` must follow `open`."""

    def __init__(self, model: str, worst: Usage, quota: TokenQuota | None, metrics: Metrics) -> None:
        self._model = model
        self._worst = worst
        self._quota = quota
        self._metrics = metrics
        self._began = time.perf_counter()
        self._counted: Usage | None = None
        self._received: list[str] = []
        self._is_open = False

    def open(self) -> None:
        """Reserve the worst case. Raise BudgetReached when the quota does not cover it."""
        if self._quota:
            self._quota.hold(self._worst.tokens)
        self._is_open = True

    def observe(self, payload: object) -> None:
        """Take a completion or a chunk of one: its counts, and the text that has arrived."""
        if not isinstance(payload, dict):
            return
        if isinstance(counts := payload.get("usage"), dict):
            read, written = (_parse_count(counts.get(name)) for name in ("prompt_tokens", "completion_tokens"))
            self._counted = Usage(calls=1, prompt_tokens=read, completion_tokens=written)
        self._received.extend(_find_texts(payload))

    async def close(self, *, is_charged: bool = True, is_whole: bool = True) -> None:
        """Settle once. `is_whole`: everything that was written has been received, so it can be counted."""
        if not self._is_open:
            return
        self._is_open = False
        usage = self._find_usage(is_whole=is_whole) if is_charged else Usage()
        if usage.calls:
            self._metrics.count_call(self._model, usage, time.perf_counter() - self._began)
        if self._quota:
            # The count in memory changes at once; only the file is waited for.
            self._quota.let_go(self._worst.tokens)
            await self._quota.settle(usage.tokens)

    def _find_usage(self, *, is_whole: bool) -> Usage:
        if self._counted:
            return self._counted
        if not is_whole:
            return self._worst
        written = EstimatingTokenizer().count("".join(self._received))
        return Usage(
            calls=1,
            prompt_tokens=self._worst.prompt_tokens,
            completion_tokens=min(written, self._worst.completion_tokens),
        )


def _find_texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of all choices, calls of tools included."""
    choices = payload.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        part = (choice.get("delta") or choice.get("message")) if isinstance(choice, dict) else None
        if not isinstance(part, dict):
            continue
        yield from (part[name] for name in _TEXTS if isinstance(part.get(name), str))
        if part.get("tool_calls"):
            yield json.dumps(part["tool_calls"])


def _parse_count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0
