"""One schema for everything that comes from outside: TOML, HTTP, JSON.

The dataclasses are the schema. Bounds stand in their annotations and hold however a value is made:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Shape:
        layers: Annotated[int, Ge(1)] = 3

        def __post_init__(self) -> None:
            check_bounds(self)

>>> from bookwheel.plan import Plan
>>> parse(Plan, {"chunk_tokens": "900"}, where="my.toml", table="plan")
Traceback (most recent call last):
bookwheel.errors.InputError: my.toml: plan.chunk_tokens must be a whole number, not '900'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from itertools import pairwise
from math import inf
from operator import ge, gt, le, lt
from pathlib import PurePath
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema, ErrorDetails

T = TypeVar("T")

_SIDES: Final = {"ge": (ge, "at least"), "gt": (gt, "above"), "le": (le, "at most"), "lt": (lt, "below")}
"""By the names that pydantic has for them."""
_KINDS: Final = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "dataclass_type": "a table",
    "dataclass_exact_type": "a table",
}
_BOUNDS: Final = {"greater_than_equal": "ge", "greater_than": "gt", "less_than_equal": "le", "less_than": "lt"}
_UNKNOWN: Final = frozenset({"unexpected_keyword_argument", "extra_forbidden"})
_MISSING: Final = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_SHOWN_CHARACTERS: Final = 60


class Bound:
    """One end of what a number may be, for annotations: `Annotated[int, Ge(1), Le(9)]`.

    >>> Ge(1).holds(0), Ge(1).describe()
    (False, 'at least 1')
    """

    def __init__(self, kind: str, limit: float) -> None:
        self.kind, self.limit = kind, limit

    def holds(self, value: float) -> bool:
        """Return True for a value inside the bound; what is not a number is inside none."""
        return bool(_SIDES[self.kind][0](value, self.limit))

    def describe(self) -> str:
        return "a finite number" if self.limit == inf else f"{_SIDES[self.kind][1]} {self.limit}"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), self.kind: self.limit}


Ge, Gt, Le, Lt = (partial(Bound, kind) for kind in _SIDES)


def parse(
    type_: type[T], values: object, *, where: str = "", table: str = "", error: type[InputError] = InputError
) -> T:
    """Return the plain values as `type_`, strictly: nothing is converted, nothing unknown is dropped.

    `where` names the file or request, and `table` the part of it that holds the values. Both stand in the message.
    """
    from pydantic import ValidationError

    prefix = f"{where}: " if where else ""
    try:
        # As JSON, because strict Python values would refuse text for an enum and a list for a tuple.
        parsed: T = _adapter(cast("Hashable", type_)).validate_json(
            json.dumps(values, default=_encode_other), strict=True, extra="forbid"
        )
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        raise error(prefix + _describe(type_, first, table)) from None
    except InputError as invalid:  # raised by a dataclass's own __post_init__
        raise error(prefix + str(invalid)) from invalid
    return parsed


_PLAIN: Final = (str, int, float)


def to_plain(value: Any) -> Any:
    """Return a dataclass, or a list of them, as plain values, with lists for tuples."""
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, tuple | list):
        return [to_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {name: to_plain(inner) for name, inner in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_plain(getattr(value, name)) for name in _list_names(type(value))}
    return value


@cache
def _list_names(type_: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(type_))


def from_plain(type_: type[T], values: Mapping[str, Any]) -> T:
    """Return the dataclass of what `to_plain` made, such as a line of a file of ours.

    Older files lack fields, which then have their defaults, and newer ones have more, which are dropped. Nothing is
    checked, texts with lone surrogates come through, and pydantic, whose import takes long, is not needed.
    """
    return type_(**make_fields(type_, values))


def make_fields(type_: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a dataclass that these plain values stand for."""
    makers = list_makers(type_)
    return {name: makers[name](value) for name, value in values.items() if name in makers}


read_hints: Final = cache(get_type_hints)
"""The types of a dataclass's fields, which Python reads anew each time."""


@cache
def list_makers(type_: type) -> dict[str, Callable[[Any], Any]]:
    """Return what makes each field of a dataclass from its plain form."""
    hints = read_hints(type_)
    return {field.name: _find_maker(hints[field.name]) for field in fields(type_)}


def _find_maker(hint: Any) -> Callable[[Any], Any]:
    arguments = get_args(hint)
    if is_dataclass(hint):
        return partial(from_plain, cast("type", hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if get_origin(hint) is tuple:
        make = _find_maker(arguments[0]) if arguments[1:] == (...,) else _keep
        return tuple if make is _keep else lambda values: tuple(map(make, values))
    inner = next((make for one in arguments if (make := _find_maker(one)) is not _keep), None)
    if type(None) not in arguments or inner is None:
        return _keep
    return lambda value: None if value is None else inner(value)


def _keep(value: Any) -> Any:
    return value


def check_bounds(value: Any, *, error: type[InputError] = InputError, table: str = "") -> None:
    """Raise when a field of this dataclass is outside the bounds of its annotation."""
    type_ = cast("Hashable", type(value))
    for name, bound in _bounds_of(type_):
        held = getattr(value, name)
        for given in held if isinstance(held, tuple) else (held,):
            if isinstance(given, int | float) and not bound.holds(given):
                raise error(f"{_join((table, name))} must be {bound.describe()}, not {given!r}")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings_table(name: str, error: type[InputError]) -> Callable[[type[T]], type[T]]:
    """Make a class the frozen dataclass of a table of settings, whose bounds hold however it is made.

    Where it has a method `check`, that is called then, for settings that exclude each other.
    """

    def decorate(cls: type[T]) -> type[T]:
        def check_all(self: Any) -> None:
            check_bounds(self, error=error, table=name)
            getattr(self, "check", lambda: None)()

        cls.__post_init__ = check_all  # type: ignore[attr-defined] # a dataclass calls it
        return dataclass(frozen=True, slots=True, kw_only=True)(cls)

    return decorate


@dataclass(frozen=True, slots=True)
class SchemaOf:
    """Marks plain values that are a dataclass written out: `Annotated[dict[str, Any], SchemaOf(Usage)]`."""

    type_: type

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.type_)


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a dataclass: what options and descriptions are derived from."""

    type_: Any
    default: Any
    owner: type
    name: str

    @property
    def about(self) -> str:
        """The sentence that stands under it."""
        return read_sentences(self.owner.__module__).get((self.owner.__name__, self.name), "")


@cache
def list_fields(type_: type) -> dict[str, FieldSpec]:
    hints = get_type_hints(type_, include_extras=True)
    return {field.name: FieldSpec(hints[field.name], field.default, type_, field.name) for field in fields(type_)}


@cache
def read_sentences(module: str) -> dict[tuple[str, str], str]:
    """Return what stands under the fields of a module's classes, by class and field."""
    import ast

    # Not by `inspect`, which looks at every module for the one of a file.
    source = sys.modules[module].__loader__.get_source(module)  # type: ignore[union-attr]
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {
        (class_.name, ast.unparse(field.target)): " ".join(str(note.value.value).split())
        for class_ in classes
        for field, note in pairwise(class_.body)
        if isinstance(field, ast.AnnAssign) and isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant)
    }


@cache
def _adapter(type_: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cast("Any", type_))


@cache
def _bounds_of(type_: Any) -> tuple[tuple[str, Bound], ...]:
    hints = get_type_hints(type_, include_extras=True)
    return tuple((field.name, bound) for field in fields(type_) for bound in _bounds_in(hints[field.name]))


def _bounds_in(hint: Any) -> Iterator[Bound]:
    """Yield the bounds of an annotation; `Annotated[int, Ge(1)] | None` has them inside a union."""
    if get_origin(hint) is Annotated:
        yield from (bound for bound in hint.__metadata__ if isinstance(bound, Bound))
    else:
        for part in get_args(hint):
            yield from _bounds_in(part)


def _describe(type_: type, found: ErrorDetails, table: str) -> str:
    """Say which key is wrong, what it may be and what it was."""
    path, kind = found["loc"], found["type"]
    key = _join((table, *path)) or "the body"
    if kind in _UNKNOWN:
        place = _join((table, *path[:-1]))
        known = [field.name for field in fields(_type_at(type_, path[:-1]))]
        return f"unknown setting {str(path[-1])!r}{f' in [{place}]' if place else ''}; {suggest(str(path[-1]), known)}"
    if kind in _MISSING:
        return f"{key} is missing"
    shown = repr(found["input"])
    shown = shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
    return f"{key} must be {_allowed(found)}, not {shown}"


def _allowed(found: ErrorDetails) -> str:
    kind, context = found["type"], found.get("ctx", {})
    if kind in _BOUNDS:
        return Bound(_BOUNDS[kind], context[_BOUNDS[kind]]).describe()
    if kind in {"enum", "literal_error"}:
        return str(context["expected"]).replace("'", "")
    return _KINDS.get(kind) or f"valid ({found['msg']})"


def suggest(name: str, known: Sequence[str]) -> str:
    """Return the nearest known name as the end of a sentence, or all of them."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def _type_at(type_: Any, path: Sequence[str | int]) -> Any:
    """Follow a path of field names and list positions down to the dataclass that it leads to."""
    for part in path:
        hints: Mapping[str, Any] = get_type_hints(type_)
        # A part that is no field is a key of a table such as `dict[str, NamedEndpoint]`, which was already entered.
        hint = hints.get(part, type_) if isinstance(part, str) else type_
        type_ = next((inner for inner in (hint, *get_args(hint)) if is_dataclass(inner)), type_)
    return type_


def _encode_other(value: object) -> object:
    """Return a path as text, and a TOML date as a table, which fits no field that takes text or a number."""
    return str(value) if isinstance(value, PurePath) else {type(value).__name__: str(value)}


def _join(parts: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in parts if part != "")
