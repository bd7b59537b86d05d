"""The files of a report: Markdown and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.errors import MissingExtra
from bookwheel.evaluation.layout import build_sections
from bookwheel.evaluation.markdown import to_markdown
from bookwheel.evaluation.page import to_html
from bookwheel.evaluation.plots import draw_plots

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.evaluation.report import Report

_TITLE = "Ways of reading, measured"


def write_report(report: Report, folder: Path, *, also_official: bool = False) -> tuple[Path, Path]:
    """Write report.md and report.html. Without matplotlib the page has no plots and says how to install it."""
    sections = build_sections(report, also_official=also_official)
    try:
        svg_by_caption, note = draw_plots(report), ""
    except MissingExtra as missing:
        svg_by_caption, note = {}, str(missing)
    markdown, page = folder / "report.md", folder / "report.html"
    markdown.write_text(to_markdown(_TITLE, sections), encoding="utf-8")
    page.write_text(to_html(_TITLE, sections, svg_by_caption, note), encoding="utf-8")
    return markdown, page
