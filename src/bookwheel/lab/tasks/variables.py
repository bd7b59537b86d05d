"""Variable tracking: RULER's `vt`, one chain of five names by default.

A first name is given a value, and each next name the one before it:

    LET QAJXW = 48213      …noise…      LET BRTYO = QAJXW      …noise…      LET MWPLA = BRTYO

Asked for are all names that hold the value. The assignments stand in the document in this request. Options: `hops`
(links after the first), `chains` (further chains with values of their own, not asked for).
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks import filler, lexicon
from bookwheel.lab.tasks.assembly import SourcePassage, assemble
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task

if TYPE_CHECKING:
    from random import Random

_QUESTIONS: Final = {
    "en": "Which variables hold the value {value}, whether it is given to them outright or by way of another variable? "
    "Name all {count}.",
    "zh": "哪些变量的值是{value}？包括直接赋值的，也包括通过其他变量得到的。请列出全部{count}个。",
}
_LETTERS: Final = 5


def build(request: SampleRequest) -> SampleDraft:
    """Hide the chain that is asked for, and any others, in noise."""
    rng = request.rng
    hops, chains = request.read_int("hops", 4), request.read_int("chains", 1)
    names = _draw_names(rng, chains * (hops + 1))
    values = [lexicon.draw_number(rng, 5) for _ in range(chains)]
    while len(set(values)) < chains:
        values = [lexicon.draw_number(rng, 5) for _ in range(chains)]
    rows = [names[at * (hops + 1) : (at + 1) * (hops + 1)] for at in range(chains)]
    passages = [
        passage
        for at, (row, value) in enumerate(zip(rows, values, strict=True))
        for passage in _build_chain(row, value, rng, asked=at == 0)
    ]
    hay = filler.noise(request.language)
    return SampleDraft(
        question=_QUESTIONS[request.language].format(value=values[0], count=hops + 1),
        golds=tuple(rows[0]),
        metric="share_of",
        body=assemble(hay, passages, tokens=request.tokens, tokenizer=request.tokenizer, task=request.task),
        metadata={"hops": hops, "chains": chains},
    )


def _draw_names(rng: Random, count: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        names["".join(rng.choices(ascii_uppercase, k=_LETTERS))] = None
    return list(names)


def _build_chain(row: list[str], value: str, rng: Random, *, asked: bool) -> list[SourcePassage]:
    """Return the assignments in order.

    Each note names all variables that hold the value so far, and replaces the note before.
    """
    places = sorted(rng.random() for _ in row)
    passages: list[SourcePassage] = []
    for at, (name, place) in enumerate(zip(row, places, strict=True)):
        text = f"LET {name} = {row[at - 1] if at else value}"
        note = f"these hold {value}: {', '.join(row[: at + 1])}"
        evidence = (GoldEvidence(start=0, end=len(text), note=note, key="chain"),) if asked else ()
        passages.append(SourcePassage(text=f"{text}\n", evidence=evidence, place=place))
    return passages


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOptions:
    """The options of `vt`."""

    hops: AtLeastOne | None = None
    """Links after the first; 4 by default."""
    chains: AtLeastOne | None = None
    """Chains in all, of which one is asked for; 1 by default."""


TASKS: Final = (
    Task(
        name="vt",
        description="RULER: follow one value through a chain of variables",
        build=build,
        languages=("en", "zh"),
        options=ChainOptions,
    ),
)
