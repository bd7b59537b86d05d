"""An MCP server with the verbs of the reference server `memory`, over a lasting memory.

Whoever has that server in a client's settings puts `bookwheel mcp --memory NAME` in its place. The names, parameters
and results are its own; here each change is a version, which `bookwheel memory log NAME` shows.

The MCP SDK reads the annotations of the tools at run time, so this file does not postpone their evaluation.
"""

import json
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Final

from mcp_types import ToolAnnotations
from pydantic import Field

from bookwheel.memory.graph import (
    DeletionJson,
    EntityJson,
    Graph,
    GraphJson,
    ObservationsJson,
    RelationJson,
)
from bookwheel.serve.engine.service import Service
from bookwheel.serve.mcp.protocol import ProtocolServer
from bookwheel.serve.mcp.results import Json, offer_tools

_URI: Final = "memory://knowledge-graph"
_READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_CREATES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_DELETES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
Entities = Annotated[list[EntityJson], Field(description="Each with name, entityType and observations.")]
Relations = Annotated[list[RelationJson], Field(description="Each from one entity to another, with relationType.")]
Names = Annotated[list[str], Field(description="Names of entities.")]
Query = Annotated[str, Field(max_length=2048, description="Words of names, types and observations.")]


class GraphTools:
    """The nine tools. The docstring of each is the description that clients see."""

    def __init__(self, service: Service, memory: str) -> None:
        self._memories = service.memories
        self._memory = memory

    async def create_entities(self, *, entities: Entities) -> Json:
        """Create multiple new entities in the knowledge graph."""
        return {"entities": await self._change(partial(Graph.create_entities, entities=entities))}

    async def create_relations(self, *, relations: Relations) -> Json:
        """Create multiple new relations between entities in the knowledge graph, in active voice."""
        return {"relations": await self._change(partial(Graph.create_relations, relations=relations))}

    async def add_observations(self, *, observations: list[ObservationsJson]) -> Json:
        """Add new observations to existing entities in the knowledge graph."""
        return {"results": await self._change(partial(Graph.add_observations, observations=observations))}

    async def delete_entities(self, *, entityNames: Names) -> Json:  # noqa: N803 - the reference server's name
        """Delete multiple entities and their associated relations from the knowledge graph."""
        return _say(await self._change(partial(Graph.delete_entities, names=entityNames)))

    async def delete_observations(self, *, deletions: list[DeletionJson]) -> Json:
        """Delete specific observations from entities in the knowledge graph."""
        return _say(await self._change(partial(Graph.delete_observations, deletions=deletions)))

    async def delete_relations(self, *, relations: Relations) -> Json:
        """Delete multiple relations from the knowledge graph."""
        return _say(await self._change(partial(Graph.delete_relations, relations=relations)))

    async def read_graph(self) -> GraphJson:
        """Read the entire knowledge graph."""
        return (await self._load()).read()

    async def search_nodes(self, *, query: Query) -> GraphJson:
        """Search for nodes in the knowledge graph based on a query."""
        return (await self._load()).search(query)

    async def open_nodes(self, *, names: Names) -> GraphJson:
        """Open specific nodes in the knowledge graph by their names."""
        return (await self._load()).open(names)

    async def read_resource(self) -> str:
        """Return the full knowledge graph with all entities and relations."""
        return _to_text((await self._load()).read())

    async def _change(self, change: Callable[[Graph], Any]) -> Any:
        return await self._memories.change_graph(None, self._memory, change)

    async def _load(self) -> Graph:
        return await self._memories.read_graph(None, self._memory)


def build_graph_server(service: Service, memory: str) -> ProtocolServer:
    """Return the MCP server over one memory, without a transport."""
    tools = GraphTools(service, memory)
    server = ProtocolServer(name="bookwheel", version=version("bookwheel"), log_level="WARNING")
    offered: list[tuple[Callable[..., Awaitable[Any]], ToolAnnotations]] = [
        (tools.create_entities, _CREATES),
        (tools.create_relations, _CREATES),
        (tools.add_observations, _CREATES),
        (tools.delete_entities, _DELETES),
        (tools.delete_observations, _DELETES),
        (tools.delete_relations, _DELETES),
        (tools.read_graph, _READS),
        (tools.search_nodes, _READS),
        (tools.open_nodes, _READS),
    ]
    offer_tools(server, offered, service.journal.path, _shorten)
    server.resource(_URI, name="knowledge-graph", mime_type="application/json")(tools.read_resource)
    return server


def _shorten(result: Any) -> str:
    """Return the text of a result as the reference server has it: the list that was made, or a deletion's message."""
    shown = result.get("message") or (next(iter(result.values())) if len(result) == 1 else result)
    return shown if isinstance(shown, str) else _to_text(shown)


def _say(message: str) -> Json:
    return {"success": True, "message": message}


def _to_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
