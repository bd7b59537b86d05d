"""Every script under benchmarks/ finds what it imports; what they measure is not for a test."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("*/*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.slow
def test_a_benchmark_finds_what_it_imports(script, monkeypatch):
    monkeypatch.syspath_prepend(str(script.parent))
    name = f"benchmark_{script.stem}"
    spec = importlib.util.spec_from_file_location(name, script)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] == "bookwheel" or any(FOLDER.glob(f"*/{error.name}.py")):
            raise
        pytest.skip(f"{error.name} is not installed")


def test_the_index_has_a_line_for_every_file_and_no_other():
    named = re.findall(r"^\| `([^`]+)`", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*.*")}
