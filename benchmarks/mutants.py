"""Break one line at a time and see whether the tests notice: a mutation run over one source file.

    python benchmarks/mutants.py src/bookwheel/training/loss.py tests/training/test_loss.py --preload torch

Every mutant is the file with one change: a comparison, an operator, a constant, a condition, a return value or a call.
The script copies the tree to a temporary folder, so the work tree is never touched. Each mutant runs in a process of
its own and is killed when a test fails, or when the tests take far longer than without it. What survives is either a
missing test or a change that no caller can see.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Node: TypeAlias = ast.expr | ast.stmt

COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
FUNCTIONS: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change, and the source with it."""

    line: int
    scope: str
    """The qualified name of the function or class it is in."""
    before: str
    after: str
    source: str


def main() -> None:
    """Run every mutant, or a sample of them, and print which survived."""
    options = parse_arguments()
    root = Path.cwd()
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
        tree = copy_tree(root, Path(folder))
        began = time.perf_counter()
        if run_tests(tree, options.tests, timeout=600, show=True) != 0:
            raise SystemExit("the tests fail without any mutation")
        # Ten times the plain run: a busy machine must not turn a survivor into a kill.
        timeout = max(10.0, 10 * (time.perf_counter() - began))
        print(f"{options.source}: {len(mutants)} mutants, {timeout:.0f} s each at most", flush=True)
        results = [try_mutant(tree, options.source, mutant, options.tests, timeout) for mutant in mutants]
    print(f"killed {sum(results)} of {len(results)}, survived {len(results) - sum(results)}")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the file to break, relative to the repository root")
    parser.add_argument("tests", nargs="+", help="test files, or any other pytest selection")
    parser.add_argument("--only", action="append", default=[], help="a function or class, such as Group.credit")
    parser.add_argument("--sample", type=int, default=0, help="try so many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    parser.add_argument("--preload", action="append", default=[], help="a slow package, imported once for all mutants")
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


def try_mutant(tree: Path, source: Path, mutant: Mutant, tests: Sequence[str], timeout: float) -> bool:
    """Run the tests against the mutant and print its fate; True where they noticed."""
    path = tree / source
    plain = path.read_text(encoding="utf-8")
    path.write_text(mutant.source, encoding="utf-8")
    try:
        status = run_tests(tree, tests, timeout)
    finally:
        path.write_text(plain, encoding="utf-8")
    fate = "survived" if status == 0 else "killed" if status else "timeout"
    print(f"{fate:8}  {mutant.line:4}  {mutant.before}  ->  {mutant.after}", flush=True)
    return status != 0


def run_tests(tree: Path, tests: Sequence[str], timeout: float, *, show: bool = False) -> int | None:
    """Run pytest in a forked process and return its exit status; None where it ran out of time.

    A fork inherits the packages that are imported already. Starting Python and importing torch anew would take longer
    than most tests.
    """
    child = os.fork()
    if not child:
        os.setsid()
        try:
            status = run_pytest(tree, tests, show=show)
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


def run_pytest(tree: Path, tests: Sequence[str], *, show: bool) -> int:
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
    return int(pytest.main([*options, *tests]))


def find_mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a source file, in the order of its lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, scope in sorted(walk(tree, ""), key=lambda site: (site[0].lineno, site[0].col_offset)):
        for other in changes(node):
            source = ast.unparse(replace_node(tree, node, other))
            yield Mutant(line=node.lineno, scope=scope, before=describe(node), after=describe(other), source=source)


def walk(node: ast.AST, scope: str) -> Iterator[tuple[Node, str]]:
    """Yield the nodes that are run, each with the name of what it stands in.

    Left out: imports, docstrings, annotations, decorators and the words of error messages. Bounds inside
    `Annotated[...]` are run by the schema and stay in.
    """
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or is_left_out(name, child):
                continue
            inner = scope
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{scope}.{child.name}".lstrip(".")
            if isinstance(child, ast.expr | ast.stmt):
                yield child, inner
            if not isinstance(child, ast.Raise | ast.JoinedStr):
                yield from walk(child, inner)


def is_left_out(field: str, child: ast.AST) -> bool:
    """Tell if a mutation of the child says nothing about the tests."""
    if field == "annotation":
        return not (isinstance(child, ast.Subscript) and ast.unparse(child.value) == "Annotated")
    if field in {"decorator_list", "returns", "bases", "type_params"} or isinstance(child, ast.Import | ast.ImportFrom):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    return isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"


def changes(node: Node) -> Iterator[Node]:
    """Yield what the node becomes in its mutants."""
    match node:
        case ast.Constant(value=value):
            yield from (ast.Constant(value=other) for other in other_constants(value))
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            yield change(node, func=ast.Name(id=FUNCTIONS[name], ctx=ast.Load()))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not is_inverted_by_itself(test):
            yield change(node, test=ast.UnaryOp(op=ast.Not(), operand=test))
        case ast.expr():
            yield from operator_changes(node)
        case ast.stmt():
            yield from statement_changes(node)


def operator_changes(node: ast.expr) -> Iterator[Node]:
    """Yield an expression with another operator."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield change(node, ops=[COMPARISONS[type(op)]()])
        case ast.BinOp(op=op) if type(op) in OPERATORS:
            yield change(node, op=OPERATORS[type(op)]())
        case ast.BoolOp(op=op):
            yield change(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand


def statement_changes(node: ast.stmt) -> Iterator[Node]:
    """Yield what a statement becomes when it is left out or turned round."""
    match node:
        case ast.Return(value=ast.expr()):
            yield ast.Return(value=ast.Constant(value=None))
        case ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield change(node, op=OPERATORS[type(op)]())
        case ast.Raise() | ast.Expr(value=ast.Call() | ast.Await()):
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def is_inverted_by_itself(test: ast.expr) -> bool:
    """Tell if the condition has a mutant of its own that is its opposite."""
    match test:
        case ast.Compare(ops=[op]):
            return not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        case ast.UnaryOp(op=ast.Not()):
            return True
    return False


def negate(test: ast.expr) -> ast.expr:
    """Return the condition's opposite."""
    return ast.UnaryOp(op=ast.Not(), operand=test)


def other_constants(value: object) -> list[bool | float | str]:
    """Return what a constant is replaced by."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1]
        case float():
            return [value * 2 + 1]
        case str() if value:
            return [f"{value}?"]
        case _:
            return []


def change(node: Node, **values: object) -> Node:
    """Return a copy of the node with some fields replaced."""
    other = copy.copy(node)
    for name, value in values.items():
        setattr(other, name, value)
    return other


class Replacement(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: Node, new: Node) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        """Return the node, or the other one in its place."""
        return self._new if node is self._old else super().visit(node)


def replace_node(tree: ast.Module, old: Node, new: Node) -> ast.Module:
    """Return a copy of the tree with one node replaced."""
    # One memo for both copies, so that the copy of `old` is found inside the copy of the tree.
    memo: dict[int, Any] = {}
    other = copy.deepcopy(tree, memo)
    Replacement(memo[id(old)], new).visit(other)
    return ast.fix_missing_locations(other)


def describe(node: ast.AST, width: int = 70) -> str:
    """Return the node's source on one line; of a branch or loop, the condition alone."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {describe(node.test)}"
    line = " ".join(ast.unparse(node).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


if __name__ == "__main__":
    main()
