"""The JSON of a graph: the same on the command line, over HTTP, and on the page."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from bookwheel.graph.around import rank_facts
from bookwheel.graph.facts import count_facts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.graph.facts import FactGraph, GraphFact
    from bookwheel.tables.table import Table


class NodeJson(TypedDict):
    """A node."""

    name: str
    aliases: list[str]
    """Its other names."""
    facts: int
    """How many of the facts that are shown name it."""


class FactJson(TypedDict):
    """An edge; `row` is the id by which it is edited, as a row of a table."""

    subject: str
    relation: str
    object: str
    since: str
    until: str
    """As the text writes it, as is `since`; empty where nothing is said."""
    begins: str
    ends: str
    """As `begins`: a date or a year where the text has one, so that times can be compared as texts."""
    superseded: bool
    proven: bool
    quote: str
    source: str
    page: int | None
    start: int | None
    end: int | None
    places: int
    row: str


class FactGraphJson(TypedDict):
    """A graph, or the part of it that was asked for."""

    reading: str
    status: str
    nodes: list[NodeJson]
    """Those that the facts name."""
    facts: list[FactJson]
    count: int
    """Of all facts, as are the two numbers that follow."""
    superseded: int
    unproven: int
    notes: list[str]


def graph_to_json(graph: FactGraph, table: Table, *, around: str = "", limit: int | None = None) -> FactGraphJson:
    """Return a graph; of a large one so many facts, with `around` those nearest to these words."""
    facts = list(islice(rank_facts(graph, around) if around else graph.facts, limit))
    counts = count_facts(graph.facts)
    return {
        "reading": table.reading.id,
        "status": str(table.reading.status),
        "nodes": _list_nodes(graph, facts),
        "facts": [fact_to_json(fact) for fact in facts],
        "count": counts["facts"],
        "superseded": counts["superseded"],
        "unproven": counts["unproven"],
        "notes": table.list_notes(),
    }


def _list_nodes(graph: FactGraph, facts: Iterable[GraphFact]) -> list[NodeJson]:
    named = Counter(name for fact in facts for name in dict.fromkeys((fact.subject, fact.object)))
    return [
        {"name": name, "aliases": list(graph.aliases.get(name, ())), "facts": number} for name, number in named.items()
    ]


def fact_to_json(fact: GraphFact) -> FactJson:
    """Return an edge."""
    place = fact.places[0] if fact.places else None
    return {
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "since": fact.since,
        "until": fact.until,
        "begins": fact.begins,
        "ends": fact.ends,
        "superseded": fact.is_superseded,
        "proven": fact.is_proven,
        "quote": fact.quote,
        "source": place.source if place else "",
        "page": place.page if place else None,
        "start": place.start if place else None,
        "end": place.end if place else None,
        "places": len(fact.places),
        "row": fact.row,
    }
