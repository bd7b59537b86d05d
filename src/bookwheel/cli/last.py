"""What `last` names: the newest reading of this terminal, else of this project, else of the journal.

A file beside the journal has the newest reading of each terminal and project, by its id alone. So two terminals that
read at the same time do not take each other's readings. Where the journal has a newer one, the command says so.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import NotKept
from bookwheel.journal.files import file_beside

if TYPE_CHECKING:
    from bookwheel.journal import Journal

_END: Final = ".last"
# Terminals and projects that are kept, the newest.
_MOST: Final = 100


def remember_last(journal: Path, id_: str) -> None:
    """Note that this terminal and project have begun or gone on with a reading."""
    file, places = file_beside(journal, _END), _name_places()
    old = {place: last for place, last in _load(file).items() if place not in places}
    kept = dict([*old.items(), *((place, id_) for place in places)][-_MOST:])
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    # Only convenience is lost where it cannot be written.
    with suppress(OSError):
        draft.write_text(json.dumps(kept), encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(file)


def find_reading_id(journal: Journal, name: str) -> str:
    """Return the whole id of a reading that is named by it, its first characters, or `last`."""
    newest = journal.find_id(name)
    if name != "last":
        return newest
    noted = _load(file_beside(journal.path, _END))
    for place, words in _name_places().items():
        if place not in noted:
            continue
        try:
            found = journal.find_id(noted[place])
        except NotKept:  # it was deleted
            continue
        if found != newest:
            from bookwheel.cli.output import print_note

            print_note(f"note: last is {found[:8]}, {words}; the newest reading of the journal is {newest[:8]}")
        return found
    return newest


def _name_places() -> dict[str, str]:
    """Return this terminal, if there is one, and this project, each with words for it."""
    places: dict[str, str] = {}
    with suppress(OSError, AttributeError, ValueError):
        if sys.stderr.isatty():
            # Names of terminals are used again, sessions are not.
            places[f"{os.ttyname(sys.stderr.fileno())} {os.getsid(0)}"] = "of this terminal"
    with suppress(OSError):
        folder = Path.cwd()
        root = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
        places[str(root)] = "of this project"
    return places


def _load(file: Path) -> dict[str, str]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return {place: last for place, last in found.items() if isinstance(last, str)} if isinstance(found, dict) else {}
