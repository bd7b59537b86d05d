"""Rerun a page of published numbers: each of its commands, and its table beside what comes out here.

A page is Markdown. A command in a block is followed by a table with these columns, in any order, and others:

    $ bookwheel eval numbers.toml --out runs/numbers
    | model | way | task | length | n | score | 95 % interval |

Only `bookwheel eval` is run, without a shell, and writes below the folder that is given. A number agrees where the two
intervals overlap: page and machine may have other samples of the model's replies. Fewer than 20 samples here are too
few to tell, unless they give the page's very number.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bookwheel.errors import InputError
from bookwheel.lab.evaluation.report import Cell, build_report
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.evaluation.sections import ReportTable, format_length
from bookwheel.lab.tasks.data_dir import read_text

_COMMAND: Final = re.compile(r"^\s*\$?\s*(bookwheel eval [^\n]*)$")
_COLUMNS: Final = ("model", "way", "task", "length", "score", "95 % interval")
# Below it an interval overlaps with nearly any other.
_LEAST_SAMPLES: Final = 20
_TOO_FEW: Final = "too few to tell"
# Pages may print whole per cents.
_ROUNDING: Final = 0.51
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumber:
    """A row of a page's table."""

    place: tuple[str, ...]
    """Model, way, task and length, as they stand there."""
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """A command of a page and the numbers that it gave."""

    words: tuple[str, ...]
    """The arguments of `bookwheel eval`, without --out."""
    numbers: tuple[PublishedNumber, ...]


def read_page(path: Path) -> list[PublishedRun]:
    """Return the commands of a page with their tables; InputError where it has none."""
    lines = read_text(path).splitlines()
    runs: list[PublishedRun] = []
    words: tuple[str, ...] = ()
    at = 0
    while at < len(lines):
        if match := _COMMAND.match(lines[at]):
            words = tuple(drop_options(shlex.split(match[1])[2:], {"--out"}))
        elif words and lines[at].startswith("|"):
            end = next((n for n in range(at, len(lines)) if not lines[n].startswith("|")), len(lines))
            numbers = tuple(_read_table(lines[at:end], path))
            if numbers:
                runs.append(PublishedRun(words=words, numbers=numbers))
                words = ()
            at = end
            continue
        at += 1
    if not runs:
        raise InputError(
            f"{path} has no `bookwheel eval` command that is followed by a table with the columns {', '.join(_COLUMNS)}"
        )
    return runs


def drop_options(words: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Yield the words of a command without some options and their values."""
    skip = False
    for word in words:
        if skip or word.partition("=")[0] in names:
            skip = not skip and "=" not in word
        else:
            yield word


def _read_table(lines: Sequence[str], path: Path) -> Iterator[PublishedNumber]:
    rows = [[cell.strip().strip("*`") for cell in line.strip().strip("|").split("|")] for line in lines]
    header = [name.strip("*` ") for name in rows[0]]
    if not set(_COLUMNS) <= set(header):
        return
    for row in rows[2:]:
        values = dict(zip(header, row, strict=False))
        bounds = [float(one) for one in _NUMBER.findall(values["95 % interval"])]
        score = _NUMBER.search(values["score"])
        if len(bounds) != len(("low", "high")) or not score:
            raise InputError(f"{path}: a row has no score with its interval: {' | '.join(row)}")
        place = tuple(values[name] for name in ("model", "way", "task", "length"))
        yield PublishedNumber(place=place, score=float(score[0]), low=bounds[0], high=bounds[1])


def reproduce(path: Path, folder: Path, extra: Sequence[str] = ()) -> tuple[ReportTable, bool]:
    """Run all commands of a page, and return its numbers beside those of here, and whether all agree."""
    rows: list[tuple[str, ...]] = []
    for number, run in enumerate(read_page(path), start=1):
        out = folder / f"{path.stem}-{number}"
        # What is said here takes the place of what the page says.
        words = drop_options(run.words, {word for word in extra if word.startswith("--")})
        command = [sys.executable, "-m", "bookwheel", "eval", *words, *extra, "--out", str(out)]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 - arguments, and no shell
        if not (out / "results.jsonl").is_file():
            raise InputError(f"`{shlex.join(command)}` ended with {done.returncode} and without results")
        cells = build_report(Results.load(out / "results.jsonl")).cells
        rows += [_compare(one, cells) for one in run.numbers]
    header = ("model", "way", "task", "length", "on the page", "here", "n", "agrees")
    return ReportTable(caption=f"{path} and here.", header=header, rows=tuple(rows)), all(
        row[-1] in {"yes", _TOO_FEW} for row in rows
    )


def _compare(one: PublishedNumber, cells: Sequence[Cell]) -> tuple[str, ...]:
    page = f"{one.score:.1f} [{one.low:.1f}, {one.high:.1f}]"
    found = next((c for c in cells if (c.model, c.way, c.task, format_length(c.length)) == one.place), None)
    if found is None or not found.is_measured:
        return (*one.place, page, "–", "0", "not measured")
    score = found.score
    low, high = 100 * score.low, 100 * score.high
    is_same = abs(100 * score.mean - one.score) < _ROUNDING
    is_wide = score.n < _LEAST_SAMPLES and not is_same
    agrees = "no" if low > one.high or one.low > high else _TOO_FEW if is_wide else "yes"
    return (*one.place, page, f"{100 * score.mean:.1f} [{low:.1f}, {high:.1f}]", str(score.n), agrees)
