"""Presets: plans with a name, for a use or for a family of models, as the package's `presets/` has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from bookwheel.errors import PlanError
from bookwheel.packaged import PACKAGE
from bookwheel.plan import Plan
from bookwheel.schema import parse

_PRESETS: Final = PACKAGE / "presets"


def list_presets() -> list[str]:
    """Return the names of the presets that come with the package."""
    return sorted(file.stem for file in _PRESETS.glob("*.toml"))


def load_preset(name: str) -> dict[str, Any]:
    """Return the tables of a preset: `[plan]` for reading, `[train]` and `[eval]` for other rooms."""
    import tomllib

    return tomllib.loads(read_preset(name))


def read_preset(name: str) -> str:
    """Return the file of a preset, to be copied and changed."""
    file = _PRESETS / f"{name}.toml"
    if not file.is_file():
        raise PlanError(f"no preset {name!r}; there are: {', '.join(list_presets())}")
    return file.read_text(encoding="utf-8")


def load_preset_plan(name: str) -> Plan:
    return Plan.from_json(load_preset(name).get("plan", {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """The models that a preset is for, and what is known of reading with them."""

    names: tuple[str, ...]
    """Beginnings of their names, without an organisation and in small letters."""
    way: str
    """The way of reading that the preset is meant for."""
    known: str
    """Where its values come from."""
    measured: str
    """What was measured with it here."""


def load_family(preset: str) -> ModelFamily | None:
    """Return the family of models that a preset is for; None for one that is for something else."""
    table = load_preset(preset).get("family")
    return None if table is None else parse(ModelFamily, table, table="family", error=PlanError)


def find_family_preset(model: str) -> str | None:
    """Return the preset for a model's family, by its name.

    >>> find_family_preset("Qwen/Qwen3-8B"), find_family_preset("gpt-4o")
    ('qwen3', None)
    """
    name = model.replace("\\", "/").rpartition("/")[2].casefold()
    for preset in list_presets():
        family = load_family(preset)
        if family and name.startswith(family.names):
            return preset
    return None
