"""`bookwheel resume` and `bookwheel edit`: continue a reading, as it is or with a memory changed by hand."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.cli import STDIN
from bookwheel.cli.options import BudgetOptions, FilePath, ModelOptions, OutputOptions, WholeNumber
from bookwheel.errors import InputError
from bookwheel.types import Memory, Status

if TYPE_CHECKING:
    from bookwheel.reading.loop import Way
    from bookwheel.types import Reading


def resume(
    reading: str,
    *,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Continue a reading that was killed, interrupted, stopped by a budget, or failed.

    No finished step is read again. A finished reading prints its answer. The budget counts from zero.

    Parameters
    ----------
    reading
        The reading's id, its first characters, or "last".

    """
    from bookwheel.cli.runner import run_command

    return run_command(_resume(reading, models or ModelOptions(), budget or BudgetOptions(), output or OutputOptions()))


async def _resume(name: str, models: ModelOptions, budget: BudgetOptions, output: OutputOptions) -> int:
    from bookwheel.cli.output import print_answer

    with output.open_journal() as journal:
        old = journal.reading(name)
        if old.status is Status.ANSWERED:
            return print_answer(old, as_json=output.as_json, quiet=output.quiet)
    return await _continue_reading(old, models, budget, output)


async def _continue_reading(old: Reading, models: ModelOptions, budget: BudgetOptions, output: OutputOptions) -> int:
    """Read on with the model that began, unless another is named."""
    from bookwheel.cli.runner import read_to_end

    way = _load_way(old)
    model = await replace(models, model=models.model or old.model).open()
    try:
        with output.open_journal() as journal:
            plan = replace(old.plan, budget=budget.build())
            reading = replace(old, plan=plan, status=Status.READING, model=model.name, error="")
            return await read_to_end(reading, journal.document_of(old.id), model, journal, output, way=way)
    finally:
        await model.aclose()


def _load_way(reading: Reading) -> Way:
    """Return the reading's way; InputError says how to make it known if it is a function of the user's own."""
    from bookwheel.reading.ways.registry import GROUP, list_ways, load_way

    if reading.way not in list_ways():
        raise InputError(
            f"reading {reading.id[:8]} was made with the way {reading.way!r}, which is not registered here. Register "
            f"the function as the entry point {reading.way!r} of the group {GROUP!r}, or continue in Python: "
            f"bookwheel.reading.runner.run_reading(..., way=FUNCTION)"
        )
    return load_way(reading.way)


def edit(
    reading: str,
    *,
    step: WholeNumber,
    memory: str | None = None,
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
    with output.open_journal() as journal:
        old = journal.reading(name)
    _load_way(old)  # Refused before there is a fork that cannot be read on.
    if not 0 <= step < len(old.steps):
        raise InputError(f"--step {step}: the reading has steps 0 to {len(old.steps) - 1}")
    text = _choose_memory(old.steps[step].after.text, *replacement)
    model = await replace(models, model=models.model or old.model).open()
    try:
        tokens = model.tokenizer.count(text)
    finally:
        await model.aclose()
    limit = old.plan.memory_tokens
    if tokens > limit:
        raise InputError(f"the new memory has {tokens} tokens and the plan allows {limit}; shorten it")
    with output.open_journal() as journal:
        fork = journal.fork(old.id, step, Memory(text=text, tokens=tokens, limit=limit))
    return await _continue_reading(fork, models, budget, output)


def _choose_memory(old: str, text: str | None, file: Path | None) -> str:
    if text is not None and file is not None:
        raise InputError("give the new memory with --memory or --memory-file, not both")
    if text is not None:
        return text
    if file is not None:
        return sys.stdin.read() if str(file) == STDIN else _read_memory_file(file)
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
    if new.strip() == old.strip():
        raise InputError("the memory is unchanged, so there is no new reading")
    return new.strip()
