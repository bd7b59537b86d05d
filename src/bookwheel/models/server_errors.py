"""What a server answers in place of a reply, and its translation into our errors, with advice and without the key.

connection refused, no such host      Unreachable       401, 403, 407             Refused
connection broke in mid-reply         Unreachable       404 for a model           UnknownModel
404 for the route, an HTML page       Unreachable       prompt too long           WindowExceeded
nothing for a whole timeout           TimedOut          402, no credit left       QuotaUsedUp
429                                   Overloaded        400, 422 with a reason    Rejected
anything but JSON                     BadReply          all else                  ServerFault

An HTML page with 400, 403 or 404 is a proxy's and not the model server's: it says nothing about key or model.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import (
    BadReply,
    ModelError,
    Overloaded,
    QuotaUsedUp,
    Refused,
    Rejected,
    ServerFault,
    TimedOut,
    UnknownModel,
    Unreachable,
    WindowExceeded,
)
from bookwheel.patterns import compile_late
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from httpx2 import Response

    from bookwheel.models.endpoint import Endpoint

_LONGEST_QUOTE: Final = 400
# Seconds: a server that asks for more is asked again all the same.
_LONGEST_WAIT: Final = 3600.0
_LONGEST_WISH: Final = 40
# An HTTP library may quote the bytes that it could not parse.
_LONGEST_CAUSE: Final = 120
_HTML: Final = compile_late(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_TOO_LONG: Final = compile_late(
    r"context.?(?:length|size|window|limit)|exceed_context|maximum (?:number of tokens|model length|input length)"
    r"|longer than the (?:model|maximum|context)|prompt is too long|too many tokens"
    r"|reduce the length of the (?:messages|input|prompt)",
    re.IGNORECASE,
)
_UNSUPPORTED: Final = compile_late(
    r"un(?:supported|recognized|known|expected)|forbidden"
    r"|(?:not|n't) (?:support|permit|allow)|not (?:supported|permitted|allowed)",
    re.IGNORECASE,
)
# 529 is said by a provider whose models are overloaded.
_OVERLOADED: Final = frozenset({429, 529})
_NO_ROUTE: Final = frozenset({404, 405, 501})
_BAD_REQUEST: Final = frozenset({400, 413, 422})
_NO_KEY: Final = frozenset({401, 403, 407})
_REJECTED: Final = frozenset({400, 406, 410, 411, 413, 414, 415, 417, 422, 431, 451})


class StatusError(Exception):
    """An answer with a bad status."""

    def __init__(self, response: Response) -> None:
        super().__init__(f"HTTP {response.status_code}")
        self.response = response
        self.status_code = response.status_code
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            body = response.text.strip()
        # OpenAI's own field; most servers have it.
        self.body: object = body.get("error", body) if isinstance(body, dict) else body
        fields = self.body if isinstance(self.body, dict) else {}
        self.code, self.param, self.type = (fields.get(name) for name in ("code", "param", "type"))


class StreamedError(Exception):
    """An error that a stream brings after a good status."""

    def __init__(self, body: object) -> None:
        super().__init__(str(body))
        self.body = body


def request_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that `translate_error` takes, for an `except` around a request."""
    import httpx2

    # JSON can be anything, and so can what is raised where we look into it.
    return (
        *(StatusError, StreamedError, httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError, EOFError),
        *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError),
    )


def translate_error(
    error: Exception, endpoint: Endpoint, model: str = "", *, received: str | None = None
) -> ModelError:
    """Return our error for one of `request_errors`. `received` is the text that had arrived when a stream broke."""
    import httpx2

    if isinstance(error, httpx2.HTTPError | httpx2.StreamError | httpx2.InvalidURL | OSError | EOFError):
        return _translate_connection_error(error, endpoint, received)
    if isinstance(error, StatusError):
        return _translate_status_error(error, endpoint, model)
    if isinstance(error, StreamedError):
        return parse_error_body(error.body, endpoint, received=received)
    return BadReply(
        f"{endpoint.display_url} sent {_name_fault(error)}. "
        f"Something between here and the server may have cut or changed it; try again, or look at the server's log.",
        is_charged=True,
        received=received,
    )


def _translate_connection_error(error: Exception, endpoint: Endpoint, received: str | None) -> ModelError:
    import httpx2

    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        why = endpoint.hide_key(_find_cause(error)) or "no answer"
        return Unreachable(
            f"no server answers at {endpoint.display_url}: {why}. Is it running, and is the base URL right? "
            f"Set it with --base-url or OPENAI_BASE_URL."
        )
    if isinstance(error, httpx2.TimeoutException):
        return TimedOut(
            f"{endpoint.display_url} sent nothing for {endpoint.timeout:g} s. The server hangs or is too busy: "
            f"check it, raise the timeout, or request fewer tokens at once.",
            is_charged=True,
            received=received,
        )
    text = sanitize(endpoint.hide_key(_find_cause(error)))
    why = text[:_LONGEST_CAUSE] or type(error).__name__
    return Unreachable(
        f"the connection to {endpoint.display_url} broke in mid-reply: {why}. "
        f"Resume when the server and the network work again.",
        is_charged=True,
        received=received,
    )


def _name_fault(error: Exception) -> str:
    """Return what a reply that cannot be read is; of the parser's own words only where it ends."""
    if isinstance(error, UnicodeDecodeError):
        return "a reply that is not JSON: it is not UTF-8"
    if not isinstance(error, json.JSONDecodeError):
        return "a reply that is not JSON"
    if not error.doc.strip():
        return "an empty reply"
    return f"a reply that is not JSON: it cannot be read from line {error.lineno}, column {error.colno} on"


def _find_cause(error: BaseException) -> str:
    """Return the system's own words for what failed, ours for a reply that ends too soon, or the library's."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionError) and cause.errno:
            return os.strerror(cause.errno)  # asyncio's words have an address of its own in brackets
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    import httpx2

    if isinstance(error, httpx2.RemoteProtocolError):
        return "the server ended it before its time, or sent what is no reply"
    return str(error)


def _translate_status_error(error: StatusError, endpoint: Endpoint, model: str) -> ModelError:
    status, message = error.status_code, format_server_message(error.body, endpoint)
    if final := _find_account_error(error, endpoint, message):
        return final
    if _is_unknown_model(error):
        return UnknownModel(
            f"{endpoint.display_url} has no model {model!r}: {message} "
            f"`bookwheel models` lists what it has; choose with --model."
        )
    # nginx says on a page that a request is too large, and will say so again.
    is_proxy = status < HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if status in _NO_ROUTE or (is_proxy and is_html(error.response.text)):
        return wrong_address_error(endpoint, f"HTTP {status}")
    if status in _OVERLOADED:
        return _overload_error(error, endpoint, message)
    if status in _BAD_REQUEST and _TOO_LONG.search(f"{message} {error.code} {error.type}"):
        return window_error(message)
    kind = Rejected if status in _REJECTED else ServerFault
    is_long = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE  # for a proxy before the server
    advice = "Lower --chunk-tokens, or raise the limit of the proxy." if is_long else "Its log may say more."
    return kind(
        f"{endpoint.display_url} failed with HTTP {status}: {message} {advice}",
        retry_after=find_retry_after(error.response.headers),
    )


def _find_account_error(error: StatusError, endpoint: Endpoint, message: str) -> ModelError | None:
    """Return the error of a wrong key or an empty account, if it is one."""
    status = error.status_code
    if status in _NO_KEY and not (status == HTTPStatus.FORBIDDEN and is_html(error.response.text)):
        advice = "Check --api-key or OPENAI_API_KEY." if endpoint.key else "It wants a key: set OPENAI_API_KEY."
        return Refused(f"{endpoint.display_url} refused the key (HTTP {status}): {message} {advice}")
    if status == HTTPStatus.PAYMENT_REQUIRED or "insufficient_quota" in (error.code, error.type):
        return QuotaUsedUp(
            f"the account's quota at {endpoint.display_url} is used up: {message} Add credit, then resume."
        )
    return None


def _overload_error(error: StatusError, endpoint: Endpoint, message: str) -> Overloaded:
    after = error.response.headers.get("retry-after", "")
    seconds = " s" if re.fullmatch(r"[0-9.]+", after) else ""
    wait = f"It asks to wait: {sanitize(after)[:_LONGEST_WISH]}{seconds}." if after else "Try again later."
    return Overloaded(
        f"{endpoint.display_url} is overloaded (HTTP {error.status_code}): {message} {wait} "
        "Ask it for less at once, then resume.",
        retry_after=find_retry_after(error.response.headers),
    )


def find_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, by number or by date; None where it does not say."""
    value, thousandths = headers.get("retry-after", ""), headers.get("retry-after-ms", "")
    try:
        seconds = float(thousandths) / 1000 if thousandths else float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), _LONGEST_WAIT) if math.isfinite(seconds) else None


def parse_error_body(message: object, endpoint: Endpoint, *, received: str | None = None) -> ModelError:
    """Return our error for one that came with status 200: inside a stream, or as the whole reply."""
    text = format_server_message(message, endpoint)
    if _TOO_LONG.search(text):
        return window_error(text)
    return ServerFault(f"{endpoint.display_url} failed in mid-reply: {text}", is_charged=True, received=received)


def wrong_address_error(endpoint: Endpoint, what: str) -> Unreachable:
    return Unreachable(
        f"there is no OpenAI-compatible API at {endpoint.display_url} ({what}). "
        f"Is the base URL right? It usually ends in /v1."
    )


def is_missing_route(error: ModelError) -> bool:
    return getattr(error.__cause__, "status_code", None) in _NO_ROUTE


def window_error(message: str) -> WindowExceeded:
    """Return the error for a prompt that is too long; the server's message holds the numbers."""
    return WindowExceeded(
        f"the prompt and its reply do not fit the model's window. The server says: {message} "
        f"Lower --chunk-tokens or --memory-tokens, or serve the model with a longer window."
    )


def is_html(text: str) -> bool:
    return bool(_HTML.match(text))


def find_rejected_setting(error: StatusError, settings: Mapping[str, Any]) -> str | None:
    """Return the request's setting that the server rejects, if that is what the error is about."""
    message = str(error.body)
    if _TOO_LONG.search(message) or not _UNSUPPORTED.search(f"{message} {error.code}"):
        return None
    if isinstance(error.param, str) and error.param in settings:
        return error.param
    return next((name for name in settings if re.search(rf"\b{name}\b", message)), None)


def format_server_message(body: object, endpoint: Endpoint) -> str:
    """Return the server's message as a sentence that is safe for a terminal, with the token counts some servers add."""
    if isinstance(body, Mapping):
        found = body.get("message") or body.get("error") or body.get("detail") or body
        text = (
            format_server_message(found, endpoint).removesuffix(".")
            if isinstance(found, Mapping) and found is not body
            else str(found)
        )
        counts = [f"{name} = {body[name]}" for name in ("n_prompt_tokens", "n_ctx") if name in body]
        text += f" ({', '.join(counts)})" if counts else ""
    else:
        text = "" if body is None or is_html(str(body)) else str(body)
    text = sanitize(endpoint.hide_key(" ".join(text.split())))
    if not text:
        return "no reason given."
    text = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
    return text if text[-1] in ".!?…。" else f"{text}."


def _is_unknown_model(error: StatusError) -> bool:
    """Return True if the error is about the model's name, not the address."""
    if error.status_code not in {400, 404} or not isinstance(error.body, Mapping):
        return False
    if error.code == "model_not_found" or (error.param == "model" and not _UNSUPPORTED.search(str(error.body))):
        return True
    missing = re.search(
        r"\bmodel\b.*(?:not found|not exist|unknown)|(?:unknown|invalid|no such) model", str(error.body), re.IGNORECASE
    )
    return missing is not None
