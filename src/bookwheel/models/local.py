"""The default model: a small one in this process, with no server and no account.

A prompt is built from token ids. The chat template is tokenised with its special tokens, the messages' contents
without: text that looks like a special token stays text. So the ids that a reply was sampled from are known exactly.

>>> import asyncio
>>> async def ask() -> str:
...     model = await LocalModel.open()
...     reply = await model.reply([Message(role="user", content="Name a colour.")], limit=8, sampling=Sampling())
...     await model.aclose()
...     return reply.text
>>> bool(asyncio.run(ask()))  # doctest: +SKIP
True
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.environment import Environment
from bookwheel.errors import InputError, NoWeights, Rejected, WindowExceeded
from bookwheel.models.base import (
    REPLY_WATCHER,
    Ability,
    Copies,
    Embeddings,
    Judgement,
    Likelihood,
    find_first_tokens,
    missing_embeddings,
)
from bookwheel.models.copying import LONGEST, find_openings
from bookwheel.models.embeddings import StaticEmbedder
from bookwheel.models.engine import Engine, choose_thread_count
from bookwheel.models.gguf import (
    ADAPTER_TYPE,
    TURNS_FIELD,
    TYPE_FIELD,
    WAY_FIELD,
    load_header_plan,
    load_tokenizer,
    read_header,
)
from bookwheel.models.proof import prove_weights
from bookwheel.models.weights import ensure_weights, hash_file
from bookwheel.plan import Plan, Sampling
from bookwheel.preset import load_preset_plan
from bookwheel.text.tokens import FastTokenizer, replace_surrogates
from bookwheel.types import Message, Reply, TokenRecord, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.forward import ForwardScorer
    from bookwheel.models.weights import DownloadProgress

READER: Final = Path(__file__).with_name("reader.gguf")
"""The adapter of our own weights: `bookwheel train reader` made it (docs/reader.md)."""
_READER_SHA256: Final = "d810f3e923252d803d68276a36211a039911b41e4315ce4fe30089c838d1be22"
_WINDOW: Final = 8192
# Tokens by which a prompt may exceed the sum of its parts: tokens can fall differently where parts meet.
_SLACK: Final = 16
_PIECES_KEPT: Final = 64


class GgufTokenizer:
    """The tokenizer inside the weights; text that looks like a special token is counted as text."""

    exact: Final = True

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine

    def count(self, text: str) -> int:
        return len(self._engine.tokenize(text)) if text else 0

    def fit(self, text: str, limit: int) -> int:
        """Return the character where token number `limit` ends."""
        lengths = self._engine.piece_lengths(text) if text else []
        if len(lengths) <= limit:
            return len(text)
        prefix = replace_surrogates(text).encode()[: sum(lengths[: max(0, limit)])]
        return len(prefix.decode("utf-8", "ignore"))


class LocalModel:
    """A GGUF file run by llama.cpp inside this process. Create one with `open`."""

    def __init__(
        self,
        engine: Engine,
        *,
        name: str,
        plan: Plan | None,
        threads: int,
        slots: int,
        record_tokens: bool,
        default_way: str = "",
        weights: Path | None = None,
        scorer: ForwardScorer | None = None,
        can_copy: bool = False,
        tokenizer: FastTokenizer | None = None,
    ) -> None:
        self.name = name
        self.window = engine.window
        self.tokenizer = tokenizer or GgufTokenizer(engine, name)
        self._tokenize = tokenizer.encode if tokenizer else engine.tokenize
        # The question is asked about again with every passage.
        self._split_pieces = lru_cache(_PIECES_KEPT)(engine.split_pieces)
        self.threads = threads
        self.plan = plan or Plan().within(engine.window)
        self.default_way = default_way
        """The way that this model reads best, whatever fits its window; empty where the document decides."""
        self._weights = weights
        self._embedder: StaticEmbedder | None = None
        self._engine = engine
        self._scorer = scorer or engine
        self._copier = scorer if can_copy else None
        self._ends = tokenizer.encode_ends if tokenizer else None
        self._record = record_tokens
        self._slots = asyncio.Semaphore(slots)
        self._templates: dict[tuple[str, ...], tuple[list[int] | int, ...]] = {}
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
        environment: Environment | None = None,
    ) -> LocalModel:
        """Load a .gguf file, by default our own weights, which the first use downloads and reports to `progress`.

        Our own weights come with an adapter that judges passages, and its plan; those of BOOKWHEEL_WEIGHTS do not.
        An adapter file is applied to our own weights. A trained policy comes with the plan it was trained with. One of
        the way `quotes` only judges passages: likelihoods and replies stay as they were.

        Without `threads`, the machine's load decides. At most `slots` replies are generated at a time and more wait;
        on few cores a second slot gains nothing and needs a window's memory. With `record_tokens` a reply carries its
        exact ids and log-probabilities, unless a character has several tokens: llama.cpp then reports only one. The
        `environment` says where weights are; without one, they are at the usual place.
        """
        environment = environment or Environment()
        path = weights or (await ensure_weights(environment, progress) if environment.weights else READER)
        if path == READER and await asyncio.to_thread(hash_file, path) != _READER_SHA256:
            raise NoWeights(f"{path} is damaged: install bookwheel again, or its checkout")
        header = await asyncio.to_thread(read_header, path)
        plan = load_header_plan(header, path)
        adapter = path if header.get(TYPE_FIELD) == ADAPTER_TYPE else None
        base = await ensure_weights(environment, progress) if adapter else path
        threads = threads or choose_thread_count()
        # A trained policy comes with a plan and a way, and reads worse without them.
        default_way = str(header.get(WAY_FIELD, "sequential")) if plan else ""
        scorer = None
        if adapter and default_way == "quotes":
            from bookwheel.models.forward import ForwardScorer

            scorer = ForwardScorer(base, adapter, threads=threads)
        policy = None if scorer else adapter
        await asyncio.to_thread(prove_weights, base, policy, environment)
        engine, tokenizer = await asyncio.gather(
            asyncio.to_thread(Engine.start, base, threads=threads, slots=slots, window=_WINDOW, adapter=policy),
            asyncio.to_thread(load_tokenizer, base, weights.stem if weights else "local"),
        )
        if base != weights and plan is None:
            plan, default_way = load_preset_plan("laptop"), "quotes"
        return cls(
            engine,
            name=weights.stem if weights else "local",
            plan=plan,
            threads=threads,
            slots=slots,
            record_tokens=record_tokens,
            default_way=default_way,
            weights=base,
            scorer=scorer,
            can_copy="short" in str(header.get(TURNS_FIELD, "")).split(),
            tokenizer=tokenizer,
        )

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        if self._weights is None:
            raise missing_embeddings(self.name)
        started = time.perf_counter()
        if self._embedder is None:
            self._embedder = await asyncio.to_thread(StaticEmbedder, self._weights, self._tokenize)
        embedder = self._embedder
        vectors = await asyncio.to_thread(lambda: tuple(map(embedder.embed, texts)))
        tokens = sum(map(self.tokenizer.count, texts))
        return Embeddings(
            vectors=vectors, usage=Usage(calls=1, prompt_tokens=tokens, seconds=time.perf_counter() - started)
        )

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Reply to one conversation. Cancelling it stops the engine's work on it."""
        prompt = self._prompt(messages)
        self._check_window(len(prompt), limit)
        async with self._slots:
            started = time.perf_counter()
            # A stream lacks the ids within a character, so a reply is either recorded or watched.
            watch = None if self._record else REPLY_WATCHER.get()
            completion = await self._engine.complete(
                prompt, limit=limit, sampling=sampling, logprobs=self._record, watch=watch
            )
        record = (
            TokenRecord(prompt=tuple(prompt), reply=completion.ids, logprobs=completion.logprobs)
            if self._record and completion.logprobs is not None
            else None
        )
        usage = _count_usage(prompt, completion.tokens, started)
        return Reply(text=completion.text, finish=completion.finish, usage=usage, tokens=record)

    async def abilities(self) -> frozenset[Ability]:
        """Return all abilities: llama.cpp offers them for every file of weights."""
        return frozenset(Ability)

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        """Return the log-probability of each option's first token."""
        prompt = self._prompt(messages)
        firsts = find_first_tokens(options, [self._tokenize(option) for option in options])
        self._check_window(len(prompt), 1)
        async with self._slots:
            started = time.perf_counter()
            logprobs = await self._scorer.judge(prompt, firsts)
        return Judgement(options=tuple(options), logprobs=logprobs, usage=_count_usage(prompt, 1, started))

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Return the log-probabilities of the tokens of `continuation` as the reply.

        llama.cpp leaves out tokens that are parts of a character.
        """
        prompt, pieces = self._prompt(messages), self._split_pieces(continuation)
        if not pieces:
            raise InputError("an empty text has no likelihood: give likelihood() a text of at least one token")
        self._check_window(len(prompt), len(pieces))
        async with self._slots:
            started = time.perf_counter()
            logprobs = await self._scorer.score(prompt, pieces)
        if not logprobs:
            raise InputError(
                f"{self.name} cannot score {continuation!r}: each of its tokens is a part of a character; read with "
                f"another --way"
            )
        return Likelihood(logprobs=logprobs, usage=_count_usage(prompt, len(pieces), started))

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        """Return the spans of a passage that are likeliest as the reply; none without an adapter that was taught to."""
        if self._copier is None or self._ends is None:
            return Copies()
        prompt = self._prompt(messages)
        openings = find_openings(passage, self._ends, gap)
        if not openings:
            return Copies()
        self._check_window(len(prompt), LONGEST)
        async with self._slots:
            started = time.perf_counter()
            spans = await self._copier.copy(prompt, openings)
        return Copies(spans=tuple(spans), usage=_count_usage(prompt, 1, started))

    async def aclose(self) -> None:
        await self._engine.aclose()

    def _check_window(self, prompt: int, limit: int) -> None:
        if prompt + limit > self.window:
            raise WindowExceeded(
                f"the prompt has {prompt} tokens and its reply may have {limit}; the window of {self.name} holds "
                f"{self.window}, {prompt + limit - self.window} too few: lower --chunk-tokens or --memory-tokens"
            )

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of a conversation, up to where the reply begins."""
        roles = tuple(message.role for message in messages)
        if roles not in self._templates:
            self._templates[roles] = self._split_template(roles)
        ids: list[int] = []
        for part in self._templates[roles]:
            ids += self._tokenize(messages[part].content) if isinstance(part, int) else part
        return ids

    def _split_template(self, roles: Sequence[str]) -> tuple[list[int] | int, ...]:
        """Split the chat template at the contents: return its ids, and a message's index for each content."""
        mark = f"text-{secrets.token_hex(8)}-"
        marked = self._engine.apply_template(
            [{"role": role, "content": f"{mark}{at}-"} for at, role in enumerate(roles)]
        )
        parts = re.split(rf"{mark}(\d+)-", marked)
        if parts[1::2] != [str(at) for at in range(len(roles))]:
            raise Rejected(
                f"the chat template of {self.name} does not contain each message once and in order: "
                f"run this model behind a server and name it with --base-url"
            )
        return tuple(
            int(part) if at % 2 else self._engine.tokenize(part, special=True, first=at == 0)
            for at, part in enumerate(parts)
        )


def _count_usage(prompt: Sequence[int], completion_tokens: int, started: float) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=len(prompt),
        completion_tokens=completion_tokens,
        seconds=time.perf_counter() - started,
    )
