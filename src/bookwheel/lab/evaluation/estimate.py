"""What an evaluation can take before its first call: calls, tokens and money, at most, of what has no result yet.

The samples that a task makes for one length are alike, so the first stands for all; those of a file are looked at one
by one. Judges, and models that must not know the answers, are not in it.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from bookwheel.errors import DocumentTooLong, QuestionError
from bookwheel.lab.evaluation.records import RecordKey
from bookwheel.lab.evaluation.samples import open_task_source
from bookwheel.lab.evaluation.settings import AS_PUBLISHED, Evaluation
from bookwheel.lab.evaluation.work import (
    ModelUnderTest,
    OpenModel,
    count_done,
    list_batches,
    match_models,
    open_models,
)
from bookwheel.lab.tasks.base import Sample
from bookwheel.models.base import count_messages
from bookwheel.reading.ways.registry import estimate_reading


@dataclass(slots=True, kw_only=True)
class WayEstimate:
    """The most that a model can take for what it has not read yet in one way."""

    model: str
    way: str
    readings: int = 0
    refused: int = 0
    """Of the readings, those whose document does not fit: no call is sent."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """0 without prices."""

    @property
    def text(self) -> str:
        price = f", {self.cost:.4g} in cost" if self.cost else ""
        refused = f"; {self.refused:,} do not fit" if self.refused else ""
        return (
            f"{self.readings:,} readings, at most {self.calls:,} calls, {self.prompt_tokens:,} prompt and "
            f"{self.completion_tokens:,} reply tokens{price}{refused}"
        )


async def estimate_evaluation(
    evaluation: Evaluation, done: Collection[RecordKey], open_model: OpenModel
) -> list[WayEstimate]:
    """Return an estimate for each model and way, without what is done; nothing is read."""
    have, repeats = count_done(done, evaluation.repeats), range(evaluation.repeats)
    found: dict[tuple[str, str], WayEstimate] = {}
    async with open_models(evaluation, open_model) as candidates:
        batches = list_batches(evaluation, open_task_source(evaluation, candidates))
        for batch in batches:
            for one, way in match_models(batch, candidates):
                total = found.setdefault((one.label, way), WayEstimate(model=one.label, way=way))
                samples = (sample for _, sample in batch.samples() if isinstance(sample, Sample))
                left = batch.count * len(repeats) - have[batch.task, batch.length, way, one.label]
                while left > 0 and (sample := await asyncio.to_thread(next, samples, None)):
                    place = (batch.task, batch.length, sample.id, batch.file, way, one.label)
                    own = sum((*place, repeat) not in done for repeat in repeats) if batch.file else left
                    await _add(total, one, way, sample, own)
                    left = left if batch.file else 0
    return list(found.values())


async def _add(total: WayEstimate, one: ModelUnderTest, way: str, sample: Sample, readings: int) -> None:
    """Add so many readings of a sample."""
    total.readings += readings
    plan, call = one.plan, sample.published
    if way == AS_PUBLISHED and call and not call.way:
        prompt, reply = count_messages(call.messages, one.model.tokenizer), call.reply_tokens or plan.answer_tokens
        calls, cost = 1, plan.budget.price(prompt, reply)
    else:
        way = call.way if way == AS_PUBLISHED and call else way
        try:
            most = await estimate_reading(sample.document, sample.question, one.model, plan, way)
        except (DocumentTooLong, QuestionError):
            total.refused += readings
            return
        calls, prompt, reply, cost = most.calls, most.prompt_tokens, most.completion_tokens, most.cost
    total.calls += readings * calls
    total.prompt_tokens += readings * prompt
    total.completion_tokens += readings * reply
    total.cost += readings * cost
