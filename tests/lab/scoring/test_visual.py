"""The published measures of DocVQA, ChartQA, SlideVQA and MMLongBench-Doc, by hand-computed values.

They were compared with the benchmarks' own code on 12,000 outputs (lab/2026-11-24-pictures.md).
"""

import pytest

from bookwheel.lab.scoring import score_answer


@pytest.mark.parametrize(
    ("metric", "answer", "golds", "score"),
    [
        ("anls", "The  Ferry", ["the ferry", "boat"], 1.0),
        ("anls", "fery", ["ferry"], 0.8),
        ("anls", "tram", ["ferry"], 0.0),
        ("anls", "", ["ferry"], 0.0),
        ("anls", "x" * 1_000_000, ["ferry"], 0.0),
        ("relaxed", "95", ["100"], 1.0),
        ("relaxed", "94.9", ["100"], 0.0),
        ("relaxed", "50%", ["0.5"], 1.0),
        ("relaxed", "0.0", ["0"], 0.0),  # as published: by 5 % of nothing, no number is near
        ("relaxed", "Blue", ["blue"], 1.0),
        ("mmlongbench", "'less well-off'", ["Less well-off"], 1.0),
        ("mmlongbench", "2020-01-03", ["2020-01-02"], 0.0),
        ("mmlongbench", "2020 Jan 02", ["2020 Jan 03"], 1 - 1 / 11),
        ("mmlongbench_int", "8.9", ["8"], 1.0),
        ("mmlongbench_int", "eight", ["8"], 0.0),
        ("mmlongbench_float", "0.1829", ["18.29%"], 1.0),
        ("mmlongbench_float", "18.5", ["18.29%"], 0.0),
        ("mmlongbench_list", "['TIME', 'The Economist']", ["['The Economist', 'TIME']"], 1.0),
        ("mmlongbench_list", "['TIME']", ["['The Economist', 'TIME']"], 0.0),
        ("mmlongbench_list", "[__import__('os')]", ["['x']"], 0.0),
        ("mmlongbench_list", "[{[]: 1}]", ["['x']"], 0.0),
        ("mmlongbench_list", f"[{'-' * 5000}1]", ["['x']"], 0.0),
        ("mmlongbench_none", "The document does not say.", ["Not answerable"], 1.0),
        ("mmlongbench_none", "Forty ships", ["Not answerable"], 0.0),
    ],
)
def test_an_answer_is_scored_as_published(metric, answer, golds, score):
    assert score_answer(metric, answer, golds).score == pytest.approx(score)


@pytest.mark.parametrize(
    ("metric", "answer", "score"),
    [("slidevqa_f1", "It is 2 ships", 1.0), ("slidevqa_em", "two", 1.0), ("slidevqa_f1", "2 of 9", 0.5)],
)
def test_the_unit_that_the_question_names_does_not_count(metric, answer, score):
    assert score_answer(metric, answer, ["two ships"], "Then how many ships sailed?").score == pytest.approx(score)
