"""Ways, tasks, metrics and models of other packages, found by their entry points.

[project.entry-points."bookwheel.ways"]
every-other = "my_package:every_other"
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def list_plugins(group: str) -> list[str]:
    """Return the names that installed packages register in a group such as `bookwheel.ways`."""
    return sorted(entry_points(group=group).names)


def load_plugin(group: str, name: str) -> Any:
    """Return the object behind a registered name, or None when no package registers it.

    InputError when its package cannot be imported, or when two packages claim the name.
    """
    found = sorted(set(entry_points(group=group, name=name)), key=_package)
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
