"""What every tool needs: the caller's key, and errors that a client's model can read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from bookwheel.errors import BookwheelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.server.mcpserver import Context

    from bookwheel.serve.engine.keys import Key


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn an error of bookwheel into a tool error with the same message, which says what to do."""
    try:
        yield
    except BookwheelError as error:
        raise ToolError(str(error)) from error


def get_key(ctx: Context) -> Key | None:
    """Return the key of the caller, where the request came over HTTP and the server asks for keys."""
    request = ctx.request_context.request
    return request.state.key if request else None
