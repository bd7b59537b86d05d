"""Needles in a haystack and chains of variables by RULER's definitions, and questions without an answer.

niah_…       the eight variants below, in RULER's words and in ours
vt           a first name is given a value, and each next name the one before it; all names are asked for:
             LET QAJXW = 48213      …noise…      LET BRTYO = QAJXW      …noise…      LET MWPLA = BRTYO
answerable   half of the questions have an answer, and half have none. Both kinds look alike: the document says what the
             person paid for other things, and what others paid for the thing. So neither an answer nor a refusal earns
             by default, and a search finds passages in either case
absent       no passage answers the question, though some are similar
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from string import ascii_uppercase
from typing import Final

from bookwheel.lab.tasks.definition import BOTH, AtLeastOne, Percent, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import (
    ABSENT,
    Fact,
    Wordings,
    capitalize,
    draw_distinct,
    draw_keys,
    draw_number,
    draw_person,
    draw_uuid,
    hide,
    hide_in_essays,
    open_essays,
    repeat_noise,
    spread,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleVariant:
    """The properties of one of the eight tasks."""

    about: str
    haystack: str = "essay"
    """`essay`, `noise`, or `needles`: nothing but needles."""
    uuid_keys: bool = False
    uuid_values: bool = False
    keys: int = 1
    """Needles of different keys, asked for or not."""
    values: int = 1
    """Values of each key that is asked for."""
    queries: int = 1
    """Keys that are asked for."""


VARIANTS: Final = {
    "niah_single_1": NeedleVariant(about="one needle in repeated noise", haystack="noise"),
    "niah_single_2": NeedleVariant(about="one needle in essays"),
    "niah_single_3": NeedleVariant(about="one needle in essays, its value a UUID", uuid_values=True),
    "niah_multikey_1": NeedleVariant(about="four needles, one asked for", keys=4),
    "niah_multikey_2": NeedleVariant(about="nothing but needles, one asked for", haystack="needles"),
    "niah_multikey_3": NeedleVariant(
        about="nothing but needles of UUIDs, one asked for", haystack="needles", uuid_keys=True, uuid_values=True
    ),
    "niah_multivalue": NeedleVariant(about="four values of one key, all asked for", values=4),
    "niah_multiquery": NeedleVariant(about="four keys, all asked for", keys=4, queries=4),
}


def build_needles(request: SampleRequest) -> SampleDraft:
    """Return a haystack with its needles, all in the same wording."""
    kind, rng, language = VARIANTS[request.task], request.rng, request.language
    say = Wordings("needle", request)
    kind_name = say["kind"][kind.uuid_values]
    keys = iter(lambda: draw_uuid(rng), "") if kind.uuid_keys else draw_keys(rng, request.data_dir, language)
    values = draw_distinct(lambda: draw_uuid(rng) if kind.uuid_values else draw_number(rng))
    wording: str = say("needle")

    def needle(key: str, value: str) -> str:
        return wording.format(kind=kind_name, key=key, value=value)

    asked = list(islice(keys, kind.queries))
    wanted = [(key, next(values)) for key in asked for _ in range(kind.values)]
    others = [(next(keys), next(values)) for _ in range(kind.keys - kind.queries)]
    hay: Iterator[str] = (needle(key, next(values)) + "\n" for key in keys)
    haystack_name = kind.haystack
    if kind.haystack == "noise":
        hay = repeat_noise(language)
    elif kind.haystack == "essay":
        hay, haystack_name = open_essays(language, request.data_dir, rng)
    facts = [Fact(text=needle(*pair), place=request.draw_place(), note=": ".join(pair)) for pair in wanted]
    facts += [Fact(text=needle(*pair), place=rng.random()) for pair in others]
    has_several = len(wanted) > 1
    return SampleDraft(
        question=say["question"][has_several].format(kind=kind_name, keys=_join_names(asked, language)),
        golds=tuple(value for _, value in wanted),
        metric="share_of" if has_several else "contains",
        body=hide(request, facts, hay, None if kind.haystack == "essay" else "\n"),
        metadata={"haystack": haystack_name, "keys": asked},
    )


def _join_names(names: list[str], language: str) -> str:
    if language == "zh":
        return "、".join(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


for _name, _variant in VARIANTS.items():
    task(_name, f"RULER: {_variant.about}", languages=BOTH, depth=Percent)(build_needles)


@task("vt", "RULER: follow one value through a chain of variables", languages=BOTH, hops=AtLeastOne, chains=AtLeastOne)
def build_chains(request: SampleRequest) -> SampleDraft:
    """Hide the chain that is asked for, and any others, in noise."""
    rng = request.rng
    hops, chains = request.options.get("hops", 4), request.options.get("chains", 1)
    names = draw_distinct(lambda: "".join(rng.choices(ascii_uppercase, k=5)))
    rows = [list(islice(names, hops + 1)) for _ in range(chains)]
    values: list[str] = []
    while len(set(values)) < chains:
        values = [draw_number(rng, 5) for _ in range(chains)]

    def tell(row: Sequence[str], value: str) -> list[Fact]:
        def link(at: int) -> tuple[str, str]:
            # Each note names all variables that hold the value so far, and replaces the note before.
            note = f"these hold {value}: {', '.join(row[: at + 1])}" if row is rows[0] else ""
            return f"LET {row[at]} = {row[at - 1] if at else value}", note

        return spread(rng, len(row), link, "chain")

    facts = [fact for row, value in zip(rows, values, strict=True) for fact in tell(row, value)]
    return SampleDraft(
        question=Wordings("needle", request)["chain"].format(value=values[0], count=hops + 1),
        golds=tuple(rows[0]),
        metric="share_of",
        body=hide(request, facts, repeat_noise(request.language), "\n"),
        metadata={"hops": hops, "chains": chains},
    )


@task(
    "answerable",
    "questions of which half have an answer; saying that there is none is right for the others",
    languages=BOTH,
    unanswerable=Percent,
    decoys=AtLeastOne,
    depth=Percent,
)
def build_answerable(request: SampleRequest) -> SampleDraft:
    """Hide like purchases of other people and things, and in part of the samples the one that is asked for."""
    rng, language, say = request.rng, request.language, Wordings("needle", request)
    # Purchases of the same person, and as many of the same thing; samples in a hundred without an answer.
    decoys, share = request.options.get("decoys", 3), float(request.options.get("unanswerable", 50))
    people = list(islice(draw_distinct(lambda: draw_person(rng, language)), decoys + 1))
    things = [name.replace("-", " ") for name in islice(draw_keys(rng, request.data_dir, language), decoys + 1)]
    values = [str(value) for value in rng.sample(range(1000, 10_000), 2 * decoys + 1)]
    # Spread evenly over the series, so that a small one has the share too.
    is_answerable = int((request.index + 1) * share / 100) == int(request.index * share / 100)
    place = request.draw_place()
    asked = say("purchase").format(who=people[0], thing=things[0], value=values[0])
    pairs = [(people[0], thing) for thing in things[1:]] + [(person, things[0]) for person in people[1:]]
    facts = [
        Fact(text=say("purchase").format(who=who, thing=thing, value=value), place=rng.random())
        for (who, thing), value in zip(pairs, values[1:], strict=True)
    ]
    if is_answerable:
        facts.append(Fact(text=asked, place=place, note=asked))
    return SampleDraft(
        question=say["price"].format(who=people[0], thing=things[0]),
        golds=(values[0],) if is_answerable else (ABSENT[language],),
        metric="contains" if is_answerable else "unanswerable",
        body=hide_in_essays(request, facts),
        metadata={"answerable": is_answerable, "decoys": decoys},
    )


@task("absent", "a question that the document does not answer", languages=BOTH, needles=AtLeastOne)
def build_absent(request: SampleRequest) -> SampleDraft:
    """Hide needles of other keys, and ask for a key without a needle."""
    rng, language, say = request.rng, request.language, Wordings("needle", request)
    size = request.options.get("needles", 4)
    names = draw_keys(rng, request.data_dir, language)
    asked, wording, kind = next(names), say("needle"), say["kind"][0]
    texts = (wording.format(kind=kind, key=next(names), value=draw_number(rng)) for _ in range(size))
    facts = [Fact(text=capitalize(text), place=rng.random()) for text in texts]
    return SampleDraft(
        question=say["question"][0].format(kind=kind, keys=asked),
        golds=(ABSENT[language],),
        metric="unanswerable",
        body=hide_in_essays(request, facts),
        metadata={"needles": size},
    )
