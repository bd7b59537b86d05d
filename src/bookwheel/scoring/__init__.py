"""Scores for answers: pure metrics by name."""

from bookwheel.scoring.metrics import (
    METRICS,
    Metric,
    Score,
    all_of,
    contains,
    exact,
    f1,
    list_metrics,
    load_metric,
    official,
    score_missing_answer,
    share_of,
    unanswerable,
)

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "all_of",
    "contains",
    "exact",
    "f1",
    "list_metrics",
    "load_metric",
    "official",
    "score_missing_answer",
    "share_of",
    "unanswerable",
]
