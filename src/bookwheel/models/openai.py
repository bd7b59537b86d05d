"""Any OpenAI-compatible endpoint as a model, through the official SDK: vLLM, llama.cpp, SGLang, Ollama, hosted ones.

The SDK does HTTP, retries and streaming; here is what it leaves open: which settings a server takes, what its reply
means, and the exact token ids where it can give them.

    model = await OpenAIModel.connect("Qwen/Qwen3-8B", base_url="http://localhost:8000/v1")
    reply = await model.reply([Message(role="user", content="Hello")], limit=64, sampling=Sampling())

Recorded log-probabilities are of the distribution that was sampled from. llama.cpp gives those for any sampling;
vLLM gives those of the bare model, which are the same only at temperature 1 and top_p 1: at other settings nothing
is recorded. While recording, limits on sampling that nobody asked for (top_k, min_p) are switched off.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, Unpack

from bookwheel.errors import WindowExceeded
from bookwheel.models.completion import Completion, join_stream, parse_completion
from bookwheel.models.endpoint import DEFAULT_RETRIES, DEFAULT_TIMEOUT, Endpoint
from bookwheel.models.sdk_errors import (
    find_rejected_setting,
    is_html,
    parse_error_body,
    translate_error,
    wrong_address_error,
)
from bookwheel.models.server_models import ServedModel, ServerSoftware, find_model, list_served_models
from bookwheel.models.server_tokenizer import ServerTokenizer
from bookwheel.plan import Plan, Sampling
from bookwheel.text.tokens import EstimatingTokenizer, FileTokenizer, Tokenizer, replace_surrogates
from bookwheel.types import Reply, TokenRecord, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bookwheel.types import Message

_TEMPLATE_TOKENS: Final = 128
"""For templates that cannot be asked after; the longest that are common stay under it."""
_TEMPLATE_MARGIN: Final = 8
"""Where message and template meet, tokens can fall otherwise than in the measured conversation."""
_ALL: Final = 0.95
"""A server that counts less of the prompt than this share cut it; a tokenizer file may be off by a little."""
_PLAIN: Final[Mapping[str, Any]] = {"logprobs": True, "top_k": -1, "min_p": 0}
_RECORDING: Final[Mapping[ServerSoftware, Mapping[str, Any]]] = {
    ServerSoftware.VLLM: {**_PLAIN, "return_token_ids": True, "repetition_penalty": 1.0},
    ServerSoftware.LLAMA_CPP: {**_PLAIN, "top_logprobs": 1, "post_sampling_probs": True},
    ServerSoftware.OTHER: {},
}
_DISPENSABLE: Final = ("max_tokens", "temperature", "top_p", "seed", "repeat_penalty", "repetition_penalty")
"""What a server may refuse and still be read with; max_tokens then goes by its newer name."""

_log: Final = logging.getLogger(__name__)


class EndpointSettings(TypedDict, total=False):
    """The constructor's optional settings, for those who pass them on."""

    base_url: str | None
    api_key: str | None
    timeout: float
    retries: int
    concurrency: int
    plan: Plan | None
    window: int | None
    record_tokens: bool
    extra_body: Mapping[str, Any] | None
    stream: bool


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint. `connect` also asks the server for its window and tokenizer."""

    def __init__(
        self,
        *,
        name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = DEFAULT_RETRIES,
        concurrency: int = 16,
        plan: Plan | None = None,
        tokenizer: Tokenizer | None = None,
        window: int | None = None,
        record_tokens: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        stream: bool = False,
    ) -> None:
        self.name = name
        self.endpoint = Endpoint.resolve(base_url, api_key, timeout=timeout, retries=retries)
        self.plan = plan or Plan()
        self.tokenizer = tokenizer or EstimatingTokenizer()
        self.window = window
        self.template_tokens = _TEMPLATE_TOKENS
        self.unsupported: set[str] = set()
        """The settings that this server turned out not to take."""
        self._record = record_tokens
        self._extra = dict(extra_body or {})
        self._stream = stream
        self._software: ServerSoftware | None = None
        self._slots = asyncio.Semaphore(concurrency)
        self._client = self.endpoint.open_client()

    @classmethod
    async def connect(
        cls, name: str, *, tokenizer: Tokenizer | Path | str | None = None, **settings: Unpack[EndpointSettings]
    ) -> Self:
        """The model, with what its server tells about it. A wrong address, key or name is an error already here."""
        own = FileTokenizer(Path(tokenizer)) if isinstance(tokenizer, Path | str) else tokenizer
        model = cls(name=name, tokenizer=own, **settings)
        try:
            served = find_model(await list_served_models(model.endpoint), name, model.endpoint)
            model.window = model.window or served.window
            model.plan = settings.get("plan") or Plan().within(model.window)
            model._software = served.software
            await asyncio.to_thread(model._ask_for_tokenizer, own)
        except BaseException:
            await model.aclose()
            raise
        return model

    def _ask_for_tokenizer(self, own: Tokenizer | None) -> None:
        """The server's tokenizer, if the user gave none, and the measure of its chat template."""
        found = ServerTokenizer.find(self.endpoint, self.name)
        if found is None:
            return
        measured = found.template_tokens()
        if measured is not None:
            self.template_tokens = measured + _TEMPLATE_MARGIN
        if own is None:
            self.tokenizer = found
        else:
            found.close()

    async def list_models(self) -> tuple[ServedModel, ...]:
        """All models of this endpoint."""
        return await list_served_models(self.endpoint)

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """One independent conversation."""
        spoken = [{"role": message.role, "content": replace_surrogates(message.content)} for message in messages]
        async with self._slots:
            began = time.perf_counter()
            extras = await self._recording(sampling) if self._record else {}
            said = parse_completion(await self._ask(spoken, limit, sampling, extras), limit)
            self._check_all_was_read(messages, said)
            tokens = await self._record_of(spoken, said) if extras else None
            seconds = time.perf_counter() - began
        return Reply(text=said.text, finish=said.finish, usage=self._usage(messages, said, seconds), tokens=tokens)

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._client.close()
        if isinstance(self.tokenizer, ServerTokenizer):
            self.tokenizer.close()

    async def _ask(
        self, messages: list[dict[str, str]], limit: int, sampling: Sampling, extras: Mapping[str, Any]
    ) -> object:
        """The reply's JSON. A setting that the server does not take is left out from then on, and that is logged."""
        from openai import BadRequestError, OpenAIError, UnprocessableEntityError

        while True:
            settings = self._settings(limit, sampling)
            body = {"model": self.name, "messages": messages, **extras, **settings, **self._extra}
            try:
                return await self._send(body, stream=self._stream and not extras)
            except (BadRequestError, UnprocessableEntityError) as error:
                unsupported = find_rejected_setting(
                    error, {name: body[name] for name in _DISPENSABLE if name in settings}
                )
                if unsupported is None:
                    raise translate_error(error, self.endpoint, self.name) from error
                self.unsupported.add(unsupported)
                if unsupported != "max_tokens":
                    _log.warning("%s does not take %s; it is left to the server", self.name, unsupported)
            except (OpenAIError, ValueError) as error:
                raise translate_error(error, self.endpoint, self.name) from error

    def _settings(self, limit: int, sampling: Sampling) -> dict[str, Any]:
        """What is asked of the server, but for what it is known not to take."""
        wanted = {
            "max_tokens": limit,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "repeat_penalty": sampling.repeat_penalty,
            "repetition_penalty": sampling.repeat_penalty,
        }
        taken = {name: value for name, value in wanted.items() if value is not None and name not in self.unsupported}
        return taken if "max_tokens" in taken else {**taken, "max_completion_tokens": limit}

    async def _send(self, body: Mapping[str, Any], *, stream: bool) -> object:
        """One request by the SDK, read as plain JSON: what servers add to OpenAI's fields is wanted as it is."""
        from httpx2 import Response
        from openai import AsyncStream

        route = "/chat/completions"
        if stream:
            streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
            pieces = await self._client.post(
                route, cast_to=object, body=streamed, stream=True, stream_cls=AsyncStream[object]
            )
            if "html" in pieces.response.headers.get("content-type", ""):
                await pieces.close()
                raise wrong_address_error(self.endpoint, "it answers with a web page")
            return await join_stream(pieces)
        answer = await self._client.post(route, cast_to=Response, body=body)
        if is_html(answer.text):
            raise wrong_address_error(self.endpoint, "it answers with a web page")
        told = json.loads(answer.content)
        if isinstance(told, dict) and told.get("error") and not told.get("choices"):
            raise parse_error_body(told["error"], self.endpoint)
        return told

    async def _recording(self, sampling: Sampling) -> Mapping[str, Any]:
        """What asks this server for exact tokens; nothing where they would not be what was sampled from."""
        if self._software is None:
            self._software = find_model(await self.list_models(), self.name, self.endpoint).software
        plain = sampling.temperature == 1 and sampling.top_p == 1 and sampling.repeat_penalty in {None, 1}
        return _RECORDING[self._software] if plain or self._software is ServerSoftware.LLAMA_CPP else {}

    async def _record_of(self, messages: list[dict[str, str]], said: Completion) -> TokenRecord | None:
        """The exact tokens, when the server told all of them and its own counts agree."""
        prompt = said.prompt_ids
        if prompt is None and self._software is ServerSoftware.LLAMA_CPP:
            prompt = await self._prompt_ids(messages)
        if prompt is None or said.reply_ids is None or said.logprobs is None:
            return None
        counts = (said.prompt_tokens, said.completion_tokens, len(said.logprobs))
        if counts != (len(prompt), len(said.reply_ids), len(said.reply_ids)):
            return None
        return TokenRecord(prompt=prompt, reply=said.reply_ids, logprobs=said.logprobs)

    async def _prompt_ids(self, messages: list[dict[str, str]]) -> tuple[int, ...] | None:
        """llama.cpp keeps the prompt's ids to itself, but tells its template and tokenizer apart."""
        from openai import OpenAIError

        root = self.endpoint.root
        try:
            shown: Any = await self._client.post(f"{root}/apply-template", cast_to=object, body={"messages": messages})
            body = {"content": shown["prompt"], "add_special": True, "parse_special": True}
            told: Any = await self._client.post(f"{root}/tokenize", cast_to=object, body=body)
            return tuple(told["tokens"])
        except (OpenAIError, ValueError, KeyError, TypeError):
            return None

    def _check_all_was_read(self, messages: Sequence[Message], said: Completion) -> None:
        """Ollama, for one, cuts what does not fit its window without a word; its count of the prompt tells."""
        if said.prompt_tokens is None or not self.tokenizer.exact or isinstance(self.tokenizer, ServerTokenizer):
            return
        sent = sum(self.tokenizer.count(message.content) for message in messages)
        if said.prompt_tokens < sent * _ALL:
            raise WindowExceeded(
                f"the server read only {said.prompt_tokens} of the prompt's {sent} tokens and cut the rest silently: "
                f"give it a longer window (in Ollama, num_ctx), or lower --chunk-tokens."
            )

    def _usage(self, messages: Sequence[Message], said: Completion, seconds: float) -> Usage:
        """The server's counts, or our own where it gives none."""
        count = self.tokenizer.count
        read, written = said.prompt_tokens, said.completion_tokens
        return Usage(
            calls=1,
            prompt_tokens=sum(count(message.content) for message in messages) if read is None else read,
            completion_tokens=count(said.text) if written is None else written,
            seconds=seconds,
        )
