"""Files that are whole or not there: folders replaced in one step, and the hashes of what they hold.

A kill at any moment leaves the old folder or the new one. A folder that has something in it cannot be renamed over.
Linux can exchange two names in one step; elsewhere there is a moment with neither, and `restore_folders` puts the old
one back.
"""

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bookwheel.models.weights import hash_file

_OLD: Final = ".old"


def flush_to_disk(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(new: Path, place: Path) -> None:
    """Rename `new` to `place` and remove what was there; a kill at any moment leaves the old one or the new one."""
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


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step. Return False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    here, exchange = -100, 2
    done: int = rename(here, os.fsencode(one), here, os.fsencode(other), exchange)
    return done == 0


def restore_folders(folder: Path) -> None:
    """Put back what a kill between the two renames left without its name."""
    for old in folder.glob(f".*{_OLD}"):
        place = old.with_name(old.name.removeprefix(".").removesuffix(_OLD))
        if place.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(place)


def write_hashes(path: Path, files: Iterable[Path]) -> None:
    """Write the SHA-256 of files that stand beside or below `path` into it."""
    hashes = {file.relative_to(path.parent).as_posix(): hash_file(file) for file in files}
    path.write_text(json.dumps(hashes, indent=1), encoding="utf-8")


def find_changes(path: Path) -> str:
    """Return what is no longer as it was when its hashes were written to `path`; nothing where none were written."""
    if not path.exists():
        return ""
    try:
        hashes = json.loads(path.read_bytes())
        changed = [name for name, digest in hashes.items() if hash_file(path.parent / name) != digest]
    except (OSError, ValueError, AttributeError) as error:
        return f"its files cannot be read ({error})"
    return f"{', '.join(changed)} changed after it was written" if changed else ""
