"""Every package that src/ imports is declared: in the base dependencies, or in one extra that has all a file needs."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "bookwheel"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKAGE_OF = {
    "dateutil": "python-dateutil",
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "hydra": "hydra-core",
    "llama_index": "llama-index-core",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "transfer_queue": "transferqueue",
}
"""Only where a module is not named as its package is."""


def packages_of(requirements: list[str]) -> set[str]:
    found = set()
    for requirement in requirements:
        name, extras = re.match(r"([\w.-]+)(?:\[(.*?)\])?", requirement).groups()
        if name == PROJECT["name"]:
            for extra in extras.split(","):
                found |= packages_of(PROJECT["optional-dependencies"][extra])
        found.add(name.lower().replace("_", "-"))
    return found


BASE = packages_of(PROJECT["dependencies"])
EXTRAS = {
    name: packages_of(given) for name, given in PROJECT["optional-dependencies"].items() if name not in {"dev", "docs"}
}


def modules_of(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module)
    return {name.partition(".")[0] for name in found}


@cache
def imported_packages(path: Path) -> set[str]:
    modules = modules_of(ast.parse(path.read_text("utf-8"))) - set(sys.stdlib_module_names) - {"bookwheel"}
    return {PACKAGE_OF.get(module, module.lower().replace("_", "-")) for module in modules}


@pytest.mark.slow
def test_what_a_file_imports_is_declared_in_one_place():
    missing = {}
    for path in SOURCE.rglob("*.py"):
        # What the trainer that loads the environment brings itself is no dependency of ours.
        hosts = {"datasets", "verifiers"} if path.name == "verifiers.py" else set()
        beyond = imported_packages(path) - BASE - hosts
        if beyond and not any(beyond <= extra for extra in EXTRAS.values()):
            missing[str(path.relative_to(SOURCE))] = beyond
    assert missing == {}


@pytest.mark.slow
def test_a_package_of_the_base_is_imported_by_a_file():
    imported = set().union(*(imported_packages(path) for path in SOURCE.rglob("*.py")))
    assert imported >= BASE


@pytest.mark.parametrize("name", ["setup", "tools", "train"])
def test_the_lock_has_every_declared_package_and_names_no_registry(name):
    lock = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    extras = {"setup": (), "tools": ("dev",), "train": ("train",)}[name]
    if name != "train":
        extras += ("documents", "pictures", "local", "serve", "mcp")
        pins = re.findall(r"^[\w.-]+==.*(?:\n    .*)*", lock, re.MULTILINE)
        assert all("--hash=sha256:" in pin for pin in pins)
    declared = BASE.union(*(packages_of(PROJECT["optional-dependencies"][extra]) for extra in extras))
    assert declared - {"bookwheel"} <= set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)), "run `make lock`"
    assert "://" not in lock
