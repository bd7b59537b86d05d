"""A report as one self-contained HTML page: no scripts, and no fonts or images from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bookwheel.lab.evaluation.sections import Section, Table

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
"""
# Longer texts may be broken, so that tables stay as wide as a page.
_SHORT: Final = 28


def to_html(title: str, sections: Iterable[Section], plots: Mapping[str, str]) -> str:
    """Return the page. `plots` has the SVG of each figure by its caption."""
    figures = "".join(_figure(caption, svg) for caption, svg in plots.items())
    plots_html = f"<h2>Plots</h2>\n{figures}" if figures else ""
    body = "".join(_section(section) for section in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{_escape(title)}</h1>\n"
        f"{plots_html}{body}</body>\n</html>\n"
    )


def _figure(caption: str, svg: str) -> str:
    return (
        f'<figure role="img" aria-label="{_escape(caption)}">\n<figcaption>{_escape(caption)}</figcaption>\n'
        f"{svg}</figure>\n"
    )


def _section(section: Section) -> str:
    paragraphs = "".join(f"<p>{_escape(text)}</p>\n" for text in section.words)
    return f"<h2>{_escape(section.title)}</h2>\n{paragraphs}{''.join(map(_table, section.tables))}"


def _table(table: Table) -> str:
    head = "".join(f"<th>{_escape(cell)}</th>" for cell in table.header)
    rows = "".join(f"<tr>{''.join(_cell(cell, table.links) for cell in row)}</tr>\n" for row in table.rows)
    return (
        f'<div class="table"><table><caption>{_escape(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )


def _cell(text: str, links: Mapping[str, str]) -> str:
    content = f'<a href="{_escape(links[text])}">{_escape(text)}</a>' if text in links else _escape(text)
    return f'<td class="short">{content}</td>' if len(text) <= _SHORT else f"<td>{content}</td>"


def _escape(text: str) -> str:
    return escape(sanitize(text))
