"""`bookwheel forget`: delete readings and their documents."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bookwheel.cli.option_types import PositiveInt
from bookwheel.cli.options import OutputOptions
from bookwheel.errors import BookwheelError, InputError

if TYPE_CHECKING:
    from bookwheel.journal import Journal


def forget(
    *readings: str,
    older_than: PositiveInt | None = None,
    unread: Annotated[bool, Parameter(negative="")] = False,
    output: OutputOptions | None = None,
) -> int:
    """Delete readings, each with its document if no other reading is of it. Nothing brings them back.

    Parameters
    ----------
    readings
        The readings' ids, their first characters, or "last".
    older_than
        Delete all readings that began more than this many days ago.
    unread
        Delete the documents that no reading is of, however new they are.

    """
    from bookwheel.cli.output import print_line, stderr

    output = output or OutputOptions()
    if not readings and older_than is None and not unread:
        raise InputError("say what to forget: bookwheel forget READING, or --older-than DAYS")
    journal = output.find_journal()
    deleted: list[str] = []
    kept: dict[str, str] = {}
    if journal is not None:
        with journal:
            for id_ in _find_ids(journal, readings, older_than):
                try:
                    journal.delete(id_)
                    deleted.append(id_)
                except BookwheelError as error:  # the others go all the same
                    kept[id_] = str(error)
            if unread or deleted:
                journal.delete_unread(all_=unread)
    elif readings:
        output.require_journal(readings[0])
    if output.as_json:
        print_line(json.dumps({"deleted": deleted, "kept": kept}))
    else:
        stderr().print(f"deleted {len(deleted)} readings", style="dim")
        for reason in kept.values():
            stderr().print(reason, style="yellow", markup=False)
    return 2 if kept else 0


def _find_ids(journal: Journal, readings: tuple[str, ...], days: int | None) -> list[str]:
    """Return whole ids. Raise JournalError, before anything is deleted, for one that is not there."""
    ids = dict.fromkeys(journal.find_id(name) for name in readings)
    if days is not None:
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
        ids |= dict.fromkeys(reading.id for reading in journal.readings() if reading.created < before)
    return list(ids)
