"""`bookwheel resume` and `edit`: read on, from where a reading stands or from a memory that was changed by hand."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.cli import STDIN
from bookwheel.cli.last import find_reading_id
from bookwheel.cli.options import CallOptions, Words
from bookwheel.errors import InputError, explain_failure
from bookwheel.session import find_way
from bookwheel.types import Memory, Reading, Status

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.reading.loop import Way


async def resume(
    reading: str, *, flagged: bool = False, gate_threshold: float | None = None, options: CallOptions = CallOptions()
) -> int:
    """Continue a reading that was killed, interrupted, stopped by a budget, or failed, with the model that began it.

    No finished step is read again. A finished reading prints its answer. The budget counts from zero.

    Parameters
    ----------
    reading
        The reading's id, its first characters, or "last".
    flagged
        Read the sections that were not taken in, or were skipped, past the memory there is, and answer anew.
    gate_threshold
        With --flagged: of the skipped sections, read those whose score is at least this.

    """
    from bookwheel.cli.output import print_answer
    from bookwheel.reading.follow_up import find_unread_sections, reread, reread_above

    if gate_threshold is not None and not flagged:
        raise InputError("--gate-threshold says which skipped sections are read again: it needs --flagged")
    with options.output.require_journal(reading) as journal:
        old = journal.reading(find_reading_id(journal, reading))
        is_answered = old.status is Status.ANSWERED
        if is_answered and not (flagged and find_unread_sections(old.steps)):
            return print_answer(old, options.output)
        if flagged and not is_answered:
            raise InputError(f"reading {old.id[:8]} has no answer yet: continue it first, without --flagged")
        again = reread if gate_threshold is None else reread_above(gate_threshold)
        return await _read_on(old, journal, options, again if flagged else find_way(old))


async def edit(
    reading: str,
    *,
    step: int,
    memory: Words | None = None,
    memory_file: Path | None = None,
    options: CallOptions = CallOptions(),
) -> int:
    """Change the memory after a step and read on from there, as a new reading. The old reading stays as it is.

    Parameters
    ----------
    reading
        The reading's id, its first characters, or "last".
    step
        The step whose memory is changed, counted from 0 as in `show`.
    memory
        The new memory. Without it, $EDITOR opens the old one.
    memory_file
        A file with the new memory, or "-" for standard input.

    """
    with options.output.require_journal(reading) as journal:
        old = journal.reading(find_reading_id(journal, reading))
        find_way(old)  # Refused before there is a fork that cannot be read on.
        if not old.steps:
            raise InputError(f"reading {old.id[:8]} has no steps, so it has no memory to change")
        if not 0 <= step < len(old.steps):
            raise InputError(f"--step {step}: the reading has steps 0 to {len(old.steps) - 1}")
        text = choose_memory(old.steps[step].after.text, memory, memory_file)
        async with options.models.open_session(kept=journal.address_of(old.id)) as session:
            tokens = session.model.tokenizer.count(text)
        limit = old.plan.memory_tokens
        if tokens > limit:
            raise InputError(f"the new memory has {tokens} tokens and the plan allows {limit}; shorten it")
        fork = journal.fork(old.id, step, Memory(text=text, tokens=tokens, limit=limit))
        return await _read_on(fork, journal, options, find_way(fork))


async def _read_on(old: Reading, journal: Journal, options: CallOptions, way: Way) -> int:
    """Read on with the model that began, unless the options name another."""
    from bookwheel.cli.output import stderr
    from bookwheel.cli.runner import read_to_end
    from bookwheel.cli.watching import WaitLines
    from bookwheel.configuration import load_configuration
    from bookwheel.models.patience import Patience

    kept, connection = journal.address_of(old.id), options.models.connection
    # A server that has answered this reading before is waited for; a mistyped address is not.
    is_known = kept is not None and connection.find_address(load_configuration(), kept).url == kept.url
    waits = Patience.from_minutes(connection.patience if is_known else 0, WaitLines(stderr()).report_retry)
    async with options.models.open_session(journal, kept=kept, waits=waits) as session:
        return await read_to_end(session, session.renew(old, options.budget.given, way), options.output)


def choose_memory(old: str, text: str | None, file: Path | None) -> str:
    """Return the new memory: the text, the file's, or what $EDITOR makes of the old one."""
    if text is not None and file is not None:
        raise InputError("give the new memory with --memory or --memory-file, not both")
    if text is not None:
        return text
    if file is not None:
        text = sys.stdin.read() if str(file) == STDIN else _read_memory_file(file)
        if not text.strip():
            raise InputError(f"the new memory in {file} is empty; it would wipe all that was read before")
        return text.strip()
    if not sys.stdin.isatty():
        raise InputError("give the new memory with --memory TEXT or --memory-file FILE")
    return _edit_in_editor(old)


def _read_memory_file(file: Path) -> str:
    with explain_failure(file, "read"):
        return file.read_text(encoding="utf-8")


def _edit_in_editor(old: str) -> str:
    """Let the user change the memory in $EDITOR and return it."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.txt"
        file.write_text(old, encoding="utf-8")
        result = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 - the user's own editor
        if result.returncode:
            raise InputError(f"the editor exited with code {result.returncode}; nothing was changed")
        new = _read_memory_file(file)
    if not new.strip():
        raise InputError("the new memory is empty, so nothing was changed")
    if new.strip() == old.strip():
        raise InputError("the memory is unchanged, so there is no new reading")
    return new.strip()
