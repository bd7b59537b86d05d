"""What the user's settings put beside a model: its calibration, the judge of `cascade`, the endpoint of embeddings.

The one place where ways of reading get anything of settings files and the environment. Each is looked up only when a
reading needs it, so that a mistake in one disturbs no other reading.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from bookwheel.calibrations import load_calibration
from bookwheel.configuration import choose_address, load_configuration
from bookwheel.errors import InputError
from bookwheel.models.address import ModelAddress
from bookwheel.models.companions import AccompaniedModel, Companions
from bookwheel.models.embeddings import VARIABLE as EMBEDDINGS_VARIABLE
from bookwheel.models.embeddings import ServerEmbedder
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_models import find_only_model

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.plan import GatePlan

JUDGE_VARIABLE: Final = "BOOKWHEEL_JUDGE"
_BUILT_IN: Final = "local"


def accompany(model: Model) -> Model:
    """Return the model with the companions that the settings give it."""
    return model if isinstance(model, AccompaniedModel) else AccompaniedModel(model, UserCompanions())


class UserCompanions(Companions):
    """The companions that settings files and environment name."""

    def find_gate(self, name: str) -> GatePlan | None:
        """Return the threshold of the model's calibration."""
        calibration = load_calibration(name)
        return calibration.gate if calibration else None

    def find_judge(self) -> ModelAddress:
        """Return the way to the judge that BOOKWHEEL_JUDGE names as `--model` would, or to the built-in model."""
        name = os.environ.get(JUDGE_VARIABLE)
        # Only a name needs the settings files.
        return choose_address(name, None, load_configuration()) if name else ModelAddress(model=_BUILT_IN)

    def has_judge(self) -> bool:
        """Return whether the judge has been calibrated; the built-in one comes with a threshold."""
        name = self.find_judge().model
        return name == _BUILT_IN or (name is not None and load_calibration(name) is not None)

    async def open_judge(self) -> Model:
        """Open the judge, with these companions."""
        return AccompaniedModel(await self.find_judge().open(), self)

    async def open_embedder(self) -> ServerEmbedder | None:
        """Open what BOOKWHEEL_EMBEDDINGS names: an endpoint of the settings, or the address of a server."""
        named = os.environ.get(EMBEDDINGS_VARIABLE)
        if not named:
            return None
        settings = load_configuration()
        if "://" not in named and named not in settings.endpoints:
            raise InputError(
                f"{EMBEDDINGS_VARIABLE} is {named!r}: neither a web address nor an endpoint of a settings file"
            )
        address = ModelAddress(url=named) if "://" in named else choose_address(named, None, settings)
        endpoint = Endpoint.resolve(address.url, address.find_key())
        return ServerEmbedder(address.model or await find_only_model(endpoint), endpoint)
