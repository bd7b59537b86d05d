"""Uploads: a request's body, or the field `file` of its form, written to disk and stored in the journal."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from starlette.datastructures import UploadFile

from bookwheel.errors import SourceError
from bookwheel.serve.engine.documents import safe_name, store_document
from bookwheel.serve.engine.errors import ApiError
from bookwheel.text.documents import open_document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from bookwheel.journal import Journal, StoredDocument

_BLOCK: Final = 1 << 20
_MOST_FIELDS: Final = 8


async def store_upload(request: Request, journal: Journal) -> tuple[StoredDocument, tuple[str, ...], int]:
    """Store the uploaded document; return it, notes on what was left out, and its size in bytes."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form(max_files=1, max_fields=_MOST_FIELDS) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise ApiError(
                    400, "the form needs a field 'file' with the document", kind="invalid_request", param="file"
                )
            return await _store(_iterate_blocks(file), file.filename or "", journal)
    return await _store(request.stream(), unquote(request.headers.get("x-filename", "")), journal)


async def _iterate_blocks(file: UploadFile) -> AsyncIterator[bytes]:
    while block := await file.read(_BLOCK):
        yield block


async def _store(
    blocks: AsyncIterator[bytes], name: str, journal: Journal
) -> tuple[StoredDocument, tuple[str, ...], int]:
    # The converters read files, and tell a document's format by its name as well.
    with tempfile.TemporaryDirectory(prefix="bookwheel-") as folder:
        path, size = Path(folder) / safe_name(name), 0
        with path.open("wb") as out:
            async for block in blocks:
                size += len(block)
                await asyncio.to_thread(out.write, block)
        if not size:
            raise SourceError(f"{path.name} is empty: give a document with text in it")
        return *await asyncio.to_thread(lambda: store_document(open_document([path]), journal)), size
