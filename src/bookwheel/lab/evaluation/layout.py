"""The layout of a report: sections of text and tables, and the files that they are written to."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from bookwheel.errors import JournalError
from bookwheel.journal.store import Journal
from bookwheel.lab.evaluation.judge import ChoiceEffect
from bookwheel.lab.evaluation.manifest import summarize_use
from bookwheel.lab.evaluation.memory_sections import build_memory_sections, list_memory_failures, shorten
from bookwheel.lab.evaluation.plots import draw_plots
from bookwheel.lab.evaluation.records import Record, SampleOutcome, flatten
from bookwheel.lab.evaluation.report import Cell, Contrast, Report, describe_cells, format_seeds
from bookwheel.lab.evaluation.sections import ReportTable, Section, format_length, format_percent, to_html, to_markdown
from bookwheel.lab.evaluation.statistics import IntervalEstimate
from bookwheel.lab.tasks.memories import RIGHT
from bookwheel.text.tokens import EstimatingTokenizer
from bookwheel.views.html import render_page

_TITLE: Final = "Ways of reading, measured"
_FAILURE_ROWS: Final = 40
_NUMBER: Final = re.compile(r"[\d,.]+")
_LONGEST_CONSTANT: Final = 40
_LEAST_P: Final = 0.001


def build_sections(report: Report, *, also_official: bool = False, pages: Collection[str] = ()) -> list[Section]:
    """Return the sections of a report, the most important numbers first. `pages` names the readings with a page."""
    return [
        _build_accuracy(report),
        build_comparison(report.contrasts),
        _build_cells(report, also_official=also_official),
        *build_memory_sections(report, pages),
        *_build_disagreements(report),
        *_build_choices(report.choices),
        _build_coverage(report),
        *_build_failures(report),
        _build_provenance(report),
    ]


def write_report(
    report: Report, folder: Path, *, also_official: bool = False, journal: Journal | None = None
) -> tuple[Path, Path]:
    """Write report.md and report.html.

    With a journal the readings that the report lists get pages of their own, in the folder `readings`.
    """
    pages: set[str] = set()
    for record in list_memory_failures(report):
        with suppress(JournalError):  # forgotten, or read with another journal
            if journal:
                reading = render_page(journal.reading(record.reading))
                path = folder / "readings" / f"{record.reading}.html"
                path.parent.mkdir(exist_ok=True)
                path.write_text(reading, encoding="utf-8")
                pages.add(record.reading)
    sections = build_sections(report, also_official=also_official, pages=pages)
    markdown, page = folder / "report.md", folder / "report.html"
    markdown.write_text(to_markdown(_TITLE, sections), encoding="utf-8")
    page.write_text(to_html(_TITLE, sections, draw_plots(report)), encoding="utf-8")
    return markdown, page


def build_comparison(contrasts: Sequence[Contrast]) -> Section:
    """Return the section of the differences, of ways or of two results files."""
    if not contrasts:
        return Section(
            title="Differences", words=("The samples were read in one way only, so there is nothing to compare.",)
        )
    return Section(title="Differences", words=(_PAIRED,), tables=(_contrast_table(contrasts),))


_SCORES: Final = (
    "Mean score in per cent with its 95 % interval. A sample without an answer (failed, stopped by a budget, refused) "
    "counts as 0. A sample that could not be made at its length (infeasible) counts nowhere. “does not fit” stands "
    "where no document of a cell could be read in that way, “stopped” where a budget ended every reading of it."
)
_ESTIMATED: Final = (
    "Tokens of {} are estimated, on the high side, since its tokenizer is not known here (`tokenizer` in the settings "
    "names its file): documents have fewer tokens than their column says, and ways of one call fill less of the window."
)
_SAME: Final = (
    "Where some samples did not fit a way or were not read in it yet, a second table has the means over the samples "
    "that every row has: only those may be compared with each other."
)
_COLUMNS: Final = (
    "Tokens, seconds and cost are means a sample. Truncated: samples with a reply that ran into its token limit. "
    "Cut: samples of whose document a part was left out to make it fit. Seconds are wall-clock; samples that were "
    "under way at once shared the machine. Set F1 stands beside answers in parts: it falls when an answer names too "
    "much, which the score does not see. SD of runs is the standard deviation of the repeats' scores, in points."
)
_OFFICIAL: Final = (
    "The official judge is the measure that was published for the task, where it compares strings, flaws included: the "
    "table of published settings names it. Failed requests are not in its denominator. Other tasks have none, and n is "
    "0. It is for comparison with published figures and nothing else."
)


_JUDGE: Final = (
    "Judge: what {} says of the answers, beside the metric. Its mean counts samples without an answer as wrong, and "
    "answers whose verdict is unclear nowhere; their number stands beside it."
)
_OWN_JUDGE: Final = (
    "The published measure of some of these tasks is a model's verdict, in the benchmark's words: the share of the "
    "judge (`--judge MODEL`). The score beside it is ours."
)


def _build_accuracy(report: Report) -> Section:
    tasks = dict.fromkeys(cell.task for cell in report.cells)
    tables = [_score_table([cell for cell in report.cells if cell.task == task], report) for task in tasks]
    if report.pooled:
        tables.insert(0, _score_table(report.pooled, report))
    shared = dict.fromkeys(cell.task for cell in report.shared)
    again = [_score_table([cell for cell in report.shared if cell.task == task], report) for task in shared]
    tables += [replace(table, caption=f"On the same samples. {table.caption}") for table in again]
    estimated = _list_estimated(report)
    words = (_SCORES, *[_SAME] * bool(again), *[_ESTIMATED.format(", ".join(estimated))] * bool(estimated))
    return Section(title="Accuracy", words=words, tables=tuple(tables))


def _list_estimated(report: Report) -> list[str]:
    """Return the models whose tokens an estimate counted."""
    models = {label: one for run in report.results.runs for label, one in run.manifest.get("models", {}).items()}
    return [label for label, one in models.items() if one.get("tokenizer", "").startswith(EstimatingTokenizer.name)]


def _score_table(cells: Sequence[Cell], report: Report) -> ReportTable:
    """Return a table with a row for each model and way, and a column for each length."""
    lengths = sorted({cell.length for cell in cells})
    by_place = {(cell.model, cell.way, cell.length): cell for cell in cells}
    series = dict.fromkeys((cell.model, cell.way) for cell in cells)
    rows = [
        (model, way, *(_format_score(by_place.get((model, way, length))) for length in lengths))
        for model, way in series
    ]
    caption = f"{describe_cells(cells, report)} Columns: tokens of the document."
    return ReportTable(caption=caption, header=("model", "way", *map(format_length, lengths)), rows=tuple(rows))


def _format_score(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    if not cell.score.n:
        return "cannot be made"
    if not cell.is_measured:
        return _name_absence(cell)
    silent = cell.failed + cell.stopped + cell.refused
    return f"{_format_interval(cell.score)}{f' ({silent} without an answer)' if silent else ''}"


def _name_absence(cell: Cell) -> str:
    return "stopped" if cell.stopped else "does not fit"


def _format_interval(interval: IntervalEstimate) -> str:
    if not interval.n:
        return "–"
    return f"{100 * interval.mean:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


_PAIRED: Final = (
    "Points of mean score by which the first is ahead of the second on the same samples, with the 95 % interval of the "
    "difference. The pairs of one question (at several lengths, or repeated) or about one document are not "
    "independent: the interval's standard error is clustered by them, and p, exact and two-sided, is the sign test on "
    "the clusters that differ (McNemar's where each has one right-or-wrong pair). Holm's p is corrected for the number "
    "of comparisons in the table."
)


def _contrast_table(contrasts: Iterable[Contrast]) -> ReportTable:
    header = (
        *("first", "second", "task", "length", "pairs", "clusters", "ahead", "95 % interval"),
        *("wins", "losses", "p", "Holm's p", "interval by"),
    )
    rows: list[tuple[str, ...]] = []
    for contrast in contrasts:
        one = contrast.difference
        length = "all" if contrast.length is None else format_length(contrast.length)
        rows.append(
            (
                *(contrast.first, contrast.second, contrast.task, length, str(one.n), str(one.clusters)),
                *(f"{100 * one.mean:+.1f}", f"[{100 * one.low:+.1f}, {100 * one.high:+.1f}]"),
                *(str(one.ahead), str(one.behind), _format_p(one.p), _format_p(contrast.holm), one.method),
            )
        )
    return ReportTable(caption="Paired differences.", header=header, rows=tuple(rows))


def _format_p(p: float) -> str:
    return f"{p:.3f}" if p >= _LEAST_P else f"{p:.1e}"


def _build_cells(report: Report, *, also_official: bool) -> Section:
    cells = (*report.cells, *report.pooled)
    optional: dict[str, Callable[[Cell], str]] = {
        "judge": lambda cell: _format_interval(cell.judged),
        "judge's n": lambda cell: str(cell.judged.n or "–"),
        "unclear": lambda cell: str(cell.unclear or "–"),
        "set F1": lambda cell: _format_part(cell.set_f1, cell.set_f1_n, cell.score.n),
        "SD of runs": lambda cell: format_percent(cell.between_runs),
        "infeasible": lambda cell: str(cell.infeasible or "–"),
    }
    # Columns in which no cell has anything are left out: the table is wide.
    extra = {name: text for name, text in optional.items() if any(text(cell) != "–" for cell in cells)}
    header = (
        *("model", "way", "task", "length", "metric", "n", "score", "95 % interval"),
        *(("official judge", "its n") if also_official else ()),
        *extra,
        *("failed", "stopped", "refused", "truncated", "cut"),
        *("prompt tokens", "reply tokens", "seconds", "cost"),
    )
    rows = tuple(_cell_row(cell, list(extra.values()), also_official=also_official) for cell in cells)
    judges = sorted({record.judge for record in report.records if record.judge})
    paragraphs = [
        _COLUMNS,
        *([_OFFICIAL] if also_official else ()),
        *([_JUDGE.format(", ".join(judges))] if judges else ()),
        *([_OWN_JUDGE] if any(record.judge_prompt for record in report.records) else ()),
    ]
    table = ReportTable(caption=f"Every cell. {format_seeds(report)}", header=header, rows=rows)
    return Section(title="Cells", words=tuple(paragraphs), tables=(table,))


def _format_part(mean: float, n: int, of: int) -> str:
    """Return a mean, and of how many answers it is where that is not all of the cell's."""
    return f"{format_percent(mean)} (n {n})" if 0 < n < of else format_percent(mean)


def _cell_row(cell: Cell, extra: Sequence[Callable[[Cell], str]], *, also_official: bool) -> tuple[str, ...]:
    score = _format_interval(cell.score).partition(" ") if cell.is_measured else (_name_absence(cell), "", "–")
    return (
        *(cell.model, cell.way, cell.task, format_length(cell.length), cell.metric),
        *(str(cell.score.n), score[0], score[2]),
        *((_format_interval(cell.official), str(cell.official.n)) if also_official else ()),
        *(text(cell) for text in extra),
        *map(str, (cell.failed, cell.stopped, cell.refused, cell.truncated, cell.cut)),
        *(f"{cell.prompt_tokens:,.0f}", f"{cell.completion_tokens:,.0f}", f"{cell.seconds:,.2f}"),
        "–" if math.isnan(cell.cost) else f"{cell.cost:.4g}",
    )


_DIFFER: Final = "Answers that count by one of the two and not by the other, at most {}; the results file has all."


def _build_disagreements(report: Report) -> list[Section]:
    """Return the section of the answers that metric and judge see differently; none where they agree."""
    differ = [one for one in report.records if one.judged is not None and (one.score >= RIGHT) != (one.judged >= RIGHT)]
    if not differ:
        return []
    header = (
        "sample",
        "way",
        "model",
        "metric",
        "judge",
        "golds",
        "answer",
        "question",
        "the metric says",
        "the judge says",
    )
    rows = tuple(
        (
            *(one.sample, one.way, one.model, f"{one.score:.2g}", f"{one.judged:.2g}"),
            *map(shorten, (", ".join(one.golds), one.answer, one.question, one.reason, one.judge_reason)),
        )
        for one in differ[:_FAILURE_ROWS]
    )
    judged = sum(one.judged is not None for one in report.records)
    caption = f"{len(differ)} of {judged} answers with a verdict."
    table = ReportTable(caption=caption, header=header, rows=rows)
    return [Section(title="Where metric and judge differ", words=(_DIFFER.format(_FAILURE_ROWS),), tables=(table,))]


_CHOICES: Final = (
    "Where the gold answer is yes or no, or a name that the question holds too, finding it in an answer proves "
    "nothing, so the metric `choice` judges what the answer says. Beside its score stand those of the same answers by "
    "`contains` (right when they hold the gold) and by `exact` (right only when they are the gold). The effect is that "
    "on the mean of all samples of the row, in points."
)


def _build_choices(effects: Sequence[ChoiceEffect]) -> list[Section]:
    """Return the section of what `choice` judges; none where it judges no sample."""
    if not effects:
        return []
    header = (
        *("model", "way", "task", "n", "judged by choice", "choice", "contains", "exact"),
        *("effect against contains", "against exact"),
    )
    rows = tuple(
        (
            *(one.model, one.way, one.task, str(one.samples), f"{one.judged} ({100 * one.share:.0f} %)"),
            *(f"{100 * score:.1f}" for score in (one.score, one.contains, one.exact)),
            *(f"{100 * one.share * (one.score - other):+.1f}" for other in (one.contains, one.exact)),
        )
        for one in effects
    )
    table = ReportTable(caption="Scores in per cent, all lengths together.", header=header, rows=rows)
    return [Section(title="Yes or no, either or", words=(_CHOICES,), tables=(table,))]


_CAN_SHOW: Final = (
    "A task shows what a memory is for where a search does not find its evidence and no constant answers it. Found: "
    "the mean share of the evidence in the passages that BM25 ranks first for the question, 1,024 tokens in all. Found "
    "whole: samples whose evidence is all in them. Best constant: the one answer that earns most when it is given to "
    "every sample, by the task's own metric."
)


def _build_coverage(report: Report) -> Section:
    header = ("task", "length", "n", "found by BM25", "found whole", "best constant", "it earns")
    rows = tuple(
        (
            row.task,
            format_length(row.length),
            str(row.samples),
            format_percent(row.found, 0, " %"),
            format_percent(row.complete, 0, " %"),
            row.constant[:_LONGEST_CONSTANT] if row.constant_score else "–",
            format_percent(row.constant_score, 0, " %"),
        )
        for row in report.coverage
    )
    return Section(
        title="What the tasks can show", words=(_CAN_SHOW,), tables=(ReportTable(caption="", header=header, rows=rows),)
    )


def _name_kind(record: Record) -> str:
    """Return an error without what is the sample's own: the name that a refusal begins with, and the first number."""
    if record.outcome not in {SampleOutcome.REFUSED, SampleOutcome.STOPPED}:
        return record.error
    return _NUMBER.sub("", record.error.removeprefix(f"{record.sample} "), count=1)


def _build_failures(report: Report) -> list[Section]:
    """Return a section that groups the samples without an answer by their error; none when all were answered."""
    if not report.failures:
        return []
    groups = [((one.model, one.way, str(one.outcome), _name_kind(one)), one) for one in report.failures]
    counted = Counter(complaint for complaint, _ in groups)
    example = dict(reversed(groups))
    rows = tuple(
        (*complaint[:-1], example[complaint].error, str(count), example[complaint].sample)
        for complaint, count in counted.most_common(_FAILURE_ROWS)
    )
    missing = sum(not record.is_counted for record in report.failures)
    paragraphs = [f"{len(report.failures) - missing} samples had no answer and count as wrong."]
    unread = sum(bool(record.file) and not record.is_counted for record in report.failures)
    if missing > unread:
        paragraphs.append(f"{missing - unread} samples could not be made at their length and count nowhere.")
    if unread:
        paragraphs.append(f"{unread} lines of files hold no sample that can be used, and count nowhere.")
    if len(counted) > _FAILURE_ROWS:
        paragraphs.append(f"{len(counted) - _FAILURE_ROWS} rarer errors are only in the results file.")
    header = ("model", "way", "outcome", "error", "samples", "for example")
    table = ReportTable(caption="", header=header, rows=rows)
    return [Section(title="No answer", words=tuple(paragraphs), tables=(table,))]


def _build_provenance(report: Report) -> Section:
    runs = report.results.runs
    rows = tuple((run.created, run.version, run.command) for run in runs)
    runs_table = ReportTable(
        caption="Runs that this results file comes from.", header=("started", "bookwheel", "command"), rows=rows
    )
    settings = {
        **{f"fixed: {name}": value for run in runs for name, value in run.fixed.items()},
        **{
            f"{label}: {name}": value
            for run in runs
            for label, model in run.models.items()
            for name, value in model.items()
        },
    }
    settings_table = ReportTable(
        caption="What the numbers depend on.",
        header=("setting", "value"),
        rows=tuple((name, str(value)) for name, value in flatten(settings) if value is not None),
    )
    newest = next((run.manifest for run in reversed(runs) if run.manifest), {})
    manifest = {**newest, "used": summarize_use(report.results.records)}
    manifest_table = ReportTable(
        caption="The manifest of the newest run, and what all runs used.",
        header=("what", "value"),
        rows=tuple((name, one if isinstance(one, str) else json.dumps(one)) for name, one in flatten(manifest)),
    )
    notes = dict.fromkeys(note for run in runs for note in run.notes)
    paragraphs = (format_seeds(report), *notes)
    return Section(title="How this was made", words=paragraphs, tables=(runs_table, manifest_table, settings_table))
