"""A graph that an agent writes: the verbs of the reference server, kept as lines that can be read."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import InputError
from bookwheel.memory.graph import Graph, change_graph
from bookwheel.memory.opened import begin_memory, open_memory

pytestmark = pytest.mark.anyio
ADA = {"name": "Ada", "entityType": "person", "observations": ["lives in Este", "has a cat"]}
BO = {"name": "Bo", "entityType": "person", "observations": []}
KNOWS = {"from": "Ada", "to": "Bo", "relationType": "knows"}


@pytest.fixture
def graph() -> Graph:
    graph = Graph.parse("A note that was read.")
    assert graph.create_entities([ADA, BO, ADA]) == [ADA, BO]
    assert graph.create_relations([KNOWS, KNOWS]) == [KNOWS]
    return graph


def test_a_graph_reads_as_it_is(graph) -> None:
    assert graph.format().splitlines() == [
        "A note that was read.",
        "Ada [person]",
        "Ada: lives in Este",
        "Ada: has a cat",
        "Bo [person]",
        "Ada -[knows]-> Bo",
    ]
    assert Graph.parse(graph.format()) == graph


def test_what_is_there_is_not_added_again_and_what_is_not_is_an_error(graph) -> None:
    assert graph.create_entities([ADA]) == []
    added = graph.add_observations([{"entityName": "Ada", "contents": ["has a cat", "sings"]}])
    assert added == [{"entityName": "Ada", "addedObservations": ["sings"]}]
    with pytest.raises(InputError, match="Entity with name Cy not found"):
        graph.add_observations([{"entityName": "Cy", "contents": ["x"]}])
    with pytest.raises(InputError, match="Entity with name Cy not found"):
        graph.create_relations([KNOWS | {"to": "Cy"}])


def test_deleting_says_what_was_not_there(graph) -> None:
    gone = [{"entityName": "Ada", "observations": ["has a cat"]}]
    assert graph.delete_observations(gone) == "Observations deleted successfully"
    assert graph.delete_observations(gone) == "Deleted 0 of 1 observations."
    missing = graph.delete_observations([{"entityName": "Cy", "observations": ["x"]}])
    assert missing == "Deleted 0 of 1 observations. Entities not found: Cy"
    assert graph.delete_relations([KNOWS]) == "Relations deleted successfully"
    assert graph.delete_relations([KNOWS]) == "Deleted 0 of 1 relations. The rest matched nothing."
    assert graph.delete_entities(["Bo"]) == "Entities deleted successfully"
    assert graph.delete_entities(["Bo", "Ada"]) == "Deleted 1 of 2 entities. Not found: Bo"


def test_an_entity_takes_its_relations_with_it(graph) -> None:
    graph.delete_entities(["Bo"])
    assert graph.read() == {"entities": [ADA], "relations": []}


def test_search_and_open_give_the_relations_of_what_they_find(graph) -> None:
    for found in (graph.search("ESTE"), graph.open(["Ada", "Cy"])):
        assert found == {"entities": [ADA], "relations": [KNOWS]}
    assert graph.search("nothing") == {"entities": [], "relations": []}


words = st.text(alphabet="ab:[]-> \\\n\r\v\u2028中", max_size=8)


@given(
    entities=st.dictionaries(words, st.tuples(words, st.lists(words, max_size=3, unique=True)), max_size=4),
    kinds=st.lists(words, max_size=3),
)
def test_any_words_come_back_as_they_were(entities, kinds) -> None:
    graph = Graph.parse("")
    graph.create_entities(
        [{"name": name, "entityType": kind, "observations": seen} for name, (kind, seen) in entities.items()]
    )
    names = list(entities)
    if names:
        graph.create_relations([{"from": names[0], "to": names[-1], "relationType": kind} for kind in kinds])
    assert Graph.parse(graph.format()) == graph


async def test_two_agents_write_in_turn_and_each_change_is_a_version(session) -> None:
    await begin_memory(session, "agent", "notes", session.model.plan, is_written=True)
    first, second = open_memory(session, "agent"), open_memory(session, "agent")

    async def write(opened, name: str) -> None:
        for number in range(10):
            entity = {"name": f"{name}{number}", "entityType": "x", "observations": []}
            await change_graph(opened, lambda graph: graph.create_entities([entity]))  # noqa: B023 - called at once

    await asyncio.gather(write(first, "a"), write(second, "b"))
    assert len(Graph.parse(first.newest().memory.text).entities) == 20
    assert first.newest().version == 20


async def test_a_full_memory_is_said(session, begin) -> None:
    opened = await begin(session)
    with pytest.raises(InputError, match="more tokens"):
        await change_graph(opened, lambda graph: graph.create_entities([ADA | {"observations": ["many words"] * 60}]))
    assert opened.newest().version == 0
