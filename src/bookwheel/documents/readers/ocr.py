"""Read pictures by tesseract, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_SECONDS: Final = 300.0
_MOST_PICTURE: Final = 256 << 20
_MOST_LANGUAGES: Final = 4


def has_tesseract() -> bool:
    """Return True if tesseract can be run."""
    return shutil.which("tesseract") is not None


def describe_ocr() -> str:
    """Return what pictures are read with: another release, or a further language, gives another text."""
    program = shutil.which("tesseract")
    if program is None:
        return ""
    return f"{program} {Path(program).stat().st_mtime_ns} {find_languages()}"


def read_image(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the text of a picture as one part."""
    if not has_tesseract():
        raise SourceError(
            f"{source.name} is a picture, and reading it needs OCR: install tesseract, for example "
            f"`apt-get install tesseract-ocr`, and give the file again"
        )
    text = read_picture(source.read(_MOST_PICTURE, "save it smaller"), source.name)
    warnings.add("pictures read by OCR, which makes mistakes", source.name)
    if text:
        yield Part(text=f"{text}\n", source=source.name)


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
