"""The sections that say where a memory failed: what became of the evidence, and which samples show it."""

from collections.abc import Collection
from itertools import islice, zip_longest
from typing import Final

from bookwheel.lab.evaluation.records import Record, group_by
from bookwheel.lab.evaluation.report import Cell, Report
from bookwheel.lab.evaluation.sections import ReportTable, Section, format_length, format_percent
from bookwheel.lab.tasks.memories import RIGHT, MemoryOutcome

# Rows of the list of samples; all samples are in the results file.
_MOST_SAMPLES: Final = 100
_LONGEST_TEXT: Final = 120
_OUTCOMES: Final = {
    MemoryOutcome.SUPPORTED: "right, from memory",
    MemoryOutcome.UNSUPPORTED: "right, without support",
    MemoryOutcome.MISUSED: "in memory, misused",
    MemoryOutcome.OVERWRITTEN: "captured, overwritten",
    MemoryOutcome.NEVER_CAPTURED: "never captured",
}
_FAILURES: Final = (MemoryOutcome.NEVER_CAPTURED, MemoryOutcome.OVERWRITTEN, MemoryOutcome.MISUSED)
_EXPLANATION: Final = (
    "Each sample names the passages that its answer rests on. Never captured: some of them were in no memory. "
    "Overwritten: they were, and a later step dropped them. Misused: the last memory held them all, and the answer is "
    "wrong all the same. Without support: the answer is right, and the last memory did not hold what it rests on. "
    "Captured and kept are the mean shares of the passages that were in a memory at some time, and in the last one. "
    "A passage is in a memory when the gold answer in it is, or else most of its words."
)
_LIST: Final = (
    "The step is the one that overwrote the passages or should have captured them. A reading's id opens with "
    "`bookwheel show ID --journal journal.sqlite`."
)


def build_memory_sections(report: Report, pages: Collection[str] = ()) -> list[Section]:
    """Return the sections; none where no way of reading kept a memory of evidence.

    `pages` names the readings that have a page beside the report.
    """
    worth = _worth_sections(report)
    cells = [cell for cell in report.cells if cell.memory]
    if not cells:
        return worth
    tables = [_outcome_table(cells)]
    if records := list_memory_failures(report):
        tables.append(_sample_table(records, pages))
    return [Section(title="Where the memory failed", words=(_EXPLANATION, _LIST), tables=tuple(tables)), *worth]


def _worth_sections(report: Report) -> list[Section]:
    """Return what the last memories recover, where that was measured: it needs no gold answer and no evidence."""
    rows = []
    measured = [record for record in report.records if record.recovered is not None]
    for place, group in group_by(measured, lambda one: (one.model, one.way, one.task, one.length)).items():
        means = []
        for wanted in ({True, False}, {True}, {False}):
            part = [one.recovered or 0.0 for one in group if (one.score >= RIGHT) in wanted]
            means.append(f"{sum(part) / len(part):.2f} ({len(part)})" if part else "")
        rows.append((*place[:3], format_length(place[3]), *means))
    if not rows:
        return []
    header = ("model", "way", "task", "length", "R (n)", "where right (n)", "where wrong (n)")
    caption = (
        "Mean R of the last memories: 1 tells the question's sentences as well as the document does, 0 not at all."
    )
    table = ReportTable(caption=caption, header=header, rows=tuple(rows))
    return [Section(title="What the memories recover", tables=(table,))]


def _outcome_table(cells: list[Cell]) -> ReportTable:
    header = ("model", "way", "task", "length", "n", *_OUTCOMES.values(), "captured", "kept")
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        n = sum(cell.memory.values())
        shares = (format_percent(cell.memory.get(outcome, 0) / n) for outcome in _OUTCOMES)
        place = (cell.model, cell.way, cell.task, format_length(cell.length), str(n))
        rows.append((*place, *shares, *map(format_percent, (cell.captured, cell.kept))))
    caption = "What became of the evidence, in per cent of the samples whose evidence could be followed (n)."
    return ReportTable(caption=caption, header=header, rows=tuple(rows))


def list_memory_failures(report: Report) -> list[Record]:
    """Return samples of each kind of failure in turn, up to the most that are listed."""
    kinds = [[record for record in report.records if record.memory == outcome] for outcome in _FAILURES]
    in_turn = (record for row in zip_longest(*kinds) for record in row if record is not None)
    return list(islice(in_turn, _MOST_SAMPLES))


def _sample_table(records: list[Record], pages: Collection[str]) -> ReportTable:
    header = ("failure", "step", "reading", "sample", "way", "model", "depth", "golds", "answer", "question")
    rows = tuple(
        (
            _OUTCOMES[MemoryOutcome(record.memory)],
            "–" if record.memory_step is None else str(record.memory_step),
            record.reading,
            record.sample,
            record.way,
            record.model,
            format_percent(record.depth, 0, " %"),
            shorten(", ".join(record.golds)),
            shorten(record.answer),
            shorten(record.question),
        )
        for record in records
    )
    links = {record.reading: f"readings/{record.reading}.html" for record in records if record.reading in pages}
    return ReportTable(
        caption=f"Samples whose memory failed, at most {_MOST_SAMPLES}.", header=header, rows=rows, links=links
    )


def shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
