"""`bookwheel edit`: change the memory after a step by hand and read on from there, as a new reading."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from bookwheel.cli import STDIN
from bookwheel.cli.option_types import FilePath, Text, WholeNumber
from bookwheel.cli.options import BudgetOptions, ModelOptions, OutputOptions
from bookwheel.cli.resume import continue_reading
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.session import find_way
from bookwheel.types import Memory


def edit(
    reading: str,
    *,
    step: WholeNumber,
    memory: Text | None = None,
    memory_file: FilePath | None = None,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
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
    from bookwheel.cli.runner import run_command

    work = _edit(
        reading,
        step,
        (memory, memory_file),
        models or ModelOptions(),
        budget or BudgetOptions(),
        output or OutputOptions(),
    )
    return run_command(work)


async def _edit(
    name: str,
    step: int,
    replacement: tuple[str | None, Path | None],
    models: ModelOptions,
    budget: BudgetOptions,
    output: OutputOptions,
) -> int:
    with output.require_journal(name) as journal:
        old = journal.reading(name)
        find_way(old)  # Refused before there is a fork that cannot be read on.
        if not old.steps:
            raise InputError(f"reading {old.id[:8]} has no steps, so it has no memory to change")
        if not 0 <= step < len(old.steps):
            raise InputError(f"--step {step}: the reading has steps 0 to {len(old.steps) - 1}")
        text = choose_memory(old.steps[step].after.text, *replacement)
        model = await models.open(models.find_address(load_configuration(), journal.address_of(old.id)))
        try:
            tokens = model.tokenizer.count(text)
        finally:
            await model.aclose()
        limit = old.plan.memory_tokens
        if tokens > limit:
            raise InputError(f"the new memory has {tokens} tokens and the plan allows {limit}; shorten it")
        fork = journal.fork(old.id, step, Memory(text=text, tokens=tokens, limit=limit))
        return await continue_reading(fork, journal, models, budget, output, find_way(fork))


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
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


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
