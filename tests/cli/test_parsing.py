"""How words become the arguments of a command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import pytest

from bookwheel.cli import UsageError
from bookwheel.cli.arguments import Option, list_arguments
from bookwheel.cli.options import OutPath, Text, Texts, Words, define_options
from bookwheel.cli.parsing import parse
from bookwheel.schema import Ge, Le


@define_options("Inner")
class Inner:
    size: Annotated[int, Ge(1), Le(9)] = 3
    note: Words | None = None


@define_options()
class Outer:
    inner: Inner = Inner()
    tags: Texts = ()
    pair: tuple[Path, Path] | None = None


OUTER = Outer()


def command(
    first: str,
    *rest: str,
    out: OutPath | None = None,
    kind: Literal["a", "b"] = "a",
    quiet: Annotated[bool, Option(short="-q")] = False,
    most_lines: int = 9,
    link: bool | None = None,
    outer: Outer = OUTER,
    share: float = 0.5,
) -> None: ...


def needy(name: Text, *, about: Text) -> None: ...


@pytest.mark.parametrize(
    ("words", "positional", "given"),
    [
        (["x"], ["x"], {}),
        (["--out", "o", "x", "-q", "y"], ["x", "y"], {"out": Path("o"), "quiet": True}),
        (["x", "-oo", "--kind=b"], ["x"], {"out": Path("o"), "kind": "b"}),
        (["x", "--", "--out"], ["x", "--out"], {}),
        (["x", "-", "-5", "-5 degrees?"], ["x", "-", "-5", "-5 degrees?"], {}),
        (["x", "--no-link"], ["x"], {"link": False}),
        (["x", "--share", "-0.1"], ["x"], {"share": -0.1}),
        (["x", "--size", "9", "--note", "- one"], ["x"], {"outer": Outer(inner=Inner(size=9, note="- one"))}),
        (["x", "--note=--out"], ["x"], {"outer": Outer(inner=Inner(note="--out"))}),
        (["x", "--kind", "B"], ["x"], {"kind": "b"}),
        (["x", "--most_lines=3"], ["x"], {"most_lines": 3}),
        (["a_b", "--kind=a", "--", "--most_lines"], ["a_b", "--most_lines"], {"kind": "a"}),
        (["x", "--note", "--dash"], ["x"], {"outer": Outer(inner=Inner(note="--dash"))}),
        (["x", "--tags", "a", "--tags", "b"], ["x"], {"outer": Outer(tags=("a", "b"))}),
        (["x", "--pair", "a", "b"], ["x"], {"outer": Outer(pair=(Path("a"), Path("b")))}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_words_and_options_find_their_places(words, positional, given) -> None:
    assert parse(command, words) == (positional, given)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "FIRST is missing"),
        (["x", "--sze", "3"], "there is no option --sze; did you mean --size"),
        (["x", "--size", "0"], "--size: must be at least 1, not 0"),
        (["x", "--size", "1.5"], "--size: '1.5' is not a whole number"),
        (["x", "--size", "1", "--size", "2"], "--size: it is given twice: 1 and 2"),
        (["x", "--kind", "c"], """--kind: 'c' is none of "a", "b\""""),
        (["x", "--out", ""], "--out: it must not be empty"),
        (["x", "--out"], "--out/-o: a value is missing"),
        (["x", "--quiet=maybe"], "--quiet/-q: it takes no value"),
        (["x", "--pair", "a"], "--pair"),
        (["x", "--pair", "a", "b", "--pair", "c", "d"], "--pair: it takes 2 values, not 4"),
        (["x", "--note", "--out"], "--note: a value is missing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_fit_is_named(words, says) -> None:
    with pytest.raises(UsageError) as refused:
        parse(command, words)
    assert says in str(refused.value)


def test_a_variable_gives_what_no_word_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKWHEEL_SIZE", "4")
    monkeypatch.setenv("BOOKWHEEL_TAGS", "a b")
    monkeypatch.setenv("BOOKWHEEL_QUIET", "yes")
    assert parse(command, ["x"])[1] == {"outer": Outer(inner=Inner(size=4), tags=("a", "b")), "quiet": True}
    assert parse(command, ["x", "--size", "5"])[1]["outer"].inner.size == 5
    monkeypatch.setenv("BOOKWHEEL_SIZE", "many")
    with pytest.raises(UsageError, match="BOOKWHEEL_SIZE: 'many' is not a whole number"):
        parse(command, ["x"])


def test_a_variable_with_paths_is_divided_as_path_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(*, root: tuple[Path, ...] = (), link: bool = True) -> None: ...

    monkeypatch.setenv("BOOKWHEEL_ROOT", os.pathsep.join(("/a b", "/c")))
    monkeypatch.setenv("BOOKWHEEL_LINK", "n")
    assert parse(serve, []) == ([], {"root": (Path("/a b"), Path("/c")), "link": False})


def test_what_must_be_given_is_asked_for_and_nothing_else_is_taken() -> None:
    with pytest.raises(UsageError, match="--about is missing"):
        parse(needy, ["x"])
    with pytest.raises(UsageError, match="'y' is one word too many"):
        parse(needy, ["x", "y", "--about", "z"])


def test_an_argument_knows_its_group_and_its_choices() -> None:
    arguments = {one.name: one for one in list_arguments(command)}
    assert (arguments["--size"].group, arguments["--kind"].choices) == ("Inner", ("a", "b"))
    assert arguments["REST"].is_rest
