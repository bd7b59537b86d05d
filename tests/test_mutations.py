"""Mutants change one thing each, and say which lines a test must run to notice."""

from __future__ import annotations

import ast
from pathlib import Path

from mutations import find_mutants

SOURCE = '''"""Not changed."""

BOUND = 3

def clip(value: int, least=2):
    """Not changed either."""
    if value < least and (
        value > -BOUND
    ):
        raise ValueError("words of an error")
    for number in range(value):
        if number == 7:
            break
    return max(value, least) + 1
'''


def mutants(tmp_path: Path) -> list:
    path = tmp_path / "clip.py"
    path.write_text(SOURCE)
    return list(find_mutants(path))


def test_each_mutant_is_another_program(tmp_path: Path) -> None:
    found = mutants(tmp_path)
    plain = ast.unparse(ast.parse(SOURCE))
    assert all(ast.unparse(ast.parse(mutant.source)) != plain for mutant in found)
    assert len({mutant.source for mutant in found}) == len(found)
    changes = {(mutant.before, mutant.after) for mutant in found}
    assert {("value < least", "value <= least"), ("number == 7", "number != 7"), ("break", "continue")} <= changes
    assert {("max(value, least)", "min(value, least)"), ("3", "4"), ("2", "3"), ("-BOUND", "BOUND")} <= changes
    assert not any(mutant.before.startswith("'") for mutant in found)


def test_a_mutant_names_the_lines_of_its_statement(tmp_path: Path) -> None:
    lines = {mutant.before: mutant.lines for mutant in mutants(tmp_path)}
    assert lines["3"] == {3}
    assert lines["2"] == {5}
    assert lines["value > -BOUND"] == {7, 8, 9}
    assert lines["number == 7"] == {12}
    assert lines["max(value, least)"] == {14}
