"""Mutants of a source file: a comparison, an operator, a constant, a condition, a return value or a call changed."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    lines: frozenset[int]
    """Lines of the statement; a test that runs none of them cannot notice the change."""
    scope: str
    """The qualified name of the function or class it is in."""
    before: str
    after: str
    source: str


def find_mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a source file, in the order of its lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, scope, statement in sorted(walk(tree, "", None), key=lambda site: (site[0].lineno, site[0].col_offset)):
        lines = frozenset((*list_lines(statement), *range(node.lineno, (node.end_lineno or node.lineno) + 1)))
        for other in changes(node):
            yield Mutant(
                line=node.lineno,
                lines=lines if is_simple(node) else frozenset(list_lines(statement)),
                scope=scope,
                before=describe(node),
                after=describe(other),
                source=ast.unparse(replace_node(tree, node, other)),
            )


def list_lines(statement: ast.stmt | None) -> range:
    """Return the lines of a statement; of one with a body, those of its head."""
    if statement is None:
        return range(0)
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if body:
        first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        last = max(statement.lineno, first.lineno - 1)
    return range(statement.lineno, last + 1)


def is_simple(node: Node) -> bool:
    """Tell if the node has no body, whose lines are not its own."""
    return not hasattr(node, "body") or isinstance(node, ast.expr)


def walk(node: ast.AST, scope: str, statement: ast.stmt | None) -> Iterator[tuple[Node, str, ast.stmt | None]]:
    """Yield the nodes that are run, each with the name of what it stands in and the statement that it is part of.

    Left out: imports, docstrings, annotations, decorators and the words of error messages. Bounds inside
    `Annotated[...]` are run by the schema and stay in.
    """
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or is_left_out(name, child):
                continue
            inner = scope
            part_of = child if isinstance(child, ast.stmt) else statement
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{scope}.{child.name}".lstrip(".")
            if isinstance(child, ast.expr | ast.stmt):
                yield child, inner, part_of
            if not isinstance(child, ast.Raise | ast.JoinedStr):
                yield from walk(child, inner, part_of)


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
