"""`bookwheel models`: what can read here, and the plans there are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bookwheel.cli.options import ModelOptions, OutputOptions
from bookwheel.plan import list_presets, load_preset_plan

if TYPE_CHECKING:
    from bookwheel.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: str
    where: str
    ready: str


def models(
    *,
    fetch: Annotated[bool, Parameter(negative="")] = False,
    models: ModelOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """List the models that can read here, and the plans that travel along.

    Parameters
    ----------
    fetch
        Fetch the local model's weights now, so that everything works offline later.

    """
    from bookwheel.cli.running import run

    return run(_models(models or ModelOptions(), output or OutputOptions(), fetch=fetch))


async def _models(options: ModelOptions, output: OutputOptions, *, fetch: bool) -> int:
    from bookwheel.cli.output import print_line
    from bookwheel.cli.progress import show_download
    from bookwheel.models import weights

    if fetch:
        with show_download() as progress:
            await weights.ensure(progress)
    rows = [_local(), _Row(name="scripted", where="built in, for trying things out", ready="yes")]
    if options.base_url:
        rows += await _served(options)
    plans = {name: load_preset_plan(name) for name in list_presets()}
    if output.as_json:
        found = [{"name": row.name, "where": row.where, "ready": row.ready} for row in rows]
        print_line(json.dumps({"models": found, "presets": {name: plan.to_json() for name, plan in plans.items()}}))
        return 0
    _print(rows, plans)
    return 0


def _local() -> _Row:
    from bookwheel.models import weights

    path = weights.at_hand()
    ready = "yes" if path else f"after a first download of {weights.SMOLLM2.megabytes} MB"
    return _Row(name="local", where=f"SmolLM2-135M-Instruct, {path or weights.find_cached()}", ready=ready)


async def _served(options: ModelOptions) -> list[_Row]:
    from bookwheel.models.endpoint import Endpoint
    from bookwheel.models.served import list_served_models

    endpoint = Endpoint.of(options.base_url, options.api_key, timeout=options.timeout)
    served = await list_served_models(endpoint)
    return [_Row(name=model.name, where=endpoint.shown, ready="yes") for model in served]


def _print(rows: list[_Row], plans: dict[str, Plan]) -> None:
    from rich.table import Table

    from bookwheel.cli.output import stdout

    console = stdout()
    table = Table("model", "where", "ready", box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(row.name, row.where, row.ready)
    console.print(table)
    console.print()
    shown = Table("preset", "chunk", "memory", "answer", "prompts", box=None, header_style="bold", pad_edge=False)
    for name, plan in plans.items():
        shown.add_row(name, str(plan.chunk_tokens), str(plan.memory_tokens), str(plan.answer_tokens), plan.prompts)
    console.print(shown)
