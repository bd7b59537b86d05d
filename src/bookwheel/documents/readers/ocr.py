"""Choose what reads the words in pictures: `rapidocr`, which is the default, or tesseract, where it is installed.

Files that are pictures are read here; those inside documents by `pictures`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.documents.readers.pictures import MOST_FRAMES, MULTIPAGE, WHOLE, Figures, open_picture, to_rgb
from bookwheel.documents.readers.recognition import has_recogniser
from bookwheel.errors import InputError, SourceError, find_install_command
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_SECONDS: Final = 300.0
_MOST_PICTURE: Final = 256 << 20
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
    return "tesseract" if wanted != "rapidocr" and has_tesseract() else ""


def has_tesseract() -> bool:
    """Return True if tesseract can be run."""
    return shutil.which("tesseract") is not None


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
    """Return how to have pictures read here."""
    return f"{find_install_command('pictures')}, or install tesseract, for example `apt-get install tesseract-ocr`"


def read_image(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the text of a picture; each page of a TIFF is one."""
    chosen = choose_recogniser(source.ocr)
    if not chosen:
        raise SourceError(f"{source.name} is a picture, and reading it needs OCR: {explain_missing()}")
    data = source.read(_MOST_PICTURE, "save it smaller")
    if chosen == "tesseract":
        text = read_picture(data, source.name)
        warnings.add("pictures read by OCR, which makes mistakes", source.name)
        if text:
            yield Part(text=f"{text}\n", source=source.name)
        return
    figures = Figures(source, warnings)
    with open_picture(data, source.name) as picture:
        count = getattr(picture, "n_frames", 1)
        if count > 1 and picture.format != MULTIPAGE:
            warnings.add("moving pictures, of which the first one is read", source.name)
            count = 1
        if count > MOST_FRAMES:
            warnings.add(f"pages left out, after the first {MOST_FRAMES}", source.name)
        for number in range(1, min(count, MOST_FRAMES) + 1):
            picture.seek(number - 1)
            text = figures.add_frame(to_rgb(picture), number, WHOLE, is_page=True)
            if text:
                yield Part(text=f"{text}\n\n", source=source.name, page=number, pictures=figures.take())


def read_picture(picture: bytes, name: str, resolution: int = 0) -> str:
    """Return the text of a picture in any format that tesseract knows."""
    options = ["-l", find_languages(), *(["--dpi", str(resolution)] if resolution else [])]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program; the picture comes by its standard input
            [shutil.which("tesseract") or "tesseract", "stdin", "stdout", *options],
            input=picture,
            capture_output=True,
            check=True,
            timeout=_SECONDS,
            # Pages are read side by side already.
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except (OSError, subprocess.SubprocessError) as error:
        lines = (getattr(error, "stderr", None) or str(error).encode()).decode(errors="replace").strip().splitlines()
        reason = lines[0] if lines else "it gives no reason"
        raise SourceError(f"{name} is a picture that tesseract cannot read: {reason}") from error
    return done.stdout.decode("utf-8", "replace").replace("\f", "").strip()


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
