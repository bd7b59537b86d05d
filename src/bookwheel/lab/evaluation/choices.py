"""What judging a choice by what the answer says changes: `choice` beside `contains` and `exact` on the same answers.

Golds such as "no", or a name that the question holds too, say nothing when a longer answer holds them. So `choice`
judges them, which is no published metric: its share and its effect on the scores stand in the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.lab.evaluation.records import SampleOutcome
from bookwheel.lab.evaluation.sections import Section, Table
from bookwheel.lab.scoring import score_answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.lab.evaluation.records import Record

_METRIC: Final = "choice"
_WORDS: Final = (
    "Where the gold answer is yes or no, or a name that the question holds too, finding it in an answer proves "
    "nothing, so the metric `choice` judges what the answer says. Beside its score stand those of the same answers by "
    "`contains` (right when they hold the gold) and by `exact` (right only when they are the gold). The effect is that "
    "on the mean of all samples of the row, in points."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceEffect:
    """One model reading one task in one way: its samples that `choice` judges, at all lengths."""

    model: str
    way: str
    task: str
    samples: int
    """All samples of the task, whatever judges them."""
    judged: int
    """Those that `choice` judges."""
    score: float
    """Their mean score by `choice`."""
    contains: float
    """The mean score of the same answers by `contains`."""
    exact: float

    @property
    def share(self) -> float:
        """The share of the task's samples that `choice` judges."""
        return self.judged / self.samples


def summarize_choices(records: Iterable[Record]) -> list[ChoiceEffect]:
    """Return a row for each model, way and task with samples that `choice` judges."""
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if record.is_counted:
            groups.setdefault((record.model, record.way, record.task), []).append(record)
    rows = (_summarize(*key, group) for key, group in groups.items())
    return [row for row in rows if row is not None]


def _summarize(model: str, way: str, task: str, records: Sequence[Record]) -> ChoiceEffect | None:
    chosen = [record for record in records if record.metric == _METRIC]
    if not chosen:
        return None
    return ChoiceEffect(
        model=model,
        way=way,
        task=task,
        samples=len(records),
        judged=len(chosen),
        score=sum(record.score for record in chosen) / len(chosen),
        contains=sum(_rescore(record, "contains") for record in chosen) / len(chosen),
        exact=sum(_rescore(record, "exact") for record in chosen) / len(chosen),
    )


def _rescore(record: Record, metric: str) -> float:
    if record.outcome is not SampleOutcome.SCORED:
        return 0.0
    return score_answer(metric, record.answer, record.golds, record.question).score


def build_choice_sections(effects: Sequence[ChoiceEffect]) -> list[Section]:
    """Return the section; none where no sample is judged by `choice`."""
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
    table = Table(caption="Scores in per cent, all lengths together.", header=header, rows=rows)
    return [Section(title="Yes or no, either or", words=(_WORDS,), tables=(table,))]
