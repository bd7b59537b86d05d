"""A few answers whose verdicts are known, by which a model is tried before it may judge its own.

The wrong ones are close to the text: roles are swapped, a bound is turned, a plan is told as done, a detail is
invented. English and Chinese.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from bookwheel.packaged import PACKAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """An answer beside what the document says."""

    section: str
    question: str
    answer: str
    is_borne_out: bool
    is_answering: bool
    """It answers the question, true or not."""

    @property
    def is_right(self) -> bool:
        return self.is_borne_out and self.is_answering


@cache
def load_probes() -> tuple[Probe, ...]:
    file = PACKAGE / "verdict" / "probes.json"
    return tuple(Probe(**record) for record in json.loads(file.read_text(encoding="utf-8")))
