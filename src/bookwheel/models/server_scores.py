"""Judgements, likelihoods and exact tokens from a server.

Every server that sends `top_logprobs` can judge. To score a given text, vLLM returns log-probabilities of the prompt
itself, and llama.cpp is made to generate the text. Others may echo a prompt of plain completions, which has no chat
template: the messages stand one below the other in it.

Recorded log-probabilities are of the sampling distribution. llama.cpp sends those for any sampling. vLLM sends those of
the unmodified model, which are the same only at temperature 1 and top_p 1; at other settings we record nothing.
Recording switches off sampling limits that the plan does not have (top_k, min_p).
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from bookwheel.errors import (
    BadReply,
    InputError,
    MissingAbility,
    ModelError,
    Overloaded,
    Rejected,
    TimedOut,
    Unreachable,
)
from bookwheel.models.base import Ability, Judgement, JudgingModel, Likelihood
from bookwheel.models.client import Client
from bookwheel.models.completion import Completion, as_mapping, parse_ids, parse_number, settle_usage
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.engine import force_tokens, parse_forced_tokens
from bookwheel.models.server_errors import is_missing_route
from bookwheel.models.server_models import ServerSoftware
from bookwheel.plan import Sampling
from bookwheel.text.tokens import replace_surrogates
from bookwheel.types import Message, TokenRecord, Usage

# The most that OpenAI and, by default, vLLM list.
_LISTED: Final = 20
_PROBE: Final = (Message(role="user", content="Is water wet? Reply with Yes or No."),)
_BOTH: Final = frozenset(Ability)
# A model that begins to think gives no judgement. Templates that know no thinking ignore the setting.
_WITHOUT_THINKING: Final = {"chat_template_kwargs": {"enable_thinking": False}}
_UNLIMITED_SAMPLING: Final[Mapping[str, Any]] = {"logprobs": True, "top_k": -1, "min_p": 0}
_RECORDING: Final[Mapping[ServerSoftware, Mapping[str, Any]]] = {
    ServerSoftware.VLLM: {**_UNLIMITED_SAMPLING, "return_token_ids": True, "repetition_penalty": 1.0},
    ServerSoftware.LLAMA_CPP: {**_UNLIMITED_SAMPLING, "top_logprobs": 1, "post_sampling_probs": True},
    ServerSoftware.OTHER: {},
}
_OFFERED: Final = {ServerSoftware.VLLM: _BOTH, ServerSoftware.LLAMA_CPP: _BOTH}


class ServerScores:
    """The scores that one model behind an endpoint gives."""

    def __init__(
        self, client: Client, endpoint: Endpoint, name: str, software: Callable[[], Awaitable[ServerSoftware]]
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._name = name
        self._software = software
        self._abilities: frozenset[Ability] | None = None
        self._trying: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}
        self._extra: Mapping[str, Any] = {}
        """Settings of judgements that only some software takes."""

    async def try_abilities(self, by: JudgingModel) -> frozenset[Ability]:
        """Return what the server offers; one that does not name its software is tried once, through `by`."""
        # A judge and its readings, or several of them, ask at the same moment.
        async with self._trying.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if self._abilities is None:
                software = await self._software()
                self._extra = _WITHOUT_THINKING if software in _OFFERED else {}
                attempts = {
                    Ability.JUDGE: lambda: by.judge(_PROBE, ("Yes", "No")),
                    Ability.LIKELIHOOD: lambda: by.likelihood(_PROBE, "Yes"),
                }
                tried = {} if software in _OFFERED else attempts
                found = frozenset([ability for ability, attempt in tried.items() if await _succeeds(attempt)])
                self._abilities = _OFFERED.get(software, found)
        return self._abilities

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        """Return the log-probability of each option's first token.

        An option that is not among the likeliest 20 tokens gets the last one's, which is an upper bound.
        """
        started = time.perf_counter()
        settings = {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": _LISTED, **self._extra}
        body = await self._post("/chat/completions", {"messages": to_json(messages), **settings})
        listed = _parse_listed(body)
        least = min(logprob for _, logprob in listed)
        return Judgement(
            options=tuple(options),
            logprobs=tuple(_find_option(option, options, listed, least) for option in options),
            usage=settle_usage(body, [one.content for one in messages], started),
        )

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Return the log-probabilities of the tokens of `continuation` as the reply."""
        if not continuation:
            raise InputError("an empty text has no likelihood: give likelihood() a text of at least one token")
        started = time.perf_counter()
        match await self._software():
            case ServerSoftware.VLLM:
                return await self._score_prompt(messages, continuation, started)
            case ServerSoftware.LLAMA_CPP:
                return await self._score_forced(messages, continuation, started)
            case _:
                return await self._score_echo(messages, continuation, started)

    async def _score_prompt(self, messages: Sequence[Message], continuation: str, started: float) -> Likelihood:
        """Let vLLM report the log-probabilities of a prompt that ends with the continuation."""
        ids = await self._tokenize(continuation, special=False)
        settings = {
            "max_tokens": 1,
            "temperature": 0,
            "prompt_logprobs": 0,
            "add_generation_prompt": False,
            "continue_final_message": True,
            **_WITHOUT_THINKING,
        }
        final = Message(role="assistant", content=continuation)
        body = await self._post("/chat/completions", {"messages": to_json([*messages, final]), **settings})
        entries = body.get("prompt_logprobs")
        if not isinstance(entries, list) or len(entries) <= len(ids):
            raise Rejected(f"{self._endpoint.display_url} sent no prompt log-probabilities: update vLLM")
        logprobs = [
            _parse_entry(entry, id_) for entry, id_ in zip(entries[len(entries) - len(ids) :], ids, strict=True)
        ]
        return Likelihood(
            logprobs=tuple(logprobs), usage=settle_usage(body, [one.content for one in messages], started)
        )

    async def _score_forced(self, messages: Sequence[Message], continuation: str, started: float) -> Likelihood:
        prompt = await self._tokenize_prompt({"messages": to_json(messages), **_WITHOUT_THINKING})
        ids = await self._tokenize(continuation, special=False)
        settings = {"temperature": 0, "cache_prompt": True, "return_tokens": True, **force_tokens(ids)}
        body = await self._post(f"{self._endpoint.root}/completion", {"prompt": prompt, **settings})
        seconds = time.perf_counter() - started
        usage = Usage(calls=1, prompt_tokens=len(prompt), completion_tokens=len(ids), seconds=seconds)
        return Likelihood(logprobs=parse_forced_tokens(body, ids), usage=usage)

    async def _score_echo(self, messages: Sequence[Message], continuation: str, started: float) -> Likelihood:
        """Let a server echo a prompt that ends with the continuation. Raise MissingAbility where it does not."""
        prompt = "".join(f"{replace_surrogates(message.content)}\n\n" for message in messages)
        settings = {"max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}
        try:
            body = await self._post("/completions", {"prompt": prompt + replace_surrogates(continuation), **settings})
            logprobs = _parse_echo(body, len(prompt), len(prompt) + len(continuation))
        except ModelError as error:
            if isinstance(error, Rejected) or is_missing_route(error):
                raise MissingAbility(
                    f"{self._name} at {self._endpoint.display_url} cannot score a given text"
                ) from error
            raise
        return Likelihood(logprobs=logprobs, usage=settle_usage(body, [one.content for one in messages], started))

    async def _tokenize_prompt(self, template: Mapping[str, Any]) -> list[int]:
        """Return a conversation's ids from llama.cpp's template and tokenizer: its chat route does not send them."""
        rendered = await self._post(f"{self._endpoint.root}/apply-template", template)
        if not isinstance(prompt := rendered.get("prompt"), str):
            raise BadReply(f"{self._endpoint.display_url} sent no prompt from /apply-template")
        return await self._tokenize(prompt, special=True)

    async def _tokenize(self, text: str, *, special: bool) -> list[int]:
        """Return a text's ids from the server's own tokenizer; vLLM and llama.cpp name the fields differently."""
        text = replace_surrogates(text)
        fields = {"content": text, "prompt": text, "parse_special": special}
        body = await self._post(
            f"{self._endpoint.root}/tokenize", {**fields, "add_special": special, "add_special_tokens": special}
        )
        ids = parse_ids(body.get("tokens"))
        if not ids:
            raise BadReply(f"{self._endpoint.display_url} sent no token ids from /tokenize")
        return list(ids)

    async def _post(self, route: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        reply = await self._client.ask(route, {"model": self._name, **body}, self._name)
        if not isinstance(reply, dict):
            raise BadReply(f"{self._endpoint.display_url} did not answer {route} with JSON")
        return reply

    async def recording_settings(self, sampling: Sampling) -> Mapping[str, Any]:
        """Return the settings that request exact tokens, or none if they would not match the sampling."""
        software = await self._software()
        is_unmodified = sampling.temperature == 1 and sampling.top_p == 1 and sampling.repeat_penalty in {None, 1}
        return _RECORDING[software] if is_unmodified or software is ServerSoftware.LLAMA_CPP else {}

    async def build_record(self, messages: list[dict[str, str]], completion: Completion) -> TokenRecord | None:
        """Return the exact tokens if the server sent all of them and its counts agree."""
        prompt = completion.prompt_ids
        if prompt is None and await self._software() is ServerSoftware.LLAMA_CPP:
            with suppress(ModelError):
                prompt = tuple(await self._tokenize_prompt({"messages": messages}))
        if prompt is None or completion.reply_ids is None or completion.logprobs is None:
            return None
        counts = (completion.prompt_tokens, completion.completion_tokens, len(completion.logprobs))
        if counts != (len(prompt), len(completion.reply_ids), len(completion.reply_ids)):
            return None
        return TokenRecord(prompt=prompt, reply=completion.reply_ids, logprobs=completion.logprobs)


async def _succeeds(attempt: Callable[[], Awaitable[object]]) -> bool:
    """Return True if the server does what is tried. Servers reject settings in many ways, or ignore them."""
    try:
        await attempt()
    except (Unreachable, Overloaded, TimedOut):  # they say nothing about what the server can do
        raise
    except (ModelError, MissingAbility):
        return False
    return True


def to_json(messages: Sequence[Message]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    for message in messages:
        text = replace_surrogates(message.content)
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        for picture in message.pictures:
            address = f"data:{picture.media};base64,{base64.b64encode(picture.content).decode()}"
            parts += [{"type": "text", "text": picture.mark}, {"type": "image_url", "image_url": {"url": address}}]
        sent.append({"role": message.role, "content": parts if message.pictures else text})
    return sent


def _parse_listed(body: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the likeliest first tokens of a reply with their log-probabilities."""
    try:
        entries = body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        listed = [(str(entry["token"]), _parse_logprob(entry["logprob"])) for entry in entries]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Rejected(
            "the server sent no top_logprobs: it cannot judge. Use another --way.", is_charged=True
        ) from error
    if not listed:
        raise Rejected("the server's top_logprobs are empty: it cannot judge. Use another --way.", is_charged=True)
    return listed


def _find_option(option: str, options: Sequence[str], listed: Sequence[tuple[str, float]], least: float) -> float:
    """Return the log-probability of the likeliest listed token that begins this option and no other."""
    matches = [
        logprob
        for token, logprob in listed
        if (bare := token.strip()) and [other for other in options if other.startswith(bare)] == [option]
    ]
    return max(matches, default=least)


def _parse_logprob(value: object) -> float:
    logprob = parse_number(value)
    if logprob is None:
        raise ValueError("no log-probability")
    return logprob


def _parse_entry(entry: object, id_: int) -> float:
    """Return the log-probability of one prompt token. vLLM keys each entry by the token's id."""
    found = entry.get(str(id_)) if isinstance(entry, dict) else None
    logprob = parse_number(as_mapping(found).get("logprob"))
    if logprob is None:
        raise Rejected("the prompt's log-probabilities are not those of the text that was to be scored")
    return logprob


def _parse_echo(body: Mapping[str, Any], start: int, end: int) -> tuple[float, ...]:
    """Return the log-probabilities of the tokens from one character of an echoed prompt to another."""
    try:
        listed = body["choices"][0]["logprobs"]
        pairs = zip(listed["text_offset"], listed["token_logprobs"], strict=True)
        scored = [(offset, _parse_logprob(logprob)) for offset, logprob in pairs if start <= offset < end]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Rejected("the server echoes no prompt with log-probabilities") from error
    # Only a token that begins where the text does is the text's own.
    if not scored or scored[0][0] != start:
        raise Rejected("the echoed log-probabilities are not those of the text that was to be scored")
    return tuple(logprob for _, logprob in scored)
