"""Facts that are told in many places of a document, change on the way, or contradict each other.

count       how often something happened; the occurrences are spread over the document
list        every member of a set whose members are named far apart
updated     a figure is changed several times; the last value wins
conflict    two sources give different figures and nothing decides between them: both are asked for
"""

from itertools import islice

from bookwheel.lab.tasks.definition import AtLeastOne, AtLeastTwo, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import (
    Fact,
    Wordings,
    capitalize,
    draw_distinct,
    draw_number,
    draw_people,
    draw_person,
    draw_place,
    hide_in_essays,
    list_words,
    spread,
)


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
