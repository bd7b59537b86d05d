"""Definitions and uses across a folder of Python files, joined under lines with their paths.

Half of the samples ask for the value that a function returns, which is a constant of another file; the other half
for all functions that call a given one. Names are coined, so that nothing can be known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.assembly import SourcePassage, assemble
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

_VERBS: Final = ("load", "settle", "weigh", "trim", "merge", "check", "fold", "route", "count", "seal", "draw", "rank")
_FOLDERS: Final = ("ledger", "harbor", "mail", "tools", "store", "clock")
_BODIES: Final = (
    "    total = 0\n    for item in items:\n        total += item * {number}\n    return total\n",
    "    kept = [item for item in items if item > {number}]\n    return len(kept)\n",
    "    if not items:\n        return {number}\n    return max(items) - min(items)\n",
    "    ordered = sorted(items)\n    middle = ordered[len(ordered) // 2]\n    return middle + {number}\n",
)


def build(request: SampleRequest) -> SampleDraft:
    """Return a folder of files, a few of which matter."""
    rng = request.rng
    names = _draw_names(rng)
    if rng.random() < 0.5:  # noqa: PLR2004 - half of the samples
        question, golds, passages, metric = _ask_for_value(rng, names)
    else:
        question, golds, passages, metric = _ask_for_callers(request, names)
    return SampleDraft(
        question=question,
        golds=golds,
        metric=metric,
        body=assemble(
            _draw_files(rng, names), passages, tokens=request.tokens, tokenizer=request.tokenizer, task=request.task
        ),
    )


def _draw_names(rng: Random) -> Iterator[str]:
    """Yield function names without repeats."""
    used: set[str] = set()
    while True:
        name = f"{rng.choice(_VERBS)}_{lexicon.coin_word(rng)}"
        if name not in used:
            used.add(name)
            yield name


def _ask_for_value(rng: Random, names: Iterator[str]) -> tuple[str, tuple[str, ...], list[SourcePassage], str]:
    asked = next(names)
    constant, value = f"{lexicon.coin_word(rng)}_limit".upper(), lexicon.draw_number(rng, 5)
    defined = f"{constant} = {value}"
    used = f"def {asked}() -> int:\n    return {constant}"
    passages = [
        _draw_file(rng, names, defined, note=f"{constant} is {value}"),
        _draw_file(rng, names, used, note=f"{asked}() returns {constant}"),
    ]
    return f"What number does a call of `{asked}()` return?", (value,), passages, "contains"


def _ask_for_callers(
    request: SampleRequest, names: Iterator[str]
) -> tuple[str, tuple[str, ...], list[SourcePassage], str]:
    rng = request.rng
    asked = next(names)
    callers = [next(names) for _ in range(request.read_int("callers", rng.randrange(2, 6)))]
    passages = [_draw_file(rng, names, _draw_function(rng, asked), note="")]
    for caller in callers:
        text = f"def {caller}(items: list[int]) -> int:\n    return {asked}(items) + {rng.randrange(2, 90)}"
        passages.append(_draw_file(rng, names, text, note=f"{caller} calls {asked}"))
    return f"Which functions call `{asked}`? Name all of them.", tuple(callers), passages, "share_of"


def _draw_function(rng: Random, name: str) -> str:
    body = rng.choice(_BODIES).format(number=rng.randrange(2, 90))
    return f"def {name}(items: list[int]) -> int:\n{body}".rstrip()


def _draw_path(rng: Random) -> str:
    return f"{rng.choice(_FOLDERS)}/{lexicon.coin_word(rng)}.py"


def _draw_file(rng: Random, names: Iterator[str], core: str, *, note: str) -> SourcePassage:
    """Return a file with another function before the code that matters."""
    path = _draw_path(rng)
    before = f"# file: {path}\n\n{_draw_function(rng, next(names))}\n\n\n"
    evidence = GoldEvidence(start=len(before), end=len(before) + len(core), note=f"{path}: {note}")
    return SourcePassage(text=f"{before}{core}\n\n\n", evidence=(evidence,) if note else (), place=rng.random())


def _draw_files(rng: Random, names: Iterator[str]) -> Iterator[str]:
    while True:
        functions = "\n\n\n".join(_draw_function(rng, next(names)) for _ in range(rng.randrange(2, 4)))
        yield f"# file: {_draw_path(rng)}\n\n{functions}\n\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerOptions:
    """The option of `code`."""

    callers: AtLeastOne | None = None
    """Functions that call the one asked about; by default the seed says."""


TASKS: Final = (
    Task(name="code", description="definitions and uses across a folder of code", build=build, options=CallerOptions),
)
