"""The rows of a batch: what to read and what to ask, what came of it, and the ledger that keeps that over a kill."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from bookwheel.errors import InputError, explain_failure
from bookwheel.journal.files import LockTaken, hold_lock
from bookwheel.types import Reading, find_gaps
from bookwheel.views.verdicts import describe_flags, list_cautions

_WEB: Final = ("http://", "https://")
DONE: Final = frozenset({"answered", "failed"})
"""Statuses of rows that are not read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One question about one document."""

    number: int
    source: str
    """A path, a folder or an address."""
    question: str
    given: dict[str, Any] = field(default_factory=dict)
    """All columns of the table's row."""

    def make_key(self, fingerprint: str) -> str:
        """Return what tells this row from every other one, and from itself with other settings."""
        content = json.dumps([self.source, self.question, fingerprint])
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """What came of a row: these are the columns that are added to the table."""

    status: str
    """`answered`, `failed`, `stopped` by the budget, or `cancelled`."""
    answer: str = ""
    verdict: str = ""
    answers: str = ""
    """`yes`, `doubtful` or `no`: whether it answers the question."""
    quote: str = ""
    """The first passage that the answer rests on."""
    page: int | None = None
    error: str = ""
    """The reason, where there is no answer."""
    notes: str = ""
    """What was left out of the document, which sections were not taken in, and what the answer may lack."""
    gaps: int = 0
    """Sections that were not taken in whole."""
    reading: str = ""
    """Its id in the journal."""
    tokens: int = 0
    cost: float | None = None


def make_outcome(reading: Reading) -> RowOutcome:
    passage = next(iter(reading.evidence), None)
    is_answered = reading.status == "answered" and reading.answer is not None
    return RowOutcome(
        status=str(reading.status),
        answer=reading.answer.text if is_answered and reading.answer else "",
        verdict=str(reading.verdict or ""),
        answers=str(reading.answers or ""),
        quote=passage.quote if passage else "",
        page=passage.pages[0] if passage and passage.pages else None,
        error="" if is_answered else reading.error or "no answer",
        notes="; ".join((*reading.document.notes, *_list_gaps(reading), *(one.text for one in list_cautions(reading)))),
        gaps=len(reading.gaps),
        reading=reading.id,
        tokens=reading.usage.tokens,
        cost=reading.cost,
    )


def _list_gaps(reading: Reading) -> Iterator[str]:
    if gaps := reading.gaps:
        why = "; ".join(dict.fromkeys(words for step in gaps for words in describe_flags(step.flags)))
        again = f"; bookwheel resume {reading.id[:8]} --flagged reads them again" if find_gaps(reading.steps) else ""
        yield f"not taken in whole: {len(gaps)} of {len(reading.steps)} sections ({why}){again}"


def make_rows(table: Sequence[dict[str, Any]], questions: Sequence[str], folder: Path, where: str) -> list[BatchRow]:
    """Return a row for each question about each source. Paths begin at the table's folder.

    Rows name their own question, or get all of `questions`. InputError names the first row that lacks something.
    """
    rows: list[BatchRow] = []
    for line, given in enumerate(table, start=1):
        source = given.get("source")
        if not isinstance(source, str) or not source.strip():
            raise InputError(f'{where}, row {line}: it needs a "source": a file, a folder or an address')
        asked = [given["question"]] if given.get("question") else list(questions)
        if not asked or not all(isinstance(question, str) and question.strip() for question in asked):
            raise InputError(f'{where}, row {line}: it needs a "question", or give --question or --questions')
        place = source.strip() if source.lower().startswith(_WEB) else str(folder / Path(source).expanduser())
        rows += [
            BatchRow(number=len(rows) + at, source=place, question=question, given={**given, "question": question})
            for at, question in enumerate(asked)
        ]
    return rows


def list_folder(folder: Path) -> list[dict[str, Any]]:
    """Return a table's row for each file in a folder, in the order of their names; hidden ones are left out."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [path.relative_to(folder) for path in files]
    rows: list[dict[str, Any]] = [
        {"source": str(name)} for name in names if not any(part.startswith(".") for part in name.parts)
    ]
    if not rows:
        raise InputError(f"{folder} has no files")
    return rows


def group_rows(rows: Sequence[BatchRow]) -> list[list[BatchRow]]:
    """Return the rows of each source together, so that it is opened and read once."""
    groups: dict[str, list[BatchRow]] = {}
    for row in rows:
        groups.setdefault(row.source, []).append(row)
    return list(groups.values())


class BatchLedger:
    """The outcomes of rows by their keys, beside the output: one line of JSON a row, on disk before the next."""

    def __init__(self, output: Path) -> None:
        self.path = output.with_name(f"{output.name}.progress")
        self.outcomes: dict[str, RowOutcome] = {}
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path} cannot be read: {error}; delete it to begin anew") from error
        for line in text.splitlines():
            try:
                values: dict[str, Any] = json.loads(line)
                key = values.pop("row")
                self.outcomes[key] = RowOutcome(**values)
            except (ValueError, TypeError, KeyError):
                # A kill in the middle of a line: that row is read again.
                continue

    @classmethod
    @contextmanager
    def hold(cls, output: Path) -> Iterator[Self]:
        """Open the ledger for one batch; InputError while another one writes to the same output."""
        with ExitStack() as held:
            try:
                with explain_failure(output, "written"):
                    held.enter_context(hold_lock(output.with_name(f"{output.name}.lock")))
            except LockTaken as taken:
                raise InputError(
                    f"another batch, process {taken}, is writing {output}: wait for it, or name another --out"
                ) from None
            yield cls(output)

    def forget_failed(self) -> None:
        self.outcomes = {key: outcome for key, outcome in self.outcomes.items() if outcome.status != "failed"}

    def add(self, key: str, outcome: RowOutcome) -> None:
        self.outcomes[key] = outcome
        line = json.dumps({"row": key, **asdict(outcome)})
        with explain_failure(self.path, "written"), self.path.open("a", encoding="utf-8") as file:
            # A line that a kill has cut must not swallow this one.
            file.write(f"\n{line}\n" if file.tell() else f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
