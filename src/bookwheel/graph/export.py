"""A graph as files: GraphML, JSON-LD, N-Quads, CSV for Neo4j; and for networkx. No graph server is needed.

Each edge keeps what it rests on: quote, file, page, characters, and whether it is proven or superseded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2s
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote
from xml.etree import ElementTree as ET

from typing_extensions import TypedDict

from bookwheel.errors import explain_failure
from bookwheel.graph.around import rank_facts
from bookwheel.graph.facts import FactGraph, GraphFact, count_facts
from bookwheel.tables.files import check_format, write_table
from bookwheel.tables.table import Place, Table
from bookwheel.text.sanitize import sanitize


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
        "nodes": [
            {"name": name, "aliases": list(graph.aliases.get(name, ())), "facts": number}
            for name, number in Counter(
                end for fact in facts for end in dict.fromkeys((fact.subject, fact.object))
            ).items()
        ],
        "facts": [fact_to_json(fact) for fact in facts],
        "count": counts["facts"],
        "superseded": counts["superseded"],
        "unproven": counts["unproven"],
        "notes": table.list_notes(),
    }


def fact_to_json(fact: GraphFact) -> FactJson:
    place = fact.places[0] if fact.places else Place(quote="", start=None, end=None, step=0)
    names = ("subject", "relation", "object", "since", "until", "begins", "ends")
    values = {name: getattr(fact, name) for name in names}
    values |= {"superseded": fact.is_superseded, "proven": fact.is_proven, "quote": fact.quote}
    values |= {name: getattr(place, name) for name in ("source", "page", "start", "end")}
    return cast("FactJson", {**values, "places": len(fact.places), "row": fact.row})


_BASE: Final = "urn:bookwheel:"
_GRAPHML: Final = "http://graphml.graphdrawing.org/xmlns"
_LEFT_OUT: Final = frozenset({"subject", "object", "begins", "ends", "row"})
_SIGNS: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_NUMBERS: Final = frozenset({"page", "start", "end", "places"})


def check_target(path: Path) -> None:
    """Raise InputError where the name of a file says no format of a graph."""
    check_format(path, _WRITERS, "graph")


def write_graph(graph: FactGraph, path: str | Path) -> list[Path]:
    """Write a graph in the format that the file's name says; return the files. CSV is two: of nodes and of edges."""
    path = Path(path)
    check_target(path)
    with explain_failure(path, "written"):
        return _WRITERS[path.suffix.lower()](graph, path)


def to_networkx(graph: FactGraph) -> Any:
    """Return a networkx MultiDiGraph; networkx is yours to install."""
    made = import_module("networkx").MultiDiGraph()
    for name in graph.nodes:
        made.add_node(name, aliases="; ".join(graph.aliases.get(name, ())))
    for fact in graph.facts:
        made.add_edge(fact.subject, fact.object, **_describe(fact))
    return made


def _describe(fact: GraphFact) -> dict[str, str | int | bool]:
    """Return what an edge says, without its ends and what nobody knows."""
    values: dict[str, Any] = {**fact_to_json(fact)}
    return {
        name: value for name, value in values.items() if name not in _LEFT_OUT and value is not None and value != ""
    }


def _write_graphml(graph: FactGraph, path: Path) -> list[Path]:
    root = ET.Element("graphml", xmlns=_GRAPHML)
    names = ("relation", "since", "until", "superseded", "proven", "quote", "source", "page", "start", "end", "places")
    for target, keys in (("node", ("label", "aliases")), ("edge", names)):
        for name in keys:
            kind = "int" if name in _NUMBERS else "boolean" if name in {"superseded", "proven"} else "string"
            about = {"id": f"{target}_{name}", "for": target, "attr.name": name, "attr.type": kind}
            ET.SubElement(root, "key", about)
    body = ET.SubElement(root, "graph", edgedefault="directed")
    ids = {name: f"n{number}" for number, name in enumerate(graph.nodes)}
    for name, id_ in ids.items():
        node = ET.SubElement(body, "node", id=id_)
        _add_data(node, "node", {"label": name, "aliases": "; ".join(graph.aliases.get(name, ()))})
    for number, fact in enumerate(graph.facts):
        ends = {"id": f"e{number}", "source": ids[fact.subject], "target": ids[fact.object]}
        _add_data(ET.SubElement(body, "edge", ends), "edge", _describe(fact))
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return [path]


def _add_data(element: ET.Element, target: str, values: Mapping[str, str | int | bool]) -> None:
    for name, value in values.items():
        if value != "":
            data = ET.SubElement(element, "data", key=f"{target}_{name}")
            # XML has no control characters and no lone surrogates.
            text = str(value).lower() if isinstance(value, bool) else sanitize(str(value))
            data.text = text.encode("utf-8", "replace").decode()


def _name_node(name: str) -> str:
    return f"{_BASE}node/{quote(name.encode('utf-8', 'replace'), safe='')}"


def _name_relation(relation: str) -> str:
    return f"{_BASE}relation/{quote('-'.join(relation.casefold().split()).encode('utf-8', 'replace'), safe='')}"


def _name_fact(fact: GraphFact) -> str:
    words = f"{fact.subject}\x1f{fact.relation}\x1f{fact.object}\x1f{fact.since}\x1f{fact.until}"
    return f"{_BASE}fact/{blake2s(words.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def _write_json_ld(graph: FactGraph, path: Path) -> list[Path]:
    nodes = [
        {"@id": _name_node(name), "name": name, **({"alternateName": list(others)} if others else {})}
        for name in graph.nodes
        for others in [graph.aliases.get(name, ())]
    ]
    facts = [
        {
            "@id": _name_fact(fact),
            "@type": "rdf:Statement",
            "subject": {"@id": _name_node(fact.subject)},
            "predicate": {"@id": _name_relation(fact.relation)},
            "object": {"@id": _name_node(fact.object)},
            **_describe(fact),
        }
        for fact in graph.facts
    ]
    context = {
        "@vocab": f"{_BASE}term/",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "name": "https://schema.org/name",
        "alternateName": "https://schema.org/alternateName",
        **{word: f"rdf:{word}" for word in ("subject", "predicate", "object")},
    }
    # In ASCII: signs that a terminal obeys, or that turn the text around, are escaped.
    path.write_text(json.dumps({"@context": context, "@graph": [*nodes, *facts]}, indent=1), encoding="ascii")
    return [path]


def _write_quads(graph: FactGraph, path: Path) -> list[Path]:
    """Write each fact as a quad whose graph is the fact, and what is said of the fact in the default graph."""
    lines = []
    for name in graph.nodes:
        for other in (name, *graph.aliases.get(name, ())):
            term = "name" if other == name else "alternateName"
            lines.append(f"<{_name_node(name)}> <https://schema.org/{term}> {_literal(other)} .")
    for fact in graph.facts:
        id_ = f"<{_name_fact(fact)}>"
        ends = f"<{_name_node(fact.subject)}> <{_name_relation(fact.relation)}> <{_name_node(fact.object)}>"
        lines.append(f"{ends} {id_} .")
        lines += [f"{id_} <{_BASE}term/{name}> {_literal(value)} ." for name, value in _describe(fact).items()]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="replace")
    return [path]


def _literal(value: str | int | bool) -> str:
    kind = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text.encode("utf-8", "replace").decode()
    quoted = '"' + "".join(_SIGNS.get(sign) or _show(sign) for sign in text) + '"'
    return f"{quoted}^^<http://www.w3.org/2001/XMLSchema#{kind}>" if kind else quoted


def _show(sign: str) -> str:
    return sign if sign.isprintable() else f"\\U{ord(sign):08X}"


def _write_neo4j(graph: FactGraph, path: Path) -> list[Path]:
    """Write nodes and edges with the headers that `neo4j-admin database import` expects."""
    ids = {name: f"n{number}" for number, name in enumerate(graph.nodes)}
    nodes = [
        {":ID": id_, "name": name, "aliases": "; ".join(graph.aliases.get(name, ())), ":LABEL": "Thing"}
        for name, id_ in ids.items()
    ]
    edges = [
        {":START_ID": ids[fact.subject], ":END_ID": ids[fact.object], **_describe(fact), ":TYPE": "FACT"}
        for fact in graph.facts
    ]
    files = [path.with_name(f"{path.stem}.{part}{path.suffix}") for part in ("nodes", "edges")]
    write_table(files[0], nodes, (":ID", "name", "aliases", ":LABEL"))
    write_table(files[1], edges, (":START_ID", ":END_ID", "relation", "since", "until", "quote", ":TYPE"))
    return files


_WRITERS: Final[Mapping[str, Callable[[FactGraph, Path], list[Path]]]] = {
    ".graphml": _write_graphml,
    ".jsonld": _write_json_ld,
    ".nq": _write_quads,
    ".csv": _write_neo4j,
}
