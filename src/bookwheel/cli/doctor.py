"""`bookwheel doctor`, `config` and `completion`: what is here, what is wrong here and how to mend it, what is set."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import Final

from bookwheel.cli.options import AsJson, ModelOptions, OutputOptions
from bookwheel.cli.output import print_json, print_line, stdout
from bookwheel.configuration import find_files, load_configuration, user_file
from bookwheel.environment import Environment
from bookwheel.errors import BookwheelError, find_install_command
from bookwheel.text.sanitize import sanitize

_EXTRAS: Final = {
    "local": ("the local model", ("xllamacpp", "onnxruntime")),
    "documents": (
        "PDF, HTML, office files and books",
        ("pypdfium2", "mammoth", "lxml", "pptx", "python_calamine", "striprtf"),
    ),
    "pictures": ("words in pictures", ("rapidocr", "onnxruntime", "cv2", "PIL")),
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


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: its subject, its status, and what was seen or how to fix it."""

    subject: str
    message: str
    status: CheckStatus = CheckStatus.OK

    def to_json(self) -> dict[str, str]:
        return {"what": self.subject, "health": str(self.status), "says": self.message}


async def doctor(
    *, repair: bool = False, models: ModelOptions = ModelOptions(), output: OutputOptions = OutputOptions()
) -> int:
    """Check Python, the optional packages, the local model, the journal and, with --base-url or --model, the model.

    The model is asked a few short questions, to find out what it offers and which ways of reading that opens.

    The exit code is 2 if something is wrong.

    Parameters
    ----------
    repair
        Copy what is sound of a damaged journal to a new file in its place; the old one stays beside it.

    """
    checks = {
        "machine": _check_machine,
        "extras": _check_extras,
        "weights": _check_weights,
        "journal": lambda: _check_journal(output, repair=repair),
        "settings": _check_settings,
    }
    results = [result for subject, check in checks.items() for result in _run(subject, check)]
    if models.connection.url or models.connection.model:
        results += await _check_model(models)
    if output.as_json:
        print_json({"findings": [result.to_json() for result in results]})
    else:
        _print_results(results)
    return 2 if any(result.status is CheckStatus.WRONG for result in results) else 0


def _run(subject: str, check: Callable[[], Iterator[CheckResult]]) -> Iterator[CheckResult]:
    try:
        yield from check()
    except BookwheelError as error:
        yield CheckResult(subject, str(error), CheckStatus.WRONG)


def _check_machine() -> Iterator[CheckResult]:
    yield CheckResult("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    slow, status = (": busy, the local model will be slow", CheckStatus.NOTE) if load >= cores else ("", CheckStatus.OK)
    yield CheckResult("processor", f"{cores} cores, load {load:.1f}{slow}", status)
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        message = f"its encoding is {sys.stdout.encoding}; set PYTHONUTF8=1 to see every character"
        yield CheckResult("terminal", message, CheckStatus.NOTE)


def _check_extras() -> Iterator[CheckResult]:
    for extra, (purpose, packages) in _EXTRAS.items():
        if missing := [package for package in packages if find_spec(package) is None]:
            message = f"{purpose} needs: {find_install_command(extra)} (missing: {', '.join(missing)})"
            yield CheckResult(extra, message, CheckStatus.NOTE)
        else:
            yield CheckResult(extra, f"{purpose}: installed")


def _check_weights() -> Iterator[CheckResult]:
    from bookwheel.models import weights

    path = weights.find_local_weights(Environment.load())
    if path is None:
        message = f"not downloaded yet; the first `ask` downloads them ({weights.SMOLLM2.megabytes} MB)"
        yield CheckResult("weights", message, CheckStatus.NOTE)
    else:
        yield CheckResult("weights", str(path))


def _check_journal(output: OutputOptions, *, repair: bool) -> Iterator[CheckResult]:
    if repair:  # Where nothing can be, that says what to do, and a check would advise to repair.
        yield from _repair_journal(output)
    path, journal = output.path, output.find_journal()
    if journal is None:
        yield CheckResult("journal", f"{path}, not begun yet")
        return
    with journal:
        count, damage = len(journal.readings()), journal.find_damage()
    for what in damage[:_MOST_DAMAGE]:
        message = f"{what}; mend the journal with bookwheel doctor --repair"
        yield CheckResult("journal", message, CheckStatus.WRONG)
    yield CheckResult("journal", f"{path}, {count} readings")
    free = shutil.disk_usage(path.parent).free
    status = CheckStatus.OK if free > _LOW_DISK else CheckStatus.NOTE
    yield CheckResult("disk", f"{free / 1e9:.1f} GB free where the journal is", status)


def _repair_journal(output: OutputOptions) -> Iterator[CheckResult]:
    from bookwheel.journal.damage import repair

    if not output.path.exists():
        return
    old, lost = repair(output.path)
    yield CheckResult("repair", f"copied what is sound; the old file is {old}")
    for what in lost:
        yield CheckResult("left out", what, CheckStatus.NOTE)


def _check_settings() -> Iterator[CheckResult]:
    load_configuration()
    yield CheckResult("settings", ", ".join(map(str, find_files())) or "no settings file, which is fine")


async def _check_model(options: ModelOptions) -> list[CheckResult]:
    """Check the endpoint, and what the named or only model offers."""
    from bookwheel.cli.models import report_model
    from bookwheel.models.server_models import list_served_models

    results, connection, subject = [], options.connection, "model"
    try:
        if connection.url:
            subject = "endpoint"
            endpoint = connection.resolve_endpoint(_ENDPOINT_TIMEOUT)
            served = await list_served_models(endpoint)
            names = ", ".join(model.name for model in served)
            message = f"{endpoint.display_url} serves {names or 'models that it does not list'}"
            results.append(CheckResult("endpoint", message))
            if not connection.model and len(served) != 1:
                message = "name one with --model to see what it offers"
                return [*results, CheckResult("model", message, CheckStatus.NOTE)]
            subject = "model"
        report = await report_model(options)
    except BookwheelError as error:
        return [*results, CheckResult(subject, str(error), CheckStatus.WRONG)]
    for offer in report.offers:
        status = CheckStatus.OK if offer.is_offered else CheckStatus.NOTE
        message = offer.detail if offer.is_offered is not False else f"no: {offer.detail}"
        results.append(CheckResult(str(offer.kind), message, status))
    return [*results, CheckResult("ways", f"{report.model}: {'; '.join(report.describe_ways())}")]


def _print_results(results: Sequence[CheckResult]) -> None:
    from bookwheel.cli.terminal import StyledLine

    console = stdout()
    colours = {CheckStatus.OK: "green", CheckStatus.NOTE: "yellow", CheckStatus.WRONG: "bold red"}
    for result in results:
        mark = StyledLine(f"{result.status:<6}", style=colours[result.status])
        console.print(mark + StyledLine(f"{result.subject:<10} ", style="bold") + StyledLine(sanitize(result.message)))


def config(*, as_json: AsJson = False) -> int:
    """Show the settings files in force, and what they set: endpoints, the default model and plan, templates.

    The user's file is ~/.config/bookwheel/config.toml (or $BOOKWHEEL_CONFIG), the project's is bookwheel.toml. The
    project's settings go on top of the user's, environment variables and options on top of both.

    Parameters
    ----------
    as_json
        Print one JSON object.

    """
    files, settings = find_files(), load_configuration()
    if as_json:
        print_json({"files": [str(file) for file in files], **asdict(settings)})
        return 0
    lines = [f"settings  {file}" for file in files] or [f"settings  none: write ./bookwheel.toml or {user_file()}"]
    lines += [f"{name:9} {value}" for name in ("model", "way", "preset") if (value := getattr(settings, name))]
    lines += [f"plan      {name} = {json.dumps(value)}" for name, value in settings.plan.items()]
    for name, endpoint in settings.endpoints.items():
        variable = endpoint.key_variable or "OPENAI_API_KEY"
        key = f"key in {variable}" + ("" if os.environ.get(variable) else " (not set)")
        lines.append(f"endpoint  {name}: {endpoint.model or 'its only model'} at {endpoint.url}, {key}")
    lines += [f"template  {name}: {text}" for name, text in settings.templates.items()]
    for line in lines:
        print_line(sanitize(line))
    return 0
