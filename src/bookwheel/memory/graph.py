r"""Entities, their observations and their relations as lines of a lasting memory, for agents that write a graph.

The verbs and their results are those of the reference server `memory` of the Model Context Protocol, so that whoever
used that one can use this. A line says one thing, and reads as it is:

    Ada Quill [person]                  an entity and its type
    Ada Quill: lives in Este            an observation
    Ada Quill -[works at]-> Halcyon     a relation

Lines that say nothing of a known entity, such as notes that were read, are left alone.

>>> graph = Graph.parse("Ada [person]\nAda: lives in Este\nA note.")
>>> graph.entities["Ada"].observations
['lives in Este']
>>> graph.format()
'A note.\nAda [person]\nAda: lives in Este'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from typing_extensions import TypedDict

from bookwheel.errors import InputError
from bookwheel.memory.editing import rewrite

if TYPE_CHECKING:
    from bookwheel.memory.opened import OpenMemory

_T = TypeVar("_T")
# What ends a line anywhere, and what ends a name in one of these lines.
_ENDS: Final = re.compile("[\\\\\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_ENDS_OF_NAMES: Final = re.compile("[\\\\\n\r\v\f\x1c-\x1e\x85\u2028\u2029:\\[\\]]")
_ESCAPED: Final = re.compile(r"\\(u[0-9a-f]{4}|.)")
_NAME: Final = r"((?:[^\\:\[\]]|\\.)*)"
_ENTITY: Final = re.compile(rf"{_NAME} \[{_NAME}\]")
_RELATION: Final = re.compile(rf"{_NAME} -\[{_NAME}\]-> {_NAME}")
_OBSERVATION: Final = re.compile(rf"{_NAME}: (.*)")


class EntityJson(TypedDict):
    """An entity with what is known of it."""

    name: str
    entityType: str
    observations: list[str]


RelationJson = TypedDict("RelationJson", {"from": str, "to": str, "relationType": str})


class ObservationsJson(TypedDict):
    """What is to be known of an entity."""

    entityName: str
    contents: list[str]


class AddedJson(TypedDict):
    """What was new of an entity."""

    entityName: str
    addedObservations: list[str]


class DeletionJson(TypedDict):
    """What is to be known of an entity no more."""

    entityName: str
    observations: list[str]


class GraphJson(TypedDict):
    """Entities, and the relations that they have."""

    entities: list[EntityJson]
    relations: list[RelationJson]


class Relation(NamedTuple):
    """A relation of two entities, in active voice."""

    source: str
    target: str
    kind: str


@dataclass(slots=True)
class Entity:
    """What is known of an entity."""

    kind: str
    observations: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Graph:
    """A graph, and the lines of the memory that are none of it."""

    entities: dict[str, Entity] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str) -> Graph:
        """Return the graph that a memory's text says."""
        graph, lines = cls(), text.split("\n") if text else []
        for line in lines:
            if found := _ENTITY.fullmatch(line):
                graph.entities.setdefault(_unescape(found[1]), Entity(_unescape(found[2])))
        for line in lines:
            if not (_ENTITY.fullmatch(line) or graph._take(line)):
                graph.others.append(line)
        return graph

    def _take(self, line: str) -> bool:
        """Take what a line says of entities that are there; return False for any other line."""
        if found := _RELATION.fullmatch(line):
            source, kind, target = map(_unescape, found.groups())
            if is_known := source in self.entities and target in self.entities:
                self.relations.append(Relation(source, target, kind))
            return is_known
        observed = _OBSERVATION.fullmatch(line)
        entity = self.entities.get(_unescape(observed[1])) if observed else None
        if observed and entity:
            entity.observations.append(_unescape(observed[2]))
        return entity is not None

    def format(self) -> str:
        """Return the text of a memory that says the graph."""
        lines = list(self.others)
        for name, entity in self.entities.items():
            lines.append(f"{_escape_name(name)} [{_escape_name(entity.kind)}]")
            lines += [f"{_escape_name(name)}: {_escape(one)}" for one in entity.observations]
        for one in self.relations:
            lines.append(f"{_escape_name(one.source)} -[{_escape_name(one.kind)}]-> {_escape_name(one.target)}")
        return "\n".join(lines)

    def create_entities(self, entities: Sequence[EntityJson]) -> list[EntityJson]:
        """Add the entities that are not there; return those."""
        new = []
        for one in entities:
            if one["name"] not in self.entities:
                self.entities[one["name"]] = Entity(one["entityType"], list(one["observations"]))
                new.append(one)
        return new

    def create_relations(self, relations: Sequence[RelationJson]) -> list[RelationJson]:
        """Add the relations that are not there; return those. InputError for an entity that is not there."""
        for one in relations:
            self._find(one["from"])
            self._find(one["to"])
        new = []
        for one in relations:
            relation = _to_relation(one)
            if relation not in self.relations:
                self.relations.append(relation)
                new.append(one)
        return new

    def add_observations(self, observations: Sequence[ObservationsJson]) -> list[AddedJson]:
        """Add to entities what is new of them; return it. InputError for an entity that is not there."""
        added = list[AddedJson]()
        for one in observations:
            known = self._find(one["entityName"]).observations
            new = [content for content in one["contents"] if content not in known]
            known += new
            added.append({"entityName": one["entityName"], "addedObservations": new})
        return added

    def delete_entities(self, names: Sequence[str]) -> str:
        """Delete entities with their relations; return what was done in words."""
        missing = [name for name in names if name not in self.entities]
        for name in names:
            self.entities.pop(name, None)
        self.relations = [one for one in self.relations if not {one.source, one.target} & set(names)]
        if not missing:
            return "Entities deleted successfully"
        return f"Deleted {len(names) - len(missing)} of {len(names)} entities. Not found: {', '.join(missing)}"

    def delete_observations(self, deletions: Sequence[DeletionJson]) -> str:
        """Delete observations of entities; return what was done in words."""
        deleted, missing = 0, []
        for one in deletions:
            if entity := self.entities.get(one["entityName"]):
                kept = [known for known in entity.observations if known not in one["observations"]]
                deleted += len(entity.observations) - len(kept)
                entity.observations = kept
            else:
                missing.append(one["entityName"])
        wanted = sum(len(one["observations"]) for one in deletions)
        if deleted == wanted:
            return "Observations deleted successfully"
        there = f" Entities not found: {', '.join(missing)}" if missing else ""
        return f"Deleted {deleted} of {wanted} observations.{there}"

    def delete_relations(self, relations: Sequence[RelationJson]) -> str:
        """Delete relations; return what was done in words."""
        gone = {_to_relation(one) for one in relations}
        kept = [one for one in self.relations if one not in gone]
        deleted, self.relations = len(self.relations) - len(kept), kept
        if deleted == len(relations):
            return "Relations deleted successfully"
        return f"Deleted {deleted} of {len(relations)} relations. The rest matched nothing."

    def read(self) -> GraphJson:
        return self.open(list(self.entities))

    def search(self, query: str) -> GraphJson:
        """Return the entities that have the words in their name, type or observations, and their relations."""
        wanted = query.lower()
        names = [
            name
            for name, entity in self.entities.items()
            if any(wanted in words.lower() for words in (name, entity.kind, *entity.observations))
        ]
        return self.open(names)

    def open(self, names: Sequence[str]) -> GraphJson:
        """Return the entities of these names, and the relations that they have."""
        chosen = {name: self.entities[name] for name in self.entities if name in set(names)}
        return {
            "entities": [
                {"name": name, "entityType": entity.kind, "observations": entity.observations}
                for name, entity in chosen.items()
            ],
            "relations": [
                {"from": one.source, "to": one.target, "relationType": one.kind}
                for one in self.relations
                if one.source in chosen or one.target in chosen
            ],
        }

    def _find(self, name: str) -> Entity:
        if name not in self.entities:
            raise InputError(f"Entity with name {name} not found")
        return self.entities[name]


async def change_graph(opened: OpenMemory, change: Callable[[Graph], _T]) -> _T:
    """Change the graph of a memory, as a new version; return what the change returns."""
    results = list[_T]()

    def apply(text: str) -> str:
        graph = Graph.parse(text)
        results.append(change(graph))
        return graph.format()

    await rewrite(opened, apply)
    return results[-1]


def _to_relation(one: RelationJson) -> Relation:
    return Relation(one["from"], one["to"], one["relationType"])


def _escape(text: str) -> str:
    return _ENDS.sub(_escape_character, text)


def _escape_name(text: str) -> str:
    return _ENDS_OF_NAMES.sub(_escape_character, text)


def _escape_character(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\n":
        return "\\n"
    return f"\\{character}" if character in "\\:[]" else f"\\u{ord(character):04x}"


def _unescape(text: str) -> str:
    def restore(found: re.Match[str]) -> str:
        code = found[1]
        return "\n" if code == "n" else chr(int(code[1:], 16)) if len(code) > 1 else code

    return _ESCAPED.sub(restore, text)
