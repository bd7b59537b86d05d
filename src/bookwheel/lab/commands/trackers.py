"""Trackers of experiments that get a training run's records: TensorBoard, Weights & Biases, trackio."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bookwheel.lab.commands.training_view import Observer, Record


PROJECT: Final = "bookwheel"
"""The project that runs are filed under."""


@contextmanager
def open_tensorboard(folder: Path) -> Iterator[Observer]:
    """Give a function that writes every metric of every record into TensorBoard's event files."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingExtra("--tensorboard", "tensorboard") from error

    with SummaryWriter(folder) as writer:

        def write(record: Record) -> None:
            for name, value in _list_figures(record).items():
                writer.add_scalar(name, value, record["step"])

        yield write


@contextmanager
def open_tracker(name: str, folder: Path, settings: Mapping[str, Any]) -> Iterator[Observer]:
    """Give a function that logs every metric of every record to `wandb` or `trackio`, which share their functions.

    Both read their addresses and keys from their own environment variables. A resumed run goes on with its old one.
    """
    try:
        library: Any = import_module(name)
    except ImportError as error:
        raise MissingExtra(f"--{name}", name) from error
    # Ids take no slashes; the folder's name tells runs apart for people, its whole path for the tracker.
    identity = str(folder.absolute()).strip("/").replace("/", "-")[-120:]
    options = {"id": identity, "dir": str(folder)} if name == "wandb" else {}
    run = library.init(project=PROJECT, name=folder.name, config=dict(settings), resume="allow", **options)

    def log(record: Record) -> None:
        # Records of a step and of its evaluation share a number, and W&B's own counter takes each but once.
        run.log({**_list_figures(record), "training_step": record["step"]})

    try:
        yield log
    finally:
        library.finish()


def _list_figures(record: Record) -> dict[str, float]:
    """Return the record's figures, named by its kind."""
    kind = record["kind"]
    figures = {
        f"{kind}/{name}": value for name, value in record.items() if isinstance(value, int | float) and name != "step"
    }
    return figures | {f"{kind}/seconds": record["clock"]["seconds"]}
