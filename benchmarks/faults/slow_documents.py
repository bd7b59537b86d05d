"""Upload slow and exploding documents to a server, and measure what a second client notices of it.

    python benchmarks/faults/slow_documents.py [--seconds 20]

40 documents, four at a time, each refused or read within its limits, while another client lists the readings, ten times
a second. Prints the outcome of each document and the second client's latency, alone and during the attack.
"""

from __future__ import annotations

import argparse
import gzip
import io
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = """
import asyncio, sys
from pathlib import Path
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.serve.app import build_app
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.server import Server, bind_socket

async def main():
    limits = Limits(conversion_seconds=int(sys.argv[2]), fetch_seconds=float(sys.argv[2]), waiting_documents=256)
    model = ScriptedModel(keyword_reader)
    with Journal(Path(sys.argv[1])) as journal:
        app = build_app(journal=journal, models={"scripted": model}, settings=ServerSettings(limits=limits))
        server = Server(app, bind_socket("127.0.0.1", 0))
        print(server.address, flush=True)
        await server.serve()

asyncio.run(main())
"""


def make_zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def make_docx(body: str) -> bytes:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    return make_zip(
        {
            "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            b'<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
            b'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
            "_rels/.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            b'<Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
            b'officeDocument" Target="word/document.xml"/></Relationships>',
            "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>".encode(),
        }
    )


def make_pdf(pages: int, content: bytes, *, filters: int = 1) -> bytes:
    """Return a PDF whose pages share one stream of content, packed `filters` times."""
    for _ in range(filters):
        content = zlib.compress(content, 9)
    kids = " ".join(["3 0 R"] * pages)
    names = " ".join(["/FlateDecode"] * filters)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {pages}/Kids[{kids}]>>".encode(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(content)}/Filter[{names}]>>stream\n".encode() + content + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, value in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj".encode() + value + b"endobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{at:010} 00000 n \n".encode() for at in offsets)
    return bytes(out) + f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF".encode()


def make_documents() -> Iterator[tuple[str, bytes]]:
    page = lambda body: b"<!doctype html><html><body>" + body + b"</body></html>"  # noqa: E731
    for count in (20_000, 91_000, 400_000):
        yield f"p-{count}.html", page(b"<p>" * count)
        yield f"div-{count}.html", page(b"<div>" * count)
    yield "attributes.html", page(b"<p " + b" ".join(b"a%d=1" % n for n in range(1_000_000)) + b">text")
    for span in (1000, 65_534):
        yield f"colspan-{span}.html", page(b"<table>" + b"<tr><th colspan=%d>x</th></tr>" % span * 2000 + b"</table>")
        yield f"rowspan-{span}.html", page(b"<table>" + b"<tr><td rowspan=%d>x</td></tr>" % span * 2000 + b"</table>")
    for tag in (b"b", b"i", b"ul", b"blockquote", b"table", b"span", b"font"):
        yield f"nested-{tag.decode()}.html", page(b"<%s>" % tag * 60_000)
    yield "entities.html", page(b"&lt;" * 3_000_000)
    yield "formatting.html", page(b"<b><i><u>" * 30_000 + b"</p>" * 30_000)
    yield "links.html", page(b"<a href='x'>y</a> " * 200_000)
    yield "svg.html", page(b"<svg>" * 30_000 + b"<math>" * 30_000)
    yield "wide.html", page(b"<pre>" + b"x" * 30_000_000 + b"</pre>")
    yield "unclosed.html", b"<!doctype html><" + b"x" * 5_000_000
    yield "comments.html", page(b"<!--" * 1_000_000)
    for runs in (20_000, 200_000):
        yield f"runs-{runs}.docx", make_docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>" * runs)
        yield (
            f"tables-{runs}.docx",
            make_docx("<w:tbl><w:tr><w:tc>" * (runs // 20) + "</w:tc></w:tr></w:tbl>" * (runs // 20)),
        )
    text = b"BT /F 9 Tf 50 700 Td (word) Tj ET\n"
    yield "shared-5000.pdf", make_pdf(5000, text * 400)
    yield "shared-500.pdf", make_pdf(500, text * 20_000)
    yield "stream.pdf", make_pdf(1, text * 2_000_000)
    yield "packed-twice.pdf", make_pdf(1, b" " * 700_000_000, filters=2)
    yield "many-pages.pdf", make_pdf(200_000, text)
    yield "bomb.txt.gz", gzip.compress(bytes(600_000_000))
    yield "bomb.epub", make_zip({"META-INF/container.xml": b"<a/>", "a.html": b"<p>" * 60_000_000})
    yield "selects.html", page(b"<select><option>" * 100_000)
    yield "zeros.txt", bytes(20_000_000)
    yield "line.csv", b'"' * 20_000_000
    yield "columns.csv", (b"," * 200_000 + b"\n") * 20


def look(url: str, seconds: float, ended: threading.Event) -> list[float]:
    latencies = []
    with httpx2.Client(base_url=url, timeout=120, trust_env=False) as client:
        begun = time.monotonic()
        while time.monotonic() - begun < seconds or not ended.is_set():
            start = time.perf_counter()
            client.get("/readings").raise_for_status()
            latencies.append(time.perf_counter() - start)
            time.sleep(0.1)
    return latencies


def upload(
    url: str, documents: Iterator[tuple[str, bytes]], lock: threading.Lock, outcomes: list[str], most: int
) -> None:
    with httpx2.Client(base_url=url, timeout=20 * most, trust_env=False) as client:
        while True:
            with lock:
                name, content = next(documents, ("", b""))
            if not name:
                return
            start = time.monotonic()
            answer = client.post("/documents", content=content, headers={"X-Filename": name})
            seconds = time.monotonic() - start
            told = answer.json()
            said = f"{told['length']:,} characters" if answer.is_success else told["error"][:110]
            outcomes.append(
                f"| {name} | {len(content) >> 10:,} KiB | {answer.status_code} | {seconds:.1f} s | {said} |"
            )


def show(title: str, latencies: list[float]) -> float:
    median = statistics.median(latencies)
    worst = sorted(latencies)[int(len(latencies) * 0.99)]
    print(
        f"{title}: n = {len(latencies)}, median {median * 1000:.1f} ms, p99 {worst * 1000:.1f} ms, "
        f"most {max(latencies) * 1000:.1f} ms"
    )
    return median


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=20, help="the limit of one conversion")
    parser.add_argument("--uploads", type=int, default=4, help="uploads at once")
    options = parser.parse_args()
    documents = list(make_documents())
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SERVER, str(Path(folder) / "journal.sqlite"), str(options.seconds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            url = server.stdout.readline().strip()
            done = threading.Event()
            done.set()
            look(url, 1, done)
            idle = show("idle", look(url, 10, done))
            ended, outcomes, lock, queue = threading.Event(), [], threading.Lock(), iter(documents)
            work = (url, queue, lock, outcomes, options.seconds)
            threads = [threading.Thread(target=upload, args=work) for _ in range(options.uploads)]
            for thread in threads:
                thread.start()
            threading.Thread(target=lambda: ([thread.join() for thread in threads], ended.set())).start()
            busy = show("during the uploads", look(url, 1, ended))
            print(f"median during / idle: {busy / idle:.2f}")
            server.terminate()
    print(f"{len(outcomes)} documents, {sum('| 201 |' in line for line in outcomes)} read\n")
    print("| document | size | status | time in all | outcome |\n|---|---|---|---|---|")
    print("\n".join(sorted(outcomes)))


if __name__ == "__main__":
    main()
