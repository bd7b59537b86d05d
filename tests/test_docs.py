"""Every code block of the README and the docs runs as printed, and so does every example in a docstring."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
RUN = {"sh", "python"}
SEEN_ONLY = {"text", "toml", "console", "json", "sql", "mermaid"}


INCLUDED = re.compile(r"^--8<--\n(.+)\n--8<--$", re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and code of each block, with the files that it includes."""
    text = INCLUDED.sub(lambda found: (ROOT / found[1]).read_text(encoding="utf-8"), page.read_text(encoding="utf-8"))
    return BLOCK.findall(text)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with what the blocks read; they write beside it."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.slow
def test_code_blocks_run(page: Path, clone: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BOOKWHEEL_JOURNAL": str(clone / "journal.sqlite"),
    }
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        environment.pop(variable, None)
    for language, code in blocks(page):
        if language not in RUN:
            continue
        command = ["bash", "-euo", "pipefail", "-c", code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=clone, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{page.name}:\n{code}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


SOURCE = ROOT / "src"
EXAMPLES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(SOURCE / "bookwheel")))
def test_examples_of_docstrings_hold(path: Path) -> None:
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    if name.startswith("bookwheel.lab.training"):
        pytest.importorskip("torch")
    assert not doctest.testmod(importlib.import_module(name)).failed


def test_every_block_says_what_it_is() -> None:
    for page in PAGES:
        fences = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert all(opening in RUN | SEEN_ONLY for opening in fences[::2]), page.name


def test_the_readmes_two_commands_are_run_before_anything_lands() -> None:
    commands = re.findall(r"^make \w+", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert commands[:2] == ["make ask", "make test"]
    assert all(command in (ROOT / ".ci" / "run").read_text(encoding="utf-8") for command in commands)
