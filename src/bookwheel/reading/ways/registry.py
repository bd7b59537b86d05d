"""Ways of reading by name: load them, check a model for them, say what they cost. Only the chosen one is imported.

A way of another package registers through the entry point group `bookwheel.ways`, and so do the baselines of the lab.
Parts of ways go together by "+": `gated+edits`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, cast

from bookwheel.errors import InputError, Overloaded, TimedOut, Unreachable
from bookwheel.models.base import Ability, Model, ModelWrapper, find_abilities, missing_ability
from bookwheel.plan import GatePlan, Plan, Rank
from bookwheel.plugins import list_names, require_plugin
from bookwheel.reading.estimate import CostEstimate, CostInputs, add_up, list_loop_calls
from bookwheel.reading.loop import Way
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.verdicts import list_judge_calls
from bookwheel.reading.ways.compose import ComposedWay
from bookwheel.reading.ways.spec import SEQUENTIAL, Threshold, WaySpec
from bookwheel.types import Document

GROUP: Final = "bookwheel.ways"
BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sequential": "spec:SEQUENTIAL",
        "quotes": "quotes:QUOTES",
        "whole": "whole:WHOLE",
        "edits": "writers:EDITS",
        "heads": "writers:HEADS",
        "gated": "gates:GATED",
        "cascade": "gates:CASCADE",
        "parallel": "parallel:PARALLEL",
        "ranked": "ranked:RANKED",
        "early-exit": "ranked:EARLY_EXIT",
        "look-back": "passes:LOOK_BACK",
        "planned": "passes:PLANNED",
        "auto": "auto:AUTO",
    }
)


def list_ways() -> list[str]:
    """Return the names of all ways: ours in their order, then those of other packages."""
    return list_names(GROUP, BUILT_IN)


def is_known(name: str) -> bool:
    """Return whether `load_way` knows the name, or all the names that "+" joins in it."""
    others = set(name.split("+")) - set(BUILT_IN)
    return not others or others <= set(list_ways())


def load_way(name: str) -> Way:
    """Return the way of that name, or the sum of the parts that "+" joins; InputError suggests the nearest name."""
    return load_spec(name).run


def load_spec(name: str) -> WaySpec:
    """Return the way of that name, or the sum of the parts that "+" joins, with what is known of it."""
    first, *others = (_load_one(part.strip()) for part in name.split("+"))
    if others:
        parts = [part for part in (first, *others) if isinstance(part, ComposedWay)]
        if len(parts) <= len(others):
            known = ", ".join(part for part in list_ways() if isinstance(_load_one(part), ComposedWay))
            raise InputError(f"{name!r} joins a way that goes with no other; these go together: {known}")
        # One that reads in a way of its own takes the others in.
        parts.sort(key=lambda part: type(part) is ComposedWay)
        first = reduce(lambda one, other: one.combine(other), parts)
    return first.spec if isinstance(first, ComposedWay) else first


def find_spec(name: str) -> WaySpec:
    """Return the way of that name; under any other name, a function of the caller's own, the loop."""
    return load_spec(name) if is_known(name) else SEQUENTIAL


def _load_one(name: str) -> WaySpec | ComposedWay:
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        way: Any = getattr(import_module(f"bookwheel.reading.ways.{module}"), attribute)
    else:
        way = require_plugin(GROUP, name, BUILT_IN, "way of reading")
    if isinstance(way, WaySpec | ComposedWay):
        return way
    if not callable(way):
        raise InputError(f"the way {name!r} of another package is not a function: {way!r}")
    return WaySpec(run=cast("Way", way))


async def check_abilities(name: str, model: Model, plan: Plan) -> None:
    """Raise MissingAbility for a way that this model cannot read by, before anything is kept or paid for.

    This comes before a missing threshold is complained of, which would not help such a model.
    """
    spec = load_spec(name)
    if plan.rank is Rank.EMBEDDINGS and not spec.ranks:
        raise InputError(f"rank {plan.rank} is for ways with ranked, such as ranked+edits, and not for {name}")
    try:
        if spec.find_lacking(frozenset(), plan.gate):
            lacking = spec.find_lacking(await find_abilities(model), plan.gate)
            if lacking:
                raise missing_ability(model, lacking, way=name)
        if spec.embeds(plan):
            await ModelWrapper(model).embed([name])
    except (Unreachable, Overloaded, TimedOut):
        # The reading waits for its model, and is refused when it begins.
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedWays:
    """The ways that a model can and cannot read by."""

    open: tuple[str, ...]
    uncalibrated: tuple[str, ...]
    """They need a threshold first."""
    closed: Mapping[str, str]
    """What each of the others lacks."""


def sort_ways(
    abilities: frozenset[Ability], gate: GatePlan | None, *, embeds: bool | None = None, has_judge: bool = True
) -> OfferedWays:
    """Return which ways a model with these abilities, and this gate, can read by.

    `embeds` is False where neither the model nor an endpoint beside it gives embeddings, and None where nobody asked.
    `has_judge` is False where the judge of `cascade` has no threshold.
    """
    ready: list[str] = []
    uncalibrated: list[str] = []
    closed: dict[str, str] = {}
    has_gate = {None: True, Threshold.MODEL: gate is not None, Threshold.JUDGE: has_judge}
    for name in list_ways():
        try:
            spec = load_spec(name)
        except InputError:  # a package that is broken; whoever names its way is told
            continue
        if not spec.is_general:
            continue
        lacking = spec.find_lacking(abilities, gate)
        if not lacking and embeds is False and spec.embeds(Plan()):
            lacking = "embeddings"
        if lacking:
            closed[name] = lacking
        else:
            (ready if has_gate[spec.threshold] else uncalibrated).append(name)
    return OfferedWays(open=tuple(ready), uncalibrated=tuple(uncalibrated), closed=closed)


async def estimate_reading(
    document: Document, question: str, model: Model, plan: Plan, way: str = "sequential"
) -> CostEstimate:
    """Return the cost of a reading. Raise what it would raise before its first call."""
    choose = find_spec(way).choose
    name = (await choose(document, question, model, plan)).way if choose else way
    # The document is read, and a server's tokenizer waits for the network.
    return await asyncio.to_thread(estimate_cost, document, question, model, plan, name)


def estimate_cost(document: Document, question: str, model: Model, plan: Plan, way: str = "sequential") -> CostEstimate:
    """Return the cost of a reading by a way that chooses no other one."""
    spec = find_spec(way)
    spec.check(question, model, plan)
    size = spec.measure(document, question, model, plan)
    given = CostInputs(size=size, question=question, model=model, plan=plan, prompts=prompts_for(plan, question))
    list_calls = spec.list_calls
    judging = list_judge_calls(given) if spec.is_general else []
    return add_up((list_calls or list_loop_calls)(given), given, way if list_calls else "sequential", judging)
