"""`bookwheel resume` and `bookwheel edit`: go on with a reading, as it is or with a memory changed by hand."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bookwheel.cli import STDIN
from bookwheel.cli.options import BudgetOptions, ModelOptions, OutputOptions
from bookwheel.errors import InputError
from bookwheel.types import Memory, Status

if TYPE_CHECKING:
    from bookwheel.types import Reading


def resume(
    reading: str,
    *,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Go on with a reading that was killed, interrupted, stopped by a budget or failed; no finished call is repeated.

    Parameters
    ----------
    reading
        Its id (the beginning is enough) or "last".

    """
    from bookwheel.cli.running import run

    return run(_resume(reading, models or ModelOptions(), budget or BudgetOptions(), output or OutputOptions()))


async def _resume(name: str, models: ModelOptions, budget: BudgetOptions, output: OutputOptions) -> int:
    from bookwheel.cli.output import print_answer

    with output.open_journal() as journal:
        found = journal.reading(name)
        if found.status is Status.ANSWERED:
            return print_answer(found, as_json=output.as_json, quiet=output.quiet)
    return await _go_on(found, models, budget, output)


async def _go_on(found: Reading, models: ModelOptions, budget: BudgetOptions, output: OutputOptions) -> int:
    """Read on with the model that began, unless another is named; the budget counts anew."""
    from bookwheel.cli.running import read_on

    model = await replace(models, model=models.model or found.model).open()
    try:
        with output.open_journal() as journal:
            plan = replace(found.plan, budget=budget.budget)
            reading = replace(found, plan=plan, status=Status.READING, model=model.name, error="")
            return await read_on(reading, journal.document_of(found.id), model, journal, output)
    finally:
        await model.aclose()


def edit(
    reading: str,
    *,
    step: Annotated[int, Parameter(required=True)],
    memory: str | None = None,
    memory_file: Path | None = None,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Change the memory after a step by hand and read on from there. A new reading; the old one stays as it is.

    Parameters
    ----------
    reading
        Its id (the beginning is enough) or "last".
    step
        The step after which the memory is changed, counted from 0 as `show` does.
    memory
        The new memory; without it $EDITOR opens the old one.
    memory_file
        A file with the new memory; "-" is standard input.

    """
    from bookwheel.cli.running import run

    work = _edit(
        reading,
        step,
        (memory, memory_file),
        models or ModelOptions(),
        budget or BudgetOptions(),
        output or OutputOptions(),
    )
    return run(work)


async def _edit(
    name: str,
    step: int,
    given: tuple[str | None, Path | None],
    models: ModelOptions,
    budget: BudgetOptions,
    output: OutputOptions,
) -> int:
    with output.open_journal() as journal:
        old = journal.reading(name)
    if not 0 <= step < len(old.steps):
        raise InputError(f"the reading has steps 0 to {len(old.steps) - 1}, not {step}")
    text = _new_memory(old.steps[step].after.text, *given)
    model = await replace(models, model=models.model or old.model).open()
    try:
        tokens = model.tokenizer.count(text)
    finally:
        await model.aclose()
    limit = old.plan.memory_tokens
    if tokens > limit:
        raise InputError(f"the new memory has {tokens} tokens and the plan gives it {limit}; shorten it")
    with output.open_journal() as journal:
        fork = journal.fork(old.id, step, Memory(text=text, tokens=tokens, limit=limit))
    return await _go_on(fork, models, budget, output)


def _new_memory(old: str, text: str | None, file: Path | None) -> str:
    if text is not None:
        return text
    if file is not None:
        return sys.stdin.read() if str(file) == STDIN else _read(file)
    if not sys.stdin.isatty():
        raise InputError("give the new memory with --memory TEXT or --memory-file FILE")
    return _from_editor(old)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _from_editor(old: str) -> str:
    """The old memory as the user left it in $EDITOR."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.txt"
        file.write_text(old, encoding="utf-8")
        done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 - the user's own editor
        if done.returncode:
            raise InputError(f"the editor ended with {done.returncode}; nothing was changed")
        new = _read(file)
    if new.strip() == old.strip():
        raise InputError("the memory was not changed; no new reading was made")
    return new.strip()
