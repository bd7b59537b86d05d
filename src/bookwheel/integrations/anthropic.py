"""Anthropic's memory tool, kept in a lasting memory: each command that changes a file makes a version.

    tool = memory_tool("agent")
    client.beta.messages.tool_runner(..., tools=[tool])

`async_memory_tool` is the same for `AsyncAnthropic`. `bookwheel memory log agent` shows what the agent wrote and when,
`bookwheel memory forget agent --text WORDS` erases.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

from bookwheel.errors import BookwheelError
from bookwheel.memory.lasting import LastingMemory


def memory_tool(memory: str | Path | LastingMemory, **settings: Any) -> BetaAbstractMemoryTool:
    """Return the tool over a memory, by its name, its file or itself; `settings` are those of `LastingMemory`."""
    lasting = _find_memory(memory, settings)

    def run(_tool: Any, command: Any) -> str:
        try:
            return lasting.run_command(command.model_dump(exclude_none=True))
        except BookwheelError as error:
            raise ToolError(str(error)) from error

    return _make_tool(BetaAbstractMemoryTool, run)


def async_memory_tool(memory: str | Path | LastingMemory, **settings: Any) -> BetaAsyncAbstractMemoryTool:
    """Return the tool for asynchronous programs; see `memory_tool`."""
    lasting = _find_memory(memory, settings)

    async def run(_tool: Any, command: Any) -> str:
        try:
            return await lasting.arun_command(command.model_dump(exclude_none=True))
        except BookwheelError as error:
            raise ToolError(str(error)) from error

    return _make_tool(BetaAsyncAbstractMemoryTool, run)


def _find_memory(memory: str | Path | LastingMemory, settings: dict[str, Any]) -> LastingMemory:
    return memory if isinstance(memory, LastingMemory) else LastingMemory(memory, **settings)


def _make_tool(base: type, run: Any) -> Any:
    names = ("view", "create", "str_replace", "insert", "delete", "rename")
    return type("LastingMemoryTool", (base,), dict.fromkeys(names, run))()
