"""Copy text to the clipboard, by the program that the desktop has for it, or by the terminal."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
from typing import Final

_PROGRAMS: Final = (
    ("wl-copy",),
    ("xclip", "-selection", "clipboard"),
    ("xsel", "--clipboard", "--input"),
    ("pbcopy",),
    ("clip.exe",),
)
_SECONDS: Final = 5


def copy_text(text: str) -> bool:
    """Copy the text; return False where there is neither a program nor a terminal that can."""
    for program, *options in _PROGRAMS:
        if (path := shutil.which(program)) and _run([path, *options], text):
            return True
    if not sys.stderr.isatty():
        return False
    # OSC 52: most terminals take it, also over SSH. Whether this one did cannot be asked.
    sys.stderr.write(f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\x07")
    sys.stderr.flush()
    return True


def _run(command: list[str], text: str) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed list of programs
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # no display to copy to
        return False
    return done.returncode == 0
