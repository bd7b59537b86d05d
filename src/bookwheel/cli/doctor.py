"""`bookwheel doctor`: check this installation and say how to fix what is wrong."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli.options import ModelOptions, OutputOptions
from bookwheel.errors import BookwheelError, find_install_command

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXTRAS: Final = {
    "local": ("the local model", ("xllamacpp",)),
    "documents": (
        "PDF, HTML, office files and books",
        ("pypdfium2", "mammoth", "lxml", "pptx", "python_calamine", "striprtf"),
    ),
}
# Bytes of free disk space below which a journal can soon be full.
_LOW_DISK: Final = 500_000_000
# Damaged rows that are named; the rest is found again after a repair.
_MOST_DAMAGE: Final = 20
# Seconds that an endpoint has to list its models.
_ENDPOINT_TIMEOUT: Final = 10.0


class CheckStatus(StrEnum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check: its subject, its status, and what was seen or how to fix it."""

    subject: str
    status: CheckStatus
    message: str

    def to_json(self) -> dict[str, str]:
        """Return the check as `doctor --json` prints it."""
        return {"what": self.subject, "health": str(self.status), "says": self.message}


def doctor(
    *,
    repair: Annotated[bool, Parameter(negative="")] = False,
    models: ModelOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Check Python, the optional packages, the local model, the journal and, with --base-url or --model, the model.

    The model is asked a few short questions, to find out what it offers and which ways of reading that opens.

    The exit code is 2 if something is wrong.

    Parameters
    ----------
    repair
        Copy what is sound of a damaged journal to a new file in its place; the old one stays beside it.

    """
    from bookwheel.cli.output import print_line
    from bookwheel.cli.runner import run_command

    models, output = models or ModelOptions(), output or OutputOptions()
    repaired = _repair_journal(output) if repair else []
    results = [*repaired, *_check_machine(), *_check_extras(), _check_weights()]
    results += [*_check_journal(output), _check_settings()]
    if models.url or models.model:
        results += run_command(_check_model(models))
    if output.as_json:
        print_line(json.dumps({"findings": [result.to_json() for result in results]}))
    else:
        _print_results(results)
    return 2 if any(result.status is CheckStatus.WRONG for result in results) else 0


def _check_machine() -> Iterator[CheckResult]:
    system = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    yield CheckResult(subject="python", status=CheckStatus.OK, message=system)
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    is_busy = load >= cores
    yield CheckResult(
        subject="processor",
        status=CheckStatus.NOTE if is_busy else CheckStatus.OK,
        message=f"{cores} cores, load {load:.1f}" + (": busy, the local model will be slow" if is_busy else ""),
    )
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        message = f"its encoding is {sys.stdout.encoding}; set PYTHONUTF8=1 to see every character"
        yield CheckResult(subject="terminal", status=CheckStatus.NOTE, message=message)


def _check_extras() -> Iterator[CheckResult]:
    for extra, (purpose, packages) in _EXTRAS.items():
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            message = f"{purpose} needs: {find_install_command(extra)} (missing: {', '.join(missing)})"
            yield CheckResult(subject=extra, status=CheckStatus.NOTE, message=message)
        else:
            yield CheckResult(subject=extra, status=CheckStatus.OK, message=f"{purpose}: installed")


def _check_weights() -> CheckResult:
    from bookwheel.environment import Environment
    from bookwheel.models import weights

    try:
        path = weights.find_local_weights(Environment.load())
    except BookwheelError as error:
        return CheckResult(subject="weights", status=CheckStatus.WRONG, message=str(error))
    if path is None:
        message = f"not downloaded yet; the first `ask` downloads them ({weights.SMOLLM2.megabytes} MB)"
        return CheckResult(subject="weights", status=CheckStatus.NOTE, message=message)
    return CheckResult(subject="weights", status=CheckStatus.OK, message=str(path))


def _check_journal(output: OutputOptions) -> Iterator[CheckResult]:
    path = output.path
    try:
        journal = output.find_journal()
        if journal is None:
            yield CheckResult(subject="journal", status=CheckStatus.OK, message=f"{path}, not begun yet")
            return
        with journal:
            count, damage = len(journal.readings()), journal.find_damage()
    except BookwheelError as error:
        yield CheckResult(subject="journal", status=CheckStatus.WRONG, message=str(error))
        return
    for what in damage[:_MOST_DAMAGE]:
        message = f"{what}; mend the journal with bookwheel doctor --repair"
        yield CheckResult(subject="journal", status=CheckStatus.WRONG, message=message)
    yield CheckResult(subject="journal", status=CheckStatus.OK, message=f"{path}, {count} readings")
    free = shutil.disk_usage(path.parent).free
    status = CheckStatus.OK if free > _LOW_DISK else CheckStatus.NOTE
    yield CheckResult(subject="disk", status=status, message=f"{free / 1e9:.1f} GB free where the journal is")


def _repair_journal(output: OutputOptions) -> list[CheckResult]:
    from bookwheel.journal.damage import repair

    if not output.path.exists():
        return []
    try:
        old, lost = repair(output.path)
    except BookwheelError as error:
        return [CheckResult(subject="repair", status=CheckStatus.WRONG, message=str(error))]
    done = CheckResult(subject="repair", status=CheckStatus.OK, message=f"copied what is sound; the old file is {old}")
    left_out = [CheckResult(subject="left out", status=CheckStatus.NOTE, message=what) for what in lost]
    return [done, *left_out]


def _check_settings() -> CheckResult:
    """Check the settings files, and the variables that could be mistyped options."""
    from bookwheel.configuration import find_files, load_configuration

    try:
        load_configuration()
        files = ", ".join(map(str, find_files()))
    except BookwheelError as error:
        return CheckResult(subject="settings", status=CheckStatus.WRONG, message=str(error))
    return CheckResult(subject="settings", status=CheckStatus.OK, message=files or "no settings file, which is fine")


async def _check_model(options: ModelOptions) -> list[CheckResult]:
    """Check the endpoint, and what the named or only model offers."""
    from bookwheel.models.endpoint import Endpoint
    from bookwheel.models.server_models import list_served_models

    results, count = [], 1
    if options.url:
        endpoint = Endpoint.resolve(options.url, options.key, timeout=_ENDPOINT_TIMEOUT)
        try:
            served = await list_served_models(endpoint)
        except BookwheelError as error:
            return [CheckResult(subject="endpoint", status=CheckStatus.WRONG, message=str(error))]
        names, count = ", ".join(model.name for model in served), len(served)
        message = f"{endpoint.display_url} serves {names or 'models that it does not list'}"
        results.append(CheckResult(subject="endpoint", status=CheckStatus.OK, message=message))
    if options.model or count == 1:
        return [*results, *await _check_offers(options)]
    message = "name one with --model to see what it offers"
    return [*results, CheckResult(subject="model", status=CheckStatus.NOTE, message=message)]


async def _check_offers(options: ModelOptions) -> list[CheckResult]:
    from bookwheel.cli.offers import report_model

    try:
        report = await report_model(options)
    except BookwheelError as error:
        return [CheckResult(subject="model", status=CheckStatus.WRONG, message=str(error))]
    offers = [
        CheckResult(
            subject=str(offer.kind),
            status=CheckStatus.OK if offer.is_offered else CheckStatus.NOTE,
            message=offer.detail if offer.is_offered is not False else f"no: {offer.detail}",
        )
        for offer in report.offers
    ]
    message = f"{report.model}: {'; '.join(report.describe_ways())}"
    return [*offers, CheckResult(subject="ways", status=CheckStatus.OK, message=message)]


def _print_results(results: list[CheckResult]) -> None:
    from rich.text import Text

    from bookwheel.cli.output import stdout
    from bookwheel.text.sanitize import sanitize

    console = stdout()
    colours = {CheckStatus.OK: "green", CheckStatus.NOTE: "yellow", CheckStatus.WRONG: "bold red"}
    for result in results:
        mark = Text(f"{result.status:<6}", style=colours[result.status])
        console.print(mark + Text(f"{result.subject:<10} ", style="bold") + Text(sanitize(result.message)))
