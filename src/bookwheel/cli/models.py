"""`bookwheel models`: the models and plans available here, and what the named model offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.cli.options import ModelOptions, OutputOptions, Text
from bookwheel.cli.output import print_json, print_line, stdout
from bookwheel.configuration import load_configuration
from bookwheel.environment import Environment
from bookwheel.plan import Plan
from bookwheel.plugins import require_extra
from bookwheel.preset import ModelFamily, find_family_preset, list_presets, load_family, load_preset_plan, read_preset
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from bookwheel.models.offers import Offer
    from bookwheel.reading.ways.registry import OfferedWays

_MARKS: Final = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ModelRow:
    name: str
    where: str
    ready: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """One model's offers and the ways that it can read by."""

    model: str
    offers: Sequence[Offer]
    ways: OfferedWays
    preset: str
    """The preset of its family; empty where there is none."""

    def to_json(self) -> dict[str, Any]:
        offers = [offer.to_json() for offer in self.offers]
        return {"model": self.model, "offers": offers, "ways": asdict(self.ways), "preset": self.preset or None}

    def describe_ways(self) -> list[str]:
        lines = [f"reads by {', '.join(self.ways.open)}"]
        if self.ways.uncalibrated:
            lines.append(f"after `bookwheel calibrate` by {', '.join(self.ways.uncalibrated)} too")
        lines += [f"not by {way}: no {missing}" for way, missing in self.ways.closed.items()]
        if self.preset:
            lines.append(f"--preset {self.preset} is for this family of models")
        return lines


async def models(
    *,
    preset: Text | None = None,
    fetch: bool = False,
    models: ModelOptions = ModelOptions(),
    output: OutputOptions = OutputOptions(),
) -> int:
    """List the models available here, and the plans that `--preset` names.

    With --base-url, the endpoint's models are listed too. The model that --model names, or an endpoint's only one, is
    asked a few short questions to find out what it offers and which ways of reading that opens.

    Parameters
    ----------
    preset
        Print the file of a preset and nothing else: copy it, change it, and give it in the preset's place.
    fetch
        Download the local model's weights now, to work offline later.

    """
    from bookwheel.cli.runner import show_download
    from bookwheel.models import weights

    if preset:
        print_line(read_preset(preset).rstrip())
        return 0
    environment = Environment.load()
    if fetch:
        require_extra("the local model", "local", "xllamacpp", "gguf")
        with show_download() as progress:
            await weights.ensure_weights(environment, progress)
    path, connection = weights.find_local_weights(environment), models.connection
    absent = environment.cache / weights.SMOLLM2.cached_file
    ready = "yes" if path else f"after a first download of {weights.SMOLLM2.megabytes} MB"
    rows = [
        _ModelRow(name="local", where=f"SmolLM2-135M-Instruct, {path or absent}", ready=ready),
        _ModelRow(name="scripted", where="built in, deterministic, for trials and tests", ready="yes"),
        # None of the settings' endpoints is asked whether it is there.
        *(
            _ModelRow(name=name, where=f"{endpoint.model or 'the only model'} at {endpoint.url}", ready="not asked")
            for name, endpoint in load_configuration().endpoints.items()
        ),
    ]
    served: list[_ModelRow] = []
    if connection.url:
        from bookwheel.models.server_models import list_served_models

        endpoint = connection.resolve_endpoint(connection.timeout)
        listed = await list_served_models(endpoint)
        served = [_ModelRow(name=model.name, where=endpoint.display_url, ready="yes") for model in listed]
    report = await report_model(models) if connection.model or len(served) == 1 else None
    plans = {name: load_preset_plan(name) for name in list_presets()}
    families = {name: family for name in plans if (family := load_family(name))}
    if output.as_json:
        print_json(
            {
                "models": [asdict(row) for row in (*rows, *served)],
                "presets": {name: plan.to_json() for name, plan in plans.items()},
                "families": {name: asdict(family) for name, family in families.items()},
                "offers": report.to_json() if report else None,
            }
        )
        return 0
    _print_tables([*rows, *served], plans, families)
    if report:
        _print_report(report)
    return 0


async def report_model(options: ModelOptions) -> ModelReport:
    """Open the named model, try what it offers, and close it. Raise a ModelError if it cannot be reached."""
    from bookwheel.models.accompanied import find_companions, find_known_gate
    from bookwheel.models.embeddings import check_embeddings
    from bookwheel.models.offers import find_offers, list_abilities
    from bookwheel.reading.ways.registry import sort_ways

    async with options.open_session(record_tokens=True) as session:
        model = session.model
        offers, embeds = await find_offers(model), await check_embeddings(model)
        gate, has_judge = find_known_gate(model, model.plan), find_companions(model).has_judge()
    return ModelReport(
        model=model.name,
        offers=offers,
        ways=sort_ways(list_abilities(offers), gate, embeds=embeds, has_judge=has_judge),
        preset=find_family_preset(model.name) or "",
    )


def _print_tables(rows: Sequence[_ModelRow], plans: dict[str, Plan], families: dict[str, ModelFamily]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = stdout().open_rich()
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
    for name, family in families.items():
        console.print()
        console.print(Text(f"{name}: ", style="bold") + Text(f"{family.known} Measured: {family.measured}"))


def _print_report(report: ModelReport) -> None:
    from rich.table import Table
    from rich.text import Text

    console = stdout().open_rich()
    console.print()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in (report.model, "", ""):
        table.add_column(Text(sanitize(head)))
    for offer in report.offers:
        table.add_row(str(offer.kind), _MARKS[offer.is_offered], Text(sanitize(offer.detail)))
    console.print(table)
    for line in report.describe_ways():
        console.print(Text(line))
