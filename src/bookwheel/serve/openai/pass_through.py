"""Chats that fit the model's window: forwarded to its endpoint, or answered by the model in this process.

The worst case that a forwarded call may cost is reserved before it is sent, so that calls side by side cannot pass a
limit together. It is settled once, whatever ends the call: by the endpoint's own count, else by what was received.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import AsyncGenerator, Container, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from anyio import CancelScope

from bookwheel.errors import BudgetReached, ModelError, WindowExceeded
from bookwheel.models.base import Model, unwrap
from bookwheel.models.completion import as_list, as_mapping, broken_stream, parse_count
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.patience import Patience, PatientModel, persist
from bookwheel.models.server_errors import StatusError, request_errors, translate_error
from bookwheel.plan import Budget
from bookwheel.reading.budget import worst_usage
from bookwheel.serve.engine.access import Key, TokenQuota
from bookwheel.serve.engine.service import Service
from bookwheel.serve.engine.sharing import FairQueue, Metrics
from bookwheel.serve.http.answers import code_of, openai_error, status_of
from bookwheel.serve.openai.completions import ChatResult, cut_at_stop, make_reply
from bookwheel.serve.openai.conversation import ChatContents
from bookwheel.serve.openai.requests import ChatShape, check_supported, refuse, reply_limit, window_tokens
from bookwheel.text.tokens import EstimatingTokenizer, least_tokens
from bookwheel.types import Message, Usage

if TYPE_CHECKING:
    from bookwheel.models.client import Client


_ROUTE: Final = "/chat/completions"
# Fields of a chat body that no other endpoint knows.
_READING_FIELDS: Final = ("document", "plan", "way", "follow_up")
# The roles of a chat, as a model in this process knows them.
_ROLES: Final[dict[str, Any]] = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    "developer": "system",
    "function": "tool",
}
# A client waits for the answer, so an endpoint in trouble is given less time than by a reading.
_PATIENCE: Final = Patience(seconds=20.0)
# Roles and separators that a chat template puts around each message.
_TOKENS_PER_MESSAGE: Final = 8
_COUNTED: Final = frozenset({"role", "content"})
_TEXTS: Final = ("content", "reasoning_content", "reasoning", "refusal")
# Fields by which some endpoint writes more than max_tokens says: llama.cpp, vLLM, TGI, Ollama.
_OTHER_LIMITS: Final = frozenset(
    {"n_predict", "n_cmpl", "best_of", "max_new_tokens", "max_output_tokens", "max_length", "num_predict", "options"}
)
_LIMITS: Final = ("max_tokens", "max_completion_tokens")


class PassThrough:
    """Answers chats without a reading."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._clients: dict[str, Client] = {}
        self._closing: set[asyncio.Future[None]] = set()

    async def aclose(self) -> None:
        await asyncio.gather(*self._closing)
        for client in self._clients.values():
            await client.close()

    async def answer(
        self,
        chat: ChatShape,
        contents: ChatContents,
        model: Model,
        key: Key | None,
        raw_body: bytes,
        *,
        route: str = _ROUTE,
    ) -> ChatResult:
        """Return the model's own reply. The call waits in the same queue as those of readings."""
        self._service.queue.check_capacity()
        if quota := self._service.quota(key):
            quota.check()
        owner = key.name if key else f"chat-{secrets.token_hex(6)}"
        model = unwrap(model)
        if isinstance(model, OpenAIModel):
            body = {name: value for name, value in json.loads(raw_body).items() if name not in _READING_FIELDS}
            body["model"] = model.name
            call = await self._open_call(chat, contents, model, quota, body)
            return await self._forward(model, owner, call, body, route)
        return await self._ask(chat, contents, model, owner, key)

    async def _ask(
        self, chat: ChatShape, contents: ChatContents, model: Model, owner: str, key: Key | None
    ) -> ChatResult:
        """Ask a model in this process."""
        check_supported(chat, has_tools=False)
        if contents.others or contents.files:
            unreadable = contents.others[0] if contents.others else "a file"
            raise refuse(f"this model reads text only, not {unreadable}", "messages", "unsupported_content")
        shared = self._service.share_model(model, key, owner)
        if unknown := {text.role for text in contents.texts} - _ROLES.keys():
            raise refuse(f"unknown role {min(unknown)!r}; the roles are: {', '.join(_ROLES)}", "messages")
        messages = [Message(role=_ROLES[text.role], content=text.text) for text in contents.texts]
        sampling = model.plan.with_values({"sampling": chat.sampling}).sampling
        limit = reply_limit(chat, model)
        budget = self._service.plans[model.name].budget
        if budget.has_limits:
            check_budget(await asyncio.to_thread(worst_usage, model, messages, limit), budget)
        reply = await PatientModel(shared, _PATIENCE).reply(messages, limit=limit, sampling=sampling)
        answer = cut_at_stop(reply.text, chat.stop)
        return make_reply(chat, model.name, answer, finish=str(reply.finish), usage=reply.usage)

    async def _open_call(
        self,
        chat: ChatShape,
        contents: ChatContents,
        model: OpenAIModel,
        quota: TokenQuota | None,
        body: dict[str, Any],
    ) -> PassedCall:
        """Reserve what the call can cost at most. Where something limits it, the reply gets a limit too."""
        budget, limit = self._service.plans[model.name].budget, reply_limit(chat, model)
        worst = Usage(calls=1)
        if quota or budget.has_limits:
            set_limit(body, limit, model.unsupported)
            # In a thread: a server's tokenizer waits for the network.
            prompt = await asyncio.to_thread(
                worst_prompt_tokens, contents, body, model, max(0, window_tokens(model) - limit)
            )
            worst = Usage(calls=1, prompt_tokens=prompt, completion_tokens=limit * max(1, chat.n or 1))
            check_budget(worst, budget)
        least = least_tokens(text.text for text in contents.texts)
        call = PassedCall(model.name, worst, quota, self._service.metrics, least_prompt=least)
        call.open()
        return call

    async def _forward(
        self, model: OpenAIModel, owner: str, call: PassedCall, body: dict[str, Any], route: str
    ) -> ChatResult:
        """Send the chat to the endpoint; return its answer or its error unchanged."""
        queue = self._service.queue
        try:
            await queue.acquire(owner)
        except BaseException:
            await call.close(is_charged=False)
            raise
        streaming = False
        try:
            if body.get("stream"):
                body["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
            answer = await persist(lambda: self._send(model, body, route), _PATIENCE)
            if body.get("stream"):
                streaming = True
                return ChatResult(
                    chunks=self._forward_chunks(answer, model, call), at_end=lambda: self._end(queue, call)
                )
            call.observe(answer)
            await call.close()
            return ChatResult(payload=answer)
        except ModelError as error:
            await call.close(is_charged=error.is_charged, is_whole=False)
            if isinstance(error, WindowExceeded):  # by the endpoint's own count; it can still be read
                raise
            if status_error := _find_status_error(error):
                return self._error_result(status_error, model)
            raise
        finally:
            if not streaming:
                queue.release()
                # Still open only where the request was cancelled; what the endpoint has written is then unknown.
                with CancelScope(shield=True):
                    await call.close(is_whole=False)

    async def _send(self, model: OpenAIModel, body: dict[str, Any], route: str) -> Any:
        """Send the chat once; return the answer's JSON, or the chunks of a stream."""
        client = self._clients.get(model.name)
        if client is None:
            client = self._clients.setdefault(model.name, model.endpoint.open_client())
        try:
            if body.get("stream"):
                return await client.open_stream(route, body)
            answer = await client.post_raw(route, body)
            return json.loads(answer.content)
        except request_errors() as error:
            fault = translate_error(error, model.endpoint, model.name)
            # Another try could cost as much again, and the client decides about that. Other refusals are its own too,
            # and who is told when to come back comes back.
            fault.tries = int(fault.is_charged or not fault.is_passing or bool(fault.retry_after))
            raise fault from error

    def _end(self, queue: FairQueue, call: PassedCall) -> None:
        """Release the slot; settle a stream that was never begun, because the client had gone."""
        queue.release()
        closing = asyncio.ensure_future(call.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _forward_chunks(
        self, chunks: Any, model: OpenAIModel, call: PassedCall
    ) -> AsyncGenerator[dict[str, Any]]:
        is_begun = is_finished = False
        faults: tuple[type[Exception], ...] = (ModelError, *request_errors())
        try:
            async for chunk in chunks:
                call.observe(chunk)
                choices = [*map(as_mapping, as_list(as_mapping(chunk).get("choices")))]
                is_begun = is_begun or bool(choices)
                is_finished = is_finished or any(choice.get("finish_reason") for choice in choices)
                yield chunk
            if is_begun and not is_finished and not chunks.is_done:
                raise broken_stream()
        except faults as error:
            # The status has been sent; an event is all that can tell the client.
            fault = error if isinstance(error, ModelError) else translate_error(error, model.endpoint, model.name)
            yield openai_error(str(fault), status_of(fault), code_of(fault))
        finally:
            # A cancelled request must still be counted, and give its connection back.
            with CancelScope(shield=True):
                await call.close()
                await chunks.close()

    def _error_result(self, error: Any, model: OpenAIModel) -> ChatResult:
        bookwheel_error = translate_error(error, model.endpoint, model.name)
        # A wrong key for the endpoint is this server's fault, not the caller's.
        status = 502 if error.status_code in {401, 403} else error.status_code
        details = error.body if status != 502 and isinstance(error.body, dict) else {}  # noqa: PLR2004
        message = model.endpoint.hide_key(str(details.get("message") or bookwheel_error))
        payload = openai_error(message, status, details.get("code") or code_of(bookwheel_error), details.get("param"))
        after = bookwheel_error.retry_after
        headers = {"Retry-After": str(math.ceil(after))} if after else {"x-should-retry": "false"}
        return ChatResult(payload=payload, status=status, headers=headers)


def _find_status_error(error: BaseException | None) -> StatusError | None:
    """Return the endpoint's refusal that an error of ours came from."""
    while error is not None and not isinstance(error, StatusError):
        error = error.__cause__
    return error


def worst_prompt_tokens(contents: ChatContents, body: Mapping[str, Any], model: Model, room: int) -> int:
    """Return the most tokens that the prompt can have; what is not text may fill all of the room."""
    if contents.others or contents.files or contents.pictures:
        return room
    count, estimate = model.tokenizer.count, EstimatingTokenizer().count
    # Any field may end up in the prompt: tools, schemas, documents, the reasoning of an earlier reply.
    extras = [value for name, value in body.items() if name != "messages"]
    extras += [value for message in body.get("messages", ()) for name, value in message.items() if name not in _COUNTED]
    fields = sum(estimate(json.dumps(value)) for value in extras if isinstance(value, str | list | dict))
    texts = sum(count(text.text) for text in contents.texts)
    return model.template_tokens + texts + fields + _TOKENS_PER_MESSAGE * len(body.get("messages", ()))


def set_limit(body: dict[str, Any], limit: int, unsupported: Container[str]) -> None:
    """Give the reply this limit, whichever field the endpoint reads. Raise a 400 for a field that could pass it."""
    if others := _OTHER_LIMITS & set(body):
        name = min(others)
        raise refuse(f"{name} could make the reply longer than max_tokens, and a limit holds here: leave it out", name)
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

    def __init__(
        self, model: str, worst: Usage, quota: TokenQuota | None, metrics: Metrics, *, least_prompt: int = 0
    ) -> None:
        self._model = model
        self._worst = worst
        self._quota = quota
        self._metrics = metrics
        self._began = time.perf_counter()
        self._counted: Usage | None = None
        self._least_prompt = least_prompt
        self._words = self._estimate = 0
        """Of the texts that have arrived: the least that they can have, and our count."""
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
            read, written = (parse_count(counts.get(name)) or 0 for name in ("prompt_tokens", "completion_tokens"))
            self._counted = Usage(calls=1, prompt_tokens=read, completion_tokens=written)
        for text in _find_texts(payload):
            self._words += least_tokens([text])
            self._estimate += EstimatingTokenizer().count(text)

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
        own = Usage(
            calls=1,
            prompt_tokens=max(self._least_prompt, self._worst.prompt_tokens),
            completion_tokens=min(self._estimate, self._worst.completion_tokens),
        )
        if not self._counted:
            return own if is_whole else self._worst
        # Fewer than the texts can have are not believed.
        is_prompt_counted = self._counted.prompt_tokens >= self._least_prompt
        is_reply_counted = self._counted.completion_tokens >= self._words
        return replace(
            self._counted,
            prompt_tokens=self._counted.prompt_tokens if is_prompt_counted else own.prompt_tokens,
            completion_tokens=self._counted.completion_tokens if is_reply_counted else max(self._words, self._estimate),
        )


def _find_texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of all choices, calls of tools included."""
    choices = payload.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        part = (choice.get("delta") or choice.get("message")) if isinstance(choice, dict) else None
        if isinstance(choice, dict) and isinstance(choice.get("text"), str):
            yield choice["text"]
        if not isinstance(part, dict):
            continue
        yield from (part[name] for name in _TEXTS if isinstance(part.get(name), str))
        if part.get("tool_calls"):
            yield json.dumps(part["tool_calls"])
