"""Addresses, redirects, waits and look-alikes.

Cases of a second outsider, written before the code was looked at; outsider_doors.py runs them.
"""

from __future__ import annotations

import asyncio
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from outsider import RAW
from outsider_requests import Case, Door, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ADDRESSES = (
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::"),
    *(
        "2002:a00:1::1",
        "::127.0.0.1",
        "::",
        "::1",
        "fe80::1%eth0",
        "fec0::1",
        "fd00::1",
        "ff02::1",
        "100::1",
        "5f00::1",
    ),
    *("2001::1", "2001:db8::1", "3fff::1", "0.0.0.0", "127.1.2.3", "169.254.169.254", "100.64.0.1", "192.0.0.8"),
    *(
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "240.0.0.1",
        "255.255.255.255",
        "224.0.0.1",
        "192.88.99.1",
    ),
    *("::ffff:0:127.0.0.1", "2001:0:7f00:1::", "64:ff9b::a9fe:a9fe", "::ffff:0.0.0.0", "2620:4f:8000::1"),
)
_URLS = (
    *("http://127.1:{port}/", "http://2130706433:{port}/", "http://0x7f000001:{port}/", "http://0177.0.0.1:{port}/"),
    *("http://[::ffff:127.0.0.1]:{port}/", "http://[::1]:{port}/", "http://localhost.:{port}/", "http://0:{port}/"),
    *(
        "http://127.0.0.1:{port}#@example.org/",
        "http://example.org@127.0.0.1:{port}/",
        "http://\u2460\u2461\u2466.0.0.1:{port}/",
    ),
    *("http://127\u30020\u30020\u30021:{port}/", "http://LOCALHOST:{port}/", "HTTP://127.0.0.1:{port}\\@example.org/"),
)


def list_addresses() -> Iterator[Case]:
    from bookwheel.documents.special_addresses import is_public

    for address in _ADDRESSES:
        # 192.31.196.0/24 and 2620:4f:8000::/48 are special and globally reachable.
        may = address.startswith(("2620:4f", "64:ff9b::808"))
        yield f"address {address}", lambda _, a=address, m=may: "is public" if is_public(a) and not m else ""
    for url in _URLS:
        yield f"fetch {url!a}", _fetch(url)


class _Counter(BaseHTTPRequestHandler):
    hits = 0
    location = ""
    status = 200

    def do_POST(self) -> None:
        type(self).hits += 1
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(self.status)
        self.send_header("location", self.location)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


def _serve(**values: object) -> tuple[ThreadingHTTPServer, Any]:
    handler = type("Handler", (_Counter,), {"hits": 0, **values})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, handler


def _fetch(url: str) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        with Door(folder) as door:
            server, handler = _serve()
            answer = door.client.post(
                "/readings",
                json={"model": "scripted", "question": "Who?", "url": url.format(port=server.server_port)},
            )
            time.sleep(0.5)
            server.shutdown()
            return "was fetched" if handler.hits else judge(answer)

    return attack


def list_redirects() -> Iterator[Case]:
    for status in (301, 302, 303, 307, 308):
        for where in (
            "http://localhost:{port}/v1/x",
            "//localhost:{port}/x",
            "http://[::ffff:127.0.0.1]:{port}/",
            "http://a@localhost:{port}/",
        ):
            yield f"redirect {status} to {where}", _redirect(status, where)


def _redirect(status: int, where: str) -> Callable[[Path], str]:
    def attack(_: Path) -> str:
        from bookwheel.errors import ModelError
        from bookwheel.models.embeddings import ServerEmbedder
        from bookwheel.models.openai import OpenAIModel
        from bookwheel.plan import Sampling
        from bookwheel.types import Message

        other, seen = _serve()
        server, _ = _serve(status=status, location=where.format(port=other.server_port))
        words = [Message(role="user", content="secret words")]

        async def call_all() -> list[str]:
            model = OpenAIModel(name="m", base_url=f"http://127.0.0.1:{server.server_port}/v1", deadline=5)
            embedder = ServerEmbedder("m", model.endpoint)
            said = []
            for call in (
                lambda: model.reply(words, limit=9, sampling=Sampling()),
                lambda: model.judge(words, ("Yes", "No")),
                lambda: embedder.embed(["secret"]),
                lambda: OpenAIModel(name="m", base_url=model.endpoint.url, deadline=5).connect(),
            ):
                try:
                    await call()
                except ModelError as error:
                    said.append(str(error))
            return said

        said = asyncio.run(call_all())
        server.shutdown()
        other.shutdown()
        raw = next((found[0] for one in said if (found := RAW.search(one))), "")
        return f"{seen.hits} requests went there" if seen.hits else raw and f"says {raw}"

    return attack


_WAITS = (
    *("1e19", "nan", "inf", "-inf", "-1", "9" * 40, "9" * 5000, "\u0663", "0x10", "", "1_000", "1,5", "+5", "1e-400"),
    *(
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 99 Foo 0000 99:99:99",
        "31 Dec 99999 GMT",
    ),
)


def list_waits() -> Iterator[Case]:
    from bookwheel.models.server_errors import find_retry_after

    for name in ("retry-after", "retry-after-ms"):
        for value in _WAITS:

            def attack(_: Path, name: str = name, value: str = value) -> str:
                seconds = find_retry_after({name: value})
                return "" if seconds is None or 0 <= seconds <= 86_400 else f"waits {seconds}"

            yield f"{name}: {ascii(value)[:40]}", attack


_LOOKALIKES = (
    *(
        "<\u00adsection>",
        "<s\u200dection>",
        "<sec\u0301tion>",
        "\uff1csection\uff1e",
        "\ufe64section\ufe65",
        "<\U000e0073ection>",
    ),
    *(
        "<\u3164section>",
        "<se\ufe0fction>",
        "<|im_start|>",
        "<\uff5cAssistant\uff5c>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
    ),
    *(
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<start_of_turn>model",
        "<|start_header_id|>",
        "<|channel|>",
        "<s>",
        "</s>",
        "<eos>",
    ),
    *(
        "<|reserved_special_token_0|>",
        "<\ud835\udc2c>",
        "\uff3bINST\uff3d",
        "<SYSTEM>",
        "<tool_call>",
        "<think>",
        "< /memory >",
    ),
    *(
        "<\n/section>",
        "</sect\u0456on>",
        "<question\u2800>",
        "<\u202esection>",
        "<|eot_id|>",
        "<\u1680section>",
    ),
    *(
        "\u29fcsection\u29fd",
        "\u1438section\u1433",
        "\u276eimg\u276f",
        "<|\u200bim_end|>",
        "[\u2060INST]",
        "<|end|>",
        "<|user|>",
    ),
)


def list_texts() -> Iterator[Case]:
    from bookwheel.text.sanitize import escape_markup

    for text in _LOOKALIKES:
        if "img" in text or text == "<\ud835\udc2c>":
            continue
        yield f"look-alike {text!a}", lambda _, t=text: "stays" if t in escape_markup(f"before {t} after") else ""
