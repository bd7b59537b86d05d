"""What stands beside a model while it reads: the judge of `cascade`, an embedding model, thresholds that were measured.

A model goes through the code with its companions, so that a way of reading asks the model for them and never looks into
settings files or the environment. Which companions a user has is found by `bookwheel.companions`.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.models.base import Embeddings, Model, ModelWrapper, find_wrapper
from bookwheel.models.registry import open_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.embeddings import ServerEmbedder
    from bookwheel.plan import GatePlan, Plan


class Companions:
    """The companions of a model that was opened without any: the built-in model as a judge, and nothing else."""

    def find_gate(self, _name: str) -> GatePlan | None:
        """Return the threshold that was measured for the model of this name."""
        return None

    def find_verdict_threshold(self, _name: str) -> float | None:
        """Return the probability from which on the model of this name may be trusted that a sentence is borne out."""
        return None

    def is_good_judge(self, _name: str) -> bool:
        """Return whether the model of this name was measured to judge answers better than their words do."""
        return False

    def has_judge(self) -> bool:
        """Return whether the judge's threshold is known."""
        return True

    async def open_judge(self) -> Model:
        """Open the small model that judges for a large one."""
        return await open_model("local")

    async def open_embedder(self) -> ServerEmbedder | None:
        """Open the embedding model; None where the model embeds itself or its own endpoint does."""
        return None


class AccompaniedModel(ModelWrapper):
    """A model with its companions."""

    def __init__(self, model: Model, companions: Companions) -> None:
        super().__init__(model)
        self.companions = companions
        self.endpoint: object = getattr(model, "endpoint", None)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        embedder = await self.companions.open_embedder()
        if embedder is None:
            return await super().embed(texts)
        async with aclosing(embedder):
            return await embedder.embed(texts)


def find_companions(model: Model) -> Companions:
    """Return the companions of a model, however it is wrapped."""
    accompanied = find_wrapper(model, AccompaniedModel)
    return accompanied.companions if accompanied else Companions()


def find_known_gate(model: Model, plan: Plan) -> GatePlan | None:
    """Return the gate of the plan, of the model's own plan or of its calibration; None where there is none."""
    return plan.gate or model.plan.gate or find_companions(model).find_gate(model.name)


def find_gate(model: Model, plan: Plan | None = None) -> GatePlan:
    """Return the gate of the plan, of the model's own plan or of its calibration; InputError says how to get one."""
    gate = find_known_gate(model, plan or model.plan)
    if gate is None:
        raise InputError(
            f"no threshold is known for the judgements of {model.name}: run `bookwheel calibrate --model {model.name}` "
            f"once, or set one in the plan: gate.threshold (--gate-threshold), from 0, which skips nothing, to 1"
        )
    return gate
