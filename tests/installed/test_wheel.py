"""What travels in the wheel: built here, without the network, and compared with the source tree."""

from __future__ import annotations

import configparser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bookwheel"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as file:
        yield file


@pytest.mark.slow
def test_every_file_of_the_source_is_in_the_wheel_as_it_is(wheel: zipfile.ZipFile) -> None:
    files = [file for file in SOURCE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    packed = {name for name in wheel.namelist() if name.startswith("bookwheel/")}
    assert packed == {str(file.relative_to(SOURCE.parent)) for file in files}
    assert all(wheel.read(str(file.relative_to(SOURCE.parent))) == file.read_bytes() for file in files)


@pytest.mark.parametrize(
    "name",
    ["serve/page/index.html", "serve/page/app.js", "serve/page/look.css", "serve/page/wheel.svg", "views/reading.css"]
    + ["prompts/standard.en.toml", "prompts/standard.zh.toml", "presets/paper-7b.toml"],
)
def test_what_is_not_python_is_there_too(wheel: zipfile.ZipFile, name: str) -> None:
    assert wheel.read(f"bookwheel/{name}")


def test_the_command_and_the_tasks_are_declared(wheel: zipfile.ZipFile) -> None:
    (declared,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    points = configparser.ConfigParser()
    points.read_string(wheel.read(declared).decode())
    assert points["console_scripts"]["bookwheel"] == "bookwheel.__main__:run"
    module = points["inspect_ai"]["bookwheel"]
    assert f"{module.replace('.', '/')}.py" in wheel.namelist()


def test_nothing_else_travels(wheel: zipfile.ZipFile) -> None:
    assert {name.partition("/")[0].partition("-")[0] for name in wheel.namelist()} == {"bookwheel"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.startswith("tests/")]
