"""Attacks on the ways in: tokens, hosts' names, paths, addresses, names of uploads."""

from __future__ import annotations

import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attack_steps import CHAT, PLAN, TOKEN

if TYPE_CHECKING:
    from attack_targets import Target


def come_without_token(target: Target) -> int:
    """Call a server of this machine without its token, with a wrong one, or with it in a wrong place."""
    tokens = ["", "x", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), f"{TOKEN}\x00", "*", "null", "undefined", "local"]
    heads = [{}, *({"Authorization": f"Bearer {token}"} for token in tokens[1:] if token.isprintable())]
    heads += [{"Authorization": f"{kind}{TOKEN}"} for kind in ("Basic ", "Token ", "")]
    heads += [{"Cookie": f"bookwheel_session={token}"} for token in (TOKEN, "x", "")]
    heads += [{"X-Api-Key": TOKEN}, {"X-Forwarded-For": "127.0.0.1"}, {"X-Original-URL": "/healthz"}]
    opened = 0
    with target.client() as client:
        for head in heads:
            opened += client.get("/readings", headers=head).status_code == 200
            opened += client.post("/readings", json={"question": "Q?", "text": "x"}, headers=head).status_code == 201
            opened += client.post("/v1/chat/completions", json=CHAT, headers=head).status_code == 200
            opened += client.post("/mcp", json={}, headers=head).status_code not in {401, 403}
        for path in ("/readings?token=" + TOKEN, "/page/../readings", "/page/%2e%2e/readings", "//readings"):
            opened += raw_status(target, f"GET {path} HTTP/1.1\r\nHost: {{host}}\r\n\r\n") == 200
        opened += "set-cookie" in client.get("/?token=x").headers
        opened += client.post("/session", json={"key": "x"}).status_code == 204
    return opened


def smuggle_headers(target: Target) -> int:
    """Come by another host's name, as a page that had its name pointed here does, or hide one request in another."""
    evil = "evil.example"
    inner = f"GET /readings HTTP/1.1\r\nHost: {evil}\r\n\r\n"
    heads = [
        f"GET /readings HTTP/1.1\r\nHost: {evil}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {{host}}\r\nHost: {evil}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {evil}\r\nX-Forwarded-Host: {{host}}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {{host}}@{evil}\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {evil}:80#{{host}}\r\n\r\n",
        f"GET http://{{host}}/readings HTTP/1.1\r\nHost: {evil}\r\n\r\n",
        "GET /readings HTTP/1.0\r\n\r\n",
        f"GET /readings HTTP/1.1\r\nHost: {{host}}\r\nOrigin: http://{evil}\r\n\r\n",
        "GET /readings HTTP/1.1\r\nHost: {host}\r\nOrigin: null\r\n\r\n",
        f"GET /readings HTTP/1.1\r\n Host: {{host}}\r\nHost: {evil}\r\n\r\n",
    ]
    length, chunked = f"Content-Length: {len(inner) + 5}\r\n", "Transfer-Encoding: chunked\r\n"
    both = (length + chunked, chunked + length, length + "Transfer-Encoding : chunked\r\n")
    heads += [f"POST /healthz HTTP/1.1\r\nHost: {{host}}\r\n{more}\r\n0\r\n\r\n{inner}" for more in both]
    return sum("200" in last_statuses(target, head) for head in heads)


def lead_paths_outside(target: Target) -> int:
    """Read a file outside the root over MCP, by dots, links and devices; store an upload outside its folder."""
    import anyio

    root = target.folder.parent / "root"
    paths = ["../secret.txt", "link.txt", "folder-link/secret.txt", str(root.parent / "secret.txt"), ".", "./"]
    paths += ["sub/../../secret.txt", "..", "/proc/self/environ", "/dev/stdin", "~/secret.txt", "link.txt/", ".hidden"]
    paths += ["file://" + str(root.parent / "secret.txt"), "..\\secret.txt", "secret.txt\x00.txt", "hard/../link.txt"]

    async def look() -> int:
        import httpx2 as http
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        seen = 0
        async with (
            http.AsyncClient(trust_env=False, timeout=60) as connection,
            Client(streamable_http_client(f"{target.url}/mcp", http_client=connection)) as client,
        ):
            for path in paths:
                call = {"question": "When does the merger close?", "path": path, "wait_seconds": 20}
                before = target.endpoint.seen
                await client.call_tool("read", call)
                seen += target.endpoint.seen > before
        return seen

    return anyio.run(look)


def fetch_from_inside(target: Target) -> int:
    """Let the server fetch what only this machine can reach."""
    port = int(target.endpoint.url.split(":")[2].split("/")[0])
    hosts = ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]", "0"]
    urls = [f"http://{host}:{port}/secret" for host in hosts]
    urls += [f"http://127.0.0.1.nip.io:{port}/secret", "file:///etc/passwd", f"gopher://127.0.0.1:{port}/secret"]
    seen = 0
    with target.client("eve") as eve:
        for url in urls:
            answer = eve.post("/readings", json={"question": "When?", "url": url, "plan": PLAN})
            seen += answer.status_code == 201
    return seen


def write_outside(target: Target) -> int:
    """Upload files whose names lead elsewhere."""
    names = [
        "../evil.txt",
        "../../evil.txt",
        "/tmp/evil-upload.txt",
        "..%2f..%2fevil.txt",
        "..\\evil.txt",
        "a/../../evil.txt",
    ]
    with target.client("eve") as eve:
        for name in names:
            eve.post("/documents", content=b"evil words", headers={"X-Filename": name})
            eve.post("/documents", files={"file": (name, b"evil words")})
    places = [
        *target.folder.parent.rglob("*evil*"),
        *Path("/tmp").glob("evil*"),
        *Path(tempfile.gettempdir()).glob("evil*"),
    ]
    return len(places)


def raw_status(target: Target, head: str) -> int:
    """Return the status of the first answer to a request that no client would send."""
    return int(next(iter(last_statuses(target, head).split()), 0))


def last_statuses(target: Target, head: str) -> str:
    """Return the statuses of all answers to these bytes."""
    with socket.create_connection(("127.0.0.1", target.port), timeout=3) as connection:
        connection.sendall(head.replace("{host}", f"127.0.0.1:{target.port}").encode())
        received = b""
        with suppress(OSError):
            while piece := connection.recv(1 << 16):
                received += piece
    lines = received.split(b"\r\n")
    return " ".join(line.split()[1].decode() for line in lines if line.startswith(b"HTTP/1."))
