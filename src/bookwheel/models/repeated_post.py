"""Post to one route again and again: the SDK builds the first request, and the others are the same with another body.

For every request the SDK puts together address, headers, credentials and settings. That takes twice the CPU time of all
the rest of a call, and is the same each time. What goes wrong is raised as the SDK raises it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from httpx2 import AsyncClient, Request, Response
    from openai import APIStatusError, AsyncOpenAI


class RepeatedPost:
    """One route of a server, for JSON bodies. `http` is the client that the SDK's client sends with."""

    def __init__(self, client: AsyncOpenAI, http: AsyncClient, route: str) -> None:
        self._client = client
        self._http = http
        self._route = route
        self._first: Request | None = None

    async def post(self, body: Mapping[str, Any]) -> Response:
        """Return the server's answer. Raise an error of the SDK for a bad status and a failing connection."""
        from httpx2 import Response

        # A cookie may change with every answer, and the SDK sends it back.
        if self._first and not self._http.cookies:
            return await self._repeat(self._first, body)
        answer = await self._client.post(self._route, cast_to=Response, body=body)
        # The request after a redirect may have lost its key.
        self._first = None if answer.history else answer.request
        # Its length is that of its own body.
        answer.request.headers.pop("content-length", None)
        return answer

    async def _repeat(self, first: Request, body: Mapping[str, Any]) -> Response:
        import httpx2
        from openai import APIConnectionError, APITimeoutError

        content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        request = httpx2.Request(
            first.method, first.url, headers=first.headers, content=content, extensions=dict(first.extensions)
        )
        try:
            answer = await self._http.send(request)
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise APIConnectionError(request=request) from error
        if not answer.is_success:
            raise _status_error(answer)
        return answer


def _status_error(answer: Response) -> APIStatusError:
    """Return the SDK's error for an answer with a bad status."""
    from openai import APIStatusError, BadRequestError, UnprocessableEntityError

    kind = {400: BadRequestError, 422: UnprocessableEntityError}.get(answer.status_code, APIStatusError)
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = answer.text.strip()
    # The SDK takes code and parameter from the field that OpenAI names.
    inner = body.get("error", body) if isinstance(body, dict) else body
    return kind(f"Error code: {answer.status_code} - {body}", response=answer, body=inner)
