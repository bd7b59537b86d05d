"""Replace folders and files so that a kill at any moment leaves the old one or the new one, whole.

A folder that has something in it cannot be renamed over. Linux can exchange two names in one step; elsewhere there is a
moment with neither, and `restore_folders` puts the old one back.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_EXCHANGE: Final = 2
_HERE: Final = -100
_OLD: Final = ".old"


def replace_folder(new: Path, place: Path) -> None:
    """Rename `new` to `place`, and remove what was there."""
    old = place.with_name(f".{place.name}{_OLD}")
    shutil.rmtree(old, ignore_errors=True)
    if not place.exists():
        new.rename(place)
    elif _exchange(new, place):
        shutil.rmtree(new)
    else:
        place.rename(old)
        new.rename(place)
        shutil.rmtree(old)


def restore_folders(folder: Path) -> None:
    """Put back what a kill between the two renames left without its name."""
    for old in folder.glob(f".*{_OLD}"):
        place = old.with_name(old.name.removeprefix(".").removesuffix(_OLD))
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(place)


def write_text(path: Path, text: str) -> None:
    """Replace a file's text."""
    new = path.with_name(f".{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step. Return False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    done: int = rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return done == 0
