"""The one number of a value, in whichever country's signs; none where there is none or more than one."""

from __future__ import annotations

import pytest

from bookwheel.text.numbers import read_amount


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("12 crowns", 12.0),
        ("1½ lb", 1.5),
        ("½ cup", 0.5),
        ("1 1/2 cups", 1.5),
        ("3/4 tsp", 0.75),
        ("€1.234,50", 1234.5),
        ("-99,00 €", -99.0),
        ("CHF 1'250.-", 1250.0),
        ("(1,234.50)", -1234.5),
        ("−7", -7.0),
        ("£12k", 12_000.0),
        ("$3.5 million", 3_500_000.0),
        ("１２００元", 1200.0),
        ("三百二十元", 320.0),
        ("3万元", 30_000.0),
        ("5 m", 5.0),
        ("2–3", None),
        ("2 × 45.00", None),
        ("5 crowns per 2 weeks", None),
        ("1/0", None),
        ("B12", None),
        ("1,23,456", None),
        ("some", None),
        ("", None),
    ],
)
def test_amounts(text: str, amount: float | None) -> None:
    assert read_amount(text) == amount
