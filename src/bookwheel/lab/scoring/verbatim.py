"""How much of a text an answer repeats character by character: MRCR's published measure.

golds the text, or the text and a string that the answer must begin with. Without that string at its beginning an
answer scores 0; otherwise the ratio of matching characters counts, without it on both sides.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from bookwheel.lab.scoring.score import NOTHING, Score

if TYPE_CHECKING:
    from collections.abc import Sequence


def verbatim(answer: str, golds: Sequence[str]) -> Score:
    """Score the share of characters in common, in order, with the first gold."""
    if not answer or not golds:
        return NOTHING
    text, prefix = golds[0], golds[1] if len(golds) > 1 else ""
    if not answer.startswith(prefix):
        return Score(score=0.0, reason=f'does not begin with "{prefix}"')
    ratio = SequenceMatcher(None, answer.removeprefix(prefix), text).ratio()
    return Score(score=ratio, reason=f"repeats {ratio:.0%} of the text")
