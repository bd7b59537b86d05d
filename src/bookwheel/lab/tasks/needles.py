"""Needles in a haystack: RULER's eight tasks by its definitions, with sentences of our own.

niah_single_1      one needle in noise; the value is a number of seven digits
niah_single_2      one needle in essays
niah_single_3      one needle in essays; the value is a UUID
niah_multikey_1    four needles of different keys in essays, one is asked for
niah_multikey_2    nothing but needles, one is asked for
niah_multikey_3    the same with UUIDs for keys and values
niah_multivalue    one key with four values in essays, all are asked for
niah_multiquery    four keys in essays, all are asked for
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks import filler, lexicon
from bookwheel.lab.tasks.assembly import SourcePassage, assemble
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.definition import DepthOptions, SampleDraft, SampleRequest, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleVariant:
    """The properties of one of the eight tasks."""

    haystack: str = "essay"
    uuid_keys: bool = False
    uuid_values: bool = False
    keys: int = 1
    """Needles of different keys, asked for or not."""
    values: int = 1
    """Values of each key that is asked for."""
    queries: int = 1
    """Keys that are asked for."""


VARIANTS: Final = {
    "niah_single_1": NeedleVariant(haystack="noise"),
    "niah_single_2": NeedleVariant(),
    "niah_single_3": NeedleVariant(uuid_values=True),
    "niah_multikey_1": NeedleVariant(keys=4),
    "niah_multikey_2": NeedleVariant(haystack="needles"),
    "niah_multikey_3": NeedleVariant(haystack="needles", uuid_keys=True, uuid_values=True),
    "niah_multivalue": NeedleVariant(values=4),
    "niah_multiquery": NeedleVariant(keys=4, queries=4),
}
WORDINGS: Final = {
    "en": (
        "One of the special {kind}s for {key} is {value}.",
        "Let it be noted that a special {kind} for {key} is {value}.",
        "Among the special {kind}s of {key} there is {value}.",
        "Under {key}, the special {kind} {value} has been entered.",
        "Whoever asks for {key} is to be given the special {kind} {value}.",
        "{key} goes with the special {kind} {value}.",
    ),
    "zh": (
        "{key}的特别{kind}之一是{value}。",
        "请记下，{key}有一个特别{kind}：{value}。",
        "登记在{key}名下的特别{kind}是{value}。",
        "凡问起{key}的人，都应告知特别{kind}{value}。",
    ),
}
QUESTIONS: Final = {
    "en": ("What is the special {kind} for {keys}?", "What are all the special {kind}s for {keys}?"),
    "zh": ("{keys}的特别{kind}是什么？", "{keys}的特别{kind}分别是哪些？请全部列出。"),
}
KIND_NAMES: Final = {"en": ("number", "code"), "zh": ("数字", "代码")}
_GAP: Final = {"en": " ", "zh": ""}


def build(request: SampleRequest) -> SampleDraft:
    """Return a haystack with its needles, all in the same wording."""
    kind, rng = VARIANTS[request.task], request.rng
    kind_name = KIND_NAMES[request.language][kind.uuid_values]
    names = _draw_keys(request, kind)
    draw_value = _value_source(rng, uuids=kind.uuid_values)
    wording = rng.choice(WORDINGS[request.language])

    def needle(key: str, value: str) -> str:
        return wording.format(kind=kind_name, key=key, value=value)

    asked = [next(names) for _ in range(kind.queries)]
    wanted = {key: [draw_value() for _ in range(kind.values)] for key in asked}
    others = [(next(names), draw_value()) for _ in range(kind.keys - kind.queries)]
    hay, haystack_name = _open_haystack(request, kind, (needle(key, draw_value()) for key in names))
    end = "\n" if kind.haystack != "essay" else _GAP[request.language]
    passages = [_build_passage(needle(key, value), key, value, request, end) for key in asked for value in wanted[key]]
    passages += [SourcePassage(text=needle(key, value) + end, place=rng.random()) for key, value in others]
    golds = tuple(value for key in asked for value in wanted[key])
    question = QUESTIONS[request.language][len(golds) > 1]
    return SampleDraft(
        question=question.format(kind=kind_name, keys=_join_names(asked, request.language)),
        golds=golds,
        metric="share_of" if len(golds) > 1 else "contains",
        body=assemble(hay, passages, tokens=request.tokens, tokenizer=request.tokenizer, task=request.task),
        metadata={"haystack": haystack_name, "keys": asked},
    )


def _build_passage(text: str, key: str, value: str, request: SampleRequest, end: str) -> SourcePassage:
    evidence = GoldEvidence(start=0, end=len(text), note=f"{key}: {value}")
    return SourcePassage(text=text + end, evidence=(evidence,), place=request.draw_place())


def _draw_keys(request: SampleRequest, kind: NeedleVariant) -> Iterator[str]:
    if not kind.uuid_keys:
        return lexicon.draw_keys(request.rng, request.data_dir, request.language)
    return iter(lambda: lexicon.draw_uuid(request.rng), "")


def _value_source(rng: Random, *, uuids: bool) -> Callable[[], str]:
    """Return a function that draws values without repeats."""
    used: set[str] = set()

    def draw_value() -> str:
        value = lexicon.draw_uuid(rng) if uuids else lexicon.draw_number(rng)
        while value in used:
            value = lexicon.draw_number(rng)
        used.add(value)
        return value

    return draw_value


def _open_haystack(request: SampleRequest, kind: NeedleVariant, needles: Iterator[str]) -> tuple[Iterator[str], str]:
    if kind.haystack == "noise":
        return filler.noise(request.language), "noise"
    if kind.haystack == "needles":
        return (f"{needle}\n" for needle in needles), "needles"
    return filler.essay(request.language, request.data_dir, request.rng)


def _join_names(names: list[str], language: str) -> str:
    if language == "zh":
        return "、".join(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


TASKS: Final = tuple(
    Task(name=name, description=about, build=build, languages=("en", "zh"), options=DepthOptions)
    for name, about in (
        ("niah_single_1", "RULER: one needle in repeated noise"),
        ("niah_single_2", "RULER: one needle in essays"),
        ("niah_single_3", "RULER: one needle in essays, its value a UUID"),
        ("niah_multikey_1", "RULER: four needles, one asked for"),
        ("niah_multikey_2", "RULER: nothing but needles, one asked for"),
        ("niah_multikey_3", "RULER: nothing but needles of UUIDs, one asked for"),
        ("niah_multivalue", "RULER: four values of one key, all asked for"),
        ("niah_multiquery", "RULER: four keys, all asked for"),
    )
)
