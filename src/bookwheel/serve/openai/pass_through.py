"""Chats that fit the model's window: forwarded to its endpoint, or answered by the model in this process."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

from anyio import CancelScope

from bookwheel.errors import ModelError
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.patience import Patience, PatientModel, persist
from bookwheel.models.sdk_errors import request_errors, translate_error
from bookwheel.reading.budget import worst_usage
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.shared_model import SharedModel
from bookwheel.serve.http.answers import code_of, openai_error, status_of
from bookwheel.serve.openai.chat_result import ChatResult, make_reply
from bookwheel.serve.openai.fields import check_supported
from bookwheel.serve.openai.messages import cut_at_stop
from bookwheel.serve.openai.passed_call import PassedCall, check_budget, set_limit, worst_prompt_tokens
from bookwheel.types import Message, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from openai import APIStatusError, AsyncOpenAI

    from bookwheel.models.base import Model
    from bookwheel.plan import Sampling
    from bookwheel.serve.engine.fair_queue import FairQueue
    from bookwheel.serve.engine.keys import Key, TokenQuota
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.openai.messages import ChatContents
    from bookwheel.serve.openai.schemas import ChatShape

_ROUTE: Final = "/chat/completions"
# Fields of a chat body that no other endpoint knows.
_READING_FIELDS: Final = ("document", "plan", "way", "follow_up")
_ROLES: Final[dict[str, Any]] = {"developer": "system", "function": "tool"}
# A longer text cannot fit, so that it need not be tokenized.
_MOST_CHARACTERS_PER_TOKEN: Final = 64
# A client waits for the answer, so an endpoint in trouble is given less time than by a reading.
_PATIENCE: Final = Patience(seconds=20.0)
# A reply without a limit may fill a quarter of the window.
_REPLY_DIVISOR: Final = 4


def window_tokens(model: Model) -> int:
    """Return the tokens of prompt and reply together; where the server does not tell, those of the longest update."""
    plan = model.plan
    return model.window or plan.update_tokens(question=plan.question_tokens, template=model.template_tokens)


def reply_limit(chat: ChatShape, model: Model) -> int:
    """Return the most tokens that the reply may have."""
    return chat.limit or max(1, window_tokens(model) // _REPLY_DIVISOR)


def fits_by_bytes(contents: ChatContents, chat: ChatShape, model: Model) -> bool:
    """Return whether the conversation fits even if each byte is a token."""
    size = sum(len(text.text.encode("utf-8", "replace")) for text in contents.texts)
    return size <= prompt_room(chat, model)


def fits_by_tokens(contents: ChatContents, chat: ChatShape, model: Model) -> bool:
    """Return whether the conversation fits, by its tokens; may wait for a server's tokenizer."""
    room = prompt_room(chat, model)
    if sum(len(text.text) for text in contents.texts) > room * _MOST_CHARACTERS_PER_TOKEN:
        return False
    return sum(model.tokenizer.count(text.text) for text in contents.texts) <= room


def prompt_room(chat: ChatShape, model: Model) -> int:
    """Return the tokens that the messages may have beside the reply."""
    return window_tokens(model) - model.template_tokens - reply_limit(chat, model)


class PassThrough:
    """Answers chats without a reading."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._clients: dict[str, AsyncOpenAI] = {}
        self._closing: set[asyncio.Future[None]] = set()

    async def aclose(self) -> None:
        """Close the connections to the endpoints."""
        await asyncio.gather(*self._closing)
        for client in self._clients.values():
            await client.close()

    async def answer(
        self, chat: ChatShape, contents: ChatContents, model: Model, key: Key | None, raw_body: bytes
    ) -> ChatResult:
        """Return the model's own reply. The call waits in the same queue as those of readings."""
        self._service.queue.check_capacity()
        if quota := self._service.quota(key):
            quota.check()
        owner = key.name if key else f"chat-{secrets.token_hex(6)}"
        if isinstance(model, OpenAIModel):
            body = {name: value for name, value in json.loads(raw_body).items() if name not in _READING_FIELDS}
            body["model"] = model.name
            call = await self._open_call(chat, contents, model, quota, body)
            return await self._forward(model, owner, call, body)
        return await self._ask(chat, contents, model, owner, key)

    async def _ask(
        self, chat: ChatShape, contents: ChatContents, model: Model, owner: str, key: Key | None
    ) -> ChatResult:
        """Ask a model in this process."""
        check_supported(chat, has_tools=False)
        if contents.others or contents.files:
            unreadable = contents.others[0] if contents.others else "a file"
            raise ApiError(
                400, f"this model reads text only, not {unreadable}", kind="unsupported_content", param="messages"
            )
        shared = SharedModel(
            model,
            queue=self._service.queue,
            client=owner,
            loop=asyncio.get_running_loop(),
            metrics=self._service.metrics,
            quota=self._service.quota(key),
        )
        messages = [Message(role=_map_role(text.role), content=text.text) for text in contents.texts]
        sampling = merge_sampling(chat, model)
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
        call = PassedCall(model.name, worst, quota, self._service.metrics)
        call.open()
        return call

    async def _forward(self, model: OpenAIModel, owner: str, call: PassedCall, body: dict[str, Any]) -> ChatResult:
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
            answer = await persist(lambda: self._send(model, body), _PATIENCE)
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
            if status_error := _find_status_error(error):
                return self._error_result(status_error, model)
            raise
        finally:
            if not streaming:
                queue.release()
                # Still open only where the request was cancelled; what the endpoint has written is then unknown.
                with CancelScope(shield=True):
                    await call.close(is_whole=False)

    async def _send(self, model: OpenAIModel, body: dict[str, Any]) -> Any:
        """Send the chat once; return the answer's JSON, or the chunks of a stream."""
        from httpx2 import Response as HttpResponse
        from openai import AsyncStream

        client = self._clients.get(model.name)
        if client is None:
            endpoint = replace(model.endpoint, retries=0)
            client = self._clients.setdefault(model.name, endpoint.open_client())
        try:
            if body.get("stream"):
                return await client.post(_ROUTE, cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object])
            answer = await client.post(_ROUTE, cast_to=HttpResponse, body=body)
            return json.loads(answer.content)
        except request_errors() as error:
            fault = translate_error(error, model.endpoint, model.name)
            # Another try could cost as much again, and the client decides about that. Other refusals are its own too.
            fault.tries = int(fault.is_charged or not fault.is_passing)
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
        try:
            async for chunk in chunks:
                call.observe(chunk)
                yield chunk
        except request_errors() as error:
            bookwheel_error = translate_error(error, model.endpoint, model.name)
            yield openai_error(str(bookwheel_error), status_of(bookwheel_error), code_of(bookwheel_error))
        finally:
            # A cancelled request must still be counted, and give its connection back.
            with CancelScope(shield=True):
                await call.close()
                await chunks.close()

    def _error_result(self, error: Any, model: OpenAIModel) -> ChatResult:
        """Return the endpoint's error."""
        bookwheel_error = translate_error(error, model.endpoint, model.name)
        # A wrong key for the endpoint is this server's fault, not the caller's.
        status = 502 if error.status_code in {401, 403} else error.status_code
        details = error.body if status != 502 and isinstance(error.body, dict) else {}  # noqa: PLR2004
        message = model.endpoint.hide_key(str(details.get("message") or bookwheel_error))
        payload = openai_error(message, status, details.get("code") or code_of(bookwheel_error), details.get("param"))
        return ChatResult(payload=payload, status=status, headers={"x-should-retry": "false"})


def _find_status_error(error: BaseException | None) -> APIStatusError | None:
    """Return the endpoint's refusal that an error of ours came from."""
    from openai import APIStatusError

    while error is not None and not isinstance(error, APIStatusError):
        error = error.__cause__
    return error


def merge_sampling(chat: ChatShape, model: Model) -> Sampling:
    """Return the model's sampling with the values of the request."""
    given = {name: getattr(chat, name) for name in ("temperature", "top_p", "seed")}
    values = {name: value for name, value in given.items() if value is not None}
    return model.plan.with_values({"sampling": values}).sampling


def _map_role(role: str) -> Any:
    known = get_args(Message.__annotations__.get("role")) or ("system", "user", "assistant", "tool")
    role = _ROLES.get(role, role)
    if role not in known:
        raise ApiError(
            400, f"unknown role {role!r}; the roles are: {', '.join(known)}", kind="invalid_request", param="messages"
        )
    return role
