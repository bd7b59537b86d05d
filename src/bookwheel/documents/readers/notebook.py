"""Read a Jupyter notebook: its text, its code in fences, and the text of its outputs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.readers.html import parse_html, render_tree
from bookwheel.errors import SourceError
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_MOST_NOTEBOOK: Final = 128 << 20


def read_notebook(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every cell with text."""
    with source.open() as file:
        data = file.read(_MOST_NOTEBOOK + 1)
    if len(data) > _MOST_NOTEBOOK:
        raise SourceError(f"{source.name} is over {_MOST_NOTEBOOK >> 20} MiB: clear its outputs, or give it as text")
    try:
        notebook = json.loads(decode_bytes(data, source.name, warnings))
        sheets = notebook.get("worksheets") or [notebook]  # notebooks before version 4 have sheets of cells
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        language = str(((notebook.get("metadata") or {}).get("language_info") or {}).get("name") or "python")
        texts = ["\n\n".join(_read_cell(cell, language, source.name)) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{source.name} is a damaged notebook: {error}. Save it again.") from error
    yield from (Part(text=f"{text}\n\n", source=source.name) for text in texts if text)


def _read_cell(cell: dict[str, Any], language: str, name: str) -> Iterator[str]:
    text = _join(cell.get("source", cell.get("input", "")))
    kind = cell.get("cell_type")
    if text and kind == "heading":
        text = f"{'#' * int(cell.get('level', 1))} {text}"
    if text:
        yield f"```{language}\n{text}\n```" if kind == "code" else text
    for output in cell.get("outputs") or ():
        if shown := _read_output(output, name):
            yield shown


def _read_output(output: dict[str, Any], name: str) -> str:
    """Return what an output shows: of several formats the plainest that has words."""
    if output.get("output_type") in {"error", "pyerr"}:
        return f"{output.get('ename', '')}: {output.get('evalue', '')}".strip(": ")
    formats = output.get("data") or output
    if markup := _join(formats.get("text/html", formats.get("html", ""))):
        root = parse_html(markup, name)
        if root is not None and (text := render_tree(root, name)):
            return text
    found = (_join(formats.get(key, "")) for key in ("text/markdown", "text/latex", "text/plain", "text"))
    text = next((piece for piece in found if piece), "")
    return f"```\n{sanitize(text)}\n```" if text else ""


def _join(lines: Any) -> str:
    return ("".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")).strip("\n")
