"""The words of a command line become the arguments of a function.

A command is a function, and `arguments` says what it takes. Python's argparse tells options from words. An option that
is not given is looked for in the environment: --chunk-tokens is BOOKWHEEL_CHUNK_TOKENS. What only a help text needs is
read when one is drawn, by help.py.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, HelpFormatter
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, get_args, get_origin

from bookwheel.cli import UsageError, suggest
from bookwheel.cli.arguments import Argument, find_class, hints_of, list_arguments, merge_options, unwrap
from bookwheel.patterns import compile_late
from bookwheel.schema import Bound

# A word that argparse, too, takes for a number and not for an option.
_NUMBER: Final = compile_late(r"-\d+|-\d*\.\d+")
_SWITCH_WORDS: Final = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n", "off", ""), False
)
_TYPE_WORDS: Final = {int: "a whole number", float: "a number"}


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
    hints = hints_of(function)
    return positional, {name: _make(hints[name], value) for name, value in values.items()}


def _split(options: Sequence[Argument], words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return what each option is given, and the words beside the options."""
    # A formatter that does not ask for the terminal's width: argparse makes one for each option.
    narrow = partial(HelpFormatter, width=80)
    parser = _Splitter(add_help=False, allow_abbrev=False, formatter_class=narrow)
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
            raise UsageError(f"there is no option {name}{suggest(name, [one.name for one in options])}")
    return {key: texts for key, texts in vars(found).items() if texts is not None}, [*loose, *fixed]


def _spell(word: str, names: set[str]) -> str:
    """Return an option that is written as in Python with hyphens, as it is called here; any other word as it is."""
    name, equals, value = word.partition("=")
    hyphened = name[:2] + name[2:].replace("_", "-")
    return hyphened + equals + value if hyphened in names else word


class _Splitter(ArgumentParser):
    """Raises what is wrong, and leaves exit codes to others."""

    def error(self, message: str) -> NoReturn:
        what = message.removeprefix("argument ").replace("expected one argument", "a value is missing")
        raise UsageError(re.sub("ignored explicit argument.*", "it takes no value", what))


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
            return tuple(_convert(*unwrap(part)[:2], text) for part, text in zip(types, texts, strict=True))
        if len(set(texts)) > 1:
            raise ValueError(f"it is given twice: {' and '.join(texts)}")  # noqa: TRY301
        return _convert(argument.type_, argument.notes, texts[-1])
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from error


def _convert(type_: Any, notes: Sequence[Any], text: str) -> Any:
    option = merge_options(notes)
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
    if not (class_ := find_class(hint)):
        return value
    hints = hints_of(class_)
    return class_(**{name: _make(hints[name], inner) for name, inner in value.items()})
