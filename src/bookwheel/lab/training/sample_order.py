"""The order in which a run draws its samples: every epoch has one of its own, made of the seed alone."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks import Sample


class SampleOrder:
    """Gives the sample of every number; a resumed run asks for the next number and gets the same sample."""

    def __init__(self, samples: Sequence[Sample], seed: int) -> None:
        self._samples = samples
        self._seed = seed
        self._epoch = -1
        self._order: list[int] = []

    def pick(self, number: int) -> Sample:
        """Return the sample that is drawn as the run's `number`-th, counted from 0."""
        epoch, place = divmod(number, len(self._samples))
        if self._epoch != epoch:
            order = list(range(len(self._samples)))
            Random(f"{self._seed}/epoch/{epoch}").shuffle(order)  # noqa: S311 - reproducible, no secrets
            self._epoch, self._order = epoch, order
        return self._samples[self._order[place]]
