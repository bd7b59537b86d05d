"""The labelled answers are whole, in parts that share no snippet, and any model can be asked them."""

from bookwheel.lab.evaluation.calibration import choose_answers, make_verdict_calibration
from bookwheel.lab.scoring import score_answer
from bookwheel.lab.tasks import make_samples
from bookwheel.lab.tasks.verdicts import PARTS, load_answers
from bookwheel.text.tokens import WordTokenizer


def test_every_answer_has_both_labels_and_its_part_shares_no_snippet():
    parts = {}
    for one in load_answers():
        assert one.label in {"supported", "partly", "contradicted", "not-found"}
        assert one.answers in {"yes", "doubtful", "no"}
        assert parts.setdefault(one.snippet, one.part) == one.part
    assert set(parts.values()) == set(PARTS)
    assert len(load_answers()) == len({one.id for one in load_answers()}) == 601


def test_a_judge_is_scored_by_the_label():
    for language in ("en", "zh"):
        for asks, field in (("support", "label"), ("fit", "answers")):
            samples = make_samples(
                "verdict", tokens=2000, count=9, seed=0, tokenizer=WordTokenizer(), language=language, asks=asks
            )
            for sample in samples:
                assert sample.golds == (sample.metadata[field],)
                assert score_answer(sample.metric, sample.golds[0], sample.golds, sample.question).score == 1


def test_the_threshold_of_a_judge_has_the_precision_wanted():
    answers = choose_answers(200)
    scores = [0.9 if one.label == "supported" else 0.2 for one in answers]
    made = make_verdict_calibration("m", scores, answers, precision=0.97, command="c")
    assert (made.threshold, made.precision, made.recall, made.auc) == (0.9, 1.0, 1.0, 1.0)
