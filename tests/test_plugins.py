"""Packages of others add ways and models without a fork; a broken one is named, and breaks nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import InputError, MissingAbility
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plugins import list_plugins, load_plugin
from bookwheel.reading.ways.registry import check_abilities, estimate_reading, list_ways, load_way

ROOT = Path(__file__).parent.parent
BOOK = "Gulls circle over the pier. " * 60 + "The harbour master of Skarholm is Ada Quill. " + "Rain fell. " * 400
QUESTION = "Who is the harbour master?"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example packages, really installed, in a folder of their own."""
    folder = tmp_path_factory.mktemp("site")
    packages = [str(ROOT / "examples" / "plugins" / kind) for kind in ("ways", "models")]
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        folder,
    ]
    subprocess.run([*install, *packages], check=True, capture_output=True, timeout=120)
    return folder


def run(site: Path, tmp_path: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    book = tmp_path / "book.txt"
    book.write_text(BOOK, encoding="utf-8")
    small = ["--chunk-tokens", "60", "--memory-tokens", "40", "--journal", str(tmp_path / "journal.sqlite")]
    paths = os.pathsep.join([str(site), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "-m", "bookwheel", "ask", str(book), QUESTION, *small, *words],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_a_way_of_another_package_reads_by_its_name(site: Path, tmp_path: Path) -> None:
    early = run(site, tmp_path, "--model", "scripted", "--way", "until-done", "--json")
    whole = run(site, tmp_path, "--model", "scripted", "--json")
    assert (early.returncode, whole.returncode) == (0, 0), early.stderr
    first, second = json.loads(early.stdout), json.loads(whole.stdout)
    assert "Ada Quill" in first["answer"]
    assert first["way"] == "until-done"
    assert 0 < len(first["steps"]) < len(second["steps"])


@pytest.mark.slow
def test_a_model_of_another_package_reads_by_its_name(site: Path, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    ran = run(site, tmp_path, "--model", "logged", "--json", LOGGED_FILE=str(log), LOGGED_MODEL="scripted")
    assert ran.returncode == 0, ran.stderr
    calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert len(calls) == json.loads(ran.stdout)["usage"]["calls"]
    assert all(QUESTION in call["prompt"] for call in calls)


@pytest.mark.slow
def test_an_unknown_way_lists_those_of_other_packages_too(site: Path, tmp_path: Path) -> None:
    ran = run(site, tmp_path, "--model", "scripted", "--way", "upside-down")
    assert ran.returncode == 2
    assert "sequential" in ran.stderr
    assert "until-done" in ran.stderr


def test_a_package_that_cannot_be_imported_is_named(register) -> None:
    register("broken_way", "bookwheel.ways", "broken = broken_way:read", "raise RuntimeError('no licence')")
    assert "broken" in list_ways()
    assert load_way("sequential")
    with pytest.raises(InputError, match=r"'broken' of the package broken_way cannot be loaded.*no licence"):
        load_way("broken")


def test_two_packages_of_one_name_are_refused(register) -> None:
    register("one_way", "bookwheel.ways", "same = one_way:read", "def read(): ...")
    register("other_way", "bookwheel.ways", "same = other_way:read", "def read(): ...")
    with pytest.raises(InputError, match="one_way and other_way both register 'same'"):
        load_way("same")


def test_a_way_that_is_no_function_is_refused(register) -> None:
    register("odd_way", "bookwheel.ways", "odd = odd_way:READ", "READ = 5")
    with pytest.raises(InputError, match="'odd'"):
        load_way("odd")


SPEC = """
from dataclasses import replace
from bookwheel.models.base import Ability
from bookwheel.reading.loop import read
from bookwheel.reading.ways.writers import EDITS
from bookwheel.reading.ways.spec import WaySpec

def list_calls(given):
    return [given.answering()]

WAY = WaySpec(run=read, needs=frozenset({Ability.JUDGE}), list_calls=list_calls)
PART = replace(EDITS, name="part")
"""


def test_a_way_of_another_package_says_what_it_needs_and_costs(register) -> None:
    register("exact_way", "bookwheel.ways", "exact = exact_way:WAY\npart = exact_way:PART", SPEC)
    model = ScriptedModel(keyword_reader)
    with pytest.raises(MissingAbility, match="exact needs log-probabilities"):
        asyncio.run(check_abilities("exact", model, model.plan))
    cost = asyncio.run(estimate_reading(TextDocument(BOOK), QUESTION, model, model.plan, "exact"))
    assert (cost.calls, cost.of_way) == (1, "exact")
    assert load_way("ranked+part").name == "ranked+part"
    with pytest.raises(InputError, match=r"exact.*goes with no other.*part"):
        load_way("exact+part")


def test_our_own_names_cannot_be_taken_over(register) -> None:
    register("taking_over", "bookwheel.ways", "sequential = taking_over:read", "def read(): ...")
    assert load_way("sequential").__module__ == "bookwheel.reading.loop"
    assert list_ways().count("sequential") == 1


def test_a_name_that_nobody_registers_is_none() -> None:
    assert load_plugin("bookwheel.ways", "nobody") is None
    assert list_plugins("bookwheel.nothing") == []
