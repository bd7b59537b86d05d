"""What the user's settings put beside a model: its calibration, the judge of `cascade`, the endpoint of embeddings.

The one place where ways of reading get anything of settings files and the environment. Each is looked up only when a
reading needs it, so that a mistake in one disturbs no other reading. A model's plan can carry its threshold; for every
other model `bookwheel calibrate` measures one, which is kept in one JSON file beside the journal, by the model's name.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from bookwheel.configuration import Connection, load_configuration
from bookwheel.environment import Environment
from bookwheel.errors import InputError
from bookwheel.journal.files import journal_path
from bookwheel.models.accompanied import AccompaniedModel, Companions, VerdictCalibration
from bookwheel.models.base import EMBEDDINGS_VARIABLE, Model
from bookwheel.models.embeddings import ServerEmbedder
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.registry import ModelAddress
from bookwheel.models.server_models import find_only_model
from bookwheel.plan import GatePlan, Scorer
from bookwheel.schema import Ge, Gt, Le, check_bounds, parse

CALIBRATIONS_VARIABLE: Final = "BOOKWHEEL_CALIBRATIONS"
JUDGE_VARIABLE: Final = "BOOKWHEEL_JUDGE"
_BUILT_IN: Final = "local"
# Before the name of a model, in the file of calibrations.
_VERDICT: Final = "verdict of "


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What one model's judgements were measured to be worth."""

    model: str
    scorer: Scorer
    threshold: Annotated[float, Ge(-1e6), Le(1e6)]
    recall: Annotated[float, Gt(0), Le(1)]
    """The share of the chunks that matter which was wanted, and kept on these samples."""
    read: Annotated[float, Ge(0), Le(1)]
    """The share of all chunks that a gate with this threshold lets through."""
    auc: Annotated[float, Ge(0), Le(1)]
    """The probability that a chunk that matters scores above one that does not."""
    chunks: Annotated[int, Ge(1)]
    positives: Annotated[int, Ge(1)]
    """Chunks that matter."""
    command: str
    """What measured it, to measure it again."""

    def __post_init__(self) -> None:
        check_bounds(self)

    @property
    def gate(self) -> GatePlan:
        return GatePlan(scorer=self.scorer, threshold=self.threshold)


def calibration_path() -> Path:
    """Return $BOOKWHEEL_CALIBRATIONS, or calibrations.json beside the journal."""
    named = os.environ.get(CALIBRATIONS_VARIABLE)
    return Path(named).expanduser() if named else journal_path().with_name("calibrations.json")


def load_calibration(model: str, path: Path | None = None) -> Calibration | None:
    path = path or calibration_path()
    entry = _load_file(path).get(model)
    return None if entry is None else parse(Calibration, entry, where=str(path), table=model)


def load_verdict_calibration(model: str, path: Path | None = None) -> VerdictCalibration | None:
    """Return what a model's verdicts are worth; None where that was not measured."""
    path = path or calibration_path()
    entry = _load_file(path).get(f"{_VERDICT}{model}")
    return None if entry is None else parse(VerdictCalibration, entry, where=str(path), table=model)


def store_calibration(calibration: Calibration | VerdictCalibration, path: Path | None = None) -> Path:
    """Store a calibration in place of the model's older one, and return the file."""
    path = path or calibration_path()
    prefix = _VERDICT if isinstance(calibration, VerdictCalibration) else ""
    entries = {**_load_file(path), f"{prefix}{calibration.model}": asdict(calibration)}
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    # Another process sees the old file or the new one, never half of one.
    draft.replace(path)
    return path


def _load_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error}; move it away and calibrate again") from error
    if not isinstance(entries, dict):
        raise InputError(f"{path} is no file of calibrations; move it away and calibrate again")
    return entries


def accompany(model: Model) -> Model:
    return model if isinstance(model, AccompaniedModel) else AccompaniedModel(model, UserCompanions())


class UserCompanions(Companions):
    """The companions that settings files and environment name."""

    def __init__(self) -> None:
        super().__init__()
        self._verdicts: dict[str, VerdictCalibration] = {}

    def find_gate(self, name: str) -> GatePlan | None:
        calibration = load_calibration(name)
        return calibration.gate if calibration else None

    def find_verdicts(self, name: str) -> VerdictCalibration | None:
        return load_verdict_calibration(name) or self._verdicts.get(name)

    def keep_verdicts(self, made: VerdictCalibration) -> None:
        self._verdicts[made.model] = made
        # Where nothing can be written, it is known until the end of the session.
        with suppress(OSError):
            store_calibration(made)

    def find_judge(self) -> ModelAddress:
        """Return the way to the judge that BOOKWHEEL_JUDGE names as `--model` would, or to the built-in model."""
        name = os.environ.get(JUDGE_VARIABLE)
        # Only a name needs the settings files.
        return Connection(model=name).find_address(load_configuration()) if name else ModelAddress(model=_BUILT_IN)

    def has_judge(self) -> bool:
        """Return whether the judge has been calibrated; the built-in one comes with a threshold."""
        name = self.find_judge().model
        return name == _BUILT_IN or (name is not None and load_calibration(name) is not None)

    async def open_judge(self) -> Model:
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
        address = ModelAddress(url=named) if "://" in named else Connection(model=named).find_address(settings)
        environment = Environment.load()
        endpoint = Endpoint.resolve(address.url or "", address.find_key(environment), account=environment.account)
        return ServerEmbedder(address.model or await find_only_model(endpoint), endpoint)
