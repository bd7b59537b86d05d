"""What the MCP server costs an agent: characters of the list of tools and of typical results.

    python benchmarks/speed/mcp_characters.py

The official client in memory, the scripted model, a document of 600 sentences and 20 follow-ups. Characters are those
of the list as JSON and of each result's text.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client

from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.engine.access import AccessPolicy
from bookwheel.serve.engine.service import Service
from bookwheel.serve.mcp.server import build_server

PLAN = Plan(chunk_tokens=400, memory_tokens=200, answer_tokens=120)
QUESTION = "Who is the harbour master of Skarholm?"
OTHERS = ["What circles over the pier?", "Who writes down the wind?"]
GULLS = "Gulls circle over the pier, and the keeper of lamp {} writes down the wind of day {}. "
FACT = "The harbour master of Skarholm in year {} is Ada Quill the {}th. "
TEXT = "".join(
    GULLS.format(day % 7, day) * 2 + ("\n\n" if day % 3 == 0 else "") + ("" if day % 20 else FACT.format(day, day))
    for day in range(600)
)


async def measure(client: Client) -> None:
    """Print the characters of the list and of one result of each tool that an agent calls often."""
    tools = (await client.list_tools()).tools
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    print("tools", len(listed), "characters", len(json.dumps(listed)))
    print("prompts", len((await client.list_prompts()).prompts))

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        text = "".join(getattr(block, "text", "") for block in result.content)
        print(f"{tool:14} {len(text):6}")
        return json.loads(text)

    reading = (await call("read", text=TEXT, question=QUESTION))["reading"]
    await call("wait", reading=reading)
    await call("read_several", text=TEXT, questions=[QUESTION, *OTHERS])
    await call("search", query="harbour master")
    for _ in range(20):
        await client.call_tool("ask_again", {"reading": reading, "question": QUESTION, "from_memory": True})
    await call("list_readings")
    await call("timeline", reading=reading)


async def main() -> None:
    """Open a service in a temporary folder and measure it."""
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
        models = {"scripted": ScriptedModel(keyword_reader)}
        service = Service(journal=journal, models=models, plans={"scripted": PLAN})
        try:
            async with Client(build_server(service, AccessPolicy())) as client:
                await measure(client)
        finally:
            await service.aclose()


if __name__ == "__main__":
    asyncio.run(main())
