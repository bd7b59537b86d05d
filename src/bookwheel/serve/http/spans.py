"""What a request's query asks for: numbers, spans of text, the changes of each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bookwheel.serve.engine.errors import ApiError

if TYPE_CHECKING:
    from starlette.requests import Request

    from bookwheel.journal import StoredDocument

_MOST_CHARACTERS: Final = 200_000
_MOST_DIGITS: Final = 15  # larger numbers do not fit into SQLite's integers


def text_span(request: Request, document: StoredDocument) -> dict[str, Any]:
    """Return the part of a document's text that a request's query asks for."""
    start, end = parse_number(request, "start", 0), parse_number(request, "end", document.length)
    if end - start > _MOST_CHARACTERS:
        raise ApiError(400, f"at most {_MOST_CHARACTERS:,} characters at a time", kind="invalid_request", param="end")
    start, end = min(start, document.length), min(max(start, end), document.length)
    text = document.slice(start, end)
    return {"start": start, "end": start + len(text), "text": text}


def wants_changes(request: Request) -> bool:
    """Return whether a request asks for the changes of each step."""
    return request.query_params.get("changes", "0") not in {"0", ""}


def parse_number(request: Request, name: str, default: int) -> int:
    """Return the whole number that a request's query has under this name."""
    value = request.query_params.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS):
        raise ApiError(400, f"{name} must be a whole number from 0 on", kind="invalid_request", param=name)
    return int(value)
