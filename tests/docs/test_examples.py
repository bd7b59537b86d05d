"""Every example runs, and says what it promises to say."""

from __future__ import annotations

import importlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "ask": "found sixty-four",
    "batch": "july.txt: the document does not say",
    "edit_and_fork": "sixty-six barrels",
    "openai_client": "found sixty-four",
    "own_model": "It was built in 1871.",
    "own_way": "(1 step of the way 'last_chunk')",
}
NOTEBOOK = json.loads((EXAMPLES / "reading.ipynb").read_text(encoding="utf-8"))


def run_example(name: str, folder: Path) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "BOOKWHEEL_JOURNAL": str(folder / "journal.sqlite"), "PORT": str(port)}
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        environment.pop(variable, None)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    assert SAYS[name] in run_example(name, tmp_path)


def test_every_example_is_run_by_a_test() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SAYS, "train_rows", "train_loop"}


def test_the_notebook_is_a_notebook_without_outputs() -> None:
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
    for cell in NOTEBOOK["cells"]:
        fields = {"cell_type", "id", "metadata", "source"}
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert cell.keys() == fields | code
        assert not cell.get("outputs")


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    namespace: dict[str, object] = {}
    for cell in NOTEBOOK["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        if source.startswith("%load_ext "):
            assert callable(importlib.import_module(source.split()[1]).load_ipython_extension)
        else:
            exec(compile(source, "reading.ipynb", "exec"), namespace)  # the notebook's own code
    printed = capsys.readouterr().out
    assert "found sixty-four" in printed
    assert "stopped" in printed
