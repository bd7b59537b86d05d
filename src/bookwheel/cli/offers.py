"""What the named model offers, and which ways of reading that opens: for `bookwheel models` and `bookwheel doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.cli.options import ModelOptions
    from bookwheel.models.offers import Offer
    from bookwheel.reading.ways.registry import OfferedWays


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """One model's offers and the ways that it can read by."""

    model: str
    offers: Sequence[Offer]
    ways: OfferedWays
    preset: str
    """The preset of its family; empty where there is none."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as `--json` prints it."""
        return {
            "model": self.model,
            "offers": [offer.to_json() for offer in self.offers],
            "ways": {
                "open": self.ways.open,
                "uncalibrated": self.ways.uncalibrated,
                "closed": dict(self.ways.closed),
            },
            "preset": self.preset or None,
        }

    def describe_ways(self) -> list[str]:
        """Return a line for each kind of way."""
        lines = [f"reads by {', '.join(self.ways.open)}"]
        if self.ways.uncalibrated:
            lines.append(f"after `bookwheel calibrate` by {', '.join(self.ways.uncalibrated)} too")
        lines += [f"not by {way}: no {missing}" for way, missing in self.ways.closed.items()]
        if self.preset:
            lines.append(f"--preset {self.preset} is for this family of models")
        return lines


async def report_model(options: ModelOptions) -> ModelReport:
    """Open the named model, try what it offers, and close it. Raise a ModelError if it cannot be reached."""
    from bookwheel.configuration import load_configuration
    from bookwheel.models.companions import find_companions
    from bookwheel.models.embeddings import check_embeddings
    from bookwheel.models.offers import find_offers, list_abilities
    from bookwheel.plan import find_family_preset
    from bookwheel.reading.ways.gates import find_known_gate
    from bookwheel.reading.ways.registry import sort_ways

    address = options.find_address(load_configuration())
    model = await options.open(address, record_tokens=True)
    try:
        offers, embeds = await find_offers(model), await check_embeddings(model)
    finally:
        await model.aclose()
    return ModelReport(
        model=model.name,
        offers=offers,
        ways=sort_ways(
            list_abilities(offers),
            find_known_gate(model, model.plan),
            embeds=embeds,
            has_judge=find_companions(model).has_judge(),
        ),
        preset=find_family_preset(model.name) or "",
    )
