"""Samples of a file, each read when it is drawn: a file may be larger than memory. Nothing here imports torch."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.base import MemoryRule, Sample
from bookwheel.lab.tasks.definition import LazySamples
from bookwheel.lab.tasks.files import MISSING, parse_sample
from bookwheel.lab.training.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


# A sample that could not be made has its reason first in the line.
_MISSING: Final = f'{{"{MISSING}": '.encode()


class SampleFile(LazySamples):
    """A JSON Lines file as a sequence; it remembers where each line begins and nothing else."""

    def __init__(self, path: Path, *, needs_evidence: bool = False) -> None:
        self._path = path
        self._needs_evidence = needs_evidence
        self._lines: list[tuple[int, int]] = []
        """Offset and number of every line that is not empty."""
        try:
            with path.open("rb") as file:
                offset = 0
                for number, line in enumerate(file, start=1):
                    if line.strip() and not line.startswith(_MISSING):
                        self._lines.append((offset, number))
                    offset += len(line)
        except OSError as error:
            raise ConfigError(f"train.task.file cannot be read: {error}") from error
        if not self._lines:
            raise ConfigError(f"{path} holds no sample to train on")

    def __len__(self) -> int:
        return len(self._lines)

    def _load_sample(self, place: int) -> Sample:
        offset, number = self._lines[place]
        with self._path.open("rb") as file:
            file.seek(offset)
            sample = parse_sample(file.readline().decode("utf-8", errors="replace"), self._path, number)
        if self._needs_evidence and sample.memory is MemoryRule.NOTES and not sample.evidence:
            raise ConfigError(
                f"{self._path}, line {number}: a warm start makes ideal memories from the sample's evidence, and there "
                f"is none; add it, or set train.warm_start.steps = 0"
            )
        return sample

    def take(self, places: Iterable[int]) -> SampleFile:
        """Return the samples at these places."""
        part = object.__new__(SampleFile)
        part._path, part._needs_evidence = self._path, self._needs_evidence
        part._lines = [self._lines[place] for place in places]
        return part

    def split(self, held_out: int, seed: int) -> tuple[SampleFile, SampleFile]:
        """Return the samples to train on and `held_out` others; the seed alone decides which."""
        if 2 * held_out > len(self):
            raise ConfigError(
                f"{self._path} holds {len(self)} samples, and train.evaluation.samples = {held_out} would hold back "
                f"more than half of them: lower it, or name another file in train.task.held_out"
            )
        chosen = set(Random(f"{seed}/held-out").sample(range(len(self)), held_out))  # noqa: S311 - reproducible
        return self.take(place for place in range(len(self)) if place not in chosen), self.take(sorted(chosen))
