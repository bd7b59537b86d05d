"""Answers that need many places of the document, or all of it.

count    how often something happened; the occurrences are spread over the document
list     every member of a set whose members are named far apart
ledger   questions over all lines of a document that is nothing but labelled lines, as OOLONG has them:

    3 May 1871 | Ada Quill | toll | 42 marks
    4 May 1871 | Bram Marrow | repair | 17 marks

    count     how many entries have a label         most      the label with the most entries
    who       who has the most entries of a label   least     the label with the fewest

Every line of the label, or every line at all, is evidence. Where several labels or people have equally many entries,
each of them is a gold answer.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain, islice
from random import Random
from typing import TYPE_CHECKING, Final, Literal

from bookwheel.lab.tasks.assembly import AssembledDocument, count_tokens, draw_filler, length_error
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.definition import AtLeastTwo, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.material import (
    FAMILY,
    GIVEN,
    ZH_FAMILY,
    ZH_GIVEN,
    Fact,
    draw_distinct,
    draw_person,
    draw_place,
    hide_in_essays,
    write_prose,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_BIRDS: Final = ("heron", "cormorant", "petrel", "gannet", "plover", "curlew", "tern", "osprey")
_SIGHTINGS: Final = (
    "That day a {bird} was sighted off {place} by {person}.",
    "{person} noted a {bird} off {place}.",
    "A {bird} was seen off {place}; {person} signed the entry.",
    "Off {place}, {person} saw a {bird}.",
)


def build_count(request: SampleRequest) -> SampleDraft:
    """Spread sightings of one bird at one place among those of another bird and another place."""
    rng = request.rng
    times = request.read_int("times", rng.randrange(3, 13))

    def sighting(bird: str, place: str) -> str:
        return rng.choice(_SIGHTINGS).format(bird=bird, place=place, person=draw_person(rng))

    bird, other_bird = rng.sample(_BIRDS, 2)
    place, other_place = draw_place(rng), draw_place(rng)
    facts: list[Fact] = []
    for at, where in enumerate(sorted(rng.random() for _ in range(times)), start=1):
        note = f"{bird} off {place}: seen {at} times so far" if at > 1 else f"{bird} off {place}: seen once so far"
        facts.append(Fact(text=sighting(bird, place), place=where, note=note, key="count"))
    for pair in ((other_bird, place), (bird, other_place)):
        misleading = rng.randrange(2, 7)
        facts += [Fact(text=sighting(*pair), place=rng.random()) for _ in range(misleading)]
    return SampleDraft(
        question=f"How many times in all was a {bird} seen off {place}? Give the number alone.",
        golds=(str(times),),
        metric="exact",
        body=hide_in_essays(request, facts),
    )


_VISITS: Final = (
    "{person} spent a night at {place} on the way.",
    "The visitors' book of {place} has the name of {person}.",
    "At {place} they still speak of the day on which {person} came.",
    "{person} was received at {place} with music.",
    "It rained when {person} reached {place}.",
)


def build_list(request: SampleRequest) -> SampleDraft:
    """Spread the towns that one person visited among those of another person."""
    rng = request.rng
    size = request.read_int("times", rng.randrange(4, 9))
    traveller, other = (
        f"{given} {family}" for given, family in zip(rng.sample(GIVEN, 2), rng.sample(FAMILY, 2), strict=True)
    )
    towns = draw_distinct(lambda: draw_place(rng))
    visited, passed = list(islice(towns, size)), list(islice(towns, size))
    facts = [Fact(text=rng.choice(_VISITS).format(person=other, place=town), place=rng.random()) for town in passed]
    for at, where in enumerate(sorted(rng.random() for _ in visited)):
        text = rng.choice(_VISITS).format(person=traveller, place=visited[at])
        note = f"{traveller} visited: {', '.join(visited[: at + 1])}"
        facts.append(Fact(text=text, place=where, note=note, key="list"))
    return SampleDraft(
        question=f"Which towns did {traveller} visit? List all of them.",
        golds=tuple(visited),
        metric="share_of",
        body=hide_in_essays(request, facts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOptions:
    """The option of `count` and `list`."""

    times: AtLeastTwo | None = None
    """How often it happens; by default the seed says."""


_ASKS: Final = ("count", "who", "most", "least")
_PEOPLE: Final = 5
_LEAST_LINES: Final = 8
# Tokens for the closing words, which fill what no whole line fits into.
_CLOSING: Final = 12
# Lines of one piece of evidence where all lines count.
_BLOCK: Final = 16
_LABELS: Final = {
    "en": ("toll", "repair", "sale", "loan", "gift", "fine"),
    "zh": ("过路费", "修理费", "货款", "借款", "赠礼", "罚款"),
}
_SHARES: Final = (5, 4, 4, 3, 3, 2)
"""How often the labels occur, in an order of their own for each sample."""
_LINES: Final = {
    "en": "{day.day} {day:%B} {day.year} | {who} | {label} | {sum} marks\n",
    "zh": "{day.year}年{day.month}月{day.day}日｜{who}｜{label}｜{sum}文\n",
}
_CLOSINGS: Final = {"en": "Here the ledger ends. ", "zh": "账目到此为止。"}
_QUESTIONS: Final = {
    "en": {
        "count": "How many entries of the ledger are of the kind “{label}”? Give the number alone.",
        "who": "Who has the most entries of the kind “{label}” in the ledger? Give one name alone.",
        "most": "Which kind has the most entries in the ledger? Give the kind alone.",
        "least": "Which kind has the fewest entries in the ledger? Give the kind alone.",
    },
    "zh": {
        "count": "账目里“{label}”一类共有多少笔？只写数字。",
        "who": "账目里谁的“{label}”笔数最多？只写一个姓名。",
        "most": "账目里哪一类的笔数最多？只写类别。",
        "least": "账目里哪一类的笔数最少？只写类别。",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ledger."""

    text: str
    who: str
    label: str


def build_ledger(request: SampleRequest) -> SampleDraft:
    """Fill a ledger up to the length, and ask for a number, a person or a label."""
    rng, language = request.rng, request.language
    asked = str(request.options.get("ask") or rng.choice(_ASKS))
    key = request.rng.getrandbits(64)
    # What the first lines hold is asked for, so that the question is the same at every length.
    first = list(islice(_draw_entries(Random(key), language), _LEAST_LINES))  # noqa: S311 - not for secrets
    label = rng.choice(first).label
    entries, body = _fill(request, key, first)
    return SampleDraft(
        question=_QUESTIONS[language][asked].format(label=label),
        golds=_answer(entries, asked, label),
        metric="exact",
        body=AssembledDocument(
            pieces=body.pieces, tokens=body.tokens, evidence=tuple(_find_evidence(entries, asked, label))
        ),
        metadata={"ask": asked, "entries": len(entries)},
    )


def _draw_entries(rng: Random, language: str) -> Iterator[Entry]:
    if language == "zh":
        people = [name + rng.choice(ZH_GIVEN) for name in rng.sample(ZH_FAMILY, _PEOPLE)]
    else:
        people = [f"{name} {rng.choice(FAMILY)}" for name in rng.sample(GIVEN, _PEOPLE)]
    labels = rng.sample(_LABELS[language], len(_SHARES))
    day = date(1871, 1, 1)
    while True:
        # Some lines have the same day. The calendar starts again before the last year that a date can have.
        day = day + timedelta(days=rng.randrange(3)) if day.year < 9000 else date(1871, 1, 1)  # noqa: PLR2004
        who, label = rng.choice(people), rng.choices(labels, _SHARES)[0]
        text = _LINES[language].format(day=day, who=who, label=label, sum=rng.randrange(2, 900))
        yield Entry(text=text, who=who, label=label)


def _fill(request: SampleRequest, key: int, first: Sequence[Entry]) -> tuple[list[Entry], AssembledDocument]:
    """Return the entries that fit, and the document: their lines, and closing words that fill the rest."""
    closing = _CLOSINGS[request.language]
    least = count_tokens([*(entry.text for entry in first), closing], request.tokenizer) + _CLOSING
    if least > request.tokens:
        raise length_error(request.task, request.tokens, least)
    stream = (entry.text for entry in _draw_entries(Random(key), request.language))  # noqa: S311 - not for secrets
    lines = draw_filler(stream, request.tokens - _CLOSING, request.tokenizer).units
    # The last line may be cut, and joined lines may have more tokens than their sum.
    for spared in range(1, len(lines)):
        kept = lines[: len(lines) - spared]
        remarks = write_prose(request.language, Random(key))  # noqa: S311 - not for secrets
        body = request.assemble(chain(kept, [closing], remarks))
        if "".join(body.pieces).startswith("".join(kept)):
            break
    again = _draw_entries(Random(key), request.language)  # noqa: S311 - not for secrets
    return list(islice(again, len(kept))), body


def _answer(entries: Sequence[Entry], asked: str, label: str) -> tuple[str, ...]:
    of_label = [entry for entry in entries if entry.label == label]
    if asked == "count":
        return (str(len(of_label)),)
    counts = Counter(entry.who for entry in of_label) if asked == "who" else Counter(one.label for one in entries)
    extreme = min(counts.values()) if asked == "least" else max(counts.values())
    return tuple(sorted(name for name, count in counts.items() if count == extreme))


def _find_evidence(entries: Sequence[Entry], asked: str, label: str) -> Iterator[GoldEvidence]:
    """Yield the lines that count, with the counts so far as their note."""
    is_of_label = asked in {"count", "who"}
    counts: Counter[str] = Counter()
    start, offset, lines = 0, 0, 0
    for number, entry in enumerate(entries, start=1):
        start, offset = (offset if not lines else start), offset + len(entry.text)
        if is_of_label and entry.label != label:
            continue
        counts[entry.who if asked == "who" else entry.label] += 1
        lines += 1
        if is_of_label or lines == _BLOCK or number == len(entries):
            note = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
            yield GoldEvidence(start=start, end=offset - 1, note=note, key="counts")
            lines = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """The option of `ledger`."""

    ask: Literal["count", "who", "most", "least"] | None = None
    """What is asked for; by default the seed says."""


TASKS: Final = (
    Task(name="count", description="how often something happened in all", build=build_count, options=CountOptions),
    Task(name="list", description="every town that someone visited", build=build_list, options=CountOptions),
    Task(
        name="ledger",
        description="counts over all lines of a ledger: how many, who most, which label most or least",
        build=build_ledger,
        languages=("en", "zh"),
        options=AskOptions,
    ),
)
