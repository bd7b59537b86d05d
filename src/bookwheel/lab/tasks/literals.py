"""Plain values in other projects' scripts, read without running them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def read_literals(path: Path) -> dict[str, Any]:
    """Return the plain values that a script assigns to names; the first one where there are several."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    values: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                values.setdefault(node.targets[0].id, ast.literal_eval(node.value))
            except ValueError:
                continue
    return values
