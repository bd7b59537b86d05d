"""The check of names notices what it is for."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

HOUSE = runpy.run_path(str(Path(__file__).parent.parent / "benchmarks" / "house.py"))


def test_no_class_name_is_defined_in_two_files() -> None:
    assert HOUSE["find_doubles"](HOUSE["parse_tree"](HOUSE["HERE"])) == {}


def test_a_doubled_class_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Reader: ...\nclass One: ...\n")
    (tmp_path / "b.py").write_text("def make():\n    class Reader: ...\n")
    assert HOUSE["find_doubles"](HOUSE["parse_tree"](tmp_path)) == {"Reader": ["a.py", "b.py"]}


@pytest.mark.parametrize("name", ["told", "_kept", "opened_again", "_listed"])
def test_participles_are_counted(name: str) -> None:
    assert HOUSE["is_participle"](name)


@pytest.mark.parametrize("name", ["read", "set_open", "embed", "is_kept", "__init_subclassed__", "open_document"])
def test_verbs_are_not(name: str) -> None:
    assert not HOUSE["is_participle"](name)
