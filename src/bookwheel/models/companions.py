"""What a reading may use beside its model: a threshold, the small judge of `cascade`, embeddings.

Whoever opens a model hands its companions in, because ways and models read neither settings files nor the environment:

    model = AccompaniedModel(await open_model("m"), companions)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.models.base import ModelWrapper, find_wrapper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.models.base import Embeddings, Model
    from bookwheel.models.embeddings import ServerEmbedder
    from bookwheel.plan import GatePlan


class Companions:
    """The companions of a model that was opened without any: the built-in model as a judge, and nothing else."""

    def find_gate(self, _name: str) -> GatePlan | None:
        """Return the threshold that was measured for the model of this name."""
        return None

    def has_judge(self) -> bool:
        """Return whether the judge's threshold is known."""
        return True

    async def open_judge(self) -> Model:
        """Open the small model that judges for a large one."""
        from bookwheel.models.registry import open_model

        return await open_model("local")

    async def open_embedder(self) -> ServerEmbedder | None:
        """Open the embedding model; None where the model embeds itself or its own endpoint does."""
        return None


class AccompaniedModel(ModelWrapper):
    """A model with its companions."""

    def __init__(self, model: Model, companions: Companions) -> None:
        super().__init__(model)
        self.companions = companions
        self.default_way: str = getattr(model, "default_way", "")
        self.endpoint: object = getattr(model, "endpoint", None)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return embeddings from the embedding model, or else from the model."""
        embedder = await self.companions.open_embedder()
        if embedder is None:
            return await super().embed(texts)
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.aclose()


def find_companions(model: Model) -> Companions:
    """Return the companions of a model, however it is wrapped."""
    accompanied = find_wrapper(model, AccompaniedModel)
    return accompanied.companions if accompanied else Companions()
