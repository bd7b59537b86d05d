"""OpenAI's older operations: completions of a bare text, and embeddings. Neither reads."""

import base64
import json
import secrets
import struct
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from bookwheel.models.base import embed_texts, unwrap
from bookwheel.models.embeddings import check_embeddings
from bookwheel.models.openai import OpenAIModel
from bookwheel.serve.http.answers import JsonResponse
from bookwheel.serve.http.operations import operation
from bookwheel.serve.http.requests import TokenLimit, build_shape
from bookwheel.serve.openai.chat import OpenAIRoutes
from bookwheel.serve.openai.completions import ChatResult
from bookwheel.serve.openai.conversation import parse_messages
from bookwheel.serve.openai.requests import ChatShape, refuse

# OpenAI's default.
_MOST_TOKENS = 16
_MOST_TEXTS = 2048


class CompletionShape(BaseModel):
    """The body of a completion. Unknown fields are passed on to the endpoint."""

    model_config = ConfigDict(extra="allow")
    model: str
    prompt: str | list[str] | list[int] | list[list[int]]
    """A text; an endpoint also takes several, or token ids."""
    max_tokens: TokenLimit | None = None
    stream: bool | None = False
    n: int | None = 1


class EmbeddingShape(BaseModel):
    """The body of a request for embeddings."""

    model_config = ConfigDict(extra="ignore")
    model: str
    input: str | Annotated[list[str], Field(min_length=1, max_length=_MOST_TEXTS)]
    encoding_format: Literal["float", "base64"] = "float"


class CompletionJson(BaseModel):
    """A completion, as the endpoint gives it."""

    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any] | None = None


class EmbeddingsJson(BaseModel):
    """One vector for each text."""

    object: str
    model: str
    data: list[dict[str, Any]]
    usage: dict[str, int]


class PlainRoutes:
    """The operations, over the models and queues of the chats."""

    def __init__(self, chats: OpenAIRoutes) -> None:
        self._chats = chats

    @operation("POST", "/v1/completions", "OpenAI: complete a text", CompletionJson)
    async def complete(self, request: Request, shape: CompletionShape) -> Response:
        model, key = self._chats.find_model(shape.model), request.state.key
        text = shape.prompt if isinstance(shape.prompt, str) else json.dumps(shape.prompt)
        limit = shape.max_tokens or _MOST_TOKENS
        values = {**(shape.model_extra or {}), "max_tokens": limit, "stream": shape.stream, "n": shape.n}
        chat = build_shape(ChatShape, {**values, "model": model.name, "messages": [{"role": "user", "content": text}]})
        contents = parse_messages(chat.messages)
        if isinstance(unwrap(model), OpenAIModel):
            body = json.dumps({**values, "prompt": shape.prompt}).encode()
            result = await self._chats.pass_through.answer(chat, contents, model, key, body, route="/completions")
            return result.to_chat_response()
        if not isinstance(shape.prompt, str):
            raise refuse("this model completes one text at a time", "prompt")
        result = await self._chats.pass_through.answer(chat, contents, model, key, b"{}")
        chunks = (_convert(chunk) async for chunk in result.chunks) if result.chunks else None
        payload = _convert(result.payload) if result.payload else {}
        return ChatResult(payload=payload, chunks=chunks, at_end=result.at_end).to_chat_response()

    @operation("POST", "/v1/embeddings", "OpenAI: embeddings", EmbeddingsJson)
    async def embed(self, request: Request, shape: EmbeddingShape) -> Response:
        model, key, service = self._chats.find_model(shape.model), request.state.key, self._chats.service
        if await check_embeddings(model) is False:
            raise refuse(f"{model.name} gives no embeddings: name a model that does", "model", "unsupported_model")
        shared = service.share_model(model, key, f"embeddings-{secrets.token_hex(6)}")
        found = await embed_texts(shared, [shape.input] if isinstance(shape.input, str) else shape.input)
        is_packed = shape.encoding_format == "base64"
        data = [
            {"object": "embedding", "index": at, "embedding": _pack(vector) if is_packed else [*map(float, vector)]}
            for at, vector in enumerate(found.vectors)
        ]
        usage = {"prompt_tokens": found.usage.prompt_tokens, "total_tokens": found.usage.tokens}
        return JsonResponse({"object": "list", "model": model.name, "data": data, "usage": usage})


def _pack(vector: Any) -> str:
    """Return a vector as OpenAI's clients ask for it: 32-bit floats in base64."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _convert(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion, or a chunk of one, as a completion of a text."""
    choices = [
        {
            "index": 0,
            "text": (choice.get("message") or choice.get("delta") or {}).get("content") or "",
            "finish_reason": choice.get("finish_reason"),
            "logprobs": None,
        }
        for choice in payload.get("choices") or ()
    ]
    id_ = str(payload.get("id") or "").replace("chatcmpl-", "cmpl-")
    return {**payload, "id": id_, "object": "text_completion", "choices": choices}
