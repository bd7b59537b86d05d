"""Facts of a graph: subject, relation, object, since, until; a table of `collect` read as nodes and edges.

    Ada Quill   works for    Harbour Office    since 1911, until 1920     "From 1911 Ada Quill worked for …"
    Ada Quill   works for    Lloyd's           since 1920

Names that the rows say are the same are one node, under the longest name. A fact that a later one takes the place of is
kept, with its end: where a text says no end itself, only relations that hold for one thing at a time end so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bookwheel.tables.columns import Column, Kind, TableRequest
from bookwheel.text import lexicon

if TYPE_CHECKING:
    from bookwheel.tables.table import Place, Table, TableRow

NAMES: Final = ("subject", "relation", "object", "since", "until")
SENTENCE: Final = "every fact: who or what stands in which relation to whom or what"
ASKED: Final = {"en": "What is asked in the end", "zh": "最后要回答的问题"}
_CHINESE: Final = TableRequest(
    sentence="每一项事实：谁或什么与谁或什么有什么关系",
    is_written=True,
    columns=(
        Column(name="subject", about="事实所说的人或物的全名；不写代词，也不单写职务"),
        Column(name="relation", about="几个字，如：任职于、生于、拥有；是同一人或物的另一个名称时写“即”"),
        Column(name="object", about="全名，或数值"),
        Column(name="since", about="从何时起，原文有才写", kind=Kind.DATE),
        Column(name="until", about="到何时止，原文有才写", kind=Kind.DATE),
    ),
)
REQUEST: Final = TableRequest(
    sentence=SENTENCE,
    is_written=True,
    chinese=_CHINESE,
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
_SAID: Final = r"(?:(?:is|was|has been|became|becomes|elected|appointed|currently|still|now|then|later|the) )*"
# Of each there is one at a time: no directors, managers or shareholders.
_OFFICE: Final = (
    r"(?:managing|executive|artistic|musical) director|mayor|president|chief|captain|head|keeper|owner|"
    r"chief executive|chair(?=man|woman|person|\b)|(?:honorary |hon\.? |general )?(?:secretary|treasurer)|principal|"
    r"governor|prime minister|king|queen|rector"
)
_OFFICE_ZH: Final = "总经理|董事长|厂长|校长|院长|会长|主席|社长|局长|市长|县长|船长|秘书长|书记"
_HOLDS: Final = re.compile(
    rf"{_SAID}(?P<office>{_OFFICE})(?:man|woman|person)? (?:of|at)|(?:担任|出任|现任|是)(?P<office_zh>{_OFFICE_ZH})|"
    r"(?P<verb>chair|head|captain|own)(?:s|ed)|(?P<leader>leads|led|领导)|(?P<manager>manages|managed|主管)|"
    r"(?P<runs>runs|ran)|拥有|(?P<presides>presid(?:es|ed)) over",
    re.IGNORECASE,
)
"""Relations from who holds it to what is held, as a whole: the committee has one who chairs it; Ada may chair two."""
_IS_HELD: Final = re.compile(
    rf"{_SAID}(?:(?P<office>{_OFFICE})(?:man|woman|person)?|(?P<verb>chair|head|captain|own)ed by|"
    r"(?P<leader>led by)|(?P<manager>managed by)|(?P<runs>run by))",
    re.IGNORECASE,
)
"""From what is held to who holds it: "the committee is chaired by Ada", "Este: mayor: Ada"."""
_IS_HELD_ZH: Final = re.compile(_OFFICE_ZH)
_BODY: Final = re.compile(r".*(?:公司|集团|银行|工厂|厂|学校|学院|大学|中学|小学|医院|协会|学会|委员会|局|市|县|社|号)")
"""What an office in Chinese is held in, where the relation does not say which end is whose."""
_ITS_OWN: Final = re.compile(
    rf"{_SAID}(?:(?P<home>lives?|lived|living|resid(?:es?|ed|ing))|(?P<seat>based|headquartered|has its head office)|"
    r"(?P<work>work(?:s|ed|ing)?|employed))(?P<where> (?:in|at|for|by|as)(?: [\w-]+){0,4})?|"
    rf"{_SAID}(?:(?P<spouse>married|(?:has )?spouse)|(?P<price>costs?|priced?)|"
    r"(?:has |holds |held )?(?:the )?(?P<verb>status|position|office|rank|title))(?: (?:to|at|of|is))?|"
    r"(?P<zh>居?住在|位于|任职于?|担任|现任|价格|状态|配偶)[是为]?",
    re.IGNORECASE,
)
"""Whose one it is: somebody lives in one place at a time."""
_IS_PRESENT: Final = re.compile(r"(?:is|currently|still|now)\b|现任", re.IGNORECASE)
"""How a text tells who holds something at its own time; what it tells with a year then is how that came about."""
_MOST_NEXT: Final = 100
"""Facts with a time that are looked at for the end of one without."""
_SYNONYMS: Final = {"own": "owner", "拥有": "owner"}
_ARTICLE: Final = re.compile(r"^(?:the|a|an)\s+")
_YEAR: Final = re.compile(r"\b(1\d{3}|20\d{2})\b")
_MONTH: Final = re.compile(
    rf"\b(?P<name>{lexicon.MONTH})\.?,?\s+(?P<year>\d{{4}})\b|(?P<year_zh>\d{{4}})\s*年\s*(?P<month>\d{{1,2}})\s*月",
    re.IGNORECASE,
)


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
    """A later fact takes its place, or puts it right; `until` is the later one's beginning, if the text says no end."""
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
            places = tuple(dict.fromkeys((*same.places, *fact.places)))
            facts[key] = replace(same, is_proven=same.is_proven or fact.is_proven, places=places)
    return FactGraph(facts=tuple(_end_superseded([*facts.values()])), aliases=names.list_aliases())


def _make_fact(row: TableRow, names: _Names) -> GraphFact:
    subject, relation, other, since, until = (cell or "" for cell in row.cells)
    return GraphFact(
        subject=names.find(subject),
        relation=" ".join(relation.split()),
        object=names.find(other),
        since=since,
        until=until,
        is_superseded=row.is_corrected,
        is_proven=row.is_proven or row.is_by_hand,
        places=tuple(row.places),
        row=row.id,
    )


def _end_superseded(facts: Sequence[GraphFact]) -> Iterator[GraphFact]:
    """Yield the facts; one whose place a later one takes has its end."""
    groups: dict[tuple[str, str], list[tuple[str, str, str, int]]] = {}
    for at, fact in enumerate(facts):
        if held := _find_place(fact):
            thing, place, holder = held
            groups.setdefault((thing, place), []).append((fact.begins, fact.since, holder, at))
    ends = dict(found for group in groups.values() for found in _find_ends(group, facts))
    for at, fact in enumerate(facts):
        time, since = ends.get(at, ("", ""))
        if time and not (fact.until and fact.ends <= time):
            yield replace(fact, until=fact.until or since, is_superseded=True)
        else:
            yield fact


def _find_ends(
    group: list[tuple[str, str, str, int]], facts: Sequence[GraphFact]
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield for each of those who hold one place the next time at which it is another's.

    Where it is not said since when one holds it, that is the time of the next one whom the text names.
    """
    dated = [one for one in group if one[1]]
    places = [at for _, _, _, at in dated]
    for _, _, holder, at in (one for one in group if not one[1]):
        first = bisect_right(places, at)
        named = (one for one in dated[first : first + _MOST_NEXT] if one[2] != holder)
        if next_one := next((one for one in named if _may_follow(facts[at], facts[one[3]])), None):
            yield at, next_one[:2]
    # The next of all, and the next that is another's than that one's.
    after: list[tuple[str, str, str]] = []
    for _, at_once in groupby(sorted(dated, reverse=True), key=lambda one: one[0]):
        now = list(at_once)
        for _, _, holder, at in now:
            if later := next((one for one in after if one[2] != holder), None):
                yield at, later[:2]
        nearest = [*sorted(one[:3] for one in now), *after]
        after = [nearest[0], *[one for one in nearest if one[2] != nearest[0][2]][:1]]


def _may_follow(fact: GraphFact, other: GraphFact) -> bool:
    """Tell if a dated fact may be of a successor: one that has ended, and what lies behind a present, is of before."""
    sources = [{place.source for place in one.places} for one in (fact, other)]
    return not other.until and (not _IS_PRESENT.match(fact.relation) or sources[0] != sources[1])


def _find_place(fact: GraphFact) -> tuple[str, str, str] | None:
    """Return a thing, what only one can be to it at a time, and who or what that is; None for other relations."""
    one, other, relation = fact.subject, fact.object, fact.relation
    if found := _HOLDS.fullmatch(relation):
        return other, _name_place(found), one
    if found := _IS_HELD.fullmatch(relation) or _ITS_OWN.fullmatch(relation):
        return one, _name_place(found), other
    if _IS_HELD_ZH.fullmatch(relation) and bool(_BODY.fullmatch(one)) != bool(_BODY.fullmatch(other)):
        return (one, relation, other) if _BODY.fullmatch(one) else (other, relation, one)
    return None


def _name_place(found: re.Match[str]) -> str:
    """Return the same name for an office and for the verb of it, however its relation is worded."""
    parts = {name: value for name, value in found.groupdict().items() if value}
    where = parts.pop("where", "").casefold()
    words = [value for name, value in parts.items() if name in {"office", "office_zh", "verb", "zh"}]
    word = (words or [*parts, found[0]])[0].casefold()
    return f"{_SYNONYMS.get(word, word)}{where}"


def _read_time(text: str) -> str:
    """Return a time so that earlier ones sort before later ones: a date, a month, a year, else the text itself."""
    date = Column(name="", kind=Kind.DATE).normalize(text)
    if date:
        return str(date)
    if month := _MONTH.search(text):
        names = [name[:3] for name in lexicon.MONTH_NAMES]
        number = int(month["month"]) if month["month"] else 1 + names.index(month["name"][:3].lower())
        return f"{month['year'] or month['year_zh']}-{number:02}"
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
    return {
        "facts": len(facts),
        "superseded": sum(fact.is_superseded for fact in facts),
        "unproven": sum(not fact.is_proven for fact in facts),
    }
