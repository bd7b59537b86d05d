"""Routes that other packages add to the server, by the entry point group `bookwheel.routes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from bookwheel.plugins import list_plugins, load_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.routing import BaseRoute

    from bookwheel.serve.engine.service import Service

GROUP: Final = "bookwheel.routes"


class Extension(Protocol):
    """A part of the server that stands in another package."""

    @property
    def answers(self) -> Sequence[Any]:
        """The types of the JSON that it sends, for the OpenAPI document."""

    def make_routes(self, service: Service) -> Sequence[BaseRoute]:
        """Return its routes; they stand behind the same guard as ours."""

    def describe(self) -> Mapping[str, Any]:
        """Return the paths of the OpenAPI document, made with the functions of `bookwheel.serve.openapi`."""


def load_extensions() -> list[Extension]:
    """Return what installed packages add, in the order of their names."""
    return [load_plugin(GROUP, name) for name in list_plugins(GROUP)]
