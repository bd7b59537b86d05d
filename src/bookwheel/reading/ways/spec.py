"""What a way of reading is: how it runs, what it needs of a model, what it costs. Each way's file ends with its own.

    EVERY_OTHER = WaySpec(run=every_other, needs=frozenset({Ability.JUDGE}), list_calls=list_my_calls)

A plain function with the signature of `loop.Way` is a way too: it needs replies only, and is taken to cost what the
loop does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bookwheel.models.base import Ability
from bookwheel.reading import loop
from bookwheel.reading.estimate import measure_document
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bookwheel.models.base import Model
    from bookwheel.plan import GatePlan, Plan
    from bookwheel.reading.estimate import CallCost, CostInputs, DocumentSize
    from bookwheel.reading.loop import Way
    from bookwheel.types import Document


class Threshold(StrEnum):
    """Whose threshold a way skips chunks by."""

    MODEL = "model"
    JUDGE = "judge"
    """That of the small model of `cascade`."""


def check_chunks(question: str, model: Model, plan: Plan) -> None:
    """Refuse a question and a plan that a way with chunks cannot read by."""
    loop.check(question, model, plan, prompts_for(plan, question))


def embed_never(_plan: Plan) -> bool:
    """Return that a way needs no embeddings, whatever the plan says."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaySpec:
    """A way of reading, with all that is known of it before the first call."""

    run: Way
    needs: frozenset[Ability] = frozenset()
    """What the model must offer besides replies."""
    threshold: Threshold | None = None
    """Where it is the model's, the model must offer the judgement that its gate rests on."""
    ranks: bool = False
    """Reads in the order of the plan's `rank`."""
    embeds: Callable[[Plan], bool] = embed_never
    """Whether it needs embeddings under a plan."""
    list_calls: Callable[[CostInputs], list[CallCost]] | None = None
    """The calls that it takes; None are the loop's."""
    measure: Callable[[Document, str, Model, Plan], DocumentSize] = measure_document
    """How it cuts a document for a question."""
    check: Callable[[str, Model, Plan], None] = check_chunks
    """Refuse a question or a plan, before anything is kept or paid for."""
    choose: Callable[[Document, str, Model, Plan], Awaitable[str]] | None = None
    """The way that it goes on by, where it only chooses one."""
    is_serial: bool = False
    """No call is in flight between two steps, so it can go on from any of them with better counts of tokens."""

    def find_lacking(self, abilities: frozenset[Ability], gate: GatePlan | None) -> str:
        """Return what a model with these abilities, and this gate, lacks for it; empty if nothing."""
        if missing := sorted(self.needs - abilities):
            return missing[0]
        if self.threshold is not Threshold.MODEL:
            return ""
        scorers = {Ability(gate.scorer)} if gate else set(Ability)
        return "" if scorers & abilities else " or ".join(sorted(scorers))


SEQUENTIAL: Final = WaySpec(run=loop.read, is_serial=True)
