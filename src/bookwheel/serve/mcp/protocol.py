"""What is no request of the protocol, or asks for what is not there, is answered in the protocol's own words.

The SDK quotes the parser of its models to whoever sends a batch or a wrong argument, takes an id of another kind for
none and answers nothing, and says nothing to a broken line of standard input.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, BinaryIO, Final, cast

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolResult,
    ErrorData,
    GetPromptResult,
    InputRequiredResult,
    JSONRPCError,
)
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from bookwheel.schema import suggest
from bookwheel.serve.http.answers import JsonResponse

_MOST_NAMED: Final = 5
"""Wrong arguments that one answer names."""


class ProtocolServer(MCPServer):
    """An MCP server whose errors say what is wrong, and none of whose requests stays without an answer."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. What it refuses goes to the client's model; a tool that is not there is an error of the call."""
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
        known = list(tool.parameters["properties"])
        if unknown := next((one for one in arguments if one not in known), ""):
            raise ToolError(f"{name}: there is no argument {unknown!r}; {suggest(unknown, known)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            # That of a crash is of the tool's own values.
            if isinstance(error.__cause__, ValidationError) and not isinstance(error, UnexpectedToolError):
                raise ToolError(f"{name}: {_name_arguments(error.__cause__)}") from None
            raise

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Return a prompt, filled in."""
        prompt = self._prompt_manager.get_prompt(name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}")
        needed = [one.name for one in prompt.arguments or [] if one.required]
        if missing := [one for one in needed if one not in (arguments or {})]:
            raise MCPError(INVALID_PARAMS, f"{name} needs {', '.join(missing)}")
        return await super().get_prompt(name, arguments, context)

    async def run_stdio_async(self) -> None:
        """Serve over standard input and output; a line that is no message is answered too."""
        inner = self._lowlevel_server

        async def check_lines() -> AsyncGenerator[bytes]:
            async for line in anyio.wrap_file(_take_stdin()):
                if error := find_error(line):
                    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                        await answers.send(SessionMessage(error))
                else:
                    yield line

        # The SDK only walks over the lines of its input.
        checked = cast("anyio.AsyncFile[str]", check_lines())
        try:
            async with stdio_server(checked) as (messages, answers):
                await inner.run(messages, answers, inner.create_initialization_options())
        except* BrokenPipeError:
            # Nobody reads the answers any more, nor will anybody read what stands in the buffer.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _take_stdin() -> BinaryIO:
    """Return standard input. Whatever else reads from it in this process or a child of it finds it empty."""
    own = os.fdopen(os.dup(0), "rb", closefd=False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return own


class CheckedRoute:
    """The route of streamable HTTP: a message is looked at before the SDK gets it.

    Of clients that come back with their last event none is kept, so they listen from here on.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [header for header in scope["headers"] if header[0] != b"last-event-id"]
        scope = {**scope, "headers": headers}
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        if error := find_error(body):
            await JsonResponse(_to_plain(error), 400)(scope, receive, send)
            return
        async with aclosing(_replay(body, receive)) as messages:
            await self._app(scope, messages.__anext__, send)


async def _replay(body: bytes, receive: Receive) -> AsyncGenerator[Any]:
    yield {"type": "http.request", "body": body, "more_body": False}
    while True:
        yield await receive()


def find_error(body: bytes) -> JSONRPCError | None:
    """Return the answer to a body that is no message of the protocol; None where it is one."""
    try:
        message = from_json(body)
    except ValueError:
        return _make_error(PARSE_ERROR, "Parse error: this is no JSON")
    return _check_message(message)


def _check_message(message: Any) -> JSONRPCError | None:
    if isinstance(message, list):
        return _make_error(INVALID_REQUEST, "Invalid Request: no batches; send each message by itself")
    if not isinstance(message, dict):
        return _make_error(INVALID_REQUEST, "Invalid Request: a message is a JSON object")
    id_ = message.get("id")
    known = id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None
    is_error = "error" in message and "method" not in message
    faults = {
        'jsonrpc must be "2.0"': message.get("jsonrpc") != "2.0",
        "id must be a text or a whole number": "id" in message and known is None and not is_error,
        "method must be a text": not isinstance(message.get("method", ""), str),
        "it has no method, result or error": not message.keys() & {"method", "result", "error"},
        "params must be an object": not isinstance(message.get("params", {}), dict | None),
    }
    wrong = [what for what, is_wrong in faults.items() if is_wrong]
    return _make_error(INVALID_REQUEST, f"Invalid Request: {'; '.join(wrong)}", known) if wrong else None


def _make_error(code: int, message: str, id_: str | int | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id_, error=ErrorData(code=code, message=message))


def _to_plain(error: JSONRPCError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": error.id, "error": {"code": error.error.code, "message": error.error.message}}


def _name_arguments(error: ValidationError) -> str:
    """Return what is wrong with the arguments of a tool, without their values: one may be a whole document."""
    found = error.errors(include_input=False, include_url=False)
    named = [f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found[:_MOST_NAMED]]
    left = len(found) - len(named)
    return "; ".join(named) + (f"; and {left} more" if left > 0 else "")
