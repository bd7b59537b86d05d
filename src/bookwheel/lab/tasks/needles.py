"""Needles in a haystack and chains of variables: RULER's tasks by its definitions, with sentences of our own.

niah_single_1      one needle in noise; the value is a number of seven digits
niah_single_2      one needle in essays
niah_single_3      one needle in essays; the value is a UUID
niah_multikey_1    four needles of different keys in essays, one is asked for
niah_multikey_2    nothing but needles, one is asked for
niah_multikey_3    the same with UUIDs for keys and values
niah_multivalue    one key with four values in essays, all are asked for
niah_multiquery    four keys in essays, all are asked for
vt                 a first name is given a value, and each next name the one before it; all names are asked for:
                   LET QAJXW = 48213      …noise…      LET BRTYO = QAJXW      …noise…      LET MWPLA = BRTYO
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from string import ascii_uppercase
from typing import Final

from bookwheel.lab.tasks.definition import AtLeastOne, DepthOptions, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.material import (
    Fact,
    draw_distinct,
    draw_keys,
    draw_number,
    draw_uuid,
    hide,
    open_essays,
    repeat_noise,
)


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


def build_needles(request: SampleRequest) -> SampleDraft:
    """Return a haystack with its needles, all in the same wording."""
    kind, rng, language = VARIANTS[request.task], request.rng, request.language
    kind_name = KIND_NAMES[language][kind.uuid_values]
    keys = iter(lambda: draw_uuid(rng), "") if kind.uuid_keys else draw_keys(rng, request.data_dir, language)
    values = draw_distinct(lambda: draw_uuid(rng) if kind.uuid_values else draw_number(rng))
    wording = rng.choice(WORDINGS[language])

    def needle(key: str, value: str) -> str:
        return wording.format(kind=kind_name, key=key, value=value)

    asked = list(islice(keys, kind.queries))
    wanted = [(key, next(values)) for key in asked for _ in range(kind.values)]
    others = [(next(keys), next(values)) for _ in range(kind.keys - kind.queries)]
    if kind.haystack == "essay":
        hay, haystack_name = open_essays(language, request.data_dir, rng)
    else:
        needles = (needle(key, next(values)) + "\n" for key in keys)
        hay, haystack_name = (needles if kind.haystack == "needles" else repeat_noise(language)), kind.haystack
    facts = [Fact(text=needle(*pair), place=request.draw_place(), note=": ".join(pair)) for pair in wanted]
    facts += [Fact(text=needle(*pair), place=rng.random()) for pair in others]
    has_several = len(wanted) > 1
    return SampleDraft(
        question=QUESTIONS[language][has_several].format(kind=kind_name, keys=_join_names(asked, language)),
        golds=tuple(value for _, value in wanted),
        metric="share_of" if has_several else "contains",
        body=hide(request, facts, hay, None if kind.haystack == "essay" else "\n"),
        metadata={"haystack": haystack_name, "keys": asked},
    )


def _join_names(names: list[str], language: str) -> str:
    if language == "zh":
        return "、".join(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_CHAIN_QUESTIONS: Final = {
    "en": "Which variables hold the value {value}, whether it is given to them outright or by way of another variable? "
    "Name all {count}.",
    "zh": "哪些变量的值是{value}？包括直接赋值的，也包括通过其他变量得到的。请列出全部{count}个。",
}
_LETTERS: Final = 5


def build_chains(request: SampleRequest) -> SampleDraft:
    """Hide the chain that is asked for, and any others, in noise."""
    rng = request.rng
    hops, chains = request.read_int("hops", 4), request.read_int("chains", 1)
    names = draw_distinct(lambda: "".join(rng.choices(ascii_uppercase, k=_LETTERS)))
    rows = [list(islice(names, hops + 1)) for _ in range(chains)]
    values = [draw_number(rng, 5) for _ in range(chains)]
    while len(set(values)) < chains:
        values = [draw_number(rng, 5) for _ in range(chains)]
    facts: list[Fact] = []
    for number, (row, value) in enumerate(zip(rows, values, strict=True)):
        places = sorted(rng.random() for _ in row)
        for at, (name, place) in enumerate(zip(row, places, strict=True)):
            text = f"LET {name} = {row[at - 1] if at else value}"
            # Each note names all variables that hold the value so far, and replaces the note before.
            note = f"these hold {value}: {', '.join(row[: at + 1])}" if number == 0 else ""
            facts.append(Fact(text=text, place=place, note=note, key="chain"))
    return SampleDraft(
        question=_CHAIN_QUESTIONS[request.language].format(value=values[0], count=hops + 1),
        golds=tuple(rows[0]),
        metric="share_of",
        body=hide(request, facts, repeat_noise(request.language), "\n"),
        metadata={"hops": hops, "chains": chains},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOptions:
    """The options of `vt`."""

    hops: AtLeastOne | None = None
    """Links after the first; 4 by default."""
    chains: AtLeastOne | None = None
    """Chains in all, of which one is asked for; 1 by default."""


TASKS: Final = (
    *(
        Task(
            name=name, description=f"RULER: {about}", build=build_needles, languages=("en", "zh"), options=DepthOptions
        )
        for name, about in (
            ("niah_single_1", "one needle in repeated noise"),
            ("niah_single_2", "one needle in essays"),
            ("niah_single_3", "one needle in essays, its value a UUID"),
            ("niah_multikey_1", "four needles, one asked for"),
            ("niah_multikey_2", "nothing but needles, one asked for"),
            ("niah_multikey_3", "nothing but needles of UUIDs, one asked for"),
            ("niah_multivalue", "four values of one key, all asked for"),
            ("niah_multiquery", "four keys, all asked for"),
        )
    ),
    Task(
        name="vt",
        description="RULER: follow one value through a chain of variables",
        build=build_chains,
        languages=("en", "zh"),
        options=ChainOptions,
    ),
)
