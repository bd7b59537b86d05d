"""Any OpenAI-compatible endpoint as a model: vLLM, llama.cpp, SGLang, Ollama, hosted ones.

`bookwheel.models.client` does HTTP and streaming. This module does the rest: it drops settings that a server rejects,
parses replies. It asks once; `bookwheel.models.patience` asks again.

    model = await OpenAIModel(name="Qwen/Qwen3-8B", base_url="http://localhost:8000/v1").connect()
    reply = await model.reply([Message(role="user", content="Hello")], limit=64, sampling=Sampling())
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, Self

from bookwheel.errors import ModelError, WindowExceeded
from bookwheel.models.base import REPLY_WATCHER, Ability, Embeddings, Judgement, JudgingModel, Likelihood
from bookwheel.models.completion import Completion, StreamedReply, parse_completion
from bookwheel.models.deadline import end_within
from bookwheel.models.embeddings import ServerEmbedder
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_errors import (
    StatusError,
    find_rejected_setting,
    is_html,
    parse_error_body,
    request_errors,
    translate_error,
    wrong_address_error,
)
from bookwheel.models.server_models import ServerSoftware, find_model, list_served_models
from bookwheel.models.server_scores import ServerScores, to_json
from bookwheel.models.server_tokenizer import ServerTokenizer
from bookwheel.models.transport import late_reply
from bookwheel.models.vision import PictureRule
from bookwheel.plan import Plan, Sampling
from bookwheel.text.tokens import EstimatingTokenizer, Tokenizer, are_possible, least_tokens
from bookwheel.types import Message, Reply, Usage

_CHAT_ROUTE: Final = "/chat/completions"
_CONCURRENCY: Final = 16
# What servers answer to a setting that they do not know.
_UNPROCESSABLE: Final = frozenset({400, 422})
# Assumed when the server cannot measure its template; the longest common templates are shorter.
_TEMPLATE_TOKENS: Final = 128
# Tokens can fall differently where message and template meet than in the measured conversation.
_TEMPLATE_MARGIN: Final = 8
# A server that counts less than this share of the prompt has cut it. Not 1: a tokenizer file may differ a little.
_FULL_PROMPT_SHARE: Final = 0.95
# Settings we drop if the server rejects them; max_tokens is then sent under its newer name.
_OPTIONAL_SETTINGS: Final[tuple[str, ...]] = (
    *("max_tokens", "temperature", "top_p", "seed", "repeat_penalty", "repetition_penalty"),
    *("chat_template_kwargs", "response_format"),
)
# Characters that are tokenized in the time that a thread takes to begin and end, or a little more.
_SHORT_TEXT: Final = 2000

_log: Final = logging.getLogger(__name__)


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint. `connect` also asks the server for its window and tokenizer."""

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        api_key: str | None = None,
        account: Mapping[str, str] | None = None,
        timeout: float | None = None,
        deadline: float | None = None,
        concurrency: int | None = None,
        plan: Plan | None = None,
        tokenizer: Tokenizer | None = None,
        window: int | None = None,
        vision: str | None = None,
        record_tokens: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        stream: bool = False,
    ) -> None:
        self.name = name
        self.endpoint = Endpoint.resolve(base_url, api_key, account=account, timeout=timeout, deadline=deadline)
        self.is_met = False
        """The server has been asked for its window and tokenizer."""
        self._own_plan, self._own_tokenizer = plan, tokenizer
        self.plan = plan or Plan()
        self.tokenizer = tokenizer or EstimatingTokenizer()
        self.window = window
        self.vision = PictureRule.find(vision, name)
        self.template_tokens = _TEMPLATE_TOKENS
        self.unsupported: set[str] = set()
        """The settings that this server has rejected."""
        self._record = record_tokens
        self._extra = dict(extra_body or {})
        self._stream = stream
        self._streams_for_watchers = True
        self._software: ServerSoftware | None = None
        self._slots = asyncio.Semaphore(_CONCURRENCY if concurrency is None else concurrency)
        self._client = self.endpoint.open_client()
        self._scores = ServerScores(self._client, self.endpoint, name, self._find_software)

    async def connect(self, *, may_be_away: bool = False) -> Self:
        """Meet the server, and return the model. A wrong address, key or name fails here, and the model is closed.

        One that `may_be_away` is to be met later.
        """
        try:
            await self.meet()
        except BaseException as error:
            if may_be_away and isinstance(error, ModelError) and error.is_passing:
                _log.warning("%s is away and will be asked again: %s", self.name, error)
                return self
            await self.aclose()
            raise
        return self

    async def meet(self) -> None:
        """Ask the server for its window and tokenizer."""
        served = find_model(await list_served_models(self.endpoint), self.name, self.endpoint)
        self.window = self.window or served.window
        self.plan = self._own_plan or Plan().within(self.window)
        self._software = served.software
        await self._use_server_tokenizer()
        self.is_met = True

    async def _use_server_tokenizer(self) -> None:
        """Use the server's tokenizer, unless the user gave one, and measure its chat template."""
        tokenizer = await ServerTokenizer.find(self.endpoint, self.name)
        if tokenizer is None:
            return
        template_tokens = await tokenizer.template_tokens()
        if template_tokens is not None:
            self.template_tokens = template_tokens + _TEMPLATE_MARGIN
        if self._own_tokenizer is None:
            self.tokenizer = tokenizer
        else:
            await asyncio.to_thread(tokenizer.close)

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        sent_messages = to_json(messages)
        async with self._slots:
            started = time.perf_counter()
            extras = await self._scores.recording_settings(sampling) if self._record else {}
            body = await self._request_in_time(sent_messages, limit, sampling, extras)
            completion = parse_completion(body, limit)
            await self._check_full_prompt(messages, completion)
            tokens = await self._scores.build_record(sent_messages, completion) if extras else None
            seconds = time.perf_counter() - started
        await self._prepare_count(completion)
        # The server's counts, or our own where it sent none, or fewer than the texts can have.
        sent = await self._settle(completion.prompt_tokens, [message.content for message in messages])
        written = await self._settle(completion.completion_tokens, [completion.text])
        usage = Usage(calls=1, prompt_tokens=sent, completion_tokens=written, seconds=seconds)
        usage = await self._raise_usage(usage, messages, completion.text)
        return Reply(text=completion.text, finish=completion.finish, usage=usage, tokens=tokens)

    async def abilities(self) -> frozenset[Ability]:
        return await self.try_abilities(self)

    async def try_abilities(self, by: JudgingModel) -> frozenset[Ability]:
        return await self._scores.try_abilities(by)

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        async with self._slots:
            judgement = await self._scores.judge(messages, options)
        return replace(judgement, usage=await self._raise_usage(judgement.usage, messages))

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        async with self._slots:
            scored = await self._scores.likelihood(messages, continuation)
        return replace(scored, usage=await self._raise_usage(scored.usage, messages))

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return embeddings of texts by this name, where the server has any."""
        async with aclosing(ServerEmbedder(self.name, self.endpoint)) as embedder:
            return await embedder.embed(texts)

    async def aclose(self) -> None:
        await self._client.close()
        if isinstance(self.tokenizer, ServerTokenizer):
            await asyncio.to_thread(self.tokenizer.close)

    async def _request_in_time(
        self, messages: list[dict[str, Any]], limit: int, sampling: Sampling, extras: Mapping[str, Any]
    ) -> object:
        """Return the reply's JSON within the deadline, because blanks can keep silence short for ever."""
        watch = REPLY_WATCHER.get()
        is_streamed = self._stream or (watch is not None and self._streams_for_watchers)
        stream = StreamedReply(limit, watch) if is_streamed and not extras else None
        try:
            async with asyncio.timeout(self.endpoint.deadline):
                return await self._request(messages, limit, sampling, extras, stream)
        except TimeoutError:
            raise late_reply(self.endpoint, stream.received if stream else None) from None

    async def _request(
        self,
        messages: list[dict[str, Any]],
        limit: int,
        sampling: Sampling,
        extras: Mapping[str, Any],
        stream: StreamedReply | None,
    ) -> object:
        """Return the reply's JSON. Drop a setting that the server rejects, from then on, and log it."""
        while True:
            settings = self._settings(limit, sampling)
            body = {"model": self.name, "messages": messages, **extras, **settings, **self._extra}
            try:
                return await self._send(body, stream)
            except request_errors() as error:
                unsupported = None
                if isinstance(error, StatusError) and error.status_code in _UNPROCESSABLE:
                    optional = {name: body[name] for name in _OPTIONAL_SETTINGS if name in settings}
                    unsupported = find_rejected_setting(error, optional)
                    if unsupported is None and stream and not self._stream and self._streams_for_watchers:
                        # Nobody asked for a stream but a watcher, so a server that refuses one is asked as before.
                        self._streams_for_watchers, stream = False, None
                        continue
                if unsupported is None:
                    received = stream.received if stream else None
                    raise translate_error(error, self.endpoint, self.name, received=received) from error
                self.unsupported.add(unsupported)
                if unsupported != "max_tokens":
                    _log.warning("%s rejects %s; the server's own value is used", self.name, unsupported)

    def _settings(self, limit: int, sampling: Sampling) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "max_tokens": limit,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "repeat_penalty": sampling.repeat_penalty,
            "repetition_penalty": sampling.repeat_penalty,
            "chat_template_kwargs": None if sampling.thinking is None else {"enable_thinking": sampling.thinking},
            "response_format": None,
        }
        if sampling.schema:
            # Not strict: OpenAI refuses a strict schema with optional properties, and other servers constrain anyway.
            answer = {"name": "answer", "schema": json.loads(sampling.schema), "strict": False}
            wanted["response_format"] = {"type": "json_schema", "json_schema": answer}
        settings = {name: value for name, value in wanted.items() if value is not None and name not in self.unsupported}
        return settings if "max_tokens" in settings else settings | {"max_completion_tokens": limit}

    async def _send(self, body: Mapping[str, Any], stream: StreamedReply | None) -> object:
        if stream:
            streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
            pieces = await self._client.open_stream(_CHAT_ROUTE, streamed)
            if "html" in pieces.response.headers.get("content-type", ""):
                await pieces.close()
                raise wrong_address_error(self.endpoint, "it answers with a web page")
            try:
                return await end_within(self.endpoint.deadline, stream.join(aiter(pieces)))
            finally:
                await pieces.close()
        answer = await self._client.post_raw(_CHAT_ROUTE, body)
        # A long reply is not decoded twice: JSON begins with no "<".
        if answer.content.lstrip().startswith(b"<") and is_html(answer.text):
            raise wrong_address_error(self.endpoint, "it answers with a web page")
        reply = json.loads(answer.content)
        if isinstance(reply, dict) and reply.get("error") and not reply.get("choices"):
            raise parse_error_body(reply["error"], self.endpoint)
        return reply

    async def _find_software(self) -> ServerSoftware:
        if self._software is None:
            self._software = find_model(await list_served_models(self.endpoint), self.name, self.endpoint).software
        return self._software

    async def _check_full_prompt(self, messages: Sequence[Message], completion: Completion) -> None:
        """Raise WindowExceeded if the server cut the prompt silently, as Ollama does: its count shows it."""
        if completion.prompt_tokens is None or not self.tokenizer.exact:
            return
        # A server with a tokenizer of its own refuses what does not fit; asking it again only costs time.
        if isinstance(self.tokenizer, ServerTokenizer) and any(message.tokens is None for message in messages):
            return
        sent = await self._count_messages(messages)
        if completion.prompt_tokens < sent * _FULL_PROMPT_SHARE:
            raise WindowExceeded(
                f"the server used only {completion.prompt_tokens} of the prompt's {sent} tokens and cut the rest "
                f"silently: give it a longer window (in Ollama, num_ctx), or lower --chunk-tokens."
            )

    async def _settle(self, reported: int | None, texts: Sequence[str]) -> int:
        if reported is not None and are_possible(reported, texts):
            return reported
        return max(least_tokens(texts), await self._count_tokens(texts))

    async def _raise_usage(self, usage: Usage, messages: Sequence[Message], written: str = "") -> Usage:
        """Return counts that are not below our own, where we count by a tokenizer that the server has no say in."""
        if not self.tokenizer.exact or isinstance(self.tokenizer, ServerTokenizer):
            return usage
        return replace(
            usage,
            prompt_tokens=max(usage.prompt_tokens, await self._count_messages(messages)),
            completion_tokens=max(usage.completion_tokens, await self._count_tokens([written])),
        )

    async def _prepare_count(self, completion: Completion) -> None:
        """Let the tokenizer know the reply's count before the event loop asks for it."""
        text = completion.text.strip()
        counted = None if completion.has_reasoning else completion.completion_tokens
        if isinstance(self.tokenizer, ServerTokenizer) and counted is not None:
            self.tokenizer.remember(text, counted)
        elif self.tokenizer.exact:
            await self._count_tokens([text])

    async def _count_messages(self, messages: Sequence[Message]) -> int:
        unknown = [message.content for message in messages if message.tokens is None]
        return sum(message.tokens or 0 for message in messages) + await self._count_tokens(unknown)

    async def _count_tokens(self, texts: Sequence[str]) -> int:
        """Count in a thread where that takes time, so that other calls go on."""

        def count() -> int:
            return sum(map(self.tokenizer.count, texts))

        is_short = sum(map(len, texts)) <= _SHORT_TEXT and not isinstance(self.tokenizer, ServerTokenizer)
        return count() if is_short else await asyncio.to_thread(count)
