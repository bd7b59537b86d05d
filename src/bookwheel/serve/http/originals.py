"""The routes of documents as they look: their contents, their files, pictures of their pages, places on them."""

from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from bookwheel.picture import find_media
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.originals import BoxesJson, OutlineJson
from bookwheel.serve.engine.running_reading import Caller
from bookwheel.serve.http.operations import SPAN, Routes, operation
from bookwheel.serve.http.requests import parse_number, read_digits

_FILE: Final = "application/octet-stream"
_SOURCE: Final = {"source": str}
_PICTURE: Final = {**_SOURCE, "width": int}
_LABEL: Final = {"label": str}
_DEFAULT_WIDTH: Final = 1000
# Of the number of a page.
_MOST_DIGITS: Final = 6
# Characters of a passage that is looked for on pages.
_LONGEST_PASSAGE: Final = 20_000
# What belongs to a text's SHA-256 does not change, but a key's owner may delete it.
_KEPT: Final = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}


class OriginalRoutes(Routes):
    """The operations of files and pages."""

    @operation("GET", "/documents/{sha}/outline", "Its headings, pages and files")
    async def get_outline(self, request: Request) -> OutlineJson:
        return await self._service.originals.outline(await self._find_document(request), _client(request))

    @operation("GET", "/documents/{sha}/original", "A file it was read from", bytes, kind=_FILE, query=_SOURCE)
    async def get_original(self, request: Request) -> Response:
        name, content = await self._service.originals.load(await self._find_document(request), _source(request))
        # Never shown by the browser: the file is a stranger's.
        disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
        headers = {**_KEPT, "Content-Disposition": disposition}
        return Response(content, media_type=_FILE, headers=headers)

    @operation("GET", "/documents/{sha}/pages/{number}", "A page's picture", bytes, kind="image/png", query=_PICTURE)
    async def get_page(self, request: Request) -> Response:
        number = read_digits(request.path_params["number"], _MOST_DIGITS)
        if number is None:
            raise ApiError(400, "a page has a number from 1 on", param="number")
        width, source = parse_number(request, "width", _DEFAULT_WIDTH), _source(request)
        document = await self._find_document(request)
        picture = await self._service.originals.draw(document, source, number, max(width, 1), _client(request))
        return Response(picture, media_type="image/png", headers=_KEPT)

    @operation("GET", "/documents/{sha}/pictures", "A picture by its mark", bytes, kind="image/png", query=_LABEL)
    async def get_picture(self, request: Request) -> Response:
        document, label = await self._find_document(request), request.query_params.get("label", "")
        content = await self._service.originals.load_picture(document, label)
        return Response(content, media_type=find_media(content), headers=_KEPT)

    @operation("GET", "/documents/{sha}/places", "Where a passage stands on its pages", query=SPAN)
    async def get_places(self, request: Request) -> list[BoxesJson]:
        document = await self._find_document(request)
        start, end = parse_number(request, "start", 0), parse_number(request, "end", 0)
        if not start <= end <= start + _LONGEST_PASSAGE:
            raise ApiError(400, f"a passage has at most {_LONGEST_PASSAGE:,} characters", param="end")
        return await self._service.originals.find_boxes(document, start, end, _client(request))


def _client(request: Request) -> str:
    return Caller(key=request.state.key).key_name


def _source(request: Request) -> str:
    return request.query_params.get("source", "")
