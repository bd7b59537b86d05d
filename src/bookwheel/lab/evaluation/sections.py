"""The parts of a report, text and tables, and how they are written: in Markdown, and as one self-contained HTML page.

The page has no scripts, and no fonts or images from elsewhere.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from bookwheel.text.sanitize import sanitize


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table of finished texts, with a caption that explains its numbers."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: Mapping[str, str] = field(default_factory=dict)
    """Addresses for cells of exactly these texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with paragraphs and tables."""

    title: str
    words: tuple[str, ...] = ()
    """Paragraphs; what stands between backticks is code."""
    tables: tuple[ReportTable, ...] = ()


def format_length(tokens: int) -> str:
    """Return the name of a length; files of samples need not say theirs."""
    return f"{tokens:,}" if tokens else "any"


def format_percent(share: float | None, digits: int = 1, unit: str = "") -> str:
    """Return a share in per cent; a dash where it was not measured (None or nan)."""
    return "–" if share is None or share != share else f"{100 * share:.{digits}f}{unit}"  # noqa: PLR0124 - nan


def to_markdown(title: str, sections: Iterable[Section]) -> str:
    blocks = [f"# {_escape_markdown(title)}"]
    for section in sections:
        blocks += [f"## {section.title}", *map(_write_markdown, section.words)]
        for table in section.tables:
            lines = [_markdown_row(table.header), _markdown_row(["---"] * len(table.header))]
            lines += map(_markdown_row, table.rows)
            blocks += [*([_escape_markdown(table.caption)] if table.caption else []), "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def _write_markdown(text: str) -> str:
    """Return a paragraph; within code nothing is markup."""
    return re.sub(r"\\`.+?\\`", lambda code: re.sub(r"\\(.)", r"\1", code[0]), _escape_markdown(text))


def _write_html(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", _escape_html(text))


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escape_markdown, cells))} |"


def _escape_markdown(text: str) -> str:
    """Escape text so that it stays in one table cell and no character of it acts as markup."""
    if text == "---":
        return text
    return re.sub(r"[\\|<>`*#]|\](?=[(\[:])|(?<!\w)_|_(?!\w)", r"\\\g<0>", " ".join(sanitize(text).split()))


_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2330; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
h1, h2 { line-height: 1.2 }
h2 { border-top: 1px solid #d9dde6; padding-top: 1.2rem; margin-top: 2.4rem }
figure { margin: 1rem 0 }
figcaption, caption { color: #59627a; text-align: left; font-size: .9rem; padding-bottom: .3rem }
svg { max-width: 46rem; width: 100%; height: auto }
.table { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem .7rem; border-bottom: 1px solid #e6e9f0; vertical-align: top }
td { overflow-wrap: anywhere; min-width: 2.5rem; max-width: 40rem }
td.short { white-space: nowrap }
th { background: #f4f6fa; position: sticky; top: 0 }
.many table { font-size: .74rem }
.many th, .many td { padding: .2rem .3rem; min-width: 0 }
.many td { overflow-wrap: break-word }
"""
# Longer texts may be broken, so that tables stay as wide as a page.
_SHORT: Final = 28
# With more columns a table is set smaller, so that it fits a window of 1,280 pixels.
_MOST_COLUMNS: Final = 9


def to_html(title: str, sections: Iterable[Section], plots: Mapping[str, str]) -> str:
    """Return a report as a page. `plots` has the SVG of each figure by its caption."""
    figures = "".join(
        f'<figure role="img" aria-label="{_escape_html(caption)}">\n<figcaption>{_escape_html(caption)}</figcaption>\n'
        f"{svg}</figure>\n"
        for caption, svg in plots.items()
    )
    body = f"<h2>Plots</h2>\n{figures}" if figures else ""
    for section in sections:
        paragraphs = "".join(f"<p>{_write_html(text)}</p>\n" for text in section.words)
        tables = "".join(map(_html_table, section.tables))
        body += f"<h2>{_escape_html(section.title)}</h2>\n{paragraphs}{tables}"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escape_html(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_escape_html(title)}</h1>\n{body}</body>\n</html>\n"
    )


def _html_table(table: ReportTable) -> str:
    head = "".join(f"<th>{_escape_html(cell)}</th>" for cell in table.header)
    rows = "".join(f"<tr>{''.join(_html_cell(cell, table.links) for cell in row)}</tr>\n" for row in table.rows)
    kind = "table many" if len(table.header) > _MOST_COLUMNS else "table"
    return (
        f'<div class="{kind}"><table><caption>{_escape_html(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )


def _html_cell(text: str, links: Mapping[str, str]) -> str:
    content = _escape_html(text)
    content = f'<a href="{_escape_html(links[text])}">{content}</a>' if text in links else content
    return f'<td class="short">{content}</td>' if len(text) <= _SHORT else f"<td>{content}</td>"


def _escape_html(text: str) -> str:
    return escape(sanitize(text))
