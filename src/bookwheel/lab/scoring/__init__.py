"""Scores for answers: pure metrics by name."""

from bookwheel.lab.scoring.lists import all_of, set_f1, share_of
from bookwheel.lab.scoring.metrics import (
    METRICS,
    choice,
    contains,
    exact,
    f1,
    list_metrics,
    load_metric,
    score_answer,
    score_missing_answer,
    unanswerable,
)
from bookwheel.lab.scoring.published import (
    official,
    string_match_all,
    string_match_part,
    verbatim,
)
from bookwheel.lab.scoring.score import Metric, Score

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "all_of",
    "choice",
    "contains",
    "exact",
    "f1",
    "list_metrics",
    "load_metric",
    "official",
    "score_answer",
    "score_missing_answer",
    "set_f1",
    "share_of",
    "string_match_all",
    "string_match_part",
    "unanswerable",
    "verbatim",
]
