"""Models without weights: deterministic, for tests, demos and benchmarks.

`ScriptedModel` replies with the result of a function, after a given latency, and fails at given calls. Two more
functions let it judge and score.
`keyword_reader` is such a function: it notes the sentences that share words with the question.

>>> import asyncio
>>> from bookwheel.types import Message
>>> model = ScriptedModel(lambda messages: messages[-1].content.upper())
>>> asyncio.run(model.reply([Message(role="user", content="aye")], limit=9, sampling=Sampling())).text
'AYE'
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bookwheel.errors import MissingAbility
from bookwheel.models.base import Ability, Judgement, Likelihood, count_messages
from bookwheel.models.vision import PictureRule
from bookwheel.plan import Plan, Sampling
from bookwheel.text.lexicon import words
from bookwheel.text.tokens import Tokenizer, WordTokenizer
from bookwheel.types import Finish, Message, Reply, Usage

Script = Callable[[Sequence[Message]], str | Reply | Exception]


class ScriptedModel:
    """A model whose replies a function computes. It counts its calls and keeps the last messages."""

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        plan: Plan | None = None,
        window: int | None = None,
        tokenizer: Tokenizer | None = None,
        seconds_per_call: float = 0.0,
        faults: Mapping[int, Exception] | None = None,
        judge: Callable[[Sequence[Message], Sequence[str]], Sequence[float]] | None = None,
        likelihood: Callable[[Sequence[Message], str], Sequence[float]] | None = None,
        vision: str | None = None,
    ) -> None:
        self.name = name
        self.vision = PictureRule.find(vision, name)
        self.plan = plan or Plan()
        self.window = window
        self.tokenizer = tokenizer or WordTokenizer()
        self.template_tokens = 0
        self.calls = 0
        self.last_messages: tuple[Message, ...] = ()
        self._script = script
        self._seconds = seconds_per_call
        self._faults = faults or {}
        self._judge = judge
        self._likelihood = likelihood

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Return the script's reply to the messages, cut at the limit like a server's."""
        del sampling
        began = time.perf_counter()
        await self._count_call(messages)
        text = self._script(messages)
        if isinstance(text, Exception):
            raise text
        if isinstance(text, Reply):
            return text
        cut = self.tokenizer.fit(text, limit)
        usage = self._count_usage(messages, self.tokenizer.count(text[:cut]), began)
        return Reply(text=text[:cut], finish=Finish.STOP if cut == len(text) else Finish.LENGTH, usage=usage)

    async def abilities(self) -> frozenset[Ability]:
        given = {Ability.JUDGE: self._judge, Ability.LIKELIHOOD: self._likelihood}
        return frozenset(ability for ability, function in given.items() if function)

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        if self._judge is None:
            raise MissingAbility(f"{self.name} was given no function to judge with")
        began = time.perf_counter()
        await self._count_call(messages)
        logprobs = tuple(self._judge(messages, options))
        return Judgement(options=tuple(options), logprobs=logprobs, usage=self._count_usage(messages, 1, began))

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        if self._likelihood is None:
            raise MissingAbility(f"{self.name} was given no function for likelihoods")
        began = time.perf_counter()
        await self._count_call(messages)
        logprobs = tuple(self._likelihood(messages, continuation))
        return Likelihood(logprobs=logprobs, usage=self._count_usage(messages, len(logprobs), began))

    async def _count_call(self, messages: Sequence[Message]) -> None:
        """Count a call, wait for as long as it takes, and play its fault if it has one."""
        number = self.calls
        self.calls += 1
        self.last_messages = tuple(messages)
        if self._seconds:
            await asyncio.sleep(self._seconds)
        if number in self._faults:
            raise self._faults[number]

    def _count_usage(self, messages: Sequence[Message], completion_tokens: int, began: float) -> Usage:
        return Usage(
            calls=1,
            prompt_tokens=count_messages(messages, self.tokenizer),
            completion_tokens=completion_tokens,
            seconds=time.perf_counter() - began,
        )

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


_SENTENCE: Final = re.compile(r"[^.!?。！？\n]+[.!?。！？]?")
_WORD: Final = re.compile(r"[a-z0-9]{3,}|[\u4e00-\u9fff]", re.IGNORECASE)
_COMMON: Final = words("the and for was were are what who when where which how did does that this with from has had")
# The last words of the prompts that ask for something else than a memory.
_ASKED_NOW: Final = re.compile(r"(?:Asked now|现在的问题):\n")
_ASKS_FOR_CHANGES: Final = ("Changes:", "变化:")
_ASKS_FOR_PART: Final = {"New part:": "Part 1:", "新的部分:": "部分1:"}


def keyword_reader(messages: Sequence[Message]) -> str:
    """Note the sentences that share the most words with the question; answer with the best of them."""
    prompt = messages[-1].content
    question = _keywords(_find_question(prompt))
    if "<memory>" not in prompt and "<section>" not in prompt and "\\boxed" not in prompt:
        return "UNCHANGED"  # A plan, which this reader has no use for.
    notes = [line for line in _extract_tag(prompt, "memory").splitlines() if _keywords(line) & question]
    new = _find_new_notes(prompt)
    best = sorted((*notes, *new), key=lambda line: -len(_keywords(line) & question))[:8]
    if not _extract_tag(prompt, "section"):
        return f"\\boxed{{{best[0]}}}" if best else "\\boxed{the document does not say}"
    if prompt.endswith(_ASKS_FOR_CHANGES):
        return "\n".join(f"ADD: {line}" for line in new if line in best) or "UNCHANGED"
    memory = "\n".join(line for line in (*notes, *new) if line in best)
    heading = next((part for end, part in _ASKS_FOR_PART.items() if prompt.endswith(end)), "")
    return "UNCHANGED" if not memory or (heading and not new) else f"{heading}\n{memory}".lstrip()


def keyword_judge(messages: Sequence[Message], options: Sequence[str]) -> list[float]:
    """Judge a section by whether `keyword_reader` would note a sentence of it, and a memory by its best line."""
    prompt = messages[-1].content
    question = _keywords(_find_question(prompt))
    if _extract_tag(prompt, "section"):
        is_yes = bool(_find_new_notes(prompt))
    else:
        lines = _extract_tag(prompt, "memory").splitlines()
        is_yes = any(len(_keywords(line) & question) >= max(1, len(question) - 1) for line in lines)
    return [-0.02 if (number == 0) == is_yes else -4.0 for number in range(len(options))]


def keyword_likelihood(messages: Sequence[Message], continuation: str) -> list[float]:
    """Find the words of a text likelier when the section has them, or the notes of a prompt without one."""
    prompt = messages[-1].content
    there = _keywords(_extract_tag(prompt, "section") or _extract_tag(prompt, "memory"))
    return [-1.0 if word in there else -5.0 for word in sorted(_keywords(continuation))] or [-5.0]


def _find_question(prompt: str) -> str:
    """Return what is asked, without what was said before it."""
    return _ASKED_NOW.split(_extract_tag(prompt, "question"))[-1]


def _find_new_notes(prompt: str) -> list[str]:
    """Return the sentences of the section that share two words with the question and are not in the memory."""
    question = _keywords(_find_question(prompt))
    notes = _extract_tag(prompt, "memory")
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(_extract_tag(prompt, "section"))]
    return [
        line for line in sentences if len(_keywords(line) & question) >= min(2, len(question)) and line not in notes
    ]


def _keywords(text: str) -> set[str]:
    return {word.casefold().rstrip("s") for word in _WORD.findall(text)} - _COMMON


def _extract_tag(prompt: str, tag: str) -> str:
    return prompt.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip() if f"<{tag}>" in prompt else ""
