"""`bookwheel doctor`: what is wrong here, and how to mend it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from bookwheel.cli.options import ModelOptions, OutputOptions
from bookwheel.errors import BookwheelError

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXTRAS: Final = {
    "local": ("the local model", ("xllamacpp",)),
    "documents": ("PDF, DOCX, EPUB and HTML", ("pypdf", "mammoth", "trafilatura")),
}
_WORTH_A_WARNING: Final = 500_000_000
"""Bytes of free disk under which a journal can soon be full."""


_PATIENCE: Final = 10.0
"""Seconds that an endpoint may take to say what it serves."""


class Health(StrEnum):
    """How a thing is."""

    WELL = "ok"
    MIND = "note"
    ILL = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at."""

    what: str
    health: Health
    says: str
    """What was found and, if something is wrong, how to mend it."""


def doctor(*, models: ModelOptions | None = None, output: OutputOptions | None = None) -> int:
    """Look at everything that reading needs and say how to mend what is wrong."""
    from bookwheel.cli.output import print_line
    from bookwheel.cli.running import run

    models, output = models or ModelOptions(), output or OutputOptions()
    findings = [*_machine(), *_extras(), _weights(), *_journal(output)]
    if models.base_url:
        findings.append(run(_endpoint(models)))
    if output.as_json:
        print_line(json.dumps({"findings": [asdict(finding) for finding in findings]}))
    else:
        _print(findings)
    return 2 if any(finding.health is Health.ILL for finding in findings) else 0


def _machine() -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding(what="python", health=Health.WELL, says=f"{version} on {platform.system()} {platform.machine()}")
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    busy = load >= cores
    yield Finding(
        what="processor",
        health=Health.MIND if busy else Health.WELL,
        says=f"{cores} cores, load {load:.1f}" + (": busy, the local model will be slow" if busy else ""),
    )
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        says = f"it writes {sys.stdout.encoding}; set PYTHONUTF8=1 to see every character"
        yield Finding(what="terminal", health=Health.MIND, says=says)


def _extras() -> Iterator[Finding]:
    for extra, (purpose, packages) in _EXTRAS.items():
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            says = f"{purpose} cannot be read: pip install 'bookwheel[{extra}]' (missing: {', '.join(missing)})"
            yield Finding(what=extra, health=Health.MIND, says=says)
        else:
            yield Finding(what=extra, health=Health.WELL, says=f"{purpose}: installed")


def _weights() -> Finding:
    from bookwheel.models import weights

    try:
        path = weights.at_hand()
    except BookwheelError as error:
        return Finding(what="weights", health=Health.ILL, says=str(error))
    if path is None:
        says = f"not here yet; the first `ask` fetches them ({weights.SMOLLM2.megabytes} MB)"
        return Finding(what="weights", health=Health.MIND, says=says)
    return Finding(what="weights", health=Health.WELL, says=f"{path}")


def _journal(output: OutputOptions) -> Iterator[Finding]:
    from bookwheel.journal import journal_path

    path = output.journal or journal_path()
    try:
        with output.open_journal() as journal:
            count = len(journal.readings())
    except BookwheelError as error:
        yield Finding(what="journal", health=Health.ILL, says=str(error))
        return
    yield Finding(what="journal", health=Health.WELL, says=f"{path}, {count} readings")
    free = shutil.disk_usage(path.parent).free
    health = Health.WELL if free > _WORTH_A_WARNING else Health.MIND
    yield Finding(what="disk", health=health, says=f"{free / 1e9:.1f} GB free where the journal is")


async def _endpoint(options: ModelOptions) -> Finding:
    from bookwheel.models.endpoint import Endpoint
    from bookwheel.models.served import list_served_models

    endpoint = Endpoint.of(options.base_url, options.api_key, timeout=_PATIENCE)
    try:
        names = ", ".join(model.name for model in await list_served_models(endpoint))
    except BookwheelError as error:
        return Finding(what="endpoint", health=Health.ILL, says=str(error))
    return Finding(what="endpoint", health=Health.WELL, says=f"{endpoint.shown} serves {names}")


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    from bookwheel.cli.output import stdout
    from bookwheel.text.shield import plain

    console = stdout()
    colours = {Health.WELL: "green", Health.MIND: "yellow", Health.ILL: "bold red"}
    for finding in findings:
        mark = Text(f"{finding.health:<6}", style=colours[finding.health])
        console.print(mark + Text(f"{finding.what:<10} ", style="bold") + Text(plain(finding.says)))
