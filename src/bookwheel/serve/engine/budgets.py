"""The budget of a request under the server's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookwheel.plan import Budget
    from bookwheel.types import Usage


def raise_limits(budget: Budget, spent: Usage) -> Budget:
    """Return the limits of a run as limits of the whole reading."""
    cost = budget.price(spent.prompt_tokens, spent.completion_tokens)
    return replace(
        budget,
        tokens=None if budget.tokens is None else budget.tokens + spent.tokens,
        seconds=None if budget.seconds is None else budget.seconds + spent.seconds,
        cost=None if budget.cost is None else budget.cost + cost,
    )


def lower_limits(budget: Budget, limits: Budget) -> Budget:
    """Return the smaller of each limit; prices are the server's."""
    least = {
        name: min(
            (value for value in (getattr(budget, name), getattr(limits, name)) if value is not None), default=None
        )
        for name in ("tokens", "seconds", "cost")
    }
    return replace(budget, **least, price_in=limits.price_in, price_out=limits.price_out)
