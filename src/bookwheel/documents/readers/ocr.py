"""Choose what reads the words in pictures: `rapidocr`, which is the default, or tesseract, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from bookwheel.errors import InputError, find_install_command

_MOST_LANGUAGES: Final = 4
RECOGNISERS: Final = ("rapidocr", "tesseract", "off")


def choose_recogniser(wanted: str = "") -> str:
    """Return the name of what reads pictures here; an empty one where nothing does. Raise InputError for no name."""
    if wanted and wanted not in RECOGNISERS:
        raise InputError(f"unknown recogniser {wanted!r}; there are {', '.join(RECOGNISERS)}")
    if wanted == "off":
        return ""
    if wanted != "tesseract" and has_recogniser():
        return "rapidocr"
    return "tesseract" if wanted != "rapidocr" and shutil.which("tesseract") else ""


def has_recogniser() -> bool:
    """Return True if the package is installed; its import takes most of a second."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


def describe_ocr(wanted: str = "") -> str:
    """Return what pictures are read with: another release, or a further language, gives another text."""
    chosen = choose_recogniser(wanted)
    if chosen == "rapidocr":
        from importlib.metadata import version

        return " ".join(f"{name} {version(name)}" for name in ("rapidocr", "onnxruntime", "pillow"))
    program = shutil.which("tesseract")
    if chosen != "tesseract" or program is None:
        return ""
    return f"{program} {Path(program).stat().st_mtime_ns} {find_languages()}"


def explain_missing() -> str:
    return f"{find_install_command('pictures')}, or install tesseract, for example `apt-get install tesseract-ocr`"


@cache
def find_languages() -> str:
    """Return the installed languages, as tesseract names them."""
    done = subprocess.run(  # noqa: S603
        [shutil.which("tesseract") or "tesseract", "--list-langs"], capture_output=True, check=False, timeout=60
    )
    names = [line.strip() for line in done.stdout.decode(errors="replace").splitlines()[1:]]
    found = [name for name in names if name and name != "osd" and "/" not in name]
    # English first: tesseract takes the first language where it is in doubt.
    found.sort(key=lambda name: name != "eng")
    return "+".join(found[:_MOST_LANGUAGES]) or "eng"
