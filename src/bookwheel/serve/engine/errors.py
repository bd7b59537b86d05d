"""What goes wrong, as HTTP tells it: OpenAI's shape under /v1, one sentence that can be acted on everywhere else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from bookwheel import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

_STATUSES: Final[Mapping[type[errors.BookwheelError], int]] = {
    errors.WindowExceeded: 400,
    errors.UnknownModel: 404,
    errors.Overloaded: 503,
    errors.TimedOut: 504,
    errors.NoWeights: 503,
    errors.ModelError: 502,
    errors.InputError: 400,
    errors.BudgetReached: 400,
    errors.JournalError: 500,
}
_NO_RETRY: Final = {"x-should-retry": "false"}
"""OpenAI's SDK would otherwise begin, and pay for, the whole reading again."""


class ApiError(errors.BookwheelError):
    """A request that is not carried out."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.headers = dict(headers or {})


def not_found(what: str) -> ApiError:
    """Nothing by that name."""
    return ApiError(404, f"there is no {what} here", kind="not_found")


def too_many_requests(message: str, seconds: float) -> ApiError:
    """Too much at once: come back later."""
    return ApiError(429, message, kind="rate_limit_exceeded", headers={"Retry-After": str(max(1, round(seconds)))})


def invalid_json(error: ValidationError) -> ApiError:
    """The first thing that is wrong with a request's JSON; what it held is not repeated."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the body"
    return ApiError(400, f"{place}: {first['msg']}", kind="invalid_request", param=place)


class JsonResponse(Response):
    """JSON in ASCII: a document may hold half a surrogate pair, which no UTF-8 can carry."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return json.dumps(content, separators=(",", ":")).encode("ascii")


def error_response(error: errors.BookwheelError, path: str) -> JsonResponse:
    """The answer to a request that went wrong on purpose."""
    declined = error if isinstance(error, ApiError) else None
    status = declined.status if declined else status_of(error)
    headers = dict(declined.headers) if declined else {}
    if isinstance(error, errors.ModelError | errors.BudgetReached):
        headers |= _NO_RETRY
    kind = declined.kind if declined else type(error).__name__
    if not path.startswith("/v1"):
        return JsonResponse({"error": str(error), "kind": kind}, status, headers=headers)
    return JsonResponse(
        openai_error(str(error), status, code_of(error), declined.param if declined else None), status, headers=headers
    )


def openai_error(message: str, status: int, code: str | None, param: str | None = None) -> dict[str, Any]:
    """OpenAI's shape of an error."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "server_error")  # noqa: PLR2004
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def status_of(error: errors.BookwheelError) -> int:
    """The status that fits best."""
    return next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)


def code_of(error: errors.BookwheelError) -> str:
    """OpenAI's own code where there is one; ours in its style where there is none."""
    if isinstance(error, ApiError):
        return error.kind
    known: dict[type[errors.BookwheelError], str] = {
        errors.UnknownModel: "model_not_found",
        errors.WindowExceeded: "context_length_exceeded",
    }
    return known.get(type(error)) or "".join(
        f"_{letter.lower()}" if letter.isupper() else letter for letter in type(error).__name__
    ).lstrip("_")
