"""What a hostile document makes of tables, graphs and exports, and what SQL makes of a server.

Cases of a second outsider, written before the code was looked at; outsider_doors.py runs them.
"""

from __future__ import annotations

import csv
import io
import json
import time
import xml.etree.ElementTree as ET
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outsider import OBEYED
from outsider_requests import HOSTILE, Case, Door, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROWS = json.dumps({"rows": [{"who": cell, "amount": cell, "quote": "Ada pays"} for cell in HOSTILE], "memory": ""})
_COUNT = "with recursive r(x) as (select 1 union all select x + 1 from r) "
_QUERIES = (
    *(f"{_COUNT} select max(x) from r", f"{_COUNT} select group_concat(x) from r", f"{_COUNT} select x from r"),
    *("select zeroblob(1000000000)", "select hex(zeroblob(400000000))", "select printf('%.*c', 900000000, 'x')"),
    *("attach database '/tmp/leaf.db' as y", "vacuum into '/tmp/leaf.db'", "select load_extension('x')"),
    *(
        "pragma writable_schema = 1",
        "delete from rows",
        "create temp table a(b)",
        "select 1; select 2",
        "\x00",
        "select",
    ),
    *(
        "select replace(hex(zeroblob(60000)), '0', hex(zeroblob(60000)))",
        "select * from rows, rows, rows, rows, rows, rows",
    ),
    *("explain select 1", "select " + "(" * 5000 + "1" + ")" * 5000, "values(1e999)", "select x'00ff'"),
)


def list_tables() -> Iterator[Case]:
    for query in _QUERIES:
        yield f"sql: {query[:60]}", _ask_rows({"sql": query})
    for name, value in (
        ("limit", str(10**30)),
        ("limit", "-1"),
        ("offset", "-1"),
        ("format", "exe"),
        ("key", "\x00"),
        ("offset", "NaN"),
    ):
        yield f"rows: {name}={value[:9]}", _ask_rows({name: value})
    for ending in ("csv", "md", "xlsx", "jsonl"):
        yield f"table of hostile cells: {ending}", _write_table(ending)
    for ending in ("graphml", "jsonld", "nq", "csv"):
        yield f"graph of hostile names: {ending}", _write_graph(ending)
    yield "export of a reading of hostile words", _export


def _ask_rows(values: dict[str, str]) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        with Door(folder, lambda _: _ROWS) as door:
            body = {
                "model": "scripted",
                "way": "collect",
                "text": "Ada pays " * 50,
                "question": "every one: who, amount",
            }
            begun = door.client.post("/readings", json=body)
            if begun.status_code >= 400:
                return f"the reading did not begin: {begun.text[:200]}"
            place = f"/readings/{begun.json().get('reading') or begun.json()['readings'][0]['reading']}"
            for _ in range(100):
                if door.client.get(place).json()["status"] not in {"running", "waiting", "queued"}:
                    break
                time.sleep(0.1)
            answer = door.client.get(f"{place}/rows", params=values)
            if Path("/tmp/leaf.db").exists():
                Path("/tmp/leaf.db").unlink()
                return "wrote a file"
            return judge(answer) or (f"sent {len(answer.content):,} bytes" if len(answer.content) > 20_000_000 else "")

    return attack


def _collect(folder: Path) -> Any:
    from bookwheel import TextDocument, collect
    from bookwheel.models.scripted import ScriptedModel

    model, document = ScriptedModel(lambda _: _ROWS), TextDocument("Ada pays 5 crowns. " * 9)
    return collect(document, "every payment: who, =amount", model=model, journal=folder / "j.sqlite")


def _starts_a_formula(cell: str) -> bool:
    bare = cell.lstrip("\u200b\ufeff \t\r\n\u00a0")
    return bare[:1] in set("=+@\uff1d\uff0b\uff20") and not cell.startswith("'")


def _write_table(ending: str) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        path = folder / f"t.{ending}"
        _collect(folder).write(path)
        if ending == "xlsx":
            with zipfile.ZipFile(path) as book:
                sheets = "".join(book.read(name).decode() for name in book.namelist() if "sheet" in name)
            return next((f"has {mark}" for mark in ("<f>", "<hyperlink", "TargetMode") if mark in sheets), "")
        text = path.read_text("utf-8")
        if ending == "csv":
            cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
            return f"has formulas {bad}" if (bad := [cell for cell in cells if _starts_a_formula(cell)]) else ""
        if ending == "md":
            from markdown_it import MarkdownIt

            shown = MarkdownIt("commonmark").enable("table").render(text)
            marks = ("<a ", "<img", "onerror=alert(1)>")
            return next((f"shows {mark}: {shown[shown.find(mark) :][:90]}" for mark in marks if mark in shown), "")
        return f"writes {found[0]!r}" if (found := OBEYED.search(text)) else ""

    return attack


def _write_graph(ending: str) -> Callable[[Path], str]:
    def attack(folder: Path) -> str:
        from bookwheel import TextDocument, collect_graph
        from bookwheel.graph.export import write_graph
        from bookwheel.models.scripted import ScriptedModel

        rows = [{"subject": one, "relation": "pays", "object": one + "2", "quote": "Ada pays"} for one in HOSTILE]
        model = ScriptedModel(lambda _: json.dumps({"rows": rows, "memory": ""}))
        graph = collect_graph(TextDocument("Ada pays " * 9), model=model, journal=folder / "j.sqlite")
        for path in write_graph(graph, folder / f"g.{ending}"):
            text = path.read_text("utf-8")
            if ending == "graphml":
                ET.fromstring(text)
            if ending == "jsonld":
                json.loads(text)
            if ending == "csv":
                cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
                if bad := [cell for cell in cells if _starts_a_formula(cell)]:
                    return f"has formulas {bad}"
            if ending == "nq" and (
                odd := [line for line in text.splitlines() if line and not line.rstrip().endswith(".")]
            ):
                return f"has lines that are none: {odd[:2]}"
            # A CSV keeps what the document says; a sheet shows no escapes.
            if ending != "csv" and (found := OBEYED.search(text)):
                return f"writes {found[0]!r}"
        return ""

    return attack


class _Tags(HTMLParser):
    found = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        bad = [
            f"{name}={value}" for name, value in attributes if name.startswith("on") or "javascript:" in (value or "")
        ]
        if bad or (tag == "img" and "evil" in str(attributes)) or "alert(1)" in str(attributes):
            self.found = f"<{tag} {bad}"

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and "alert(1)" in data:
            self.found = "a script with words of the document"


def _export(folder: Path) -> str:
    words = "</script><script>alert(1)</script> " + " ".join(HOSTILE)
    with Door(folder, lambda _: f"\\boxed{{{words}}}") as door:
        body = {"model": "scripted", "text": words * 3, "name": words[:150], "question": words}
        begun = door.client.post("/readings", json=body).json()
        if not (name := begun.get("reading") or (begun.get("readings") or [{}])[0].get("reading")):
            return f"did not begin: {str(begun)[:200]}"
        for _ in range(100):
            if door.client.get(f"/readings/{name}").json()["status"] != "running":
                break
            time.sleep(0.1)
        for form in ("html", "md", "markdown", "json"):
            answer = door.client.get(f"/readings/{name}/export", params={"format": form})
            if form == "html":
                tags = _Tags()
                tags.feed(answer.text)
                if tags.found:
                    return tags.found
            if what := judge(answer):
                return what
    return ""
