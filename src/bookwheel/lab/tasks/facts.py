"""Facts that only together answer the question: told in many places, changing on the way, or linked to each other.

count         how often something happened; the occurrences are spread over the document
list          every member of a set whose members are named far apart
updated       a figure is changed several times; the last value wins
conflict      two sources give different figures and nothing decides between them: both are asked for
association   who has a trade? The document names the tools in somebody's house, never the trade: no word is shared
walk          roads lead from place to place; where does a walk over several end? Only its first place is asked for by
              name, and the roads stand in any order
bridge        the document first says who lives where, and much later who owns the ship that the question is about; a
              perfect memory keeps all candidates until then
code          a folder of Python files under lines with their paths: half of the samples ask for the value that a
              function returns, which is a constant of another file, the other half for all functions that call one
"""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import SourcePassage
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.definition import BOTH, AtLeastOne, AtLeastTwo, Percent, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import (
    GAPS,
    Fact,
    Wordings,
    capitalize,
    coin_word,
    draw_distinct,
    draw_number,
    draw_people,
    draw_person,
    draw_place,
    hide_in_essays,
    list_words,
    spread,
)
from bookwheel.schema import Ge, Le


@task("count", "how often something happened in all", times=AtLeastTwo)
def build_count(request: SampleRequest) -> SampleDraft:
    """Spread sightings of one bird at one place among those of another bird and another place."""
    rng, say = request.rng, Wordings("count", request)
    times: int = request.options.get("times", rng.randrange(3, 13))

    def sighting(bird: str, place: str) -> str:
        return str(say("sighting").format(bird=bird, place=place, person=draw_person(rng)))

    bird, other_bird = rng.sample(say["bird"], 2)
    place, other_place = draw_place(rng), draw_place(rng)

    def tell(at: int) -> tuple[str, str]:
        return sighting(bird, place), f"{bird} off {place}: seen {f'{at + 1} times' if at else 'once'} so far"

    facts = spread(rng, times, tell, "count")
    for pair in ((other_bird, place), (bird, other_place)):
        misleading = rng.randrange(2, 7)
        facts += [Fact(text=sighting(*pair), place=rng.random()) for _ in range(misleading)]
    return SampleDraft(
        question=f"How many times in all was a {bird} seen off {place}? Give the number alone.",
        golds=(str(times),),
        metric="exact",
        body=hide_in_essays(request, facts),
    )


@task("list", "every town that someone visited", times=AtLeastTwo)
def build_list(request: SampleRequest) -> SampleDraft:
    """Spread the towns that one person visited among those of another person."""
    rng, say = request.rng, Wordings("count", request)
    size: int = request.options.get("times", rng.randrange(4, 9))
    traveller, other = draw_people(rng, "en", 2)
    towns = draw_distinct(lambda: draw_place(rng))
    visited, passed = list(islice(towns, size)), list(islice(towns, size))

    def tell(at: int) -> tuple[str, str]:
        text = say("visit").format(person=traveller, place=visited[at])
        return text, f"{traveller} visited: {', '.join(visited[: at + 1])}"

    facts = [Fact(text=say("visit").format(person=other, place=town), place=rng.random()) for town in passed]
    return SampleDraft(
        question=f"Which towns did {traveller} visit? List all of them.",
        golds=tuple(visited),
        metric="share_of",
        body=hide_in_essays(request, facts + spread(rng, size, tell, "list")),
    )


@task("updated", "a figure changed several times: the last value wins", changes=AtLeastOne)
def build_updated(request: SampleRequest) -> SampleDraft:
    """Change one figure several times, beside another figure with changes of its own."""
    rng, say = request.rng, Wordings("change", request)
    changes: int = request.options.get("changes", 4)
    shape = say("subject")
    subject, other = (shape.format(place=draw_place(rng)) for _ in range(2))
    drawn = draw_distinct(lambda: draw_number(rng, 4))
    values, others = list(islice(drawn, changes + 1)), list(islice(drawn, changes + 1))

    def tell(name: str, figures: list[str]) -> list[Fact]:
        def change(at: int) -> tuple[str, str]:
            text = capitalize(say("then" if at else "first").format(subject=name, value=figures[at]))
            return text, f"{name}: {figures[at]}" if name == subject else ""

        return spread(rng, len(figures), change, name)

    return SampleDraft(
        question=f"What is {subject} according to the last word on it? Give the figure alone.",
        golds=(values[changes],),
        metric="exact",
        body=hide_in_essays(request, tell(subject, values) + tell(other, others)),
        metadata={"changes": changes},
    )


@task("conflict", "two sources that differ: both figures are asked for")
def build_conflict(request: SampleRequest) -> SampleDraft:
    """Make two statements about one thing, and one about another."""
    rng, say = request.rng, Wordings("change", request)
    parts, shape = say("counted")
    thing, other = (shape.format(place=draw_place(rng)) for _ in range(2))
    sources = [
        source.format(place=draw_place(rng), family=family)
        for source, family in zip(rng.sample(say["source"], 3), rng.sample(list_words("family"), 3), strict=True)
    ]
    values = [str(value) for value in rng.sample(range(21, 400), 3)]
    facts: list[Fact] = []
    # The third is there to mislead.
    for about, source, value in zip((thing, thing, other), sources, values, strict=True):
        text = capitalize(say("says").format(source=source, thing=about, value=value, parts=parts))
        note = f"{parts} of {thing}: {value} ({source})" if about == thing else ""
        facts.append(Fact(text=text, place=rng.random(), note=note))
    return SampleDraft(
        question=f"How many {parts} does {thing} have? Should sources differ, give each figure with its source.",
        golds=tuple(values[:2]),
        metric="all_of",
        body=hide_in_essays(request, facts),
        metadata={"sources": sources[:2]},
    )


@task(
    "association",
    "who has a trade, told by tools alone: no word is shared with the question",
    languages=BOTH,
    people=Annotated[int, Ge(2), Le(12)],
    depth=Percent,
)
def build_association(request: SampleRequest) -> SampleDraft:
    """Describe the houses of several people by the tools in them, and ask who has one trade."""
    rng, language, say = request.rng, request.language, Wordings("link", request)
    trades, size = say["trade"], request.options.get("people", 6)
    if size > len(trades):
        raise InputError(f"the option people of association is at most {len(trades)} in {language}, not {size}")
    chosen = rng.sample(sorted(trades), size)
    # No two names share a part.
    parts = [rng.sample(list_words(kind, language), size) for kind in ("family", "given")]
    people = [GAPS[language].join(names if language == "zh" else names[::-1]) for names in zip(*parts, strict=True)]
    facts: list[Fact] = []
    for trade, person in zip(chosen, people, strict=True):
        text = say("house").format(person=person, tools=rng.choice(trades[trade]))
        place = rng.random() if facts else request.draw_place()
        facts.append(Fact(text=text, place=place, note="" if facts else text))
    return SampleDraft(
        question=say["question"].format(trade=chosen[0]),
        golds=(people[0],),
        metric="exact",
        body=hide_in_essays(request, facts),
        metadata={"people": size},
    )


@task(
    "walk",
    "where a walk over several roads ends; the roads stand in any order",
    steps=AtLeastOne,
    strays=AtLeastOne,
)
def build_walk(request: SampleRequest) -> SampleDraft:
    """Lay roads between made-up places, and ask where a walk over some of them ends."""
    rng, say = request.rng, Wordings("link", request)
    steps, strays = request.options.get("steps", 3), request.options.get("strays", 6)
    places = draw_distinct(lambda: draw_place(rng))
    path, others = list(islice(places, steps + 1)), list(islice(places, strays))
    walk = [say("road_name") for _ in range(steps)]

    def lay(start: str, road: str, end: str, *, is_walked: bool = False) -> Fact:
        text = say("road").format(start=start, road=road, end=end)
        return Fact(text=text, place=rng.random(), note=text if is_walked else "")

    facts = [lay(start, road, end, is_walked=True) for start, road, end in zip(path, walk, path[1:], strict=False)]
    # At every place of the walk another road leads astray.
    for start, taken in zip(path, walk, strict=False):
        road = rng.choice([name for name in say["road_name"] if name != taken])
        facts.append(lay(start, road, rng.choice(others)))
    facts += [lay(start, say("road_name"), rng.choice(path)) for start in others]
    listed = ", then ".join(f"the {road} road" for road in walk)
    return SampleDraft(
        question=f"Someone starts at {path[0]} and takes {listed}. At which place "
        "does the walk end? Give its name alone.",
        golds=(path[-1],),
        metric="exact",
        body=hide_in_essays(request, facts),
        metadata={"steps": steps, "strays": strays},
    )


@task("bridge", "a fact told before it matters", candidates=AtLeastTwo)
def build_bridge(request: SampleRequest) -> SampleDraft:
    """Name the residents in the first half, and the owner in the second."""
    rng, say = request.rng, Wordings("link", request)
    size = request.options.get("candidates", 6)
    people: dict[str, str] = {}
    while len(people) < size:
        people[draw_person(rng)] = draw_place(rng)
    ship = coin_word(rng).capitalize()
    owner = rng.choice(list(people))
    facts = [
        Fact(
            text=say("lives").format(person=person, place=place),
            place=rng.uniform(0, 0.45),
            note=f"{person} lives at {place}",
            key=person,
        )
        for person, place in people.items()
    ]
    facts.append(
        Fact(
            text=say("owns").format(person=owner, ship=ship),
            place=rng.uniform(0.55, 1),
            note=f"{owner} owns the ship {ship} and lives at {people[owner]}",
            replaces=tuple(people),
        )
    )
    return SampleDraft(
        question=f"Where does the owner of the ship {ship} live?",
        golds=(people[owner],),
        metric="contains",
        body=hide_in_essays(request, facts),
        metadata={"candidates": size},
    )


@task("code", "definitions and uses across a folder of code", callers=AtLeastOne)
def build_code(request: SampleRequest) -> SampleDraft:
    """Return a folder of files, a few of which matter."""
    rng, code = request.rng, _Code(request)
    asked = next(code.names)
    if code.asks_for_value:
        constant, value = f"{coin_word(rng)}_limit".upper(), draw_number(rng, 5)
        used = f"def {asked}() -> int:\n    return {constant}"
        question, golds, metric = f"What number does a call of `{asked}()` return?", [value], "contains"
        passages = [
            code.draw_file(f"{constant} = {value}", note=f"{constant} is {value}"),
            code.draw_file(used, note=f"{asked}() returns {constant}"),
        ]
    else:
        golds = [next(code.names) for _ in range(request.options.get("callers", rng.randrange(2, 6)))]
        question, metric = f"Which functions call `{asked}`? Name all of them.", "share_of"
        passages = [code.draw_file(code.draw_function(asked))]
        for caller in golds:
            text = f"def {caller}(items: list[int]) -> int:\n    return {asked}(items) + {rng.randrange(2, 90)}"
            passages.append(code.draw_file(text, note=f"{caller} calls {asked}"))
    return SampleDraft(
        question=question,
        golds=tuple(golds),
        metric=metric,
        body=request.assemble(code.draw_files(), passages),
    )


class _Code:
    """Made-up functions, and the files that they stand in."""

    def __init__(self, request: SampleRequest) -> None:
        self._rng, self._say = request.rng, Wordings("link", request)
        self.names = draw_distinct(lambda: f"{self._say('verb')}_{coin_word(self._rng)}")
        self.asks_for_value = self._rng.random() < 0.5  # noqa: PLR2004 - half of the samples

    def draw_function(self, name: str) -> str:
        body = self._say("body").format(number=self._rng.randrange(2, 90))
        return f"def {name}(items: list[int]) -> int:\n{body}".rstrip()

    def draw_file(self, core: str, *, note: str = "") -> SourcePassage:
        """Return a file with another function before the code that matters."""
        path = self._draw_path()
        before = f"# file: {path}\n\n{self.draw_function(next(self.names))}\n\n\n"
        evidence = GoldEvidence(start=len(before), end=len(before) + len(core), note=f"{path}: {note}")
        text = f"{before}{core}\n\n\n"
        return SourcePassage(text=text, evidence=(evidence,) if note else (), place=self._rng.random())

    def draw_files(self) -> Iterator[str]:
        """Yield files in which nothing matters, forever."""
        while True:
            size = self._rng.randrange(2, 4)
            functions = "\n\n\n".join(self.draw_function(next(self.names)) for _ in range(size))
            yield f"# file: {self._draw_path()}\n\n{functions}\n\n\n"

    def _draw_path(self) -> str:
        return f"{self._say('folder')}/{coin_word(self._rng)}.py"
