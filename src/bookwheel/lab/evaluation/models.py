"""The open models of an evaluation, each with its plan, its ways and the fingerprint of its results."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bookwheel.lab.evaluation.errors import SettingsError
from bookwheel.lab.evaluation.settings import fingerprint, model_settings
from bookwheel.models.address import is_built_in
from bookwheel.models.base import ModelWrapper
from bookwheel.models.patience import Patience, PatientModel
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from bookwheel.lab.evaluation.settings import Evaluation, ModelSpec
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan

    OpenModel = Callable[[ModelSpec], Awaitable[Model]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnderTest:
    """An open model with its settings."""

    label: str
    model: Model
    plan: Plan
    ways: tuple[str, ...]
    lengths: tuple[int, ...]
    """Only these lengths; empty: all."""
    settings: Mapping[str, Any]
    """The settings that all its results share."""
    fingerprint: str

    def plan_of_repeat(self, repeat: int) -> Plan:
        """Return the plan of a sample's reading number `repeat`: each has a seed of its own, if the plan has one."""
        seed = self.plan.sampling.seed
        if not repeat or seed is None:
            return self.plan
        return replace(self.plan, sampling=replace(self.plan.sampling, seed=seed + repeat))


class NarrowWindow(ModelWrapper):
    """A model with a smaller window, so that all models can be compared at the same one."""

    def __init__(self, model: Model, window: int) -> None:
        super().__init__(model)
        self._window = window

    @property
    def window(self) -> int:
        """The smaller window. The ways of reading keep to it; `reply` does not check."""
        return self._window


@asynccontextmanager
async def open_models(evaluation: Evaluation, open_model: OpenModel) -> AsyncGenerator[list[ModelUnderTest]]:
    """Open all models of the evaluation until the end of the block; those that only read differently share one."""
    opened: list[tuple[ModelSpec, Model]] = []
    try:
        candidates = []
        for spec in evaluation.models:
            source = _strip_reading(spec)
            model = next((model for known, model in opened if known == source), None)
            if model is None:
                model = await open_model(source)
                opened.append((source, model))
            candidates.append(_prepare_model(evaluation, spec, model))
        yield candidates
    finally:
        for _, model in opened:
            await model.aclose()


@asynccontextmanager
async def open_optional_model(spec: ModelSpec | None, open_model: OpenModel) -> AsyncGenerator[Model | None]:
    """Open a model that is not measured until the end of the block; None where there is none."""
    if spec is None:
        yield None
        return
    model = await open_model(spec)
    try:
        yield PatientModel(model, Patience())
    finally:
        await model.aclose()


def _strip_reading(spec: ModelSpec) -> ModelSpec:
    """Return what opening the model needs, without what says how it reads."""
    # A server's window may have to be told; a model of this process knows its own, and reads in a narrower one.
    window = None if is_built_in(spec.name) else spec.window
    return replace(spec, label="", window=window, ways=(), lengths=(), plan={})


def _prepare_model(evaluation: Evaluation, spec: ModelSpec, model: Model) -> ModelUnderTest:
    plan = evaluation.plan_of(spec, model.plan)
    if evaluation.repeats > 1 and plan.sampling.temperature == 0:
        raise SettingsError(
            f"{spec.display_name} reads at temperature 0, where every repeat is the same; "
            f"set a temperature, or leave out --repeats"
        )
    if spec.window is not None and (model.window is None or spec.window < model.window):
        model = NarrowWindow(model, spec.window)
    prompts = prompts_for(replace(plan, language=plan.language or evaluation.language), "")
    settings = model_settings(spec, plan, repr(prompts))
    return ModelUnderTest(
        label=spec.display_name,
        model=model,
        plan=plan,
        ways=spec.ways or evaluation.ways,
        lengths=spec.lengths,
        settings=settings,
        fingerprint=fingerprint([evaluation.fixed_settings(), settings]),
    )
