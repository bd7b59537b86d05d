"""The check of names notices what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

import floors
import house
import pytest


def test_a_doubled_class_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Reader: ...\nclass One: ...\n")
    (tmp_path / "b.py").write_text("def make():\n    class Reader: ...\n")
    assert house.find_doubles(house.parse_tree(tmp_path)) == {"Reader": ["a.py", "b.py"]}


@pytest.mark.parametrize("name", ["told", "_kept", "opened_again", "_listed"])
def test_participles_are_counted(name: str) -> None:
    assert house.is_participle(name)


@pytest.mark.parametrize("name", ["read", "set_open", "embed", "is_kept", "__init_subclassed__", "open_document"])
def test_verbs_are_not(name: str) -> None:
    assert not house.is_participle(name)


@pytest.mark.parametrize("room", ["models", "reading", "verdict", "lab/baselines"])
def test_no_model_and_no_way_reads_the_environment(room: str) -> None:
    for path in (house.HERE / room).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
        read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not {"environ", "getenv"} & (names | read), path


def test_the_drawing_shows_the_floors_of_today() -> None:
    assert floors.DRAWING.read_text(encoding="utf-8") == floors.draw(floors.read_floors())
