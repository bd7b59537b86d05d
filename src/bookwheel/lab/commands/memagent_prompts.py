"""`bookwheel data prompts`: MemAgent's own prompts from a checkout of it, as a prompt set that we load.

The checkpoints that were released with MemAgent were trained on fixed words. Those are read from its scripts as data,
and written to a file of the user's; nothing of the checkout runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli.option_types import FilePath
from bookwheel.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_UPDATE: Final = "taskutils/memory_eval/utils/recurrent_boxed.py"
_PLACES: Final = {"{prompt}": "{question}", "{chunk}": "{section}"}
_FENCE: Final = "'''"


def write_prompts(
    checkout: Annotated[FilePath, Parameter(help="The folder of a checkout of MemAgent.")],
    *,
    out: Annotated[FilePath, Parameter(help="The prompt set to write.")],
    force: Annotated[bool, Parameter(negative="", help="Replace the file when it is there.")] = False,
) -> int:
    """Write the prompts that MemAgent's checkpoints were trained on, for --prompts."""
    from bookwheel.reading.prompts import Prompts

    if out.exists() and not force:
        raise InputError(f"{out} is there already; choose another --out or replace it with --force")
    text = convert_prompts(checkout)
    Prompts.from_toml(text, out.name)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error}") from error
    print(f"bookwheel ask FILE QUESTION --prompts {out}")
    return 0


def convert_prompts(checkout: Path) -> str:
    """Return the prompt set as TOML; InputError where the checkout has no such templates."""
    from bookwheel.lab.tasks.ruler.resources import read_literals

    update = read_literals(checkout / _UPDATE)
    try:
        memory, answer = (_rename_places(update[name]) for name in ("TEMPLATE", "TEMPLATE_FINAL"))
        blank = update["NO_MEMORY"]
    except KeyError as error:
        raise InputError(f"{checkout} is no checkout of MemAgent that is known here: {error} is missing") from error
    return (
        f'language = "en"\nblank = {_FENCE}{blank}{_FENCE}\nanswer = {_quote(answer)}\n\n'
        f"[update]\nmemory-first = {_quote(memory)}\n"
    )


def _rename_places(template: str) -> str:
    for theirs, ours in _PLACES.items():
        template = template.replace(theirs, ours)
    # Doubled braces are those that `str.format` would write once.
    return template.replace("{{", "{").replace("}}", "}")


def _quote(text: str) -> str:
    """Return a literal TOML string; it drops a line break at its very beginning, so one is put there."""
    if _FENCE in text:
        raise InputError("a template holds three quotes in a row, which a prompt set cannot")
    return f"{_FENCE}\n{text}{_FENCE}"
