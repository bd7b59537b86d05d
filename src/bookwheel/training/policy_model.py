"""The policy as a model that reads: the same protocol as any other, so the same reading loop drives it.

All conversations that wait are sampled together. Every reply carries the exact ids sent and sampled, and their
log-probabilities. `Reader.at` gives the reader of one rollout: it fixes sampling and seed whatever the plan says, so
that what is drawn is what the trainer later computes the probability of.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import WindowExceeded
from bookwheel.plan import Plan, Sampling
from bookwheel.text.tokens import FileTokenizer
from bookwheel.training.generation import Request, Sampled, generate
from bookwheel.types import Finish, Message, Reply, TokenRecord, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.training.policy import Policy

ROLLOUT: Final = Sampling(temperature=1.0, top_p=1.0)
"""The only sampling whose probabilities are the trainer's own."""
_QUIET_TURNS: Final = 8
"""Turns of the event loop without a new request after which all that will come have come."""


class PolicyModel:
    """Keeps the Model protocol; `budget` bounds the padded tokens that are sampled in one batch."""

    def __init__(self, policy: Policy, *, plan: Plan | None = None, budget: int = 65536, name: str = "policy") -> None:
        self.name = name
        self.plan = plan or Plan()
        self.window = policy.window
        self.tokenizer = _tokenizer_of(policy.tokenizer, name)
        self.template_tokens = len(_render(policy.tokenizer, (Message(role="user", content=""),)))
        self._sampling: Sampling | None = None
        self._exact: dict[tuple[Message, ...], tuple[int, ...]] = {}
        self._policy = policy
        self._waiting = _Waiting(policy, budget)

    def at(self, seed: int, sampling: Sampling = ROLLOUT) -> PolicyModel:
        """The same policy for one rollout, with luck of its own."""
        one = object.__new__(PolicyModel)
        one.__dict__.update(self.__dict__)
        one._sampling = replace(sampling, seed=seed)
        one._exact = {}
        return one

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Sampled together with whatever else waits."""
        began = time.perf_counter()
        chosen = self._sampling or sampling
        prompt = self._prompt(tuple(messages))
        if self.window and len(prompt) + limit > self.window:
            raise WindowExceeded(
                f"the prompt has {len(prompt)} tokens, the reply may have {limit}, and the policy's window holds "
                f"{self.window}: lower chunk_tokens or memory_tokens"
            )
        request = Request(
            prompt=prompt,
            limit=limit,
            temperature=1.0 if chosen.temperature is None else chosen.temperature,
            top_p=1.0 if chosen.top_p is None else chosen.top_p,
            seed=chosen.seed or 0,
        )
        sampled = await self._waiting.ask(request)
        text = str(self._policy.tokenizer.decode(sampled.ids, skip_special_tokens=True)).strip()
        self._exact[(*messages, Message(role="assistant", content=text))] = (*prompt, *sampled.ids)
        return Reply(
            text=text,
            finish=Finish.STOP if sampled.stopped else Finish.LENGTH,
            usage=Usage(
                calls=1,
                prompt_tokens=len(prompt),
                completion_tokens=len(sampled.ids),
                seconds=time.perf_counter() - began,
            ),
            tokens=TokenRecord(prompt=prompt, reply=tuple(sampled.ids), logprobs=tuple(sampled.logprobs)),
        )

    def encoded(self, messages: Sequence[Message], text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids of a prompt, and those of a reply that someone else wrote, with the stop id behind it."""
        tokenizer: Any = self._policy.tokenizer
        reply = tokenizer(text, add_special_tokens=False).input_ids
        return _render(tokenizer, messages), (*reply, tokenizer.eos_token_id)

    async def aclose(self) -> None:
        """The policy belongs to the trainer."""

    def _prompt(self, messages: tuple[Message, ...]) -> tuple[int, ...]:
        """The ids of the messages; what this rollout has itself sampled among them stays id for id.

        Text that was decoded and encoded again can come back as other ids, so only what follows is encoded anew.
        """
        whole = _render(self._policy.tokenizer, messages)
        for end in range(len(messages) - 1, 0, -1):
            known = self._exact.get(messages[:end])
            if known is not None:
                said = _render(self._policy.tokenizer, messages[:end], closed=True)
                close = _closing(self._policy, known, said)
                return (*known, *close, *whole[len(said) :]) if whole[: len(said)] == said else whole
        return whole


def _closing(policy: Policy, known: tuple[int, ...], said: tuple[int, ...]) -> tuple[int, ...]:
    """What the chat template writes after a reply and the policy did not: from the stop id on, or after it."""
    stop = policy.stop_ids
    last = max((place for place, token in enumerate(said) if token in stop), default=None)
    if last is None:
        return ()
    return said[last + 1 :] if known[-1] in stop else said[last:]


class _Waiting:
    """The conversations that wait for the policy, sampled together as soon as no more come."""

    def __init__(self, policy: Policy, budget: int) -> None:
        self._policy = policy
        self._budget = budget
        self._queue: list[tuple[Request, asyncio.Future[Sampled]]] = []
        self._serving: asyncio.Task[None] | None = None

    async def ask(self, request: Request) -> Sampled:
        future: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        self._queue.append((request, future))
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return await future

    async def _serve(self) -> None:
        while self._queue:
            await self._settled()
            batch = [(request, future) for request, future in self._queue if not future.done()]
            self._queue.clear()
            try:
                sampled = await asyncio.to_thread(
                    generate,
                    self._policy.model,
                    [request for request, _ in batch],
                    stop=self._policy.stop_ids,
                    budget=self._budget,
                )
            except Exception as error:  # noqa: BLE001 - handed to those who wait; the loop must not leave them hanging
                for _, future in batch:
                    future.set_exception(error)
            else:
                for (_, future), one in zip(batch, sampled, strict=True):
                    if not future.done():
                        future.set_result(one)
            await asyncio.sleep(0)

    async def _settled(self) -> None:
        quiet, seen = 0, len(self._queue)
        while quiet < _QUIET_TURNS:
            await asyncio.sleep(0)
            quiet, seen = (quiet + 1, seen) if len(self._queue) == seen else (0, len(self._queue))


def _render(tokenizer: Any, messages: Sequence[Message], *, closed: bool = False) -> tuple[int, ...]:
    """The ids of a chat by the model's own template, up to where the reply begins."""
    chat = [{"role": message.role, "content": message.content} for message in messages]
    return tuple(tokenizer.apply_chat_template(chat, add_generation_prompt=not closed, return_dict=False))


def _tokenizer_of(tokenizer: Any, name: str) -> FileTokenizer:
    """The policy's tokenizer as everyone else counts with it."""
    with TemporaryDirectory() as folder:
        path = f"{folder}/tokenizer.json"
        tokenizer.backend_tokenizer.save(path)
        from pathlib import Path

        counted = FileTokenizer(Path(path))
    counted.name = name
    return counted
