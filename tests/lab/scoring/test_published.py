"""Measures that were published with benchmarks: what their scripts give."""

import logging
import sys
from types import SimpleNamespace

import pytest

from bookwheel.lab.scoring import METRICS, score_answer
from bookwheel.lab.scoring.benchmarks import PUBLISHED
from bookwheel.lab.tasks.published import score_as_published


@pytest.mark.parametrize(
    ("metric", "answer", "golds", "score"),
    [
        ("qa_f1", "The lease, signed by Ada.", ["Ada signed"], 4 / 6),
        ("qa_f1", "", ["Ada"], 0),
        ("qa_f1", "ada", ["Bram", "Ada!"], 1),
        (
            "rouge_l",
            "the levy is forty. it rains.",
            ["the levy is forty."],
            0.8,
        ),  # of six different words four are shared
        ("rouge_l", "a b c d", ["d a b x"], 0.5),
        ("rouge_l", "", ["a"], 0),
        ("code_similarity", "# a comment\nreturn x", ["return x"], 1),
        ("code_similarity", "```python\nreturn y", ["return x"], 0.88),
        ("code_similarity", "// only a comment", ["return x"], 0),
        ("classification", "It is of the kind: Animal", ["Animal", "Animal or plant", "Food"], 1),
        ("classification", "Animal or Food", ["Animal", "Food"], 0.5),
        ("classification", "Food", ["Animal", "Food"], 0),
        ("number_share", "Paragraph 3", ["Paragraph 3"], 1),
        ("number_share", "3 or 5", ["3"], 0.5),
        ("number_share", "段落7", ["段落7"], 1),
        ("number_share", "none", ["3"], 0),
        ("locomo_absent", "Not mentioned in the conversation.", ["x"], 1),
        ("locomo_absent", "bees", ["x"], 0),
        ("graphwalks", "So:\nFinal Answer: [a, b]", ["a", "b", "c"], 0.8),
        ("graphwalks", "Final Answer: [a]\nThat is all.", ["a"], 0),
        ("graphwalks", "Final Answer: []", ["a"], 0),
        ("graphwalks", "Final Answer: []", ["[]"], 1),
        ("graphwalks", "Final Answer: [a]", ["[]"], 0),
        ("oolong", "Label: spam", ["spam"], 1),
        ("oolong_number", "Answer: **12**", ["10"], 0.75**2),
        ("oolong", "ham", ["spam"], 0),
        ("oolong", "Answer: ham is less common than spam in it", ["less common than"], 1),
        ("oolong_date", "Date: 5 May 1904", ["1904-05-05"], 1),
        ("oolong_real", r"So \boxed{12}.", ["10"], 0.75**2),
        ("oolong_real", "10", ["10"], 0),
        ("oolong_real", r"\boxed{\text{vex}}", ["Vex"], 1),
        ("oolong_real", r"\boxed{Shield, Light}", ["Fireball, Shield"], 0.5),
        ("hotpot_em", "The Pier!", ["pier"], 1),
        ("hotpot_f1", "yes, it is", ["yes"], 0),
        ("hotpot_f1", "old pier", ["the pier"], 2 / 3),
        ("letter", "**The correct answer is (B)**", ["B", "Bo"], 1),
        ("letter", "B", ["B", "Bo"], 0),
        ("label", "He is in the garden. Then the kitchen.", ["garden", "garden", "kitchen"], 1),
        ("label", "garden or kitchen", ["garden", "garden", "kitchen"], 0),
        ("holds", "It was Yuki.", ["Yuki"], 1),
        ("holds", "yuki", ["Yuki"], 0),
        ("helmet_match", "Answer: the old pier\nmore", ["Old pier"], 1),
        ("ranking", "Ranking: [ID3] > [ID1]", ["3=1", "1=0", "2=0"], 1),
        ("ranking", "none", ["3=1"], 0),
        ("ib_word", '"value": "x-1"', ["x-1"], 1),
        ("ib_number", "The key is 12, not 7", ["12"], 1),
        ("ib_code_run", "It returns -7.", ["-7"], 1),
        ("ib_code_debug", "The answer is: B", ["B", "load"], 1),
        ("ib_speaker", "Ada.", ["ADA"], 1),
        ("ib_choice", "Because it is C", ["C", "Bo"], 0),
        ("ib_choice", "I say the answer is C", ["C", "Bo"], 1),
        ("ib_math_find", "3.5", ["3"], 0),
        ("ib_math_calc", "0, 1, 3, 8", ["1", "3", "7", "9"], 0.5),
        ("ib_qa_zh", "在卑尔根", ["卑尔根"], 6 / 7),
        ("locomo_absent", "(a)", ["not mentioned", "a"], 1),
        ("locomo_absent", "b", ["not mentioned", "a"], 0),
    ],
)
def test_a_measure_gives_what_its_script_gives(metric, answer, golds, score):
    if metric == "oolong_date":
        pytest.importorskip("dateutil")
    assert PUBLISHED[metric](answer, golds).score == pytest.approx(score, abs=1e-6)


def test_locomo_compares_stems_and_each_of_several_values():
    pytest.importorskip("nltk")
    assert PUBLISHED["locomo_f1"]("She was painting", ["painted"]).score == pytest.approx(0.5)
    assert PUBLISHED["locomo_multi"]("boats, bees", ["bee, boat"]).score == 1
    assert PUBLISHED["locomo_multi"]("bees", ["bee, boat"]).score == 0.5


def test_the_published_judge_is_used_only_where_it_is_that_benchmarks():
    assert score_as_published("niah_multivalue", "7", ["7", "8"]).score == 0.5
    assert score_as_published("qa_1", "It was Ada.", ["Bram", "Ada"]).score == 1
    assert score_as_published("hqa", "the", ["the harbour"]).score == 1
    assert score_as_published("triviaqa", "Ada\nBram", ["Ada"]).score == 1
    assert score_as_published("gov_report", "a b", ("a b",)).score == pytest.approx(1)
    assert score_as_published("mrcr-8-needles", "a", ("a text", "x1")).score == 0
    assert score_as_published("longbench-2", "A", ("B", "Bo")).score == 0
    assert score_as_published("longmemeval-abstention", "A", ("B",)) is None
    assert score_as_published("babilong", "A", ("B",)) is None
    assert score_as_published("updated", "7", ("7",)) is None


def test_a_published_measure_sees_the_whole_answer():
    assert score_answer("number_share", "<think>3</think>5", ["5"]).score == 0.5


def test_the_package_that_cuts_chinese_tells_nobody_what_it_loads(monkeypatch):
    levels = []
    jieba = SimpleNamespace(setLogLevel=levels.append, cut=lambda text, **_named: list(text))
    monkeypatch.setitem(sys.modules, "jieba", jieba)
    assert METRICS["rouge_zh"]("四百", ["四百"]).score > 0.99
    assert set(levels) == {logging.WARNING}
