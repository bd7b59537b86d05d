"""The words and options that a command's function declares.

What comes before the function's `*` are words, and what follows are options, as are the fields of the dataclasses among
them. Types, bounds and names stand in the annotations:

    def log(name: str, *, limit: Annotated[int, Ge(1)] = 9, quiet: Annotated[bool, Option(short="-q")] = False) -> int:
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What an annotation says of an option beside its type and its bounds."""

    name: str = ""
    """Such as `--json`; by default, made of the parameter's or field's name."""
    short: str = ""
    about: str | Callable[[], str] = ""
    """By default, what the docstring says of the parameter, or what stands under the field."""
    group: str = ""
    variable: str | None = ""
    """The environment variable, where it is not BOOKWHEEL_ and the name; None if there is none."""
    check: Callable[[Any], None] | None = None
    """Raises ValueError for a value that cannot be."""
    takes_hyphen: bool = False
    """Its value may begin with a hyphen, such as the line of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A word or an option of a command."""

    path: tuple[str, ...]
    """Where it goes: the parameter, and the fields of dataclasses below it."""
    owner: Any
    """The function or class that names it."""
    type_: Any
    """Without None and notes; of a tuple, with the types of its parts."""
    notes: tuple[Any, ...]
    default: Any
    group: str
    option: Option
    is_word: bool
    is_rest: bool
    """It takes all words that are left."""
    can_be_none: bool = False

    @property
    def name(self) -> str:
        """As it is typed, or as a word stands in the usage line."""
        plain = self.path[-1].rstrip("_").replace("_", "-")
        return plain.upper() if self.is_word else self.option.name or f"--{plain}"

    @property
    def variable(self) -> str:
        """The environment variable that gives the option where no word does; empty if there is none."""
        default = "BOOKWHEEL_" + self.name[2:].upper().replace("-", "_")
        return self.option.variable or ("" if self.option.variable is None else default)

    @property
    def key(self) -> str:
        return ".".join(self.path)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The types of a tuple; empty for any other type."""
        return get_args(self.type_) if get_origin(self.type_) is tuple else ()

    @property
    def is_many(self) -> bool:
        """It can be given again."""
        return self.is_rest or self.parts[1:] == (...,)

    @property
    def is_required(self) -> bool:
        return self.default is MISSING and not self.is_rest

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values it can have; empty where there are others."""
        if get_origin(self.type_) is Literal:
            return get_args(self.type_)
        return tuple(self.type_) if isinstance(self.type_, type) and issubclass(self.type_, Enum) else ()

    @property
    def has_no(self) -> bool:
        """It can be switched off: it is on or off by itself where it is not given."""
        return self.type_ is bool and self.can_be_none


def list_arguments(function: Callable[..., Any]) -> list[Argument]:
    """Return the words and options of a command, in the order of its parameters; of two options of a name the first."""
    hints, found = hints_of(function), []
    for one in signature(function).parameters.values():
        default = MISSING if one.default is Parameter.empty else one.default
        is_rest = one.kind is Parameter.VAR_POSITIONAL
        is_word = is_rest or one.kind is not Parameter.KEYWORD_ONLY
        found += _find_arguments((one.name,), function, hints[one.name], default, "", is_word=is_word, is_rest=is_rest)
    return list({one.name: one for one in reversed(found)}.values())[::-1]


def _find_arguments(
    path: tuple[str, ...],
    owner: Any,
    hint: Any,
    default: Any,
    group: str,
    *,
    is_word: bool = False,
    is_rest: bool = False,
) -> list[Argument]:
    """Return the argument of this type, or those that the fields of a dataclass are."""
    if class_ := find_class(hint):
        group, hints = getattr(class_, "option_group", "") or group, hints_of(class_)
        return [
            argument
            for field in fields(class_)
            for argument in _find_arguments((*path, field.name), class_, hints[field.name], field.default, group)
        ]
    type_, notes, can_be_none = unwrap(hint)
    option = merge_options(notes)
    return [
        Argument(
            path=path,
            owner=owner,
            type_=type_,
            notes=notes,
            default=default,
            group=option.group or group,
            option=option,
            is_word=is_word,
            is_rest=is_rest,
            can_be_none=can_be_none,
        )
    ]


def find_class(hint: Any) -> Any:
    """Return the dataclass of options that a type is, or may be beside None."""
    return next((one for one in (hint, *get_args(hint)) if isinstance(one, type) and is_dataclass(one)), None)


hints_of: Final = cache(partial(get_type_hints, include_extras=True))


def unwrap(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """Return a type without its notes and without None, the notes, and whether it can be None."""
    if get_origin(hint) is Annotated:
        type_, notes, can_be_none = unwrap(hint.__origin__)
        return type_, (*notes, *hint.__metadata__), can_be_none
    if get_origin(hint) in {Union, UnionType}:
        type_, notes, _ = unwrap(next(one for one in get_args(hint) if one is not NoneType))
        return type_, notes, True
    return hint, (), False


def merge_options(notes: Sequence[Any]) -> Option:
    """Return the option that the notes describe; a later one goes on top."""
    given = {
        field.name: value
        for note in notes
        if isinstance(note, Option)
        for field in fields(Option)
        if (value := getattr(note, field.name)) != field.default
    }
    return Option(**given)
