"""Fuzz what bookwheel reads from others: documents, replies, requests, chat bodies, journals, heads of GGUF files.

    python benchmarks/faults/fuzz.py [KIND...] [--seconds 60] [--seed 1] [--corpus FOLDER]

Each case is made by a grammar and then bent: bytes flip, pieces go, come twice or are exchanged for awkward ones. What
must hold for every case: an end within seconds, no exception but ours, no words of Python in a message or an answer, no
status 500, and of a document that is not bent every leaf in the text or in a note. A case is its kind and its number,
so that it can be made again; `--corpus` writes those that broke something, and the tests play them for ever.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import random
import re
import shutil
import struct
import sys
import tempfile
import time
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outsider import OBEYED, RAW

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_SECONDS = 20.0
AWKWARD = (
    *("", "\x00", "\ufeff", "\ud800", "\u202e", "\x1b[2J", "</section>", "<|im_end|>", "=1+1", "NaN", "null", "-1"),
    *("1e999", "9" * 400, "[" * 300, "{" * 300, "<a" * 300, "\n" * 300, "%s%n", "../../x", "\u0130\u0131"),
    *("\U0001f600" * 50, "'"),
)


class Broken(Exception):
    """An invariant does not hold."""


def check_message(text: str) -> None:
    """Raise Broken for words of Python and signs that a terminal obeys."""
    if found := RAW.search(text) or OBEYED.search(text):
        raise Broken(f"says {found[0]!r}: {text[:300]!r}")


def bend(content: bytes, draw: random.Random) -> bytes:
    """Return the bytes with some changes."""
    for _ in range(draw.choice((0, 1, 1, 2, 5, 20))):
        at = draw.randrange(len(content) + 1)
        end = min(len(content), at + draw.choice((1, 1, 4, 30, 400)))
        kind = draw.randrange(5)
        if kind == 0 and at < len(content):
            content = content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at] + content[end:]
        elif kind == 2:
            content = content[:end] + content[at:]
        elif kind == 3:
            content = content[:at] + draw.choice(AWKWARD).encode("utf-8", "surrogatepass") + content[end:]
        else:
            content = content[:at] + draw.randbytes(end - at) + content[end:]
    return content


def make_json(draw: random.Random, depth: int = 0) -> Any:
    """Return a JSON value of any shape."""
    kind = draw.randrange(5 if depth > 3 else 8)
    if kind < 3:
        return draw.choice((*AWKWARD[:14], "words", "length", "stop"))
    if kind < 5:
        return draw.choice((0, 1, -1, 1.5, 10**30, 1e308, True, False, None, 2**53, -(2**63) - 1))
    count = draw.randrange(4)
    if kind < 7:
        names = ("choices", "message", "content", "text", "usage", "id", "role", "type", "index", "data", "0", "")
        return {draw.choice(names): make_json(draw, depth + 1) for _ in range(count)}
    return [make_json(draw, depth + 1) for _ in range(count)]


def change_json(value: Any, draw: random.Random) -> Any:
    """Return a JSON value with one of its parts exchanged."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        name = draw.choice(list(value))
        if draw.random() < 0.1:
            return {one: part for one, part in value.items() if one != name}
        return {**value, name: change_json(value[name], draw)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        return [*value[:at], change_json(value[at], draw), *value[at + 1 :]]
    return make_json(draw)


class Documents:
    """Files of every format, by a grammar, whole or bent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, draw: random.Random) -> None:
        """Open one file."""
        from bookwheel.documents.opening import open_document
        from bookwheel.errors import BookwheelError

        leaves = [f"leaf{draw.randrange(10**6)}x" for _ in range(draw.randrange(1, 6))]
        name = draw.choice(list(FORMATS))
        content = FORMATS[name](leaves, draw)
        bent = bend(content, draw) if draw.random() < 0.7 else content
        path = self._folder / f"a.{name}"
        path.write_bytes(bent)
        try:
            document = open_document([path])
            text = "".join(part.text for part in document.parts())
            told = " ".join([document.name, *document.notes])
        except BookwheelError as error:
            check_message(str(error))
            if bent == content:
                raise Broken(f"a whole .{name} is not read: {error}") from error
            return
        finally:
            path.unlink(missing_ok=True)
        check_message(told)
        if bent == content and (lost := [leaf for leaf in leaves if leaf not in text + told]):
            raise Broken(f"a .{name} lost {lost} of {leaves} without a word: {told!r}")

    def close(self) -> None:
        """Nothing stays open."""


def _lines(leaves: list[str], draw: random.Random) -> bytes:
    marks = ("# ", "- ", "", "1. ", "> ", "    ", "| ")
    return "\n".join(f"{draw.choice(marks)}{leaf} is said." for leaf in leaves).encode()


def _html(leaves: list[str], draw: random.Random) -> bytes:
    body = ""
    for leaf in leaves:
        tag = draw.choice(("p", "div", "h1", "li", "td", "pre", "blockquote", "figcaption", "article", "summary"))
        inner = f"<{tag}>{leaf} is told here in so many words.</{tag}>"
        wrap = {"li": "ul", "td": "table><tr", "summary": "details", "figcaption": "figure"}.get(tag)
        close = "tr></table" if tag == "td" else wrap
        body += f"<{wrap}>{inner}</{close}>" if wrap else inner
    return f"<!doctype html><html><head><title>T</title></head><body><main>{body}</main></body></html>".encode()


def _csv(leaves: list[str], draw: random.Random) -> bytes:
    sign = draw.choice(",;\t")
    rows = [f'{leaf}{sign}"a {sign} b"{sign}{draw.randrange(99)}' for leaf in leaves]
    return f"name{sign}text{sign}number\n".encode() + "\n".join(rows).encode()


def _notebook(leaves: list[str], draw: random.Random) -> bytes:
    cells: list[dict[str, Any]] = []
    for leaf in leaves:
        kind = draw.choice(("markdown", "code", "raw"))
        cell: dict[str, Any] = {"cell_type": kind, "source": [leaf], "metadata": {}}
        if kind == "code":
            output = {"output_type": "stream", "name": "stdout", "text": ["out"]}
            cell |= {"outputs": [output], "execution_count": 1}
        cells.append(cell)
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _mail(leaves: list[str], draw: random.Random) -> bytes:
    from email.message import EmailMessage

    mail = EmailMessage()
    mail["Subject"], mail["From"] = leaves[0], "ada@example.org"
    mail.set_content(f"{leaves[0]} is the text.")
    for leaf in leaves[1:]:
        kind = draw.randrange(4)
        if kind == 0 and not mail.is_multipart():
            mail.add_alternative(f"<p>{leaf}</p>", subtype="html")
        elif kind == 0:
            mail.add_attachment(leaf)
        elif kind == 1:
            mail.add_attachment(f"a,b\n{leaf},2\n", subtype="csv", filename=f"{leaf}.csv")
        elif kind == 2:
            mail.add_attachment(b"\x00\x01", maintype="application", subtype="x-odd", filename=f"{leaf}.bin")
        else:
            inner = EmailMessage()
            inner["Subject"] = leaf
            inner.set_content("within")
            mail.add_attachment(inner)
    return mail.as_bytes()


def _zip(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def _docx(leaves: list[str], draw: random.Random) -> bytes:
    from docx import Document

    document, out = Document(), io.BytesIO()
    for leaf in leaves:
        kind = draw.randrange(4)
        if kind == 0:
            document.add_heading(leaf, 1)
        elif kind == 1:
            document.add_table(1, 2).cell(0, 1).text = leaf
        elif kind == 2:
            document.sections[0].header.paragraphs[0].add_run(f" {leaf}")
        else:
            document.add_paragraph(leaf)
    document.save(out)
    return out.getvalue()


def _xlsx(leaves: list[str], draw: random.Random) -> bytes:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        for number, leaf in enumerate(leaves):
            book.add_worksheet(f"s{number}").write(draw.randrange(30), draw.randrange(30), leaf)
    return out.getvalue()


def _pptx(leaves: list[str], draw: random.Random) -> bytes:
    from pptx import Presentation

    show, out = Presentation(), io.BytesIO()
    for leaf in leaves:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = leaf if draw.random() < 0.5 else "Title"
        slide.notes_slide.notes_text_frame.text = leaf
    show.save(out)
    return out.getvalue()


def _epub(leaves: list[str], _draw: random.Random) -> bytes:
    pages = {
        f"p{number}.xhtml": f"<html><body><p>{leaf} is here.</p></body></html>" for number, leaf in enumerate(leaves)
    }
    items = "".join(f"<item id='{page}' href='{page}' media-type='application/xhtml+xml'/>" for page in pages)
    spine = "".join(f"<itemref idref='{page}'/>" for page in pages)
    package = (
        f"<package xmlns='http://www.idpf.org/2007/opf'><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
        "<rootfile full-path='c.opf'/></rootfiles></container>"
    )
    files = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "c.opf": package, **pages}
    return _zip(files)


def _rtf(leaves: list[str], draw: random.Random) -> bytes:
    words = ("\\b ", "\\par ", "\\i0 ", "", "\\'e9")
    return ("{\\rtf1\\ansi " + "".join(f"{draw.choice(words)}{leaf}\\par\n" for leaf in leaves) + "}").encode()


def _pdf(leaves: list[str], draw: random.Random) -> bytes:
    size = draw.choice((8, 12, 30))
    shown = "".join(f"1 0 0 1 40 {700 - 40 * at} Tm ({leaf} is on the page.) Tj " for at, leaf in enumerate(leaves))
    stream = f"BT /F {size} Tf {shown} ET"
    bodies = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 900 792]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += f"{number} 0 obj{body}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"xref\n0 6\n0000000000 65535 f \n{table}trailer<</Root 1 0 R/Size 6>>\nstartxref\n{len(out)}\n%%EOF"
    return out.encode()


FORMATS: dict[str, Callable[[list[str], random.Random], bytes]] = {
    **dict.fromkeys(("txt", "md", "rst", "py", "log"), _lines),
    **dict.fromkeys(("html", "xhtml"), _html),
    **dict.fromkeys(("csv", "tsv"), _csv),
    "json": lambda leaves, draw: json.dumps([{"a": leaf, "n": draw.random()} for leaf in leaves]).encode(),
    "jsonl": lambda leaves, draw: "\n".join(json.dumps({"a": leaf, "n": draw.random()}) for leaf in leaves).encode(),
    "xml": lambda leaves, draw: (
        f"<a>{''.join(f'<b n={chr(39)}{draw.randrange(9)}{chr(39)}>{x}</b>' for x in leaves)}</a>".encode()
    ),
    "ipynb": _notebook,
    "eml": _mail,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
    "epub": _epub,
    "rtf": _rtf,
    "pdf": _pdf,
}


class Replies:
    """Replies of a model's server: their JSON through the parsers, and sometimes their bytes through a socket."""

    def __init__(self, folder: Path) -> None:
        del folder

    def run(self, draw: random.Random) -> None:
        """Take one reply."""
        from worst_replies import GOOD, Server, call

        value = GOOD
        for _ in range(draw.randrange(1, 4)):
            value = change_json(value, draw)
        body = json.dumps(value).encode("utf-8", "surrogatepass")
        stream = draw.random() < 0.4
        if stream:
            body = b"data: " + body.replace(b'"message"', b'"delta"') + b"\n\ndata: [DONE]\n\n"
        kind = b"text/event-stream" if stream else draw.choice((b"application/json", b"text/html", b"a/b; charset=x"))
        status = draw.choice((b"200 OK",) * 6 + (b"400 Bad", b"429 Slow", b"500 Oh", b"302 Go", b"600 ?"))
        head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-type: " + kind + b"\r\n\r\n"
        answer = bend(head + body, draw) if draw.random() < 0.5 else head + bend(body, draw)
        server = Server(lambda: iter((answer,)))
        try:
            outcome, _ = asyncio.run(call(server.port, stream=stream, deadline=5))
        finally:
            server.close()
        if outcome.startswith("!"):
            raise Broken(outcome)
        check_message(outcome)

    def close(self) -> None:
        """Nothing stays open."""


class Requests:
    """Requests to every route of a server, and chat bodies of every protocol that it speaks."""

    def __init__(self, folder: Path) -> None:
        from starlette.testclient import TestClient

        from bookwheel.journal import Journal
        from bookwheel.models.scripted import ScriptedModel, keyword_reader
        from bookwheel.serve.app import build_app
        from bookwheel.serve.engine.settings import ServerSettings

        self._open = ExitStack()
        journal = self._open.enter_context(Journal(folder / "journal.sqlite"))
        app = build_app(journal=journal, models={"scripted": ScriptedModel(keyword_reader)}, settings=ServerSettings())
        client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=True)
        self._client = self._open.enter_context(client)
        self._paths = sorted(set(self._client.get("/openapi.json").json()["paths"]))
        self._paths += [
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/messages",
            "/api/chat",
            "/api/generate",
            "/v1/completions",
        ]

    def run(self, draw: random.Random) -> None:
        """Send one request."""
        path = re.sub(
            r"\{[^}]*\}",
            lambda _: draw.choice(("0", "x", "%00", "..", "a%2f", "\u0130", "-1")),
            draw.choice(self._paths),
        )
        value: Any = {
            "model": "scripted",
            "messages": [{"role": "user", "content": "Who wound the clock?"}, {"role": "assistant", "content": "?"}],
            "input": "Who?",
            "prompt": "Who?",
            "document": {"text": "Ada wound the clock."},
            "questions": ["Who?"],
            "question": "Who?",
            "stream": False,
            "max_tokens": 9,
            "tools": [],
            "plan": {"chunk_tokens": 300},
        }
        for _ in range(draw.randrange(4)):
            value = change_json(value, draw)
        body = json.dumps(value).encode("utf-8", "surrogatepass")
        method = draw.choice(("GET", "POST", "POST", "POST", "PUT", "DELETE", "PATCH"))
        kinds = (b"application/json", b"text/plain", b"multipart/form-data; boundary=b", b"\xff")
        headers = {"content-type": draw.choice(kinds)}
        if "shutdown" in path or (method == "GET" and path.endswith("/events")):
            return
        answer = self._client.request(method, path, content=bend(body, draw), headers=headers)
        if answer.status_code == 500:
            raise Broken(f"{method} {path} gave 500: {answer.text[:200]} for {body[:300]!r}")
        if "json" in answer.headers.get("content-type", "") and answer.status_code >= 400:
            check_message(answer.text)

    def close(self) -> None:
        """End the server."""
        self._open.close()


class Journals:
    """Copies of a journal that was killed, whose database, log or notes are bent."""

    def __init__(self, folder: Path) -> None:
        from flipped_log import write_and_kill

        self._folder = folder
        self._whole = folder / "whole"
        self._whole.mkdir()
        write_and_kill(self._whole / "journal.sqlite")

    def run(self, draw: random.Random) -> None:
        """Open one copy."""
        from flipped_log import open_copy

        copy = self._folder / "copy"
        shutil.copytree(self._whole, copy, ignore=shutil.ignore_patterns("*.locks"))
        try:
            target = copy / draw.choice(["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-wal"])
            target.write_bytes(bend(target.read_bytes(), draw))
            fate, steps = open_copy(copy / "journal.sqlite")
            if fate == "silent":
                raise Broken(f"{target.name} bent: {steps} steps are there, and nobody says that some are missing")
        finally:
            shutil.rmtree(copy)

    def close(self) -> None:
        """Nothing stays open."""


class Heads:
    """Heads of GGUF files."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "a.gguf"

    def run(self, draw: random.Random) -> None:
        """Read one head, by all that read one."""
        from bookwheel.errors import BookwheelError
        from bookwheel.models.gguf import load_gguf, load_header_plan, read_header, read_lists

        def text(value: str) -> bytes:
            return struct.pack("<Q", len(value)) + value.encode()

        fields = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
        for number in range(draw.randrange(6)):
            kind = draw.randrange(15)
            fields.append(text(f"f{number}") + struct.pack("<I", kind) + draw.randbytes(draw.choice((1, 4, 8, 12, 40))))
        counts = struct.pack("<IQQ", 3, draw.choice((0, 1, 2**63)), draw.choice((len(fields), len(fields), 2**64 - 1)))
        self._path.write_bytes(bend(b"GGUF" + counts + b"".join(fields), draw))
        for read in (
            read_header,
            load_gguf,
            lambda path: read_lists(path, ("f0", "f1")),
            self._plan(load_header_plan, read_header),
        ):
            try:
                read(self._path)
            except BookwheelError as error:
                check_message(str(error))

    @staticmethod
    def _plan(load: Callable[..., object], read: Callable[[Path], Any]) -> Callable[[Path], object]:
        return lambda path: load(read(path), path)

    def close(self) -> None:
        """Nothing stays open."""


KINDS = {"documents": Documents, "replies": Replies, "requests": Requests, "journals": Journals, "heads": Heads}


def play(kind: Any, name: str, number: int) -> str:
    """Play one case; return what broke, or nothing."""
    began = time.perf_counter()
    try:
        kind.run(random.Random(f"{name} {number}"))
    except Broken as broken:
        return str(broken)
    except Exception as error:  # noqa: BLE001 - what is looked for
        return f"!{type(error).__name__}: {error}"[:400]
    seconds = time.perf_counter() - began
    return f"took {seconds:.0f} s" if seconds > MOST_SECONDS else ""


def main() -> int:
    """Fuzz each kind for a while."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for name in options.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            kind = KINDS[name](Path(folder))
            began, number, broken = time.monotonic(), options.seed * 1_000_000, 0
            while time.monotonic() - began < options.seconds:
                if what := play(kind, name, number):
                    broken += 1
                    found.append({"kind": name, "number": number, "what": what})
                    print(f"! {name} {number}: {what}", flush=True)
                number += 1
            kind.close()
        print(
            f"{name}: {number - options.seed * 1_000_000} cases in {options.seconds:g} s, {broken} broken", flush=True
        )
    if options.corpus and found:
        (options.corpus / f"found-{options.seed}.json").write_text(json.dumps(found, indent=1) + "\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
