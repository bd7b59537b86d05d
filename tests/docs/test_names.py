"""What the documentation names exists: files of the sources, dotted names, targets of links."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
GROUPS = {"bookwheel.ways", "bookwheel.tasks", "bookwheel.metrics", "bookwheel.models", "bookwheel.routes"}
PATH = re.compile(r"\b(?:src|tests|examples|benchmarks|lab|requirements)/[\w/.*-]*\w")
DOTTED = re.compile(r"\bbookwheel(?:\.[A-Za-z_]\w*)+")
LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]*)(?:#[^)]*)?\)")
FILE_ENDINGS = {"md", "toml", "sh", "txt", "example", "bash"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def names_in(path: Path) -> dict[str, set[str]]:
    """Top-level names of a module, those under `if` too, and what each class has."""
    found: dict[str, set[str]] = {}
    blocks = [ast.parse(path.read_text(encoding="utf-8")).body]
    while blocks:
        for node in blocks.pop():
            if isinstance(node, (ast.If, ast.Try)):
                blocks += [node.body, node.orelse]
            elif isinstance(node, ast.ClassDef):
                found[node.name] = {name for part in node.body for name in names_bound_by(part)}
            else:
                found |= {name: set() for name in names_bound_by(node)}
    return found


def names_bound_by(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
    return []


def exists(dotted: str) -> bool:
    parts = dotted.split(".")
    for size in range(len(parts), 0, -1):
        place = ROOT.joinpath("src", *parts[:size])
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not file.is_file():
            continue
        rest = parts[size:]
        names = names_in(file)
        return (
            not rest
            or (len(rest) == 1 and rest[0] in names)
            or (len(rest) == 2 and rest[0] in names and rest[1] in names[rest[0]])
        )
    return False


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    paths = set(PATH.findall(page.read_text(encoding="utf-8").replace("\\_", "_")))
    # `lab/` is the folder of notes, and the package's own room.
    places = (ROOT, ROOT / "src" / "bookwheel")
    assert [path for path in sorted(paths) if not any(found for place in places for found in place.glob(path))] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_dotted_name_that_a_page_names_is_defined(page: Path) -> None:
    dotted = set(DOTTED.findall(page.read_text(encoding="utf-8"))) - GROUPS
    names = {name for name in dotted if name.rpartition(".")[2] not in FILE_ENDINGS}
    assert [name for name in sorted(names) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = {link for link in LINK.findall(page.read_text(encoding="utf-8")) if link}
    assert [link for link in sorted(links) if not (page.parent / link).exists()] == []


def test_the_check_of_names_finds_what_is_not_there() -> None:
    assert exists("bookwheel.reading.loop.read")
    assert exists("bookwheel.types.Reading.memory")
    assert not exists("bookwheel.reading.loop.reads")
    assert not exists("bookwheel.types.Reading.memories")
    assert not exists("bookwheel.nowhere")


WALK = re.compile(r"^\| \[[^\]]+\]\(\.\./(src/[^)]+)\) \| ([^|]*) \|", re.MULTILINE)


@pytest.mark.parametrize(
    ("file", "names"), WALK.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
)
def test_a_walk_names_what_its_file_defines(file: str, names: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    assert set(re.findall(r"`(\w+)`", names)) <= {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_advice_works_before_there_is_a_release(page: Path) -> None:
    assert "pip install 'bookwheel[" not in page.read_text(encoding="utf-8")
