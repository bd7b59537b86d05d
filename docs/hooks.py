# ruff: noqa: INP001 - loaded by mkdocs from its path
"""The files of the site that stand outside docs/: pages of the repository's root, the lab, the sources they link to.

In the repository a page of docs/ links to `../src/x.py`, and README.md to `docs/reading.md`, so that the links work
where the files are read. In the site all of them have one root.

`Doctests` is an extension of griffe, which reads the docstrings: it shows their examples as code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from griffe import Extension
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from griffe import Object
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {"README.md": "index.md"} | {name: name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}
PAGES["lab/README.md"] = "lab/index.md"
LINKED = (
    "lab/2*.md",
    "lab/*.svg",
    "mkdocs.yml",
    "Containerfile",
    "examples/**/*",
    "src/bookwheel/**/*.py",
    "src/bookwheel/lab/data/*/README.md",
    "tests/lab/training/verl/*.py",
    "LICENSE",
)
_INDEXES = {"lab/README.md": "lab/index.md"}
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:)([^)\s]+)")
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Doctests(Extension):
    """Fences the examples in docstrings: without a heading of their own they would be read as prose."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Put a fence around each example of the object's docstring."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages of the root, the lab with an index, and every file that pages link to."""
    for name, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / name)))
    for pattern in LINKED:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                files.append(File.generated(config, str(path.relative_to(ROOT)), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the repository's links into the site's."""
    del config, files
    place = page.file.src_uri
    if place in PAGES.values():
        return _LINK.sub(lambda link: _INDEXES.get(link[1], link[1].removeprefix("docs/")), markdown)
    if place.startswith(("lab/", "reference/")):
        return markdown
    return _LINK.sub(lambda link: link[1].removeprefix("../"), markdown)
