"""Uploads: a request's body, or the field `file` of its form, written to disk and stored in the journal."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from starlette.datastructures import UploadFile

from bookwheel.errors import SourceError
from bookwheel.serve.engine.documents import safe_name
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.service import Caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request

    from bookwheel.journal import StoredDocument
    from bookwheel.serve.engine.documents import DocumentStore

_BLOCK: Final = 1 << 20
_MOST_FIELDS: Final = 8


async def store_upload(request: Request, documents: DocumentStore) -> tuple[StoredDocument, int]:
    """Store the uploaded document; return it and its size in bytes."""
    client = Caller(key=request.state.key).key_name
    # A folder of its own, which only this user may enter; mkdtemp makes it so.
    with _make_folder() as folder:
        async with documents.receive_upload(client):
            path, size = await _receive(request, Path(folder))
        return await documents.store_path(path, client), size


async def _receive(request: Request, folder: Path) -> tuple[Path, int]:
    """Write the uploaded document to a file in the folder; return its path and size."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form(max_files=1, max_fields=_MOST_FIELDS) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise ApiError(
                    400, "the form needs a field 'file' with the document", kind="invalid_request", param="file"
                )
            return await _write(_iterate_blocks(file), folder / safe_name(file.filename or ""))
    return await _write(request.stream(), folder / safe_name(unquote(request.headers.get("x-filename", ""))))


async def _iterate_blocks(file: UploadFile) -> AsyncIterator[bytes]:
    while block := await file.read(_BLOCK):
        yield block


async def _write(blocks: AsyncIterator[bytes], path: Path) -> tuple[Path, int]:
    # The converters read files, and tell a document's format by its name as well.
    size = 0
    try:
        with path.open("wb") as out:
            async for block in blocks:
                size += len(block)
                await asyncio.to_thread(out.write, block)
    except OSError as error:
        raise _disk_error(error) from error
    if not size:
        raise SourceError(f"{path.name} is empty: give a document with text in it")
    return path, size


@contextmanager
def _make_folder() -> Iterator[str]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="bookwheel-")
    except OSError as error:
        raise _disk_error(error) from error
    with folder as path:
        yield path


def _disk_error(error: OSError) -> ApiError:
    return ApiError(
        507, f"the server cannot store the upload ({error.strerror or error}); try again later", kind="disk_full"
    )
