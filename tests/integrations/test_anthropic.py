"""Anthropic's SDK keeps its memory tool in a lasting memory."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("anthropic")

from anthropic.lib.tools import ToolError

from bookwheel.integrations.anthropic import async_memory_tool, memory_tool

CREATE = {"command": "create", "path": "/memories/ada.md", "file_text": "lives in Este\n"}
VIEW = {"command": "view", "path": "/memories/ada.md", "view_range": [1, 1]}


def test_the_tool_runs_commands_and_says_what_is_wrong(tmp_path) -> None:
    tool = memory_tool("agent", model="scripted", journal=tmp_path / "j.sqlite")
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
    assert tool.call(CREATE) == "File created successfully at: /memories/ada.md"
    assert tool.call(VIEW).endswith("     1\tlives in Este")
    with pytest.raises(ToolError, match="already exists"):
        tool.call(CREATE)
    again = async_memory_tool("agent", model="scripted", journal=tmp_path / "j.sqlite")
    assert asyncio.run(again.call(VIEW)) == tool.call(VIEW)
    with pytest.raises(ToolError, match="escape"):
        asyncio.run(again.call({"command": "view", "path": "/memories/../../x"}))
