"""The judges published with MemAgent and RULER, flaws included: only to compare with published figures.

    official           MemAgent's, for its questions: substring in both directions, first gold only, "" is wrong
    string_match_all   RULER's, for its needles, variables and words: the share of the golds that are substrings
    string_match_part  RULER's, for its questions: any gold is a substring

They are written anew from the published definitions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bookwheel.lab.scoring.score import NOTHING, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKS: Final = re.compile(r"[!-/:-@\[-`{-~]")
_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_CONTROLS: Final = re.compile(r"[\x00-\x1f]")
_RULER_TASKS: Final = re.compile(r"(?:ruler_)?(?:niah_|vt$|cwe$|fwe$)")


def official(answer: str, golds: Sequence[str]) -> Score:
    """Score as published with MemAgent: substring in both directions, against the first gold alone.

    It accepts "the" and any part of the gold, and ignores every gold but the first. An answer without a character is
    wrong before it is compared.
    """
    if not answer or not golds:
        return NOTHING
    given, gold = _normalize(answer), _normalize(golds[0])
    right = gold in given or given in gold
    return Score(score=float(right), reason="by the published metric, which takes substrings in both directions")


def _normalize(text: str) -> str:
    """Remove case, ASCII punctuation, articles and repeated blanks."""
    return " ".join(_ARTICLES.sub(" ", _MARKS.sub("", text.lower())).split())


def string_match_all(answer: str, golds: Sequence[str]) -> Score:
    """Score as RULER does for needles, variables and words: the share of the golds that are substrings."""
    found = [float(gold.lower() in _strip(answer)) for gold in golds]
    share = sum(found) / len(found) if found else 0.0
    return Score(score=share, reason=f"by RULER's metric, {sum(found):.0f} of {len(found)} are substrings")


def string_match_part(answer: str, golds: Sequence[str]) -> Score:
    """Score as RULER does for its questions: 1 when any gold is a substring."""
    right = any(gold.lower() in _strip(answer) for gold in golds)
    return Score(score=float(right), reason="by RULER's metric, which takes any gold as a substring")


def _strip(answer: str) -> str:
    return _CONTROLS.sub("\n", answer.strip()).strip().lower()


def score_as_published(task: str, answer: str, golds: Sequence[str]) -> Score:
    """Score by the judge that was published for the task; of a task of ours by MemAgent's."""
    return (string_match_all if _RULER_TASKS.match(task) else official)(answer, golds)
