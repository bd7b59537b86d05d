"""The files of a report: Markdown, HTML, and a page for each reading that it links to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.errors import JournalError
from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.markdown import to_markdown
from bookwheel.lab.evaluation.memory_sections import list_memory_failures
from bookwheel.lab.evaluation.page import to_html
from bookwheel.lab.evaluation.plots import draw_plots
from bookwheel.views.html import render_page

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.journal import Journal
    from bookwheel.lab.evaluation.report import Report

_TITLE = "Ways of reading, measured"


def write_report(
    report: Report, folder: Path, *, also_official: bool = False, journal: Journal | None = None
) -> tuple[Path, Path]:
    """Write report.md and report.html.

    With a journal the readings that the report lists get pages of their own, in the folder `readings`.
    """
    pages = _write_readings(report, folder / "readings", journal) if journal else frozenset[str]()
    sections = build_sections(report, also_official=also_official, pages=pages)
    markdown, page = folder / "report.md", folder / "report.html"
    markdown.write_text(to_markdown(_TITLE, sections), encoding="utf-8")
    page.write_text(to_html(_TITLE, sections, draw_plots(report)), encoding="utf-8")
    return markdown, page


def _write_readings(report: Report, folder: Path, journal: Journal) -> frozenset[str]:
    """Write a page for each listed reading that the journal still has, and return their ids."""
    written = set()
    for record in list_memory_failures(report):
        try:
            page = render_page(journal.reading(record.reading))
        except JournalError:  # forgotten, or read with another journal
            continue
        folder.mkdir(exist_ok=True)
        (folder / f"{record.reading}.html").write_text(page, encoding="utf-8")
        written.add(record.reading)
    return frozenset(written)
