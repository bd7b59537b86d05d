"""The fuzzing bench, bounded, and the cases that it once found."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz import KINDS, play

FOUND = json.loads((Path(__file__).parent / "fixtures" / "fuzz.json").read_text("utf-8"))
# Cases of each kind in an ordinary run; by hand the bench runs for minutes.
CASES = {"documents": 12, "replies": 12, "requests": 40, "journals": 3, "heads": 60}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Iterator[tuple[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        opened = KINDS[request.param](Path(folder))
        yield request.param, opened
        opened.close()


def test_nothing_breaks_on_what_is_made_by_grammar_and_bent(kind: tuple[str, object]) -> None:
    name, opened = kind
    assert {number: what for number in range(CASES[name]) if (what := play(opened, name, number))} == {}


def test_what_was_found_once_stays_mended(kind: tuple[str, object]) -> None:
    name, opened = kind
    numbers = [case["number"] for case in FOUND if case["kind"] == name]
    assert {number: what for number in numbers if (what := play(opened, name, number))} == {}
