"""The recipe of docs/evaluation.md with the real lm-evaluation-harness: its task, its judge, our server behind it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("prometheus_client")
if importlib.util.find_spec("lm_eval") is None:
    pytest.skip("lm_eval is not installed", allow_module_level=True)

from bookwheel.journal import Journal
from bookwheel.types import Status

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "harness"


@pytest.fixture
def served(tmp_path: Path):
    words = ["serve", "--model", "scripted", "--port", "0", "--journal", str(tmp_path / "journal.sqlite")]
    small = ["--chunk-tokens", "100", "--memory-tokens", "60", "--answer-tokens", "64", "--question-tokens", "60"]
    with subprocess.Popen([sys.executable, "-m", "bookwheel", *words, *small], stderr=subprocess.PIPE, text=True) as it:
        yield re.search(r"http://[\w.]+:\d+", it.stderr.readline())[0]
        it.terminate()


def test_the_harness_scores_readings_by_its_own_judge(served: str, tmp_path: Path) -> None:
    """The scripted model misses the sum that a later line corrects, and finds the other three."""
    printed = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    command = re.search(r"\$ (lm_eval .*?)\n```", printed, re.DOTALL)[1].replace("\\\n", " ")
    words = command.replace("http://127.0.0.1:8470", served).replace("NAME", "scripted").split()
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-m", *words, "--output_path", str(tmp_path / "out")]
    subprocess.run(words, cwd=FOLDER, env=environment, check=True, capture_output=True, timeout=300)
    (results,) = (tmp_path / "out").rglob("results_*.json")
    score = json.loads(results.read_text())["results"]["parish"]
    assert score["exact_match,first-number"] == 0.75
    with Journal(tmp_path / "journal.sqlite") as journal:
        readings = journal.readings()
        assert [reading.status for reading in readings] == [Status.ANSWERED] * 4
        assert all(journal.progress(reading.id)[0] > 5 for reading in readings)
