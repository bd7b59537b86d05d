"""Operations of the API: each stands above the function that answers it, and makes its route and its description.

    class ReadingRoutes:
        @operation("GET", "/readings/{id}", "A whole reading", ReadingJson, query={"changes": int})
        async def get_reading(self, request: Request) -> Response: ...

`make_routes` makes the routes of an object of such a class; `bookwheel.serve.openapi` describes the class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.routing import BaseRoute

_F = TypeVar("_F", bound="Callable[..., Any]")

JSON: Final = "application/json"
IDEMPOTENCY: Final = {"Idempotency-Key": "The same key again returns the same reading."}
SPAN: Final = {"start": int, "end": int}
"""The query of a part of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path: what it takes, and what it answers."""

    method: str
    path: str
    """As Starlette writes it; each parameter of it is a text."""
    summary: str
    answer: Any = None
    """The type of the answer, or `module:name` of one that is slow to import; None where the answer has no body."""
    status: int = 200
    also: int | None = None
    """A second status of the same answer."""
    kind: str = JSON
    """The media type of the answer."""
    body: Any = None
    needs_body: bool = True
    uploads: tuple[str, ...] = ()
    """The media types in which a file is taken in place of a JSON body."""
    query: Mapping[str, Any] = field(default_factory=dict)
    """Parameters with their types."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers with what they are for."""


def operation(method: str, path: str, summary: str, answer: Any = None, **more: Any) -> Callable[[_F], _F]:
    """Mark a method as the function of an operation; `more` are the other fields of `Operation`."""

    def mark(function: _F) -> _F:
        described = Operation(method=method, path=path, summary=summary, answer=answer, **more)
        vars(function)["operation"] = described
        return function

    return mark


def list_operations(group: type) -> dict[str, Operation]:
    """Return the operations of a class by the names of their functions."""
    marked = {name: getattr(function, "operation", None) for name, function in vars(group).items()}
    return {name: found for name, found in marked.items() if isinstance(found, Operation)}


def make_routes(group: object) -> list[BaseRoute]:
    """Return a route for each operation of an object."""
    found = list_operations(type(group)).items()
    return [Route(one.path, getattr(group, name), methods=[one.method]) for name, one in found]
