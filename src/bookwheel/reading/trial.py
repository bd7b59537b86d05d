"""The trial of a judge: a model is asked about a few answers whose verdicts are known, before it may judge its own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from bookwheel.errors import BudgetReached, ModelError
from bookwheel.models.accompanied import VerdictCalibration, find_companions
from bookwheel.models.base import Model, find_endpoint, find_wrapper
from bookwheel.plan import Plan
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.estimate import CallCost
from bookwheel.reading.model_judge import REPLY_TOKENS, THRESHOLD, make_judge
from bookwheel.types import Usage
from bookwheel.verdict.probes import Probe, load_probes

# Of all right answers the measure bears out so many (lab/2026-11-29-large-model.md): a judge has to do better.
_RECALL_BY_WORDS: Final = 0.34
_TRIED_AT_ONCE: Final = 8
# A trial that fails is held again, so often in a session, where the budget leaves so many seconds.
_MOST_TRIALS: Final = 3
_TRIAL_SECONDS: Final = 60.0
_TRIAL_TOKENS: Final = 11_100
"""Those of all its prompts, without what the model's chat template adds, as unknown tokenizers are estimated."""


def name_tried(model: Model) -> str:
    """Return the name that a trial is kept by: at another address, another model may have the same one."""
    endpoint = find_endpoint(model)
    return model.name if endpoint is None else f"{model.name} at {endpoint.url}"


async def hold_trial(model: Model, plan: Plan) -> bool:
    """Try a model, and keep what its verdicts are worth. Return False where it is not the time, or the trial failed."""
    companions, name = find_companions(model), name_tried(model)
    here = asyncio.get_running_loop()
    if name in companions.on_trial:
        # Questions that are asked together wait for the trial that the first of them began.
        loop, ended = companions.on_trial[name]
        return loop is here and await ended.wait()
    if companions.trials[name] >= _MOST_TRIALS or not _has_room(model, plan):
        return False
    ended = asyncio.Event()
    companions.on_trial[name] = here, ended
    companions.trials[name] += 1
    try:
        companions.keep_verdicts(await _try(model, plan))
    except (ModelError, BudgetReached):
        return False  # It is tried after another reading.
    finally:
        del companions.on_trial[name]
        ended.set()
    return True


def estimate_trial(model: Model) -> CallCost:
    """Return what a trial takes at most."""
    probes = len(load_probes())
    return CallCost(least=0, most=probes, words=model.template_tokens, reply=REPLY_TOKENS, text=_TRIAL_TOKENS)


def _has_room(model: Model, plan: Plan) -> bool:
    """Return whether the budget has room for a whole trial: half of one is paid for nothing, and again next time."""
    budgeted = find_wrapper(model, BudgetedModel)
    if budgeted is None or not plan.budget.has_limits:
        return True
    cost = estimate_trial(model)
    prompts = cost.most * cost.words + cost.text
    usage = Usage(calls=cost.most, prompt_tokens=prompts, completion_tokens=cost.most * cost.reply)
    return budgeted.has_room(usage, _TRIAL_SECONDS)


async def _try(model: Model, plan: Plan) -> VerdictCalibration:
    """Ask a model about the probes, and return what its verdicts are worth."""
    places = asyncio.Semaphore(_TRIED_AT_ONCE)

    async def is_taken(probe: Probe) -> bool:
        """Return whether it says that the passages bear the answer out, and that it answers."""
        async with places:
            said = await _ask(probe, model, plan)
        return said is not None and said >= THRESHOLD

    probes = load_probes()
    try:
        # Where one call fails, the others are not made.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(is_taken(probe)) for probe in probes]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    taken = [task.result() for task in tasks]
    right = sum(one.is_right for one, is_in in zip(probes, taken, strict=True) if is_in)
    return VerdictCalibration(
        model=name_tried(model),
        threshold=THRESHOLD,
        precision=right / sum(taken) if any(taken) else 0.0,
        recall=right / sum(one.is_right for one in probes),
        recall_by_words=_RECALL_BY_WORDS,
        answers=len(probes),
        command="tried after a reading",
    )


async def _ask(probe: Probe, model: Model, plan: Plan) -> float | None:
    """Put a probe to a model, whatever else is asked of it now."""
    judge = make_judge(probe.question, model, replace(plan, earlier="", schema=None, language=None))
    turn, section = ("supports", probe.section) if probe.is_answering else ("responds", "")
    return await judge.ask(turn, section, probe.answer, probe.question)
