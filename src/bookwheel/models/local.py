"""The embedded default: a small model that reads in this process, with no server and no account.

A prompt is put together from token ids. The chat template is tokenised with its special tokens, what the messages
say without any: text that looks like a special token stays text, whichever model's it imitates, and the ids that a
reply was drawn from are known exactly.

>>> import asyncio
>>> async def ask() -> str:
...     model = await LocalModel.open()
...     said = await model.reply([Message(role="user", content="Name a colour.")], limit=8, sampling=Sampling())
...     await model.aclose()
...     return said.text
>>> bool(asyncio.run(ask()))  # doctest: +SKIP
True
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from typing import TYPE_CHECKING, Final

from bookwheel.errors import BadReply, WindowExceeded
from bookwheel.models import weights as kept
from bookwheel.models.engine import Engine, choose_thread_count
from bookwheel.models.gguf_header import ADAPTER_TYPE, TYPE_FIELD, load_header_plan, read_header
from bookwheel.plan import Plan, Sampling, load_preset_plan
from bookwheel.text.tokens import replace_surrogates
from bookwheel.types import Message, Reply, TokenRecord, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bookwheel.models.weights import DownloadProgress

_WINDOW: Final = 8192
_SLACK: Final = 16
"""Tokens that a text may have more inside a prompt than its pieces had alone."""


class GgufTokenizer:
    """The tokenizer inside the weights; text that looks like a special token is counted as text."""

    exact: Final = True

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine

    def count(self, text: str) -> int:
        """How many tokens the model reads for it."""
        return len(self._engine.tokens(text)) if text else 0

    def fit(self, text: str, limit: int) -> int:
        """Where token number `limit` ends."""
        lengths = self._engine.piece_lengths(text) if text else []
        if len(lengths) <= limit:
            return len(text)
        shown = replace_surrogates(text).encode()[: sum(lengths[: max(0, limit)])]
        return len(shown.decode("utf-8", "ignore"))


class LocalModel:
    """A GGUF file read by llama.cpp inside this process. Make one with `open`."""

    def __init__(
        self, engine: Engine, *, name: str, plan: Plan | None, threads: int, slots: int, record_tokens: bool
    ) -> None:
        self.name = name
        self.window = engine.window
        self.tokenizer = GgufTokenizer(engine, name)
        self.threads = threads
        self.plan = plan or Plan().within(engine.window)
        self._engine = engine
        self._record = record_tokens
        self._turns = asyncio.Semaphore(slots)
        self._frames: dict[tuple[str, ...], tuple[list[int] | int, ...]] = {}
        self.template_tokens = _SLACK + len(self._prompt((Message(role="user", content=""),)))

    @classmethod
    async def open(
        cls,
        weights: Path | None = None,
        *,
        threads: int | None = None,
        slots: int = 1,
        progress: DownloadProgress | None = None,
        record_tokens: bool = False,
    ) -> LocalModel:
        """Load a .gguf file: by default our own, which the first use fetches, telling `progress` the bytes.

        A file that is an adapter is laid over our own weights. A policy that training left brings the plan along that
        it was trained with.

        `threads` are chosen by the machine's load where none are given. `slots` replies are written at a time, more
        wait their turn; on few cores a second one gains nothing and holds a window's memory. With `record_tokens` a
        reply carries its exact ids and log-probabilities, except one with a character of several tokens, for which
        llama.cpp tells only one.
        """
        path = weights or await kept.ensure_weights(progress)
        facts = await asyncio.to_thread(read_header, path)
        plan = load_header_plan(facts, path)
        adapter = path if facts.get(TYPE_FIELD) == ADAPTER_TYPE else None
        base = await kept.ensure_weights(progress) if adapter else path
        threads = threads or choose_thread_count()
        engine = await asyncio.to_thread(
            Engine.start, base, threads=threads, slots=slots, window=_WINDOW, adapter=adapter
        )
        if base != weights:
            plan = plan or load_preset_plan("laptop")
        name = weights.stem if weights else "local"
        return cls(engine, name=name, plan=plan, threads=threads, slots=slots, record_tokens=record_tokens)

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """One conversation. Cancelling it stops the engine's work on it."""
        prompt = self._prompt(messages)
        if len(prompt) + limit > self.window:
            raise WindowExceeded(
                f"the prompt has {len(prompt)} tokens and its reply may have {limit}; the window of {self.name} holds "
                f"{self.window}, {len(prompt) + limit - self.window} too few: lower --chunk-tokens or --memory-tokens"
            )
        async with self._turns:
            began = time.perf_counter()
            said = await self._engine.complete(prompt, limit=limit, sampling=sampling, logprobs=self._record)
        record = (
            TokenRecord(prompt=tuple(prompt), reply=said.ids, logprobs=said.logprobs)
            if self._record and said.logprobs is not None
            else None
        )
        usage = Usage(
            calls=1,
            prompt_tokens=len(prompt),
            completion_tokens=len(said.ids),
            seconds=time.perf_counter() - began,
        )
        return Reply(text=said.text, finish=said.finish, usage=usage, tokens=record)

    async def aclose(self) -> None:
        """Free the weights."""
        await self._engine.aclose()

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a conversation, up to where the model is to speak."""
        roles = tuple(message.role for message in messages)
        if roles not in self._frames:
            self._frames[roles] = self._frame(roles)
        ids: list[int] = []
        for part in self._frames[roles]:
            ids += self._engine.tokens(messages[part].content) if isinstance(part, int) else part
        return ids

    def _frame(self, roles: Sequence[str]) -> tuple[list[int] | int, ...]:
        """The chat template's own ids around such messages; a number stands where that message's text goes."""
        mark = f"text-{secrets.token_hex(8)}-"
        marked = self._engine.templated([{"role": role, "content": f"{mark}{at}-"} for at, role in enumerate(roles)])
        parts = re.split(rf"{mark}(\d+)-", marked)
        if parts[1::2] != [str(at) for at in range(len(roles))]:
            raise BadReply(
                f"the chat template of {self.name} does not show messages in order and once each: "
                f"serve this model with its own server and name that with --base-url"
            )
        return tuple(
            int(part) if at % 2 else self._engine.tokens(part, special=True, first=at == 0)
            for at, part in enumerate(parts)
        )
