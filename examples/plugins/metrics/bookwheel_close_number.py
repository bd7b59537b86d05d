"""A metric that gives part of the score for a number near the gold answer: `--metric close_number`."""

import re

from bookwheel.lab.scoring import Score

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def close_number(answer, golds):
    """Score the last number of the answer: 1 when it is the gold number, 0 from twice that number on."""
    numbers = NUMBER.findall(answer)
    if not numbers:
        return Score(score=0.0, reason="holds no number")
    gold = float(golds[0])
    error = abs(float(numbers[-1]) - gold) / max(abs(gold), 1.0)
    return Score(score=max(0.0, 1.0 - error), reason=f"is {error:.0%} off", parts={"error": error})
