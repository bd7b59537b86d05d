"""The fuzzing bench, bounded, and the cases that it once found."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fuzz
import pytest
from fuzz import KINDS, play_fairly
from fuzz_cases import from_json, to_json

FOUND = json.loads((Path(__file__).parent / "fixtures" / "fuzz.json").read_text("utf-8"))
# Cases of each kind in an ordinary run; by hand the bench runs for minutes.
CASES = {"documents": 12, "replies": 12, "requests": 40, "journals": 3, "heads": 60}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        opened = KINDS[request.param](Path(folder))
        yield request.param, opened
        opened.close()


def test_nothing_breaks_on_what_is_made_by_grammar_and_bent(kind: tuple[str, Any]) -> None:
    name, opened = kind
    made = {number: opened.make(random.Random(f"{name} {number}")) for number in range(CASES[name])}
    assert {number: what for number, case in made.items() if (what := play_fairly(opened, case))} == {}


def test_what_was_found_once_stays_mended(kind: tuple[str, Any]) -> None:
    name, opened = kind
    cases = {one["what"]: from_json(one["case"]) for one in FOUND if one["kind"] == name}
    assert {was: what for was, case in cases.items() if (what := play_fairly(opened, case))} == {}


def test_a_case_of_the_corpus_is_the_case_that_was_found(kind: tuple[str, Any]) -> None:
    name, opened = kind
    case = opened.make(random.Random(f"{name} 1"))
    assert from_json(json.loads(json.dumps(to_json(case)))) == case


class Greedy:
    """A case that breaks whatever stands in it."""

    def run(self, case: dict[str, Any]) -> None:
        if case["what"] == "memory":
            bytearray(400_000_000)
        elif case["what"] == "time":
            time.sleep(0.3)
        else:
            raise KeyError(case["what"])


@pytest.mark.parametrize(("what", "said"), [("memory", "MiB"), ("time", "took"), ("error", "KeyError"), ("", "")])
def test_what_breaks_is_said(monkeypatch: pytest.MonkeyPatch, what: str, said: str) -> None:
    monkeypatch.setattr(fuzz, "MOST_SECONDS", 0.2)
    runs = Greedy() if what else type("Tame", (), {"run": lambda *_: None})()
    assert said in play_fairly(runs, {"what": what})
