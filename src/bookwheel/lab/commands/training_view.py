"""How a training run is watched: in the terminal, by trackers of experiments, and rollout by rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from bookwheel.cli.output import stderr
from bookwheel.cli.timeline import ReadingNote
from bookwheel.errors import MissingExtra
from bookwheel.lab.training.records import load_rollouts

Record = Mapping[str, Any]
Observer = Callable[[Record], None]
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 48
_METRICS: Final = ("loss", "reward", "entropy", "clipped", "kl", "gradient", "dropped", "failed", "bad_updates")


class RunView:
    """Shows every record: on a terminal in a live table, elsewhere as one line."""

    def __init__(self, title: str, *, warm: int, steps: int, console: Console | None = None) -> None:
        """Prepare the view of at most `warm` supervised and then `steps` reinforcement steps."""
        self._console = console or stderr().open_rich()
        self._title = title
        self._warm, self._steps = warm, steps
        self._rewards: list[float] = []
        self._held_out: list[Record] = []
        self._last: Record = {}
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(None),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            console=self._console,
            expand=True,
        )
        self._task = self._bar.add_task("warm start" if warm else "reinforcement", total=warm or steps)
        self._learning = not warm
        self._live = Live(self._bar, console=self._console, refresh_per_second=4)

    def __call__(self, record: Record) -> None:
        if not self._console.is_terminal:
            self._console.print(Text(format_record(record)))
            return
        if not self._live.is_started:
            self._live.start()
        self._update(record)
        self._live.update(Panel(Group(self._table(), self._bar), title=self._title, title_align="left"))

    def close(self) -> None:
        """Stop updating; the last view stays on the screen."""
        if self._live.is_started:
            self._live.stop()

    def _update(self, record: Record) -> None:
        if record["kind"] in ("evaluation", "check"):
            self._held_out.append(record)
            return
        self._last = record
        if record["kind"] == "warm":
            self._bar.update(self._task, completed=record["step"])
            return
        if not self._learning:
            self._learning = True
            self._bar.reset(self._task, total=self._steps, description="reinforcement")
        self._rewards.append(record["reward"])
        self._bar.update(self._task, completed=len(self._rewards))

    def _table(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold")
        table.add_column()
        named = [(name, self._last[name]) for name in _METRICS if name in self._last]
        metrics = [f"{name} {one if isinstance(one, int) else f'{one:.3g}'}" for name, one in named]
        table.add_row(f"step {self._last.get('step', 0)}", Text(" · ".join(metrics)))
        if self._rewards:
            table.add_row("reward", Text(sparkline(self._rewards), style="cyan"))
        if self._held_out:
            table.add_row("held out", _format_held_out(self._held_out))
        return table


def format_record(record: Record) -> str:
    """Return a record as one line, for output that cannot be redrawn."""
    match record["kind"]:
        case "evaluation" | "check":
            line = f"held-out accuracy {100 * record['accuracy']:.1f} % (n = {record['n']}, {record['failed']} failed)"
        case "warm":
            line = f"warm start  loss {record['loss']:.4f}" if "loss" in record else "warm start  update left out"
        case _:
            line = f"reward {record['reward']:.3f}"
            line += "".join(f"  {name} {record[name]}" for name in ("groups", "dropped", "failed"))
            if record.get("bad_updates"):
                line += f"  updates left out {record['bad_updates']}"
            if record.get("skipped"):
                line += "  nothing learnt: every group's rewards are equal"
            if "loss" in record:
                line += f"  entropy {record['entropy']:.3f}  gradient {record['gradient']:.2f}"
    clock = record["clock"]
    if "tokens_per_second" in clock:
        line += f"  {clock['tokens_per_second']:.0f} tokens/s"
    return f"step {record['step']:>5}  {line}  [{clock['seconds']:.1f} s]"


def sparkline(values: Sequence[float], width: int = _WIDTH) -> str:
    """Return values from 0 to 1 as a line of at most `width` blocks; each block is a mean.

    >>> sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    size = max(1, -(-len(values) // width))
    means = [sum(part) / len(part) for part in (values[i : i + size] for i in range(0, len(values), size))]
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * min(1.0, max(0.0, mean)))] for mean in means)


def _format_held_out(records: Sequence[Record]) -> Text:
    """Return the first, the best and the last accuracy."""
    marks = sparkline([record["accuracy"] for record in records])
    first, last = records[0], records[-1]
    best = max(records, key=lambda record: (record["accuracy"], record["step"]))
    points = [f"{100 * one['accuracy']:.1f} % at step {one['step']}" for one in (first, last)]
    line = points[0] if first is last else f"{points[0]}, then {points[1]}"
    if best is not last:
        line += f"; best {100 * best['accuracy']:.1f} % at step {best['step']}"
    return Text(f"{marks}  {line}  (n = {last['n']})", style="green")


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


def find_rollout(journal: Path, id_: str) -> ReadingNote | None:
    """Return what `bookwheel show` says of a rollout; None where the journal belongs to no training run."""
    if not journal.with_name("rollouts.jsonl").is_file():
        return None
    rollout = next((rollout for rollout in load_rollouts(journal.parent) if rollout.reading == id_), None)
    if rollout is None:
        return None
    reward = "not scored" if rollout.reward is None else f"reward {rollout.reward:g}"
    parts = ", ".join(f"{name} {value:g}" for name, value in rollout.parts.items())
    return ReadingNote(
        head=f"rollout of step {rollout.step} · sample {rollout.sample} · {reward}" + (f" ({parts})" if parts else ""),
        tail=f" · advantage {rollout.advantage:+.3f}",
        fields={"rollout": asdict(rollout)},
    )
