"""What a question wants, and whether a sentence has it."""

import pytest

from bookwheel.verdict.asking import measure_fit
from bookwheel.verdict.parsing import parse


@pytest.mark.parametrize(
    "question",
    [
        "Why did Ada leave?",
        "According to the log, why did Ada leave?",
        "Who left, and why?",
        "What made Ada leave the ship?",
        "What's the reason Ada left?",
        "阿达离开是什么缘故？",
    ],
)
def test_who_asks_for_a_reason_wants_a_cause(question):
    def lacks(claim: str) -> float:
        return measure_fit(parse(claim), parse(question), [])["lacks why"]

    assert (lacks("Ada left on Monday."), lacks("Ada left because of the fog.")) == (1.0, 0.0)
    assert measure_fit(parse("Ada left on Monday."), parse("How did Ada leave?"), [])["lacks why"] == 0.0
