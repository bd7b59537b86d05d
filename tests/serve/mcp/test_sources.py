"""What a client may have read over MCP: files inside the roots and public addresses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp_service import QUESTION, TEXT, call, client_of, refused

from bookwheel.serve.engine.access import AccessPolicy


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    shelf = tmp_path / "shelf"
    (shelf / "inner").mkdir(parents=True)
    (shelf / "book.txt").write_text(TEXT)
    (shelf / ".env").write_text("The harbour master of Skarholm is a secret.")
    (tmp_path / "private.txt").write_text("The harbour master of Skarholm is a secret.")
    (shelf / "link.txt").symlink_to(tmp_path / "private.txt")
    (shelf / "inner" / "up").symlink_to(tmp_path)
    (shelf / "honest.txt").symlink_to(shelf / "book.txt")
    return shelf


@pytest.mark.slow
@pytest.mark.parametrize("path", ["book.txt", "./inner/../book.txt", "honest.txt", ".", "{shelf}/book.txt"])
def test_files_inside_a_root_are_read(tmp_path: Path, shelf: Path, path: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path, reach=AccessPolicy.from_roots([shelf])) as client:
            said = await call(client, "read", path=path.format(shelf=shelf), question=QUESTION)
            assert "Ada Quill" in said["answer"]
            assert "secret" not in json.dumps(said)

    asyncio.run(main())


@pytest.mark.parametrize(
    "path",
    ["../private.txt", "{shelf}/../private.txt", "link.txt", "inner/up/private.txt", "/etc/passwd", ".env", "a\0b"]
    + ["../nothing.txt", "inner/../../private.txt"],
)
def test_nothing_outside_the_roots_or_hidden_in_them_is_read(tmp_path: Path, shelf: Path, path: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path, reach=AccessPolicy.from_roots([shelf])) as client:
            path_ = path.format(shelf=shelf)
            said = await refused(client, "read", path=path_, question=QUESTION)
            said = said.replace(path_, "PATH")
            assert "PATH is not inside what may be read here (shelf), or is hidden there" in said
            assert "private" not in said
            assert (await call(client, "list_readings"))["readings"] == []

    asyncio.run(main())


def test_without_roots_no_file_is_read(tmp_path: Path, shelf: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert "--root" in await refused(client, "read", path=str(shelf / "book.txt"), question=QUESTION)

    asyncio.run(main())


@pytest.mark.parametrize("url", ["/etc/passwd", "file:///etc/passwd", "-", "ftp://example.org/x", " http://x"])
def test_only_web_addresses_are_addresses(tmp_path: Path, url: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert "must begin with http" in await refused(client, "read", url=url, question=QUESTION)

    asyncio.run(main())


@pytest.mark.slow
def test_addresses_inside_the_network_are_refused_unless_allowed(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = TEXT.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/book.txt"
            async with client_of(tmp_path) as client:
                assert "not a public address" in await refused(client, "read", url=url, question=QUESTION)
            async with client_of(tmp_path, reach=AccessPolicy(allow_private=True)) as client:
                said = await call(client, "read", url=url, question=QUESTION)
                assert "Ada Quill" in said["answer"]

    asyncio.run(main())


@pytest.mark.slow
def test_a_document_that_cannot_be_opened_is_an_error_when_waited_for(tmp_path: Path, shelf: Path) -> None:
    (shelf / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(2000))

    async def main() -> None:
        async with client_of(tmp_path, reach=AccessPolicy.from_roots([shelf])) as client:
            assert "picture.png" in await refused(client, "read", path="picture.png", question=QUESTION)

    asyncio.run(main())
