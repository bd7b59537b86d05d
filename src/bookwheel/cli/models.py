"""`bookwheel models`: the models and plans available here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli.options import ModelOptions, OutputOptions
from bookwheel.configuration import load_configuration
from bookwheel.environment import Environment
from bookwheel.plan import list_presets, load_family, load_preset_plan
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from bookwheel.cli.offers import ModelReport
    from bookwheel.configuration import Configuration
    from bookwheel.plan import ModelFamily, Plan


_MARKS: Final = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelRow:
    name: str
    where: str
    ready: str


def models(
    *,
    fetch: Annotated[bool, Parameter(negative="")] = False,
    models: ModelOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """List the models available here, and the plans that `--preset` names.

    With --base-url, the endpoint's models are listed too. The model that --model names, or an endpoint's only one, is
    asked a few short questions to find out what it offers and which ways of reading that opens.

    Parameters
    ----------
    fetch
        Download the local model's weights now, to work offline later.

    """
    from bookwheel.cli.runner import run_command

    return run_command(_models(models or ModelOptions(), output or OutputOptions(), fetch=fetch))


async def _models(options: ModelOptions, output: OutputOptions, *, fetch: bool) -> int:
    from bookwheel.cli.offers import report_model
    from bookwheel.cli.output import print_line
    from bookwheel.cli.progress import show_download
    from bookwheel.models import weights

    if fetch:
        require_extra("the local model", "local", "xllamacpp", "gguf")
        with show_download() as progress:
            await weights.ensure_weights(Environment.load(), progress)
    rows = [
        _describe_local(),
        _ModelRow(name="scripted", where="built in, deterministic, for trials and tests", ready="yes"),
    ]
    rows += _describe_endpoints(load_configuration())
    served = await _list_endpoint_models(options) if options.url else []
    rows += served
    report = await report_model(options) if options.model or len(served) == 1 else None
    plans = {name: load_preset_plan(name) for name in list_presets()}
    families = {name: family for name in plans if (family := load_family(name))}
    if output.as_json:
        payload = {
            "models": [asdict(row) for row in rows],
            "presets": {name: plan.to_json() for name, plan in plans.items()},
            "families": {name: asdict(family) for name, family in families.items()},
            "offers": report.to_json() if report else None,
        }
        print_line(json.dumps(payload))
        return 0
    _print_tables(rows, plans)
    _print_families(families)
    if report:
        _print_report(report)
    return 0


def _describe_endpoints(settings: Configuration) -> list[_ModelRow]:
    """Return the endpoints of the settings files; none is asked whether it is there."""
    return [
        _ModelRow(name=name, where=f"{endpoint.model or 'the only model'} at {endpoint.url}", ready="not asked")
        for name, endpoint in settings.endpoints.items()
    ]


def _describe_local() -> _ModelRow:
    from bookwheel.models import weights

    environment = Environment.load()
    path, absent = weights.find_local_weights(environment), environment.cache / weights.SMOLLM2.cached_file
    ready = "yes" if path else f"after a first download of {weights.SMOLLM2.megabytes} MB"
    return _ModelRow(name="local", where=f"SmolLM2-135M-Instruct, {path or absent}", ready=ready)


async def _list_endpoint_models(options: ModelOptions) -> list[_ModelRow]:
    from bookwheel.models.endpoint import Endpoint
    from bookwheel.models.server_models import list_served_models

    endpoint = Endpoint.resolve(options.url or "", options.key, timeout=options.timeout)
    served = await list_served_models(endpoint)
    return [_ModelRow(name=model.name, where=endpoint.display_url, ready="yes") for model in served]


def _print_tables(rows: list[_ModelRow], plans: dict[str, Plan]) -> None:
    from rich.table import Table
    from rich.text import Text

    from bookwheel.cli.output import stdout
    from bookwheel.text.sanitize import sanitize

    console = stdout()
    table = Table("model", "where", "ready", box=None, header_style="bold", pad_edge=False)
    for row in rows:
        # As Text: brackets in a name are no markup.
        table.add_row(*(Text(sanitize(cell)) for cell in (row.name, row.where, row.ready)))
    console.print(table)
    console.print()
    presets = Table("preset", "chunk", "memory", "answer", "prompts", box=None, header_style="bold", pad_edge=False)
    for name, plan in plans.items():
        presets.add_row(name, str(plan.chunk_tokens), str(plan.memory_tokens), str(plan.answer_tokens), plan.prompts)
    console.print(presets)


def _print_families(families: dict[str, ModelFamily]) -> None:
    """Print what is known of the presets for families of models."""
    from rich.text import Text

    from bookwheel.cli.output import stdout

    console = stdout()
    for name, family in families.items():
        console.print()
        console.print(Text(f"{name}: ", style="bold") + Text(f"{family.known} Measured: {family.measured}"))


def _print_report(report: ModelReport) -> None:
    from rich.table import Table
    from rich.text import Text

    from bookwheel.cli.output import stdout
    from bookwheel.text.sanitize import sanitize

    console = stdout()
    console.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in (report.model, "", ""):
        table.add_column(Text(sanitize(head)))
    for offer in report.offers:
        table.add_row(str(offer.kind), _MARKS[offer.is_offered], Text(sanitize(offer.detail)))
    console.print(table)
    for line in report.describe_ways():
        console.print(Text(line))
