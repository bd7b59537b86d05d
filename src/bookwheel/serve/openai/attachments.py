"""Files and pictures inside the messages of a chat: decoded, converted and stored as uploads are, named by their ids.

A client sends the same files again with every turn. They are the same text then, so that a follow-up finds its reading.
Pictures are stored where the chat is read; one that goes to an endpoint as it stands takes its pictures along.
"""

import asyncio
import base64
import binascii
import mimetypes
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request

from bookwheel.journal import StoredDocument
from bookwheel.picture import is_picture
from bookwheel.serve.engine.documents import safe_name
from bookwheel.serve.engine.service import Service
from bookwheel.serve.http.requests import identify_caller
from bookwheel.serve.openai.conversation import ChatContents, ChatParts
from bookwheel.serve.openai.requests import FILE_PREFIX, ChatShape, MessageShape, refuse

_DATA: Final = "data:"


async def store_attachments(service: Service, request: Request, chat: ChatShape) -> ChatShape:
    """Return the chat with its files as one stored document, which the first of their messages names by its id."""
    files = [file for message in chat.messages for file in _list_files(message)]
    if not files:
        return chat
    client = (await identify_caller(request)).key_name
    urls = [file["file_url"] for file in files if isinstance(file.get("file_url"), str)]
    if urls and len(files) > 1:
        raise refuse("one address at a time, and no other file beside it", "messages")
    if urls:
        stored = await _fetch(service, urls[0], client)
    else:
        # One file, or several as the folder that they are in; a file that comes twice is one.
        decoded: dict[str, bytes] = {}
        for file in files:
            name, content = await asyncio.to_thread(_decode, file)
            if decoded.setdefault(name, content) != content:
                decoded[f"{len(decoded) + 1}-{name}"] = content
        stored = await _store_contents(service, decoded, client)
    named: dict[str, Any] = {"type": "file", "file": {"file_id": f"{FILE_PREFIX}{stored.id}"}}
    messages = []
    for message in chat.messages:
        if any(_list_files(message)) and isinstance(message.content, list):
            parts = [part for part in message.content if not _is_file(part)]
            messages.append(message.model_copy(update={"content": [*([named] if named else []), *parts]}))
            named = {}
        else:
            messages.append(message)
    return chat.model_copy(update={"messages": messages})


def _list_files(message: MessageShape) -> Iterator[dict[str, Any]]:
    for part in message.content if isinstance(message.content, list) else ():
        if _is_file(part):
            yield part["file"]


def _is_file(part: dict[str, Any]) -> bool:
    file = part.get("file")
    return part.get("type") == "file" and isinstance(file, dict) and bool({"file_data", "file_url"} & file.keys())


async def _fetch(service: Service, url: str, client: str) -> StoredDocument:
    return await service.documents.store_url(url, client, allow_private=service.settings.allow_private)


async def _store_contents(service: Service, decoded: Mapping[str, bytes], client: str) -> StoredDocument:
    # A folder of its own, which only this user may enter.
    with tempfile.TemporaryDirectory(prefix="bookwheel-") as folder:
        paths = [Path(folder) / name for name in sorted(decoded)]
        async with service.documents.receive_upload(client):
            for path in paths:
                await asyncio.to_thread(path.write_bytes, decoded[path.name])
        return await service.documents.store_paths(paths, client, renames=False)


async def store_pictures(
    service: Service, request: Request, contents: ChatContents, parts: ChatParts
) -> tuple[ChatContents, ChatParts]:
    """Return a chat whose document is its pictures, behind the text that it would be without them."""
    if contents.files:
        raise refuse("one document at a time: send the pictures as files beside the other file", "messages")
    client = (await identify_caller(request)).key_name
    addresses = list(dict.fromkeys(contents.pictures))
    if len(addresses) == 1 and parts.document is None and not addresses[0].startswith(_DATA):
        stored = await _fetch(service, addresses[0], client)
    elif all(address.startswith(_DATA) for address in addresses):
        # In the order of their names, the text before the pictures.
        decoded = {} if parts.document is None else {"1-text.txt": parts.document.encode("utf-8", "replace")}
        for number, address in enumerate(addresses, 1):
            ending = mimetypes.guess_extension(address.removeprefix(_DATA).partition(";")[0]) or ".png"
            named = {"file_data": address, "filename": f"picture-{number:02}{ending}"}
            name, content = await asyncio.to_thread(_decode, named)
            if not is_picture(content):
                raise refuse(f"picture {number} is of no known format, or broken: send PNG or JPEG", "messages")
            decoded[name] = content
        stored = await _store_contents(service, decoded, client)
    else:
        raise refuse("the address of one picture, or pictures as data: addresses in base64", "messages")
    files_ids = (f"{FILE_PREFIX}{stored.id}",)
    return replace(contents, files=files_ids, pictures=()), replace(parts, document=None, is_history=False)


def _decode(file: dict[str, Any]) -> tuple[str, bytes]:
    """Return the name and the content of a file: base64, alone or behind `data:application/pdf;base64,`."""
    data, kind = file.get("file_data"), ""
    if isinstance(data, str) and data.startswith(_DATA):
        head, _, data = data.partition(",")
        kind = head.removeprefix(_DATA).partition(";")[0]
    try:
        content = base64.b64decode(data if isinstance(data, str) else "", validate=True)
    except binascii.Error:
        content = b""
    if not content:
        raise refuse("file_data is the file in base64, or a data: address with it", "messages")
    name = safe_name(str(file.get("filename") or f"attachment{mimetypes.guess_extension(kind) or ''}"))
    return name, content
