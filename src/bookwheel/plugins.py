"""Ways, tasks, metrics and models of other packages, found by their entry points; and the packages of our extras.

[project.entry-points."bookwheel.ways"]
every-other = "my_package:every_other"
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from bookwheel.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


def list_plugins(group: str) -> list[str]:
    """Return the names that installed packages register in a group such as `bookwheel.ways`."""
    return sorted(_find_points(group).names)


def _find_points(group: str) -> EntryPoints:
    # Late: most commands look for no plug-in, and this import is a tenth of what they take to start.
    from importlib.metadata import entry_points

    return entry_points(group=group)


def list_names(group: str, built_in: Collection[str]) -> list[str]:
    """Return our names in their order, then those of other packages; ours cannot be taken over."""
    return [*built_in, *(name for name in list_plugins(group) if name not in built_in)]


def require_plugin(group: str, name: str, built_in: Collection[str], kind: str) -> Any:
    """Return the object behind a registered name; InputError suggests the nearest name, ours or another package's."""
    plugin = load_plugin(group, name)
    if plugin is None:
        from difflib import get_close_matches

        names = list_names(group, built_in)
        near = get_close_matches(name, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? There are" if near else "there are"
        raise InputError(f"no {kind} {name!r}; {hint}: {', '.join(names)}")
    return plugin


def require_extra(purpose: str, extra: str, *modules: str) -> None:
    """Raise MissingExtra when one of the modules that an extra installs is missing. Nothing is imported."""
    from importlib.util import find_spec

    if any(find_spec(module) is None for module in modules):
        raise MissingExtra(purpose, extra)


def load_plugin(group: str, name: str) -> Any:
    """Return the object behind a registered name, or None when no package registers it.

    InputError when its package cannot be imported, or when two packages claim the name.
    """
    found = sorted(set(_find_points(group).select(name=name)), key=_package)
    if not found:
        return None
    if len(found) > 1:
        packages = " and ".join(_package(point) for point in found)
        raise InputError(f"{packages} both register {name!r} in {group}; uninstall one of them")
    try:
        return found[0].load()
    except Exception as error:  # a plug-in's module can fail in any way when it is imported
        raise InputError(f"{name!r} of the package {_package(found[0])} cannot be loaded: {error!r}") from error


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value
