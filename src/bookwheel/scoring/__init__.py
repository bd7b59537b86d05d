"""How answers are judged: pure metrics by name, and a model judge whose verdict may be that there is none."""

from bookwheel.scoring.metrics import (
    METRICS,
    Metric,
    Score,
    all_of,
    contains,
    exact,
    f1,
    load_metric,
    official,
    score_missing_answer,
    share_of,
    unanswerable,
)
from bookwheel.scoring.verdicts import Judgement, Verdict, judge

__all__ = [
    "METRICS",
    "Judgement",
    "Metric",
    "Score",
    "Verdict",
    "all_of",
    "contains",
    "exact",
    "f1",
    "judge",
    "load_metric",
    "official",
    "score_missing_answer",
    "share_of",
    "unanswerable",
]
