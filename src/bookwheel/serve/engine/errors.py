"""Requests that the server declines: `ApiError` and the kinds of it that are raised in several places."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bookwheel.errors import BookwheelError, BudgetReached, JournalError
from bookwheel.plan import SETTINGS

_OPTION: Final = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


class ApiError(BookwheelError):
    """A declined request, with the HTTP status and the machine-readable kind of its answer."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request",
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.headers = dict(headers or {})


class QuotaReached(BudgetReached):
    """A key has used its tokens of the day, or a request could exceed the rest; nothing was called for it."""


class ServerLimitReached(BudgetReached):
    """The server's own limit of a reading was reached. It holds for all runs, so that the reading cannot go on here."""


def hide_place(error: BookwheelError, journal: Path) -> BookwheelError:
    """Return an error as a client is told it: not where the journal lies."""
    if not isinstance(error, JournalError):
        return error
    return type(error)(str(error).replace(f" {journal}", " of this server").replace(str(journal), "…"))


def name_settings(message: str) -> str:
    """Return a message with settings by their names in a request, where it has the options of a command line.

    >>> name_settings("shorten it, or raise --question-tokens")
    'shorten it, or raise question_tokens'
    """
    return _OPTION.sub(lambda found: ".".join(SETTINGS.get(found[1].replace("-", "_"), (found[0],))), message)


def not_found(name: str) -> ApiError:
    return ApiError(404, f"there is no {name} here", kind="not_found")


def too_many_requests(message: str, seconds: float) -> ApiError:
    """Return a 429 that asks the client to retry after so many seconds."""
    return ApiError(429, message, kind="rate_limit_exceeded", headers={"Retry-After": str(max(1, round(seconds)))})


def server_error() -> ApiError:
    """Return the 500 of a fault of ours. Its details go to the log, where only whoever runs the server sees them."""
    return ApiError(500, "an error of the server; its log says more", kind="server_error")
