"""The policy behind the Model protocol, so that the common reading loop can use it.

All waiting conversations are sampled together, in this process or by a server (servers.py). Every reply carries the
exact ids sent and sampled, and their log-probabilities; one with ids or log-probabilities that no policy can have fails
here, before it can spoil a batch. `PolicyModel.for_rollout` fixes sampling and seed whatever the
plan says: the trainer must compute the probabilities of the distribution that was sampled.

The rollouts of a group read the same sections at about the same time, and many of them write the same memory, so
tokenizer and chat template are asked once for what they have in common.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

from torch import Tensor

from bookwheel.errors import BadReply, InputError, WindowExceeded
from bookwheel.lab.training import ranks
from bookwheel.lab.training.config import ROLLOUT
from bookwheel.lab.training.errors import ConfigError, name_memory_setting
from bookwheel.lab.training.generation import GenerationRequest, GenerationResult, generate
from bookwheel.lab.training.policy import Policy
from bookwheel.lab.training.rows import Row, build_row
from bookwheel.models.base import Ability, Judgement, Likelihood, find_first_tokens
from bookwheel.plan import Plan, Sampling
from bookwheel.text.tokens import FileTokenizer, ScannedText
from bookwheel.types import Finish, Message, Reply, TokenRecord, Usage

# Turns of the event loop without a new request, after which the waiting batch is sampled.
_QUIET_TURNS: Final = 8
# A log-probability may be above 0 by what bfloat16 rounds.
_ROUNDING: Final = 0.05
# Rollouts of one sample ask one after the other, so few are enough; a long chat takes some 200 KB.
_CHATS_KEPT: Final = 256
# A long piece takes about a megabyte.
_SCANS_KEPT: Final = 16
# A chunk is cut at its first or second try.
_COUNTS_KEPT: Final = 4


class ChatCodec:
    """Turns chats into ids by the model's own template, and ids into text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._encode = lru_cache(_CHATS_KEPT)(self._encode_anew)
        self._decode = lru_cache(_CHATS_KEPT)(lambda ids: str(tokenizer.decode(ids, skip_special_tokens=True)).strip())

    def encode(self, messages: Sequence[Message], *, closed: bool = False) -> tuple[int, ...]:
        """Return the ids of a chat up to where the reply begins; `closed` leaves out the reply's beginning."""
        return self._encode(tuple(messages), closed)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a reply, without special tokens."""
        return self._decode(tuple(ids))

    def encode_text(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _encode_anew(self, messages: tuple[Message, ...], closed: bool) -> tuple[int, ...]:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        text = self._tokenizer.apply_chat_template(chat, add_generation_prompt=not closed, tokenize=False)
        # What transformers lays around this call takes longer than the call.
        return tuple(self._tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)


class _SharedScan:
    """A piece of a document that several rollouts cut at the same place."""

    def __init__(self, scanned: ScannedText) -> None:
        self.is_local = scanned.is_local
        self.fit = scanned.fit
        self.count = lru_cache(_COUNTS_KEPT)(scanned.count)


class GroupTokenizer(FileTokenizer):
    """Tokenizes a piece of a document once for all rollouts that read it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        scan = super().scan
        self._scan = lru_cache(_SCANS_KEPT)(lambda text: _SharedScan(scan(text)))

    def scan(self, text: str) -> ScannedText:
        return self._scan(text)


def export_tokenizer(tokenizer: Any, name: str) -> GroupTokenizer:
    """Return the policy's tokenizer in the form that the rest of the package counts with."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/tokenizer.json"
        tokenizer.backend_tokenizer.save(path)
        exported = GroupTokenizer(Path(path))
    exported.name = name
    return exported


class RolloutSampler(Protocol):
    """Continues prompts, token ids in and out."""

    async def submit(self, request: GenerationRequest) -> GenerationResult:
        """Return what was sampled after the request's prompt."""
        ...


class PolicyModel:
    """Keeps the Model protocol; `budget` bounds the padded tokens of a batch where no other `sampler` is given."""

    def __init__(
        self,
        policy: Policy,
        *,
        plan: Plan | None = None,
        budget: int = 65536,
        name: str = "policy",
        sampler: RolloutSampler | None = None,
        default_way: str = "",
    ) -> None:
        self.name = name
        self.default_way = default_way
        self.plan = plan or Plan()
        self.window = policy.window
        self.tokenizer = export_tokenizer(policy.tokenizer, name)
        self._chats = ChatCodec(policy.tokenizer)
        self.template_tokens = len(self._chats.encode((Message(role="user", content=""),)))
        self._sampling: Sampling | None = None
        self._exact_ids: dict[tuple[Message, ...], tuple[int, ...]] = {}
        self.policy = policy
        self._budget = budget
        self._sampler = sampler or _BatchQueue(policy, budget)
        self._scoring = asyncio.Lock()
        self._scores_by_reference = False

    def for_rollout(
        self, seed: int, sampling: Sampling = ROLLOUT, sampler: RolloutSampler | None = None
    ) -> PolicyModel:
        """Return the same policy with sampling and seed fixed for one rollout, by a sampler of its own if given."""
        model = object.__new__(PolicyModel)
        # The tokenizer and the sampler are shared: a new one for every rollout would batch nothing.
        model.__dict__.update(self.__dict__)
        model._sampling = replace(sampling, seed=seed)
        model._exact_ids = {}
        model._sampler = sampler or self._sampler
        return model

    def by_reference(self) -> PolicyModel:
        """Return the same model with replies, judgements and likelihoods of the frozen reference."""
        model = object.__new__(PolicyModel)
        model.__dict__.update(self.__dict__)
        model._scores_by_reference = True
        model._sampler = _BatchQueue(self.policy, self._budget, by_reference=True)
        return model

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Return a reply, sampled together with all other waiting requests."""
        began = time.perf_counter()
        chosen = self._sampling or sampling
        prompt = self._prompt(tuple(messages))
        if self.window and len(prompt) + limit > self.window:
            raise WindowExceeded(
                f"the prompt has {len(prompt)} tokens, the reply may have {limit}, and the policy's window holds "
                f"{self.window}: lower chunk_tokens or memory_tokens"
            )
        request = GenerationRequest(
            prompt=prompt,
            limit=limit,
            temperature=1.0 if chosen.temperature is None else chosen.temperature,
            top_p=1.0 if chosen.top_p is None else chosen.top_p,
            seed=chosen.seed or 0,
        )
        result = await self._sampler.submit(request)
        self._check(result, limit)
        text = self._chats.decode(result.ids)
        self._exact_ids[(*messages, Message(role="assistant", content=text))] = (*prompt, *result.ids)
        return Reply(
            text=text,
            finish=Finish.STOP if result.stopped else Finish.LENGTH,
            usage=_count(prompt, len(result.ids), began),
            tokens=TokenRecord(prompt=prompt, reply=tuple(result.ids), logprobs=tuple(result.logprobs)),
        )

    def _check(self, result: GenerationResult, limit: int) -> None:
        """Raise BadReply where the trainer could not compute with a reply."""
        ids, logprobs = result.ids, result.logprobs
        if not ids or len(ids) != len(logprobs) or len(ids) > limit:
            raise BadReply(
                f"a reply of at most {limit} tokens has {len(ids)} ids and {len(logprobs)} log-probabilities"
            )
        if unknown := next((one for one in ids if not 0 <= one < self.policy.vocabulary), None):
            raise BadReply(f"a reply has the token id {unknown}, and the policy knows {self.policy.vocabulary} ids")
        if wrong := [one for one in logprobs if not -inf < one <= _ROUNDING]:
            raise BadReply(f"a reply has a token of log-probability {wrong[0]}")

    async def abilities(self) -> frozenset[Ability]:
        """Return all abilities: the probability of any token is known here."""
        return frozenset(Ability)

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        """Return the log-probability of each option's first token."""
        scores, usage = await self._score(messages, self._encode_options(options))
        return Judgement(options=tuple(options), logprobs=tuple(score for (score,) in scores), usage=usage)

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        """Return the log-probabilities of the tokens of `continuation` as the reply."""
        ids = self._chats.encode_text(continuation)
        if not ids:
            raise InputError("an empty text has no likelihood: give likelihood() a text of at least one token")
        (scores,), usage = await self._score(messages, [ids])
        return Likelihood(logprobs=scores, usage=usage)

    async def _score(
        self, messages: Sequence[Message], replies: Sequence[tuple[int, ...]]
    ) -> tuple[list[tuple[float, ...]], Usage]:
        """Return the log-probabilities of the tokens of each reply, and the cost."""
        prompt, began = self._prompt(tuple(messages)), time.perf_counter()
        rows = [build_row(prompt, reply) for reply in replies]
        async with self._scoring:
            scored = await asyncio.to_thread(self._score_rows, rows)
        logprobs = iter(scored.tolist())
        scores = [tuple(islice(logprobs, len(reply))) for reply in replies]
        return scores, _count(prompt, sum(map(len, replies)), began)

    def _score_rows(self, rows: Sequence[Row]) -> Tensor:
        if not self._scores_by_reference:
            return self.policy.score_frozen(rows)
        # Where the reference is the policy without its adapters, nothing may be sampled meanwhile.
        with self.policy.sampling():
            return self.policy.score_by_reference(rows)[0]

    def encode_exchange(self, messages: Sequence[Message], text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the ids of a prompt and of a given reply, which ends with the stop id."""
        return self._chats.encode(messages), (*self._chats.encode_text(text), self.policy.tokenizer.eos_token_id)

    def build_rows(
        self, exchanges: Iterable[tuple[Sequence[Message], str]], name: str, *, what: str, advice: str
    ) -> list[Row]:
        """Return prompts with their replies as rows to imitate; ConfigError where one is longer than the window."""
        rows = [build_row(*self.encode_exchange(*one), name) for one in exchanges]
        longest = max(len(row.ids) for row in rows)
        if self.window and longest > self.window:
            raise ConfigError(f"{what} has {longest} tokens and the policy's window holds {self.window}: {advice}")
        return rows

    def build_judgement_rows(self, messages: Sequence[Message], options: Sequence[str], rollout: str) -> list[Row]:
        """Return a row for each option of a judgement, whose trained token is the one that `judge` scores."""
        prompt = self._chats.encode(messages)
        return [build_row(prompt, reply, rollout) for reply in self._encode_options(options)]

    def _encode_options(self, options: Sequence[str]) -> list[tuple[int, ...]]:
        return [(first,) for first in find_first_tokens(options, [self._chats.encode_text(one) for one in options])]

    async def aclose(self) -> None:
        """Do nothing: the policy belongs to the trainer."""

    def _prompt(self, messages: tuple[Message, ...]) -> tuple[int, ...]:
        """Return the ids of the messages; replies that this rollout sampled keep their exact ids.

        Text that is decoded and encoded again can give other ids, so only what follows a reply is encoded.
        """
        whole = self._chats.encode(messages)
        for end in range(len(messages) - 1, 0, -1):
            known = self._exact_ids.get(messages[:end])
            if known is None:
                continue
            prefix = self._chats.encode(messages[:end], closed=True)
            if whole[: len(prefix)] != prefix:
                return whole
            # The chat template closes a reply with ids that the policy may not have sampled.
            stop = self.policy.stop_ids
            last = max((place for place, token in enumerate(prefix) if token in stop), default=len(prefix))
            close = prefix[last + 1 :] if known[-1] in stop else prefix[last:]
            return (*known, *close, *whole[len(prefix) :])
        return whole


def _count(prompt: tuple[int, ...], written: int, began: float) -> Usage:
    seconds = time.perf_counter() - began
    return Usage(calls=1, prompt_tokens=len(prompt), completion_tokens=written, seconds=seconds)


class _BatchQueue:
    """Collects requests and samples them together as soon as no new ones arrive."""

    def __init__(self, policy: Policy, budget: int, *, by_reference: bool = False) -> None:
        self._policy = policy
        self._budget = budget
        self._by_reference = by_reference
        self._pending: list[tuple[GenerationRequest, asyncio.Future[GenerationResult]]] = []
        self._task: asyncio.Task[None] | None = None

    async def submit(self, request: GenerationRequest) -> GenerationResult:
        """Return the request's result when its batch was sampled."""
        future: asyncio.Future[GenerationResult] = asyncio.get_running_loop().create_future()
        self._pending.append((request, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run_batches())
        return await future

    async def _run_batches(self) -> None:
        while self._pending:
            quiet, seen = 0, len(self._pending)
            while quiet < _QUIET_TURNS:
                await asyncio.sleep(0)
                quiet, seen = (quiet + 1 if len(self._pending) == seen else 0), len(self._pending)
            batch = [(request, future) for request, future in self._pending if not future.done()]
            self._pending.clear()
            try:
                results = await asyncio.to_thread(self._generate, [request for request, _ in batch])
            except Exception as error:  # noqa: BLE001 - every waiting rollout gets the error
                for _, future in batch:
                    future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results, strict=True):
                    if not future.done():
                        future.set_result(result)
            await asyncio.sleep(0)

    def _generate(self, requests: Sequence[GenerationRequest]) -> list[GenerationResult]:
        ranks.claim_device()
        limit, stop = self._policy.sharing_limit, self._policy.stop_ids
        with name_memory_setting("rollout_tokens"), self._policy.sampling() as sampled, ExitStack() as stack:
            model = stack.enter_context(self._policy.by_reference()).model if self._by_reference else sampled
            return generate(model, requests, stop=stop, budget=self._budget, sharing_limit=limit)
