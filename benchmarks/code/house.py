"""Figures of the source tree: sizes, headers, circles, what a door reaches, arrows, names, docstrings and comments.

python benchmarks/code/house.py                      figures of src/bookwheel
python benchmarks/code/house.py OTHER/src/bookwheel  of another tree, beside it
python benchmarks/code/house.py --check              fail on a class name of two files, and on a circle of imports
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "src" / "bookwheel"
DOORS = ("cli/ask.py", "api.py", "reading/loop.py", "serve/app.py")
READERS = "documents/readers/"
OPENINGS = re.compile(r"(What|Whether|How|Where|Which|Who|Why)\b")
IRREGULAR = frozenset(
    [
        "bound",
        "bought",
        "brought",
        "built",
        "caught",
        "chosen",
        "cut",
        "divided",
        "done",
        "drawn",
        "drunk",
        "fed",
        "felt",
        "found",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "kept",
        "known",
        "laid",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "paid",
        "read",
        "said",
        "seen",
        "sent",
        "set",
        "shown",
        "shut",
        "sold",
        "spent",
        "spun",
        "stood",
        "taken",
        "taught",
        "thought",
        "told",
        "torn",
        "understood",
        "worn",
        "written",
    ]
)
# Verbs whose plain form looks like a participle, and plain nouns that end in "ed".
PLAIN = frozenset(
    ["read", "set", "cut", "bound", "embed", "feed", "need", "seed", "speed", "exceed", "proceed", "shared"]
)


def main(words: list[str]) -> int:
    trees = [Path(word) for word in words if not word.startswith("-")] or [HERE]
    if "--check" in words:
        modules = parse_tree(HERE)
        doubles, circles = find_doubles(modules), find_circles(find_imports(modules))
        for name, files in doubles.items():
            print(f"class {name} is defined in {' and '.join(files)}: one name, one meaning")
        for circle in circles:
            print(f"a circle of imports: {', '.join(circle)}")
        return 1 if doubles or circles else 0
    if "--dot" in words:
        print(draw(find_arrows(parse_tree(trees[0]))))
        return 0
    columns = [measure(parse_tree(tree)) for tree in trees]
    for row in columns[0]:
        print(f"{row:38}" + "".join(f"{column[row]!s:>14}" for column in columns))
    return 0


def parse_tree(root: Path) -> dict[str, tuple[ast.Module, str]]:
    """Return every module's syntax tree and text, by its path inside the package."""
    texts = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    return {name: (ast.parse(text), text) for name, text in texts.items()}


def find_doubles(modules: dict[str, tuple[ast.Module, str]]) -> dict[str, list[str]]:
    """Return the class names that more than one file defines."""
    homes: dict[str, list[str]] = defaultdict(list)
    for name, (module, _) in modules.items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(name)
    return {name: files for name, files in homes.items() if len(set(files)) > 1}


def measure(modules: dict[str, tuple[ast.Module, str]]) -> dict[str, object]:
    functions = [node for module, _ in modules.values() for node in ast.walk(module) if is_function(node)]
    docstrings = [text for module, _ in modules.values() for text in find_docstrings(module)]
    lines = sum(text.count("\n") for _, text in modules.values())
    comments = sum(count_comments(text) for _, text in modules.values())
    participles = [node.name for node in functions if is_participle(node.name) and not is_property(node)]
    opened = [text for text in docstrings if OPENINGS.match(text)]
    sizes = [text.count("\n") for _, text in modules.values()]
    imports = find_imports(modules)
    circles = find_circles(imports)
    headers = sum(count_header(module, text) for module, text in modules.values())
    readers, lab = (sum(t.count("\n") for n, (_, t) in modules.items() if n.startswith(p)) for p in (READERS, "lab/"))
    return {
        "files": len(modules),
        "lines": lines,
        "lines of the lab": lab,
        "lines of the core without documents' readers": lines - lab - readers,
        "headers, %": round(100 * headers / lines, 1),
        "functions in 1,000 lines": round(1000 * len(functions) / lines, 1),
        "circles of imports": len(circles),
        **{f"{door} reaches": count_reach(imports, modules, door) for door in DOORS if door in modules},
        "longest file": max(sizes),
        "files over 300 lines": sum(size > 300 for size in sizes),
        "arrows between rooms": len(find_arrows(modules)),
        "functions": len(functions),
        "participle names": len(participles),
        "participle names, %": round(100 * len(participles) / len(functions), 1),
        "class names in two files": len(find_doubles(modules)),
        "docstrings": len(docstrings),
        "openings What/Whether/How/..., %": round(100 * len(opened) / len(docstrings), 1),
        "comments in 1,000 lines": round(1000 * comments / lines, 1),
    }


def find_imports(modules: dict[str, tuple[ast.Module, str]]) -> dict[str, set[str]]:
    """Return the files that each file imports, late imports too, those for types alone not."""
    names = {
        ("bookwheel/" + name).removesuffix(".py").removesuffix("/__init__").replace("/", "."): name for name in modules
    }
    graph: dict[str, set[str]] = {}
    for name, (module, _) in modules.items():
        skipped = {id(inner) for node in ast.walk(module) if is_for_types(node) for inner in ast.walk(node)}
        targets: set[str] = set()
        for node in ast.walk(module):
            if id(node) in skipped:
                continue
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                targets |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        graph[name] = {names[target] for target in targets if target in names} - {name}
    return graph


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def find_circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of files of which each reaches every other."""
    reached = {name: walk(graph, name) for name in graph}
    circles = {frozenset(other for other in reached[name] if name in reached[other]) for name in graph}
    return sorted(sorted(circle) for circle in circles if len(circle) > 1)


def walk(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return what a file imports, and what that imports, and so on; itself only in a circle."""
    seen: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph[name]
    return seen


def count_reach(graph: dict[str, set[str]], modules: dict[str, tuple[ast.Module, str]], door: str) -> str:
    """Return the files and lines that a door can run, with the packages that hold them."""
    parents = {name: {f"{folder}/__init__.py".removeprefix("./") for folder in Path(name).parents} for name in graph}
    whole = {name: found | (parents[name] & set(modules)) - {name} for name, found in graph.items()}
    files = {door, *walk(whole, door)}
    return f"{len(files)}, {sum(modules[name][1].count(chr(10)) for name in files):,}"


def count_header(module: ast.Module, text: str) -> int:
    """Return the lines before the first statement that is neither docstring nor import."""
    for node in module.body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (isinstance(node, ast.Import | ast.ImportFrom) or is_docstring or is_for_types(node)):
            return min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", ()))]) - 1
    return text.count("\n")


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def is_property(node: ast.FunctionDef) -> bool:
    return any(
        isinstance(mark, ast.Name) and mark.id in {"property", "cached_property"} for mark in node.decorator_list
    )


def is_participle(name: str) -> bool:
    """Return whether a name begins with a participle, as `told` and `_kept_rows` do, not `read_parts`."""
    first = name.lower().strip("_").partition("_")[0]
    return not name.startswith("__") and first not in PLAIN and (first in IRREGULAR or first.endswith("ed"))


def find_docstrings(module: ast.Module) -> list[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    return [text for node in ast.walk(module) if isinstance(node, kinds) and (text := ast.get_docstring(node))]


def find_arrows(modules: dict[str, tuple[ast.Module, str]]) -> set[tuple[str, str]]:
    """Return the pairs of rooms (folders and modules at the top) of which one imports the other."""
    return {
        (room(name), target)
        for name, (module, _) in modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bookwheel")
        for alias in node.names
        if (target := room_of_import(node.module or "", alias.name, modules)) != room(name)
    }


def draw(arrows: set[tuple[str, str]]) -> str:
    """Return the arrows as a Graphviz graph; rooms that import each other are joined in red."""
    lines = [
        f'  "{room}" -> "{other}"{" [color=red]" if (other, room) in arrows else ""};'
        for room, other in sorted(arrows)
        if other not in {"types", "errors", "__init__"}  # everything imports these
    ]
    return "\n".join(["digraph rooms {", "  node [shape=box, fontname=sans, style=rounded];", *lines, "}"])


def room(name: str) -> str:
    return Path(name).parts[0].removesuffix(".py")


def room_of_import(module: str, alias: str, modules: dict[str, tuple[ast.Module, str]]) -> str:
    for dotted in (f"{module}.{alias}", module):
        path = dotted.removeprefix("bookwheel").strip(".").replace(".", "/")
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if file in modules:
                return room(file)
    return "__init__"


def count_comments(text: str) -> int:
    tokens = tokenize.generate_tokens(iter(text.splitlines(keepends=True)).__next__)
    marks = ("# type:", "# noqa", "# pragma", "#!")
    return sum(token.type == tokenize.COMMENT and not token.string.startswith(marks) for token in tokens)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
