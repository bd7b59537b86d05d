"""The models of an evaluation, opened, each with its plan, its ways and the fingerprint of its numbers."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bookwheel.evaluation.settings import fingerprint, model_settings
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from bookwheel.evaluation.settings import Evaluation, ModelSpec
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan, Sampling
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Message, Reply

    OpenModel = Callable[[ModelSpec], Awaitable[Model]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnderTest:
    """One model ready to be measured."""

    label: str
    model: Model
    plan: Plan
    ways: tuple[str, ...]
    lengths: tuple[int, ...]
    """Only these; empty: all."""
    settings: Mapping[str, Any]
    """What all its numbers have in common."""
    fingerprint: str


class NarrowWindow:
    """A model with a smaller window, so that all ways and models can be compared at one."""

    def __init__(self, model: Model, window: int) -> None:
        self.window = window
        self._model = model

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's."""
        return self._model.tokenizer

    @property
    def plan(self) -> Plan:
        """The model's."""
        return self._model.plan

    @property
    def template_tokens(self) -> int:
        """The model's."""
        return self._model.template_tokens

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """The model's reply; what fits the smaller window is for the ways of reading to heed."""
        return await self._model.reply(messages, limit=limit, sampling=sampling)

    async def aclose(self) -> None:
        """Close the model."""
        await self._model.aclose()


@asynccontextmanager
async def open_models(evaluation: Evaluation, open_model: OpenModel) -> AsyncGenerator[list[ModelUnderTest]]:
    """All models of the evaluation, open until the end of the block."""
    opened: list[Model] = []
    try:
        found = []
        for reader in evaluation.models:
            opened.append(await open_model(reader))
            found.append(_prepare_model(evaluation, reader, opened[-1]))
        yield found
    finally:
        for model in opened:
            await model.aclose()


def _prepare_model(evaluation: Evaluation, reader: ModelSpec, model: Model) -> ModelUnderTest:
    plan = evaluation.plan_of(reader, model.plan)
    if reader.window is not None and (model.window is None or reader.window < model.window):
        model = NarrowWindow(model, reader.window)
    prompts = prompts_for(replace(plan, language=plan.language or evaluation.language), "")
    settings = model_settings(reader, plan, repr(prompts))
    return ModelUnderTest(
        label=reader.display_name,
        model=model,
        plan=plan,
        ways=reader.ways or evaluation.ways,
        lengths=reader.lengths,
        settings=settings,
        fingerprint=fingerprint([evaluation.fixed_settings(), settings]),
    )
