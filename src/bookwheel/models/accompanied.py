"""What stands beside a model while it reads: the judge of `cascade`, an embedding model, thresholds that were measured.

A model goes through the code with its companions, so that a way of reading asks the model for them and never looks into
settings files or the environment. Which companions a user has is found by `bookwheel.companions`.
"""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from bookwheel.errors import InputError
from bookwheel.models.base import Embeddings, Model, ModelWrapper, find_wrapper
from bookwheel.models.registry import open_model
from bookwheel.schema import Ge, Le, check_bounds

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event
    from collections.abc import Sequence

    from bookwheel.models.embeddings import ServerEmbedder
    from bookwheel.plan import GatePlan, Plan


# A model that calls more wrong answers right than this is no judge.
_LEAST_PRECISION: Final = 0.88


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCalibration:
    """What one model's judgements of answers were measured to be worth."""

    model: str
    threshold: Annotated[float, Ge(0), Le(1)]
    """The probability from which on a sentence is called supported."""
    precision: Annotated[float, Ge(0), Le(1)]
    """The share of the answers called supported that are, on these answers."""
    recall: Annotated[float, Ge(0), Le(1)]
    answers: Annotated[int, Ge(1)]
    command: str
    auc: Annotated[float, Ge(0), Le(1)] | None = None
    """None where it was asked about few answers, after its first reading."""
    recall_by_words: Annotated[float, Ge(0), Le(1)] = 1.0
    """The recall of the measure by words on the same answers; where it was not measured, the words stay the judge."""

    def __post_init__(self) -> None:
        check_bounds(self)

    @property
    def beats_words(self) -> bool:
        return self.precision >= _LEAST_PRECISION and self.recall > self.recall_by_words


class Companions:
    """The companions of a model that was opened without any: the built-in model as a judge, and nothing else."""

    def __init__(self) -> None:
        self.trials: Counter[str] = Counter()
        """How often a model was asked in this session what its verdicts are worth, in vain so far."""
        self.on_trial: dict[str, tuple[AbstractEventLoop, Event]] = {}
        """The models that are being asked, each with what its end sets."""

    def find_gate(self, _name: str) -> GatePlan | None:
        """Return the threshold that was measured for the model of this name."""
        return None

    def find_verdicts(self, _name: str) -> VerdictCalibration | None:
        """Return what the verdicts of the model of this name were measured to be worth."""
        return None

    def keep_verdicts(self, made: VerdictCalibration) -> None:
        """Keep what a model's verdicts are worth, where that has a place."""

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
