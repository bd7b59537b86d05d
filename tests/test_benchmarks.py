"""Every script under benchmarks/ finds what it imports; what they measure is not for a test."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent.parent / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
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
        if error.name.split(".")[0] == "bookwheel" or (script.parent / f"{error.name}.py").exists():
            raise
        pytest.skip(f"{error.name} is not installed")
