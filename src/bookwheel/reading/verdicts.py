"""The verdict on a reading's answer, by the plan: not at all, by measure, or by the model that reads.

Where the plan leaves it open, the model judges if it was measured, or is found in a trial, to do better than the
words. A model that only quotes, as the built-in one, is left at the measure: its judgements add nothing to that
(lab/2026-11-24-verdict.md).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bookwheel.claims import Claim, Evidence
from bookwheel.errors import BookwheelError, BudgetReached, InputError, ModelError
from bookwheel.models.accompanied import find_companions
from bookwheel.models.base import Judgement, Model, ModelWrapper, find_endpoint
from bookwheel.plan import Plan, Sampling, VerdictMode
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.model_judge import (
    MOST_JUDGED,
    QUOTE_TOKENS,
    REPLY_TOKENS,
    THRESHOLD,
    ModelJudge,
    judge_by_model,
    make_judge,
)
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.structured import is_call
from bookwheel.reading.trial import estimate_trial, hold_trial, name_tried
from bookwheel.types import Document, Message, Reply, Step
from bookwheel.verdict.judge import judge_answer

# Characters. A thread costs more than the measure on a short document, whose pass takes a few milliseconds.
_SHORT_DOCUMENT: Final = 1 << 18
# For an estimate: tokens of a sentence of an answer, at least, and of the passages that it is shown beside, at most.
_SENTENCE_TOKENS: Final = 8
_PASSAGES_TOKENS: Final = 4000


async def judge(
    answer: str,
    question: str,
    steps: Sequence[Step],
    document: Document,
    *,
    plan: Plan,
    model: Model,
    is_strict: bool = False,
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the evidence and the claims of an answer, as the plan wants it judged; `is_strict` raises what failed.

    A call of a tool has none: it is no statement.
    """
    if plan.verdict == VerdictMode.OFF or is_call(answer, plan):
        return (), ()
    if by := await settle_judge(question, model, plan):
        return await judge_by_model(answer, question, steps, document, by, is_strict=is_strict)
    by_words = partial(judge_answer, is_copied=prompts_for(plan, question).quotes)
    if document.length is not None and document.length <= _SHORT_DOCUMENT:
        return by_words(answer, question, steps, document)
    return await asyncio.to_thread(by_words, answer, question, steps, document)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChoice:
    """Who judges an answer: a model, else the words."""

    judge: ModelJudge | None = None
    needs_trial: bool = False
    """The words, unless a trial of the model shows that it does better."""


def choose_judge(question: str, model: Model, plan: Plan) -> JudgeChoice:
    """Return who judges by the plan, and by what is known of the model's verdicts."""
    is_auto = plan.verdict == VerdictMode.AUTO
    if not (is_auto or plan.verdict == VerdictMode.MODEL) or prompts_for(plan, question).quotes:
        return JudgeChoice()
    try:
        find = find_companions(model).find_verdicts
        measured = find(model.name) or find(name_tried(model))
    except InputError:
        # Of a damaged file nobody asked for anything: the words judge, as where nothing was measured.
        if is_auto:
            return JudgeChoice()
        raise
    if is_auto and not (measured and measured.beats_words):
        return JudgeChoice(needs_trial=measured is None and find_endpoint(model) is not None)
    threshold = measured.threshold if measured else THRESHOLD
    return JudgeChoice(judge=make_judge(question, model, plan, threshold))


async def settle_judge(question: str, model: Model, plan: Plan) -> ModelJudge | None:
    """Return the model as a judge where it judges; one behind an endpoint is tried first, if nobody measured it."""
    choice = choose_judge(question, model, plan)
    if choice.needs_trial and await hold_trial(model, plan):
        choice = choose_judge(question, model, plan)
    return choice.judge


class RememberingJudge(ModelWrapper):
    """A model whose judgements are kept as they come, so that none is paid for again after a kill."""

    def __init__(
        self, model: Model, known: Mapping[str, Any], keep: Callable[[Mapping[str, Any]], Awaitable[None]]
    ) -> None:
        """Begin with the replies that are known; `keep` returns when all of them are durable."""
        super().__init__(model)
        self.failure: BookwheelError | None = None
        """What ended the last call that failed."""
        self._known = dict(known)
        self._keep = keep

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        async def ask() -> str:
            return (await self._model.reply(messages, limit=limit, sampling=sampling)).text

        return Reply(text=await self._remember("reply", messages, ask))

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        async def ask() -> tuple[float, ...]:
            return (await self._as_judging().judge(messages, options)).logprobs

        return Judgement(options=tuple(options), logprobs=tuple(await self._remember("judge", messages, ask)))

    async def _remember(self, kind: str, messages: Sequence[Message], ask: Callable[[], Awaitable[Any]]) -> Any:
        import hashlib  # brings OpenSSL, which readings by words do without

        content = json.dumps([self.name, kind, *((message.role, message.content) for message in messages)])
        key = hashlib.sha256(content.encode()).hexdigest()
        if key not in self._known:
            try:
                self._known[key] = await ask()
            except (ModelError, BudgetReached) as failure:
                self.failure = failure
                raise
            await self._keep(dict(self._known))
        return self._known[key]


def list_judge_calls(given: CostInputs) -> list[CallCost]:
    """Return the calls that judge an answer of at most so many tokens; an answer that quotes needs fewer."""
    choice = choose_judge(given.question, given.model, given.plan)
    if not (choice.judge or choice.needs_trial):
        return []
    most = min(MOST_JUDGED, max(1, given.plan.answer_tokens // _SENTENCE_TOKENS))
    # A short document is shown whole.
    shown = min(_PASSAGES_TOKENS, given.size.tokens)
    return ([estimate_trial(given.model)] if choice.needs_trial else []) + [
        CallCost(
            least=0,
            most=most,
            words=given.count_turn(name),
            reply=QUOTE_TOKENS if name in {"supports", "otherwise"} else REPLY_TOKENS,
            text=given.plan.answer_tokens + (0 if name == "responds" else most * shown),
        )
        for name in ("supports", "denies", "otherwise", "responds")
    ]
