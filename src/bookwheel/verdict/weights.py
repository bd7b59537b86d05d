"""The table of weights by which features are weighed: logistic regression, fitted on labelled answers.

    P = 1 / (1 + exp(-(bias + sum of weight * feature)))

`benchmarks/quality/verdict_weights.py` fits the table and writes `weights.json`; docs/reading.md says what it is worth.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTable:
    """The weights of one question about a sentence."""

    bias: float
    weights: dict[str, float]
    threshold: float
    """The probability from which on the answer is yes."""
    doubtful: float = 0.0
    """The probability below which it is no."""

    def weigh(self, features: Mapping[str, float]) -> float:
        """Return the probability; features without a weight count nothing."""
        total = self.bias + sum(self.weights.get(name, 0.0) * value for name, value in features.items())
        return 1 / (1 + exp(-max(-50.0, min(50.0, total))))


@cache
def load_weights(name: str) -> WeightTable:
    """Return a table by its name: `supported` or `answers`."""
    file = resources.files("bookwheel") / "verdict" / "weights.json"
    return WeightTable(**json.loads(file.read_text(encoding="utf-8"))[name])
