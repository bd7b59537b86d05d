"""Break one line at a time and see whether the tests notice: a mutation run over one source file.

    python benchmarks/code/mutants.py src/bookwheel/lab/training/loss.py tests/lab/training/test_loss.py --preload torch

Every mutant is the file with one change, as mutations.py makes them. The script copies the tree to a temporary folder,
so the work tree is never touched. Each mutant runs in a process of its own and is killed when a test fails, or when the
tests take far longer than without it. What survives is either a missing test or a change that no caller can see.

The first run, without a mutation, notes which tests run which lines, and which packages they import. Each mutant is
given to the tests that run its line, in a process forked from one that has the packages. One that these do not kill is
given to all tests.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import hypothesis
import pytest
from mutations import find_mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from mutations import Mutant

# Code of a function; other code runs once, when a module is imported, and its effects are there for every test.
_OPTIMIZED: Final = 0x1


def main() -> None:
    """Run every mutant, or a sample of them, and print which survived."""
    options = parse_arguments()
    mutants = [mutant for mutant in find_mutants(options.source) if is_in_scope(mutant, options.only)]
    if options.sample and options.sample < len(mutants):
        chosen = set(random.Random(options.seed).sample(range(len(mutants)), options.sample))
        mutants = [mutant for i, mutant in enumerate(mutants) if i in chosen]
    for name in options.preload:
        importlib.import_module(name)
    # Shrinking a counterexample takes seconds and changes nothing: one failure is enough.
    phases = [phase for phase in hypothesis.Phase if phase not in {hypothesis.Phase.shrink, hypothesis.Phase.explain}]
    hypothesis.settings.register_profile(
        "mutants", phases=phases, max_examples=40, database=None, deadline=None, derandomize=True
    )
    with tempfile.TemporaryDirectory() as folder:
        run = MutationRun(copy_tree(Path.cwd(), Path(folder) / "tree"), options.source, options.tests)
        run.look()
        print(f"{options.source}: {len(mutants)} mutants, {run.timeout:.0f} s each at most", flush=True)
        results = [run.try_mutant(mutant) for mutant in mutants]
    print(f"killed {sum(results)} of {len(results)}, survived {len(results) - sum(results)}")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the file to break, relative to the repository root")
    parser.add_argument("tests", nargs="+", help="test files, or any other pytest selection")
    parser.add_argument("--only", action="append", default=[], help="a function or class, such as Group.credit")
    parser.add_argument("--sample", type=int, default=0, help="try so many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    parser.add_argument("--preload", action="append", default=[], help="a slow package, imported before the first run")
    return parser.parse_args()


def is_in_scope(mutant: Mutant, names: Sequence[str]) -> bool:
    """Tell if the mutant is in one of the named functions or classes, or if none is named."""
    return not names or any(f".{mutant.scope}.".find(f".{name}.") >= 0 for name in names)


def copy_tree(root: Path, folder: Path) -> Path:
    """Copy what git knows and does not ignore."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=True
    )
    for name in filter(None, listing.stdout.decode().split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    return folder


class MutationRun:
    """One source file in a copy of the tree, and its tests."""

    def __init__(self, tree: Path, source: Path, tests: Sequence[str]) -> None:
        self._tree = tree
        self._source = tree / source
        self._tests = tests
        self._plain = self._source.read_text(encoding="utf-8")
        self._tests_of: dict[int, set[str]] = {}
        self.timeout = 600.0

    def look(self) -> None:
        """Run the tests without a mutation: note the tests of each line, and import the packages that they import."""
        began = time.perf_counter()
        notes = self._tree.parent / "notes.json"
        recorder = Recorder(self._source, notes)
        if self._run(self.timeout, recorder, show=True) != 0:
            raise SystemExit("the tests fail without any mutation")
        # Ten times the plain run: a busy machine must not turn a survivor into a kill.
        self.timeout = max(10.0, 10 * (time.perf_counter() - began))
        found = json.loads(notes.read_text())
        self._tests_of = {int(line): set(tests) for line, tests in found["lines"].items()}
        for name in found["modules"]:
            # Some submodules cannot be imported by their name alone; they are imported when they are needed.
            with contextlib.suppress(Exception):
                importlib.import_module(name)

    def try_mutant(self, mutant: Mutant) -> bool:
        """Run the tests against the mutant and print its fate; True where they noticed."""
        self._source.write_text(mutant.source, encoding="utf-8")
        near = set().union(*(self._tests_of.get(line, set()) for line in mutant.lines))
        try:
            status = self._run(self.timeout, Selection(near)) if near and "" not in near else 0
            if status == 0:
                status = self._run(self.timeout)
        finally:
            self._source.write_text(self._plain, encoding="utf-8")
        fate = "survived" if status == 0 else "killed" if status else "timeout"
        print(f"{fate:8}  {mutant.line:4}  {mutant.before}  ->  {mutant.after}", flush=True)
        return status != 0

    def _run(self, timeout: float, plugin: object = None, *, show: bool = False) -> int | None:
        plugins = [plugin] if plugin else []
        return run_forked(lambda: run_pytest(self._tree, self._tests, plugins, show=show), timeout)


class Selection:
    """Lets pytest run some of the tests that it has collected."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests."""
        items[:] = [item for item in items if item.nodeid in self._names]


class Recorder:
    """Notes which tests run which lines of a file, and the packages that are imported in the end."""

    def __init__(self, source: Path, notes: Path) -> None:
        self._file = str(source)
        self._notes = notes
        self._test = ""
        self._lines: defaultdict[int, set[str]] = defaultdict(set)

    def pytest_sessionstart(self) -> None:
        """Trace this thread and those to come."""
        # Servers run in threads of their own.
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Remember which test runs."""
        self._test = item.nodeid
        result = yield
        self._test = ""
        return result

    def pytest_sessionfinish(self) -> None:
        """Write what was seen."""
        sys.settrace(None)
        threading.settrace(None)
        modules = [
            name
            for name, module in list(sys.modules.items())
            if (file := getattr(module, "__file__", None)) and not Path(file).is_relative_to(Path.cwd())
        ]
        lines = {line: sorted(names) for line, names in self._lines.items()}
        self._notes.write_text(json.dumps({"modules": modules, "lines": lines}))

    def _trace(self, frame: FrameType, _event: str, _value: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != self._file:
            return None
        is_function = bool(frame.f_code.co_flags & _OPTIMIZED)

        def trace_line(frame: FrameType, _event: str, _value: object) -> Any:
            self._lines[frame.f_lineno].add(self._test if is_function else "")
            return trace_line

        return trace_line(frame, _event, _value)


def run_forked(work: Callable[[], int], timeout: float) -> int | None:
    """Do the work in a forked process and return its exit status; None where it ran out of time.

    A fork inherits the packages that are imported already. Starting Python and importing torch anew would take longer
    than most tests.
    """
    child = os.fork()
    if not child:
        os.setsid()
        try:
            status = work()
        except BaseException:  # noqa: BLE001 - the child must not go on as a second parent
            traceback.print_exc()
            status = int(pytest.ExitCode.INTERNAL_ERROR)
        sys.stdout.flush()
        os._exit(status)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            # Signals count as failed tests: os.waitstatus_to_exitcode gives them negative numbers.
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_pytest(tree: Path, tests: Sequence[str], plugins: list[object], *, show: bool) -> int:
    """Run the tests on the copied tree, in this process."""
    if not show:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
    os.chdir(tree)
    # Bytecode is looked up by size and second: a mutant of the same length could run as its predecessor.
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(tree / "src"))
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-profile", "mutants"]
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    if importlib.util.find_spec("xdist"):
        options += ["-n", "0"]
    return int(pytest.main([*options, *tests], plugins=plugins))


if __name__ == "__main__":
    main()
