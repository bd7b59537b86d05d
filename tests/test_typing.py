"""The package's types are there for programs that import it; `make check` looks at one such program, consumer.py."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "src" / "bookwheel" / "py.typed").is_file()


def test_a_program_that_uses_the_public_names_is_among_what_mypy_checks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["modules"] == ["consumer"]
    assert settings["strict"]
