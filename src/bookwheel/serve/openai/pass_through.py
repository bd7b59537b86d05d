"""Chats that fit the model's window: forwarded to its endpoint, or answered by the model in this process."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from typing import TYPE_CHECKING, Any, Final, get_args

from anyio import CancelScope

from bookwheel.models.openai import OpenAIModel
from bookwheel.models.sdk_errors import translate_error
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.shared_model import SharedModel
from bookwheel.serve.http.errors import code_of, openai_error, status_of
from bookwheel.serve.openai.chat_result import ChatResult
from bookwheel.serve.openai.messages import check_supported, cut_at_stop
from bookwheel.serve.openai.schemas import chunk_to_json, completion_to_json, usage_to_json
from bookwheel.types import Message, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from openai import AsyncOpenAI

    from bookwheel.models.base import Model
    from bookwheel.plan import Sampling
    from bookwheel.serve.engine.keys import Key
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.openai.messages import ChatContents
    from bookwheel.serve.openai.schemas import ChatShape

_ROUTE: Final = "/chat/completions"
# Fields of a chat body that no other endpoint knows.
_READING_FIELDS: Final = ("document", "plan", "way")
_ROLES: Final[dict[str, Any]] = {"developer": "system", "function": "tool"}
# A longer text cannot fit, so that it need not be tokenized.
_MOST_CHARACTERS_PER_TOKEN: Final = 64
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
    return size <= _prompt_room(chat, model)


def fits_by_tokens(contents: ChatContents, chat: ChatShape, model: Model) -> bool:
    """Return whether the conversation fits, by its tokens; may wait for a server's tokenizer."""
    room = _prompt_room(chat, model)
    if sum(len(text.text) for text in contents.texts) > room * _MOST_CHARACTERS_PER_TOKEN:
        return False
    return sum(model.tokenizer.count(text.text) for text in contents.texts) <= room


def _prompt_room(chat: ChatShape, model: Model) -> int:
    return window_tokens(model) - model.template_tokens - reply_limit(chat, model)


class PassThrough:
    """Answers chats without a reading."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._clients: dict[str, AsyncOpenAI] = {}

    async def aclose(self) -> None:
        """Close the connections to the endpoints."""
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
            return await self._forward(model, owner, key, {**json.loads(raw_body), "model": model.name})
        return await self._ask(chat, contents, model, owner, key)

    async def _ask(
        self, chat: ChatShape, contents: ChatContents, model: Model, owner: str, key: Key | None
    ) -> ChatResult:
        """Ask a model in this process."""
        check_supported(chat)
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
        reply = await shared.reply(messages, limit=reply_limit(chat, model), sampling=sampling)
        id_, answer = f"chatcmpl-{secrets.token_hex(12)}", cut_at_stop(reply.text, chat.stop)
        if not chat.stream:
            return ChatResult(
                payload=completion_to_json(id_, model.name, {"content": answer}, str(reply.finish), reply.usage)
            )
        chunks = [
            chunk_to_json(id_, model.name, {"role": "assistant", "content": answer}),
            chunk_to_json(id_, model.name, {}, str(reply.finish)),
        ]
        if (chat.stream_options or {}).get("include_usage"):
            chunks.append(chunk_to_json(id_, model.name, None, usage=usage_to_json(reply.usage)))
        return ChatResult(chunks=_iterate(chunks))

    async def _forward(self, model: OpenAIModel, owner: str, key: Key | None, body: dict[str, Any]) -> ChatResult:
        """Send the chat to the endpoint; return its answer or its error unchanged."""
        from httpx2 import Response as HttpResponse
        from openai import APIStatusError, AsyncStream, OpenAIError

        client = self._clients.get(model.name) or self._clients.setdefault(model.name, model.endpoint.open_client())
        body = {name: value for name, value in body.items() if name not in _READING_FIELDS}
        began, queue = time.perf_counter(), self._service.queue
        await queue.acquire(owner)
        streaming = False
        try:
            if body.get("stream"):
                body["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
                chunks = await client.post(
                    _ROUTE, cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object]
                )
                streaming = True
                return ChatResult(chunks=self._forward_chunks(chunks, model, key, began), at_end=queue.release)
            answer = await client.post(_ROUTE, cast_to=HttpResponse, body=body)
            payload = json.loads(answer.content)
            await self._count_usage(payload, model, key, began)
            return ChatResult(payload=payload)
        except APIStatusError as error:
            return self._error_result(error, model)
        except (OpenAIError, ValueError) as error:
            raise translate_error(error, model.endpoint, model.name) from error
        finally:
            if not streaming:
                queue.release()

    async def _forward_chunks(
        self, chunks: Any, model: OpenAIModel, key: Key | None, began: float
    ) -> AsyncGenerator[dict[str, Any]]:
        from openai import OpenAIError

        try:
            async for chunk in chunks:
                await self._count_usage(chunk, model, key, began)
                yield chunk
        except (OpenAIError, ValueError) as error:
            bookwheel_error = translate_error(error, model.endpoint, model.name)
            yield openai_error(str(bookwheel_error), status_of(bookwheel_error), code_of(bookwheel_error))
        finally:
            # A cancelled request must still give its connection back.
            with CancelScope(shield=True):
                await chunks.close()

    async def _count_usage(self, payload: Any, model: OpenAIModel, key: Key | None, began: float) -> None:
        counts = payload.get("usage") if isinstance(payload, dict) else None
        if not isinstance(counts, dict):
            return
        read, written = (int(counts.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
        usage = Usage(calls=1, prompt_tokens=read, completion_tokens=written)
        self._service.metrics.count_call(model.name, usage, time.perf_counter() - began)
        if quota := self._service.quota(key):
            await quota.settle(usage.tokens)

    def _error_result(self, error: Any, model: OpenAIModel) -> ChatResult:
        """Return the endpoint's error."""
        bookwheel_error = translate_error(error, model.endpoint, model.name)
        # A wrong key for the endpoint is this server's fault, not the caller's.
        status = 502 if error.status_code in {401, 403} else error.status_code
        details = error.body if status != 502 and isinstance(error.body, dict) else {}  # noqa: PLR2004
        message = model.endpoint.hide_key(str(details.get("message") or bookwheel_error))
        payload = openai_error(message, status, details.get("code") or code_of(bookwheel_error), details.get("param"))
        return ChatResult(payload=payload, status=status, headers={"x-should-retry": "false"})


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


async def _iterate(chunks: list[dict[str, Any]]) -> AsyncGenerator[dict[str, Any]]:
    for chunk in chunks:
        yield chunk
