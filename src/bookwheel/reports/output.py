"""A report as Markdown, a web page or a Word document: one list of blocks, written in three ways.

Words of documents and models are text in each of them: nothing becomes a link, a heading or code.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from bookwheel.claims import Verdict
from bookwheel.errors import explain_failure
from bookwheel.tables.files import check_format
from bookwheel.tables.table import format_grid
from bookwheel.text.lexicon import language_of
from bookwheel.text.sanitize import escape_markdown, sanitize
from bookwheel.views.verdicts import VERDICT_WORDS

if TYPE_CHECKING:
    from bookwheel.reports.checking import WrittenSentence
    from bookwheel.reports.report import DocumentCoverage, WrittenReport

_STYLE: Final = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}"
    "table{border-collapse:collapse;width:100%}td,th{border:1px solid #999;padding:.3rem .5rem;text-align:left;"
    "vertical-align:top}"
)
_MOST_SPANS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of a report."""

    kind: Literal["title", "heading", "text", "item", "table"]
    text: str = ""
    names: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


_CHINESE: Final = {
    "Sources": "来源",
    "In other words": "换了说法",
    "Compare these sentences, marked ≈, with what they rest on:": "请将带 ≈ 的句子与所依据的原文对照：",
    "Left out": "未采用",
    "Sentences that no row bears out:": "没有任何一行能证实的句子：",
    "In no sentence": "未写入句子",
    "Rows that no sentence names:": "没有句子写到的行：",
    "What this rests on": "依据范围",
    "document": "文件",
    "characters": "字符数",
    "under its sentences": "句子所依据",
    "read, not used": "已读未用",
    "not read": "未读",
    "No sentence of this section is borne out.": "本节没有得到证实的句子。",
    "The documents have no such row.": "文件中没有这样的内容。",
}
"""A report's own words where its title and brief are in Chinese."""


def list_blocks(report: WrittenReport) -> Iterator[Block]:
    """Yield a report's pieces: its sections, what was left out, its sources, and what it rests on, in its language."""
    words = _CHINESE if language_of(f"{report.title}\n{report.brief}") == "zh" else {}
    for block in _list_blocks(report):
        names = tuple(words.get(name, name) for name in block.names)
        yield replace(block, text=words.get(block.text, block.text), names=names)


def _list_blocks(report: WrittenReport) -> Iterator[Block]:
    yield Block(kind="title", text=report.title)
    for section in report.sections:
        yield Block(kind="heading", text=section.title)
        if section.sentences:
            yield Block(kind="text", text=" ".join(one.format() for one in section.sentences))
        else:
            nothing = "No sentence of this section is borne out." if section.rows else "The documents have no such row."
            yield Block(kind="text", text=nothing)
    yield Block(kind="heading", text="Sources")
    for one in report.sources:
        how = "by hand" if one.is_by_hand else VERDICT_WORDS[Verdict.SEEN] if one.is_seen else ""
        values = f", {how}: {one.said}" if how else ""
        yield Block(kind="item", text=f"[{one.number}] {one.describe()}: “{one.quote}”{values}")
    marked = [one for section in report.sections for one in section.sentences if one.is_marked]
    yield from _list_compared("In other words", "Compare these sentences, marked ≈, with what they rest on:", marked)
    left = [one for section in report.sections for one in section.left_out]
    yield from _list_compared("Left out", "Sentences that no row bears out:", left)
    if untold := [one for section in report.sections for one in section.untold]:
        yield Block(kind="heading", text="In no sentence")
        yield Block(kind="text", text="Rows that no sentence names:")
        yield from (Block(kind="item", text=f"{one.describe()}: “{one.words}”") for one in untold)
    yield from _list_coverage(report)


def _list_compared(title: str, told: str, sentences: Sequence[WrittenSentence]) -> Iterator[Block]:
    """Yield sentences with the passages to compare; nothing where there is none."""
    if sentences:
        yield Block(kind="heading", text=title)
        yield Block(kind="text", text=told)
        yield from (Block(kind="item", text=one.compare()) for one in sentences)


def _list_coverage(report: WrittenReport) -> Iterator[Block]:
    yield Block(kind="heading", text="What this rests on")
    names = ("document", "characters", "under its sentences", "read, not used", "not read")
    rows = tuple(
        (one.name, *(f"{number:,}" for number in (one.length, one.used, one.unused, one.unread)))
        for one in report.coverage
    )
    yield Block(kind="table", names=names, rows=rows)
    yield from (Block(kind="item", text=text) for one in report.coverage if (text := _describe_unread(one)))
    unproven = sum(section.unproven for section in report.sections)
    if unproven:
        yield Block(kind="item", text=f"{unproven} rows are unproven; no sentence is written from them.")
    yield from (Block(kind="item", text=note) for note in report.notes)


def _describe_unread(one: DocumentCoverage) -> str:
    spans = [f"{start:,}–{end:,}" for start, end in one.unread_spans]
    more = f" and {len(spans) - _MOST_SPANS} more" if len(spans) > _MOST_SPANS else ""
    return f"{one.name}: not read are the characters {', '.join(spans[:_MOST_SPANS])}{more}" if spans else ""


def check_target(path: Path) -> None:
    """Raise InputError where a report cannot be written in the format that a file's name says."""
    check_format(path, (*_FORMATS, ".docx"), "report")


def write_blocks(blocks: Sequence[Block], path: str | Path) -> None:
    """Write pieces in the format that the file's name says."""
    path = Path(path)
    check_target(path)
    with explain_failure(path, "written"):
        if path.suffix.lower() == ".docx":
            _write_docx(blocks, path)
        else:
            text = _FORMATS[path.suffix.lower()](blocks)
            path.write_text(text, encoding="utf-8", errors="replace")


def format_markdown(blocks: Sequence[Block]) -> str:
    marks = {"title": "# ", "heading": "## ", "text": "", "item": "- "}
    text = ""
    before = ""
    for block in blocks:
        shown = marks.get(block.kind, "") + escape_markdown(block.text)
        if block.kind == "table":
            shown = format_grid(block.names, block.rows).rstrip()
        text += ("\n" if block.kind == before == "item" else "\n\n" if before else "") + shown
        before = block.kind
    return f"{text}\n"


def format_html(blocks: Sequence[Block]) -> str:
    """Return pieces as a web page without scripts."""
    tags = {"title": "h1", "heading": "h2", "text": "p", "item": "li"}
    body: list[str] = []
    is_open = False
    for block in blocks:
        if (block.kind == "item") is not is_open:
            is_open = not is_open
            body.append("<ul>" if is_open else "</ul>")
        if block.kind == "table":
            lines = ((block.names, "th"), *((row, "td") for row in block.rows))
            body += ["<table>", *("<tr>" + "".join(map(_cell(tag), row)) + "</tr>" for row, tag in lines), "</table>"]
        else:
            body.append(_cell(tags[block.kind])(block.text))
    title = _escape(next((block.text for block in blocks if block.kind == "title"), ""))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<!doctype html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{policy}"><title>{title}</title><style>{_STYLE}</style></head><body>'
    )
    return "\n".join((head, *body, *(["</ul>"] if is_open else []), "</body></html>")) + "\n"


def _cell(tag: str) -> Callable[[str], str]:
    return lambda text: f"<{tag}>{_escape(text)}</{tag}>"


def _escape(text: str) -> str:
    return html.escape(" ".join(sanitize(text).split()))


def _write_docx(blocks: Sequence[Block], path: Path) -> None:
    from docx import Document

    made = Document()
    for block in blocks:
        text = " ".join(sanitize(block.text).encode("utf-8", "replace").decode().split())
        match block.kind:
            case "title" | "heading":
                made.add_heading(text, level=0 if block.kind == "title" else 1)
            case "text" | "item":
                made.add_paragraph(text, style="List Bullet" if block.kind == "item" else None)
            case "table":
                table = made.add_table(rows=0, cols=len(block.names))
                table.style = "Table Grid"
                for row in (block.names, *block.rows):
                    for cell, value in zip(table.add_row().cells, row, strict=True):
                        cell.text = " ".join(sanitize(value).encode("utf-8", "replace").decode().split())
    made.save(str(path))


_FORMATS: Final = {".md": format_markdown, ".html": format_html}
