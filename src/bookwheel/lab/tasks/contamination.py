"""Drop the samples that a model answers without the document: they measure its knowledge, not its reading.

Each question is asked a few times without a document. A sample is dropped when any answer gets the full score of the
sample's own metric. Questions without an answer in the document are kept: "I do not know" proves no knowledge there.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final

from bookwheel.errors import InputError, ModelError
from bookwheel.lab.tasks.base import Sample
from bookwheel.models.base import Model
from bookwheel.plan import Sampling
from bookwheel.reading.loop import conclude, converse
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Message


class FilterOutcome(StrEnum):
    """The decision about a sample."""

    KEPT = "kept"
    DROPPED = "dropped"
    FAILED = "failed"
    """The model failed, so nothing is known of the sample; it is neither kept nor counted as dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterResult:
    """A sample with the decision and its reason."""

    sample: Sample
    outcome: FilterOutcome
    reason: str
    answers: tuple[str, ...] = ()
    """The model's answers, up to the one that decided."""


_PROMPTS: Final = {
    "en": "Answer the question from what you know. There is nothing to look it up in; if you are not sure, give your "
    "best guess.\n\n<question>\n{question}\n</question>\n\nPut the answer alone, as short as it can be, inside "
    "\\boxed{}.",
    "zh": "请凭你所知回答问题。没有资料可查；不确定时也请给出最可能的答案。\n\n<question>\n{question}\n</question>\n\n"
    "请把尽量简短的答案单独写在\\boxed{}里。",
}


async def filter_samples(
    samples: Iterable[Sample],
    model: Model,
    *,
    tries: int = 2,
    sampling: Sampling | None = None,
    concurrency: int = 8,
) -> AsyncIterator[FilterResult]:
    """Yield each sample in order with its outcome. If all of the first batch fail, raise the model's error."""
    if tries < 1 or concurrency < 1:
        raise InputError("tries and concurrency must be at least 1")
    waiting = iter(samples)
    has_answered = False
    while batch := list(islice(waiting, concurrency)):
        results = await asyncio.gather(*(_check_sample(sample, model, tries, sampling) for sample in batch))
        errors = [result for result in results if isinstance(result, ModelError)]
        if len(errors) == len(batch) and not has_answered:
            raise errors[0]
        has_answered = True
        for sample, result in zip(batch, results, strict=True):
            if isinstance(result, ModelError):
                yield FilterResult(sample=sample, outcome=FilterOutcome.FAILED, reason=str(result))
            else:
                yield result


async def _check_sample(
    sample: Sample, model: Model, tries: int, sampling: Sampling | None
) -> FilterResult | ModelError:
    if sample.metric == "unanswerable":
        return FilterResult(sample=sample, outcome=FilterOutcome.KEPT, reason="there is no answer to know")
    settings = sampling or model.plan.sampling
    answers: list[str] = []
    for number in range(tries):
        seed = None if settings.seed is None else settings.seed + number
        try:
            answers.append(await _ask(sample, model, replace(settings, seed=seed)))
        except ModelError as error:
            return error
        score = sample.score(answers[-1])
        if score.score == 1:
            reason = f"answered without the document at try {number + 1}: the answer {score.reason}"
            return FilterResult(sample=sample, outcome=FilterOutcome.DROPPED, reason=reason, answers=tuple(answers))
    reason = f"not answered without the document in {tries} tries"
    return FilterResult(sample=sample, outcome=FilterOutcome.KEPT, reason=reason, answers=tuple(answers))


async def _ask(sample: Sample, model: Model, sampling: Sampling) -> str:
    prompt = _PROMPTS["zh" if sample.language == "zh" else "en"].replace("{question}", escape_markup(sample.question))
    reply = await converse((Message(role="user", content=prompt),), model, model.plan.answer_tokens, sampling)
    return conclude(reply).text
