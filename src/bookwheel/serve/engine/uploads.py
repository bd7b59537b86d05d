"""From a request to a document in the journal: uploads streamed to the disk, texts, and addresses on the public web."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from starlette.datastructures import UploadFile

from bookwheel.errors import SourceError
from bookwheel.serve.engine.errors import ApiError
from bookwheel.text.documents import TextDocument, open_document
from bookwheel.text.volumes import to_printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from bookwheel.journal import Journal, KeptDocument
    from bookwheel.serve.engine.running import Opened
    from bookwheel.types import Document

_LONGEST_NAME: Final = 120
_BLOCK: Final = 1 << 20
_WEB: Final = ("http://", "https://")


def safe_name(given: str) -> str:
    """The last part of a file name that a stranger gave: nothing in it can lead anywhere."""
    last = given.replace("\\", "/").rpartition("/")[2]
    name = to_printable(last).encode("utf-8", "replace").decode().strip()
    if name.strip(".") == "":
        return "document"
    stem, dot, suffix = name.rpartition(".")
    kept = f"{stem[:_LONGEST_NAME]}{dot}{suffix[:16]}" if dot else name[:_LONGEST_NAME]
    return (
        kept if len(kept.encode()) <= 2 * _LONGEST_NAME else f"document{dot}{suffix[:16] if suffix.isascii() else ''}"
    )


def store_document(document: Document, journal: Journal) -> Opened:
    """The document as the journal has it, and what was left out of it."""
    found = journal.keep(document)
    return found, tuple(getattr(document, "notes", ()))


async def keep_upload(request: Request, journal: Journal) -> tuple[KeptDocument, tuple[str, ...], int]:
    """The document of a raw body or of a form's field `file`, what was left out of it, and how many bytes it had."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form(max_files=1, max_fields=8) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise ApiError(
                    400, "the form needs a field 'file' with the document", kind="invalid_request", param="file"
                )
            return await _keep(_pieces(file), file.filename or "", journal)
    return await _keep(request.stream(), unquote(request.headers.get("x-filename", "")), journal)


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while block := await file.read(_BLOCK):
        yield block


async def _keep(blocks: AsyncIterator[bytes], name: str, journal: Journal) -> tuple[KeptDocument, tuple[str, ...], int]:
    with tempfile.TemporaryDirectory(prefix="bookwheel-") as folder:
        path, size = Path(folder) / safe_name(name), 0
        with path.open("wb") as out:
            async for block in blocks:
                size += len(block)
                await asyncio.to_thread(out.write, block)
        if not size:
            raise SourceError(f"{path.name} is empty: give a document with text in it")
        return *await asyncio.to_thread(lambda: store_document(open_document([path]), journal)), size


async def keep_text(text: str, name: str | None, journal: Journal) -> Opened:
    """A text that came with the request."""
    if not text.strip():
        raise SourceError("the text is empty: give a document with text in it")
    return await asyncio.to_thread(store_document, TextDocument(text, safe_name(name) if name else "text"), journal)


async def keep_address(url: str, journal: Journal, *, allow_private: bool) -> Opened:
    """What stands at an address; nothing but an address, since a path would be read as well."""
    if not url.lower().startswith(_WEB):
        raise SourceError("url must begin with http:// or https://; upload files instead")
    return await asyncio.to_thread(lambda: store_document(open_document([url], allow_private=allow_private), journal))
