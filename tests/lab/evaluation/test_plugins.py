"""Packages of others add tasks and metrics without a fork; a broken one is named, and breaks nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bookwheel.errors import InputError
from bookwheel.lab.commands.data import tasks as print_tasks
from bookwheel.lab.scoring import METRICS, list_metrics, load_metric
from bookwheel.lab.tasks import TASKS, list_tasks, load_task, make_samples
from bookwheel.text.tokens import WordTokenizer

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two example packages, really installed, in a folder of their own."""
    folder = tmp_path_factory.mktemp("site")
    packages = [str(ROOT / "examples" / "plugins" / kind) for kind in ("tasks", "metrics")]
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder)]
    install = [sys.executable, "-m", "pip", "install", *options, *packages]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    return folder


def run(site: Path, folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT / "src")])}
    command = [sys.executable, "-m", "bookwheel", *words]
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_an_installed_task_and_metric_are_listed_made_and_evaluated(site: Path, tmp_path: Path) -> None:
    assert "one of two birthdays in essays" in run(site, tmp_path, "data", "tasks")
    make = ["data", "make", "birthday", "--tokens", "300", "--count", "2", "--metric", "close_number"]
    run(site, tmp_path, *make, "--out", "birthdays.jsonl")
    samples = [json.loads(line) for line in (tmp_path / "birthdays.jsonl").read_text().splitlines()]
    assert [(sample["task"], sample["metric"]) for sample in samples] == [("birthday", "close_number")] * 2
    for sample in samples:
        span = sample["evidence"][0]
        assert f"on {sample['golds'][0]} May" in sample["document"][span["start"] : span["end"]]

    plan = ["--chunk-tokens=200", "--memory-tokens=80", "--answer-tokens=60", "--question-tokens=200"]
    grid = ["--task=birthday", "--length=300", "--count=2", "--seed=1", "--samples=birthdays.jsonl"]
    values = json.loads(run(site, tmp_path, "eval", *grid, *plan, "--model=scripted", "--out=out", "--json"))
    assert (values["samples"], values["without_answer"]) == (4, 0)
    lines = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [line["metric"] for line in lines[1:]].count("close_number") == 2
    assert {line["task"] for line in lines[1:]} == {"birthday"}


def test_a_broken_task_is_named_and_the_others_are_still_listed(register, capsys) -> None:
    register("broken_task", "bookwheel.tasks", "broken = broken_task:TASK", "raise RuntimeError('no licence')")
    with pytest.raises(InputError, match=r"'broken' of the package broken_task cannot be loaded.*no licence"):
        load_task("broken")
    assert print_tasks() == 0
    printed = capsys.readouterr().out
    assert "package broken_task cannot be loaded" in printed
    assert all(name in printed for name in TASKS)


def test_a_broken_metric_is_named_where_samples_ask_for_it(register) -> None:
    register("broken_metric", "bookwheel.metrics", "broken = broken_metric:score", "import nothing_like_it")
    with pytest.raises(InputError, match="package broken_metric cannot be loaded"):
        make_samples("vt", tokens=400, count=1, seed=0, tokenizer=WordTokenizer(), metric="broken")
    assert load_metric("exact") is METRICS["exact"]


@pytest.mark.parametrize("code", ["TASK = 5", "from bookwheel.lab.tasks import TASKS\nTASK = TASKS['vt']"])
def test_a_task_must_be_a_task_of_its_registered_name(register, code) -> None:
    register("odd_task", "bookwheel.tasks", "odd = odd_task:TASK", code)
    with pytest.raises(InputError, match="'odd' of another package must be a Task of that name"):
        load_task("odd")


def test_a_metric_must_be_a_function(register) -> None:
    register("odd_metric", "bookwheel.metrics", "odd = odd_metric:SCORE", "SCORE = 5")
    with pytest.raises(InputError, match="'odd' of another package is not a function"):
        load_metric("odd")


def test_built_in_names_cannot_be_taken_over(register) -> None:
    register("other_task", "bookwheel.tasks", "vt = other_task:TASK", "TASK = 5")
    register("other_metric", "bookwheel.metrics", "exact = other_metric:exact", "def exact(answer, golds): ...")
    assert load_task("vt") is TASKS["vt"]
    assert load_metric("exact") is METRICS["exact"]
    assert (list_tasks().count("vt"), list_metrics().count("exact")) == (1, 1)


def test_an_unknown_name_lists_those_of_other_packages_too(register) -> None:
    register("far_task", "bookwheel.tasks", "faraway = far_task:TASK", "TASK = 5")
    register("far_metric", "bookwheel.metrics", "faraway = far_metric:score", "def score(answer, golds): ...")
    with pytest.raises(InputError, match="did you mean 'faraway'"):
        load_task("farawey")
    with pytest.raises(InputError, match="did you mean 'faraway'"):
        load_metric("farawey")
    with pytest.raises(InputError, match=r"there are: exact, .*faraway"):
        load_metric("zzz")
