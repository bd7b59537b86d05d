"""Facts of a graph: subject, relation, object, since, until; a table of `collect` read as nodes and edges.

    Ada Quill   works for    Harbour Office    since 1911, until 1920     "From 1911 Ada Quill worked for …"
    Ada Quill   works for    Lloyd's           since 1920

Names that the rows say are the same are one node, under the longest name. A fact that a later one takes the place of is
kept, with its end: where a text says no end itself, only relations that hold for one thing at a time end so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from bookwheel.tables.columns import Column, Kind, TableRequest
from bookwheel.text.ranking import find_stems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.tables.table import Place, Table, TableRow

NAMES: Final = ("subject", "relation", "object", "since", "until")
SENTENCE: Final = "every fact: who or what stands in which relation to whom or what"
REQUEST: Final = TableRequest(
    sentence=SENTENCE,
    is_written=True,
    columns=(
        Column(name="subject", about="full name of who or what the fact is about; never a pronoun or a role alone"),
        Column(name="relation", about='a few words, such as works for, born in, owns; "same as" for another name'),
        Column(name="object", about="full name, or the value"),
        Column(name="since", about="from when it holds, where the text says so", kind=Kind.DATE),
        Column(name="until", about="until when it held, where the text says so", kind=Kind.DATE),
    ),
)
_SAME: Final = re.compile(
    r"(?:is |was )?(?:the )?(?:same(?: person| thing)? as|also (?:called|known as|named)|alias(?: of)?|a\.?k\.?a\.?|"
    r"short for|stands for|nicknamed)|即|又[名称]|简称|也叫|同一人",
    re.IGNORECASE,
)
# A company has many directors, and one who manages it.
_OFFICES: Final = (
    r"(?:keeper|mayor|president|(?:managing|executive|artistic|musical) director|chief|captain|head|"
    r"chair(?:man|woman|person)?|owner)"
)
_OF_OBJECT: Final = re.compile(
    rf"\b(?:heads?|headed|leads?|led|chairs?|chaired|captain(?:s|ed)|manage[sd]?|runs?|ran|owns?|owned(?! by)|"
    rf"presid(?:es|ed) over|{_OFFICES} (?:of|at))\b(?! by\b)|主管|领导|拥有",
    re.IGNORECASE,
)
"""Who is the one: the committee has one at a time who chairs it, and somebody may chair two."""
_OF_SUBJECT: Final = re.compile(
    r"\b(?:live[sd]?|living|reside[sd]?|based|headquartered|work(?:s|ed|ing)? (?:for|at|as)|employed|costs?|priced?|"
    r"status|position|office|rank|title|married|spouse|(?:owned|managed|headed|led|chaired|run) by)\b|"
    r"住在|位于|任职|担任|现任|价格|状态|配偶",
    re.IGNORECASE,
)
"""Whose one it is: somebody lives in one place at a time, and a committee is chaired by one."""
_OFFICE: Final = re.compile(
    rf"(?:{_OFFICES}|[\u4e00-\u9fff]{{0,4}}(?:总经理|董事长|经理|厂长|校长|院长|会长|主席|主任|社长|局长|市长|县长|船长|总监))",
    re.IGNORECASE,
)
"""An office alone, which is said either way round: of its two ends, the one with fewer values is where it is held."""
_ARTICLE: Final = re.compile(r"^(?:the|a|an)\s+")
_YEAR: Final = re.compile(r"\b(1\d{3}|20\d{2})\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFact:
    """An edge of the graph."""

    subject: str
    """The name of its node, as is `object`."""
    relation: str
    object: str
    since: str = ""
    """As the text writes it, as is `until`."""
    until: str = ""
    is_superseded: bool = False
    """A later fact takes its place; `until` is then the later one's beginning, where the text says no end itself."""
    is_proven: bool = True
    places: tuple[Place, ...] = ()
    row: str = ""
    """The id of its row."""

    @property
    def quote(self) -> str:
        """The words that it rests on first."""
        return self.places[0].quote if self.places else ""

    @property
    def begins(self) -> str:
        """Since when, so that earlier times sort before later ones: a date or a year, or the text itself."""
        return _read_time(self.since)

    @property
    def ends(self) -> str:
        """Until when, as `begins` has it."""
        return _read_time(self.until)

    def describe_time(self) -> str:
        """Return when it holds, in a few signs; empty where nothing is said."""
        return f"{self.since or '…'}–{self.until}" if self.until else f"since {self.since}" if self.since else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactGraph:
    """Nodes by name, with their other names, and the facts between them in the document's order."""

    facts: tuple[GraphFact, ...]
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By the name of a node, its other names."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of all nodes, in the order in which facts name them."""
        return tuple(dict.fromkeys(name for fact in self.facts for name in (fact.subject, fact.object)))


def is_graph(table: Table) -> bool:
    """Return whether a table has the columns of a graph."""
    return tuple(column.name for column in table.columns) == NAMES


def build_graph(table: Table) -> FactGraph:
    """Return the graph that the rows of a table say."""
    rows = [row for row in table.rows if row.cells[0] and row.cells[1] and row.cells[2]]
    names = _Names()
    for row in rows:
        subject, relation, other = (cell or "" for cell in row.cells[:3])
        names.add(subject)
        names.add(other)
        if _SAME.fullmatch(relation.strip()):
            names.join(subject, other)
    facts: dict[tuple[str, ...], GraphFact] = {}
    for row in rows:
        if _SAME.fullmatch((row.cells[1] or "").strip()):
            continue
        fact = _make_fact(row, names)
        key = (fact.subject, fact.relation.casefold(), fact.object, _read_time(fact.since), _read_time(fact.until))
        same = facts.setdefault(key, fact)
        if same is not fact:
            facts[key] = _join(same, fact)
    return FactGraph(facts=tuple(_end_superseded([*facts.values()])), aliases=names.list_aliases())


def _make_fact(row: TableRow, names: _Names) -> GraphFact:
    subject, relation, other, since, until = (cell or "" for cell in row.cells)
    return GraphFact(
        subject=names.find(subject),
        relation=" ".join(relation.split()),
        object=names.find(other),
        since=since,
        until=until,
        is_proven=row.is_proven or row.is_by_hand,
        places=tuple(row.places),
        row=row.id,
    )


def _join(one: GraphFact, other: GraphFact) -> GraphFact:
    places = tuple(dict.fromkeys((*one.places, *other.places)))
    return replace(one, is_proven=one.is_proven or other.is_proven, places=places)


def _end_superseded(facts: Sequence[GraphFact]) -> Iterator[GraphFact]:
    """Yield the facts; one whose place a later one takes has its end."""
    groups: dict[tuple[str, ...], list[tuple[str, GraphFact]]] = {}
    places = {id(fact): _find_place(fact, facts) for fact in facts if fact.since}
    for fact in facts:
        if place := places.get(id(fact)):
            groups.setdefault(place, []).append((_read_time(fact.since), fact))
    for fact in facts:
        begins, group = _read_time(fact.since), groups.get(places.get(id(fact), ()), ())
        ends = (fact.subject, fact.object)
        later = [(time, one.since) for time, one in group if (one.subject, one.object) != ends and time > begins]
        takes_over = min(later, default=None)
        if takes_over and not (fact.until and _read_time(fact.until) <= takes_over[0]):
            yield replace(fact, until=fact.until or takes_over[1], is_superseded=True)
        else:
            yield fact


def _find_place(fact: GraphFact, facts: Sequence[GraphFact]) -> tuple[str, ...]:
    """Return what only one fact holds at a time: a thing that has one head, somebody who has one home; else nothing."""
    words = " ".join(sorted(find_stems(fact.relation))) or fact.relation.casefold()
    is_of_object = bool(_OF_OBJECT.search(fact.relation))
    if not is_of_object and _OFFICE.fullmatch(fact.relation):
        same = [one for one in facts if one.relation.casefold() == fact.relation.casefold()]
        subjects, objects = ({one.subject for one in same}, {one.object for one in same})
        if len(subjects) == len(objects):
            return ()  # Nothing tells which end is the office.
        is_of_object = len(objects) < len(subjects)
    elif not is_of_object and not _OF_SUBJECT.search(fact.relation):
        return ()
    return (fact.object, words, "of") if is_of_object else (fact.subject, words)


def _read_time(text: str) -> str:
    """Return a time so that earlier ones sort before later ones: a date, else a year, else the text itself."""
    date = Column(name="", kind=Kind.DATE).normalize(text)
    if date:
        return str(date)
    year = _YEAR.search(text)
    return year[1] if year else text


class _Names:
    """Names of nodes: those that say the same are one, under the longest."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._written: dict[str, list[str]] = {}

    def add(self, name: str) -> str:
        key = _ARTICLE.sub("", " ".join(name.casefold().split()).strip(" .,;:\"'“”"))
        self._parents.setdefault(key, key)
        forms = self._written.setdefault(key, [])
        if name.casefold() not in {form.casefold() for form in forms}:
            forms.append(name)
        return key

    def join(self, one: str, other: str) -> None:
        first, second = self._root(self.add(one)), self._root(self.add(other))
        if first != second:
            self._parents[second] = first
            self._written[first] = list(dict.fromkeys((*self._written[first], *self._written[second])))

    def find(self, name: str) -> str:
        return self._choose(self._root(self.add(name)))

    def list_aliases(self) -> dict[str, tuple[str, ...]]:
        """Return the other names of each node that has any."""
        roots = [key for key, parent in self._parents.items() if key == parent]
        named = {self._choose(root): self._written[root] for root in roots}
        return {name: tuple(form for form in forms if form != name) for name, forms in named.items() if len(forms) > 1}

    def _root(self, key: str) -> str:
        while self._parents[key] != key:
            self._parents[key] = self._parents[self._parents[key]]
            key = self._parents[key]
        return key

    def _choose(self, root: str) -> str:
        # The longest says most; of those as long, the first.
        return max(self._written[root], key=len)


def count_facts(facts: Sequence[GraphFact]) -> dict[str, int]:
    """Return how many facts there are, and how many are superseded or unproven."""
    return {
        "facts": len(facts),
        "superseded": sum(fact.is_superseded for fact in facts),
        "unproven": sum(not fact.is_proven for fact in facts),
    }
