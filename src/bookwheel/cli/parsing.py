"""The words of a command line become the arguments of a function.

A command is a function: what comes before its `*` are words, and what follows are options, as are the fields of the
dataclasses among them. Python's argparse tells options from words; types, bounds and names stand in the annotations:

    def log(name: str, *, limit: Annotated[int, Ge(1)] = 9, quiet: Annotated[bool, Option(short="-q")] = False) -> int:

An option that is not given is looked for in the environment: --chunk-tokens is BOOKWHEEL_CHUNK_TOKENS. What only a help
text needs is read when one is drawn, by help.py.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, HelpFormatter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from importlib import import_module
from inspect import Parameter, getdoc, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from bookwheel.bounds import Bound
from bookwheel.cli import UsageError
from bookwheel.patterns import compile_late

# A word that argparse, too, takes for a number and not for an option.
_NUMBER: Final = compile_late(r"-\d+|-\d*\.\d+")
_SWITCH_WORDS: Final = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n", "off", ""), False
)
_TYPE_WORDS: Final = {int: "a whole number", float: "a number"}


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
        """The path as one word."""
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
        """The command cannot run without it."""
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


class CommandGroup:
    """A command that has commands of its own, such as `bookwheel memory`."""

    def __init__(self, about: str) -> None:
        self.about = about
        self.commands: dict[str, tuple[Any, str]] = {}
        """By name: the function, or module and function as a text, and what it does."""

    def command(self, target: Any, name: str = "", about: str = "") -> Any:
        """Add a command; also a decorator. One that is named by module and function is imported when it runs."""
        self.commands[name or target.__name__.replace("_", "-")] = (target, about)
        return target

    def describe_commands(self) -> dict[str, str]:
        """Return what each command does, in the order of the alphabet."""
        return {
            name: about or (getdoc(load_target(target)) or "").partition("\n\n")[0].replace("\n", " ")
            for name, (target, about) in sorted(self.commands.items())
        }

    def find(self, name: str) -> Any:
        """Return the function of a command."""
        if name not in self.commands:
            raise UsageError(f"no command {name!r}{_suggest(name, self.commands)}")
        return load_target(self.commands[name][0])


def load_target(target: Any) -> Any:
    """Return the function or group that `module:name` names; anything else is one already."""
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def list_arguments(function: Callable[..., Any]) -> list[Argument]:
    """Return the words and options of a command, in the order of its parameters; of two options of a name the first."""
    hints, found = _hints_of(function), []
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
    if class_ := _find_class(hint):
        group, hints = getattr(class_, "option_group", "") or group, _hints_of(class_)
        return [
            argument
            for field in fields(class_)
            for argument in _find_arguments((*path, field.name), class_, hints[field.name], field.default, group)
        ]
    type_, notes, can_be_none = _unwrap(hint)
    option = _merge_options(notes)
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


def _find_class(hint: Any) -> Any:
    """Return the dataclass of options that a type is, or may be beside None."""
    return next((one for one in (hint, *get_args(hint)) if isinstance(one, type) and is_dataclass(one)), None)


_hints_of: Final = cache(partial(get_type_hints, include_extras=True))


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """Return a type without its notes and without None, the notes, and whether it can be None."""
    if get_origin(hint) is Annotated:
        type_, notes, can_be_none = _unwrap(hint.__origin__)
        return type_, (*notes, *hint.__metadata__), can_be_none
    if get_origin(hint) in {Union, UnionType}:
        type_, notes, _ = _unwrap(next(one for one in get_args(hint) if one is not NoneType))
        return type_, notes, True
    return hint, (), False


def _merge_options(notes: Sequence[Any]) -> Option:
    """Return the option that the notes describe; a later one goes on top."""
    given = {
        field.name: value
        for note in notes
        if isinstance(note, Option)
        for field in fields(Option)
        if (value := getattr(note, field.name)) != field.default
    }
    return Option(**given)


def parse(function: Callable[..., Any], words: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that the words give the function; UsageError names what does not fit."""
    arguments = list_arguments(function)
    options = [argument for argument in arguments if not argument.is_word]
    given, rest = _split(options, words)
    values: dict[str, Any] = {}
    for argument in options:
        texts, source = given.get(argument.key), argument.name
        if texts is None:
            source = argument.variable
            texts = _read_variable(argument, source)
        if texts is not None:
            _put(values, argument.path, _convert_all(argument, texts, source))
        elif argument.is_required:
            raise UsageError(f"{argument.name} is missing")
    positional = []
    for argument in arguments:
        if argument.is_rest:
            positional += _convert_all(argument, rest, argument.name)
            rest = []
        elif argument.is_word and rest:
            positional.append(_convert_all(argument, [rest.pop(0)], argument.name))
        elif argument.is_word and argument.is_required:
            raise UsageError(f"{argument.name} is missing")
    if rest:
        raise UsageError(f"{rest[0]!r} is one word too many")
    hints = _hints_of(function)
    return positional, {name: _make(hints[name], value) for name, value in values.items()}


def _split(options: Sequence[Argument], words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return what each option is given, and the words beside the options."""
    parser = _Splitter(add_help=False, allow_abbrev=False, formatter_class=_narrow)
    hyphened = set()
    for argument in options:
        names = [argument.name, *filter(None, [argument.option.short])]
        settings: dict[str, Any] = {"dest": argument.key, "action": "append"}
        if argument.type_ is bool:
            settings |= {"action": "append_const", "const": "true"}
            if argument.has_no:
                parser.add_argument(f"--no-{argument.name[2:]}", **settings | {"const": "false"})
        elif argument.parts and not argument.is_many:
            settings |= {"action": "extend", "nargs": len(argument.parts)}
        parser.add_argument(*names, **settings)
        if argument.option.takes_hyphen:
            hyphened.update(names)
    known = {one.name for one in options} | {f"--no-{one.name[2:]}" for one in options if one.has_no}
    at = words.index("--") if "--" in words else len(words)
    spelled = [_spell(word, known) for word in words[:at]]
    found, rest = parser.parse_known_args(_join_values([*spelled, *words[at:]], hyphened, known))
    loose, fixed = rest, []
    if "--" in rest:
        at = rest.index("--")
        loose, fixed = rest[:at], rest[at + 1 :]
    for word in loose:
        if word.startswith("-") and word != "-" and " " not in word and not _NUMBER.fullmatch(word):
            name = word.partition("=")[0]
            raise UsageError(f"there is no option {name}{_suggest(name, [one.name for one in options])}")
    return {key: texts for key, texts in vars(found).items() if texts is not None}, [*loose, *fixed]


def _spell(word: str, names: set[str]) -> str:
    """Return an option that is written as in Python with hyphens, as it is called here; any other word as it is."""
    name, equals, value = word.partition("=")
    hyphened = name[:2] + name[2:].replace("_", "-")
    return hyphened + equals + value if hyphened in names else word


class _Splitter(ArgumentParser):
    """Raises what is wrong, and leaves exit codes to others."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(message.removeprefix("argument ").replace("expected one argument", "a value is missing"))


def _narrow(prog: str) -> HelpFormatter:
    """Return a formatter that does not ask for the terminal's width: argparse makes one for each option."""
    return HelpFormatter(prog, width=80)


def _join_values(words: Sequence[str], names: set[str], others: set[str]) -> list[str]:
    """Return the words with `--memory "- one"` as one, where the value may begin with a hyphen and is no option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in names and word.partition("=")[0] not in others and "--" not in joined:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _read_variable(argument: Argument, name: str) -> list[str] | None:
    """Return what the environment gives an option; of one that can be given again, each word or path."""
    text = os.environ.get(name)
    if text is None or not argument.parts:
        return text if text is None else [text]
    # Paths have blanks in them, and are joined as in PATH.
    return text.split(os.pathsep if argument.parts[0] is Path else None)


def _convert_all(argument: Argument, texts: Sequence[str], source: str) -> Any:
    """Return the value that the texts stand for; UsageError names the option or the variable."""
    try:
        if argument.is_rest:
            return [_convert(argument.type_, argument.notes, text) for text in texts]
        if argument.parts:
            types = argument.parts[:1] * len(texts) if argument.is_many else argument.parts
            if len(types) != len(texts):
                raise ValueError(f"it takes {len(types)} values, not {len(texts)}")  # noqa: TRY301
            return tuple(_convert(*_unwrap(part)[:2], text) for part, text in zip(types, texts, strict=True))
        if len(set(texts)) > 1:
            raise ValueError(f"it is given twice: {' and '.join(texts)}")  # noqa: TRY301
        return _convert(argument.type_, argument.notes, texts[-1])
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from error


def _convert(type_: Any, notes: Sequence[Any], text: str) -> Any:
    option = _merge_options(notes)
    value = _convert_plain(type_, text)
    if option.check:
        option.check(value)
    for bound in notes:
        if isinstance(bound, Bound) and not bound.holds(value):
            raise ValueError(f"must be {bound.describe()}, not {text}")
    return value


def _convert_plain(type_: Any, text: str) -> Any:
    """Return the text as a value of this type; ValueError says what it must be."""
    if type_ is bool:
        if text.lower() not in _SWITCH_WORDS:
            raise ValueError(f"{text!r} is neither true nor false")
        return _SWITCH_WORDS[text.lower()]
    if type_ in _TYPE_WORDS:
        try:
            return type_(text)
        except ValueError:
            raise ValueError(f"{text!r} is not {_TYPE_WORDS[type_]}") from None
    if type_ is Path and not text.strip():
        raise ValueError("it must not be empty")  # an empty path would be the current folder
    choices = get_args(type_) if get_origin(type_) is Literal else tuple(type_) if issubclass(type_, Enum) else ()
    text = next((str(one) for one in choices if one == text.lower().replace("_", "-")), text)
    if choices and text not in choices:
        allowed = ", ".join(f'"{choice}"' for choice in choices if choice)
        raise ValueError(f"{text!r} is none of {allowed}")
    return text if get_origin(type_) is Literal else type_(text)


def _put(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Put the value into the tables of tables, each of which becomes a dataclass."""
    for name in path[:-1]:
        values = values.setdefault(name, {})
    values[path[-1]] = value


def _make(hint: Any, value: Any) -> Any:
    """Return the dataclass of this type with these fields, or the value of any other type."""
    if not (class_ := _find_class(hint)):
        return value
    hints = _hints_of(class_)
    return class_(**{name: _make(hints[name], inner) for name, inner in value.items()})


def _suggest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
