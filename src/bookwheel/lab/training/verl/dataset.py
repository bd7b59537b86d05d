"""The dataset that verl loads: numbers of samples. Each process that reads builds the samples that it is given.

verl stores the fields of a dataset's entry beside every conversation. A document there would be stored a hundred times.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch.utils.data import Dataset

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.launch import build_sample_sets
from bookwheel.lab.training.verl.translate import HELD_OUT, NAME

if TYPE_CHECKING:
    from collections.abc import Mapping


class SampleNumbers(Dataset[dict[str, Any]]):
    """The numbers of the samples to train on, or of those held out."""

    def __init__(self, data_files: str, config: Mapping[str, Any], **__: Any) -> None:
        """Take what verl passes to a dataset by name; `data_files` names one of the two sets."""
        settings, _ = parse_settings(config[NAME])
        self._is_held_out = data_files == HELD_OUT
        self._task = settings.task.name or Path(settings.task.file).stem
        self._count = count_samples(settings, is_held_out=self._is_held_out)
        if not self._is_held_out and self._count < settings.samples:
            raise ConfigError(
                f"there are {self._count} samples to train on and train.samples is {settings.samples}: lower it"
            )

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {
            # Only its length is read: the prompts are the workflow's own.
            "raw_prompt": [{"role": "user", "content": f"{self._task} {number}"}],
            "index": number,
            "is_held_out": self._is_held_out,
            "data_source": self._task,
            "reward_model": {"style": "rule", "ground_truth": ""},
        }


def parse_settings(text: str) -> tuple[TrainConfig, Path | None]:
    """Return the run's settings from the JSON in verl's configuration, and the folder of question sets."""
    tables = json.loads(text)
    data = tables.pop("data")
    return TrainConfig.from_tables(tables), Path(data) if data else None


def count_samples(settings: TrainConfig, *, is_held_out: bool) -> int:
    """Return how many samples there are, without making one."""
    if not settings.task.file:
        return settings.evaluation.samples if is_held_out else settings.task.count
    # A file needs no tokenizer: its samples are not generated.
    no_policy: Any = None
    training, held_out = build_sample_sets(settings, no_policy)
    return len(held_out if is_held_out else training)
