"""Requests that fit the model's window: passed to its endpoint as they are, or asked of the model in this process."""

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
from bookwheel.serve.openai.schemas import completion, piece, usage_json
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
_OURS: Final = ("document", "plan", "way")
_ROLES: Final[dict[str, Any]] = {"developer": "system", "function": "tool"}
_MOST_CHARACTERS_PER_TOKEN: Final = 64
_PROMPT_SHARE: Final = 4
"""A reply without a limit of its own may fill this part of the window."""


def window_of(model: Model) -> int:
    """The tokens that prompt and reply may have together; where no server says, those of the longest update."""
    plan = model.plan
    return model.window or plan.update_tokens(question=plan.question_tokens, template=model.template_tokens)


def reply_limit(asked: ChatShape, model: Model) -> int:
    """How long the reply may get."""
    return asked.limit or max(1, window_of(model) // _PROMPT_SHARE)


def surely_fits(talk: ChatContents, asked: ChatShape, model: Model) -> bool:
    """Whether the conversation fits the window without counting: a token is a byte at least."""
    size = sum(len(content.text.encode("utf-8", "replace")) for content in talk.contents)
    return size <= _room(asked, model)


def fits(talk: ChatContents, asked: ChatShape, model: Model) -> bool:
    """Whether the conversation fits the window, counted; may wait for a server's tokenizer."""
    room = _room(asked, model)
    if sum(len(content.text) for content in talk.contents) > room * _MOST_CHARACTERS_PER_TOKEN:
        return False
    return sum(model.tokenizer.count(content.text) for content in talk.contents) <= room


def _room(asked: ChatShape, model: Model) -> int:
    return window_of(model) - model.template_tokens - reply_limit(asked, model)


class PassThrough:
    """The way past reading."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._clients: dict[str, AsyncOpenAI] = {}

    async def aclose(self) -> None:
        """Let go of the connections."""
        for client in self._clients.values():
            await client.close()

    async def answer(
        self, asked: ChatShape, talk: ChatContents, model: Model, key: Key | None, body: bytes
    ) -> ChatResult:
        """The model's own reply, in turn with everybody else's calls."""
        self._service.queue.check_capacity()
        if quota := self._service.quota(key):
            quota.check()
        owner = key.name if key else f"straight-{secrets.token_hex(6)}"
        if isinstance(model, OpenAIModel):
            return await self._forward(model, owner, key, {**json.loads(body), "model": model.name})
        return await self._ask(asked, talk, model, owner, key)

    async def _ask(self, asked: ChatShape, talk: ChatContents, model: Model, owner: str, key: Key | None) -> ChatResult:
        """Of a model in this process."""
        check_supported(asked)
        if talk.others or talk.files:
            what = talk.others[0] if talk.others else "a file"
            raise ApiError(400, f"this model reads text only, not {what}", kind="unsupported_content", param="messages")
        lent = SharedModel(
            model,
            queue=self._service.queue,
            client=owner,
            loop=asyncio.get_running_loop(),
            metrics=self._service.metrics,
            quota=self._service.quota(key),
        )
        messages = [Message(role=_role(content.role), content=content.text) for content in talk.contents]
        sampling = sampling_of(asked, model)
        reply = await lent.reply(messages, limit=reply_limit(asked, model), sampling=sampling)
        id_, text = f"chatcmpl-{secrets.token_hex(12)}", cut_at_stop(reply.text, asked.stop)
        if not asked.stream:
            return ChatResult(told=completion(id_, model.name, {"content": text}, str(reply.finish), reply.usage))
        pieces = [
            piece(id_, model.name, {"role": "assistant", "content": text}),
            piece(id_, model.name, {}, str(reply.finish)),
        ]
        if (asked.stream_options or {}).get("include_usage"):
            pieces.append(piece(id_, model.name, None, usage=usage_json(reply.usage)))
        return ChatResult(pieces=_listed(pieces))

    async def _forward(self, model: OpenAIModel, owner: str, key: Key | None, body: dict[str, Any]) -> ChatResult:
        """To the endpoint behind; its answer, and its refusal, as they are."""
        from httpx2 import Response as Answer
        from openai import APIStatusError, AsyncStream, OpenAIError

        client = self._clients.get(model.name) or self._clients.setdefault(model.name, model.endpoint.open_client())
        body = {name: value for name, value in body.items() if name not in _OURS}
        began, queue = time.perf_counter(), self._service.queue
        await queue.acquire(owner)
        streaming = False
        try:
            if body.get("stream"):
                body["stream_options"] = {**(body.get("stream_options") or {}), "include_usage": True}
                pieces = await client.post(
                    _ROUTE, cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object]
                )
                streaming = True
                return ChatResult(pieces=self._passed_on(pieces, model, key, began), at_end=queue.release)
            answer = await client.post(_ROUTE, cast_to=Answer, body=body)
            told = json.loads(answer.content)
            await self._count(told, model, key, began)
            return ChatResult(told=told)
        except APIStatusError as error:
            return self._refused(error, model)
        except (OpenAIError, ValueError) as error:
            raise translate_error(error, model.endpoint, model.name) from error
        finally:
            if not streaming:
                queue.release()

    async def _passed_on(
        self, pieces: Any, model: OpenAIModel, key: Key | None, began: float
    ) -> AsyncGenerator[dict[str, Any]]:
        from openai import OpenAIError

        try:
            async for told in pieces:
                await self._count(told, model, key, began)
                yield told
        except (OpenAIError, ValueError) as error:
            fault = translate_error(error, model.endpoint, model.name)
            yield openai_error(str(fault), status_of(fault), code_of(fault))
        finally:
            with CancelScope(shield=True):
                await pieces.close()

    async def _count(self, told: Any, model: OpenAIModel, key: Key | None, began: float) -> None:
        used = told.get("usage") if isinstance(told, dict) else None
        if not isinstance(used, dict):
            return
        read, written = (int(used.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
        usage = Usage(calls=1, prompt_tokens=read, completion_tokens=written)
        self._service.metrics.count_call(model.name, usage, time.perf_counter() - began)
        if quota := self._service.quota(key):
            await quota.settle(usage.tokens)

    def _refused(self, error: Any, model: OpenAIModel) -> ChatResult:
        """The endpoint's refusal; its complaint about our own key is ours to mend, not the caller's."""
        fault = translate_error(error, model.endpoint, model.name)
        status = 502 if error.status_code in {401, 403} else error.status_code
        said = error.body if status != 502 and isinstance(error.body, dict) else {}  # noqa: PLR2004
        message = model.endpoint.hide_key(str(said.get("message") or fault))
        shape = openai_error(message, status, said.get("code") or code_of(fault), said.get("param"))
        return ChatResult(told=shape, status=status, headers={"x-should-retry": "false"})


def sampling_of(asked: ChatShape, model: Model) -> Sampling:
    """The request's sampling on top of the model's own."""
    given = {name: getattr(asked, name) for name in ("temperature", "top_p", "seed")}
    values = {name: value for name, value in given.items() if value is not None}
    return model.plan.with_values({"sampling": values}).sampling


def _role(role: str) -> Any:
    known = get_args(Message.__annotations__.get("role")) or ("system", "user", "assistant", "tool")
    role = _ROLES.get(role, role)
    if role not in known:
        raise ApiError(
            400, f"no role {role!r}; there are: {', '.join(known)}", kind="invalid_request", param="messages"
        )
    return role


async def _listed(pieces: list[dict[str, Any]]) -> AsyncGenerator[dict[str, Any]]:
    for told in pieces:
        yield told
