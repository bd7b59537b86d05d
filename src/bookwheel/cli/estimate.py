"""The cost of a reading, computed and printed before its first call."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from bookwheel.cli.output import print_line, stderr

if TYPE_CHECKING:
    from bookwheel.cli.options import OutputOptions
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.estimate import CostEstimate
    from bookwheel.types import WayChoice


def print_estimate(
    cost: CostEstimate, choice: WayChoice, model: Model, plan: Plan, output: OutputOptions, *, only: bool
) -> None:
    """Print the estimate: to stderr before a reading, to stdout if nothing else was asked for."""
    if only and output.as_json:
        print_line(json.dumps({"model": model.name, "way": choice.way, **asdict(cost)}))
        return
    text = describe_estimate(cost, choice, plan)
    if only:
        print_line(text)
    elif not output.is_silent:
        stderr().print(Text(f"{model.name} reads {text}", style="dim"))


def describe_estimate(cost: CostEstimate, choice: WayChoice, plan: Plan) -> str:
    """Return the estimate as one line."""
    about = "" if cost.exact else "about "
    tokens = f"at most {cost.prompt_tokens:,} prompt and {cost.completion_tokens:,} reply tokens"
    price = f", at most {cost.cost:.4g} in cost" if cost.cost else ""
    if cost.of_way == "whole":
        reason = f" ({choice.reason})" if choice.reason else ""
        return f"the whole document in one call{reason}: {tokens}{price}"
    calls = _count(cost.calls, "call")
    if cost.least_calls < cost.calls:
        calls = f"{cost.least_calls:,} to {calls}"
    chunks = f"{about}{_count(cost.chunks, 'chunk')} of {plan.chunk_tokens} tokens"
    return f"{chunks}{_name_way(cost, choice)} {about}{calls}, {tokens}{price}"


def _name_way(cost: CostEstimate, choice: WayChoice) -> str:
    """Return what stands between the chunks and the calls."""
    if choice.way == cost.of_way:
        return ":" if cost.of_way == "sequential" else f" by the way {cost.of_way}:"
    if choice.way == "auto":
        return f" by the way {cost.of_way}, which auto chose:"
    # A way of another package says nothing of its cost.
    return f" by the way {choice.way}; the loop would take"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
