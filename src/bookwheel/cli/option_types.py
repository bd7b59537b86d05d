"""The types of options: how a word becomes a number, a text or a path, and what is refused by the option's name."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from annotated_types import Ge, Gt, Le, Lt
from cyclopts import Parameter
from cyclopts.validators import Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import Token

_NUMBER_BOUNDS: Final = {Ge: "gte", Gt: "gt", Le: "lte", Lt: "lt"}


def _parse_int(_: type, tokens: Sequence[Token]) -> int:
    """Return the whole number. The parser alone would round 1.5 to 2."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None


def require_bounds(annotation: Any) -> Parameter:
    """Return a parameter that is refused by name if it is outside the bounds of the annotation."""
    # The plan states its bounds once; without this, its message would name the plan's field, not the option.
    bounds = {_NUMBER_BOUNDS[type(bound)]: astuple(bound)[0] for bound in annotation.__metadata__}
    converter = _parse_int if annotation.__origin__ is int else None
    return Parameter(validator=Number(**bounds), converter=converter)


def _require_text(_: type, value: str | None) -> None:
    """Refuse the empty text that a shell makes of an unset variable in quotes."""
    if value is not None and not value.strip():
        raise ValueError("It must not be empty.")


def _parse_path(_: type, tokens: Sequence[Token]) -> Path:
    """Return the path. An empty one would be the current folder."""
    text = tokens[0].value
    if not text.strip():
        raise ValueError("it must not be empty")
    return Path(text)


Text = Annotated[str, Parameter(validator=_require_text)]
FilePath = Annotated[Path, Parameter(converter=_parse_path)]
PositiveInt = Annotated[int, Parameter(validator=Number(gt=0), converter=_parse_int)]
Count = Annotated[int, Parameter(validator=Number(gte=0), converter=_parse_int)]
Port = Annotated[int, Parameter(validator=Number(gte=0, lte=65535), converter=_parse_int)]
WholeNumber = Annotated[int, Parameter(converter=_parse_int)]
