"""The table of constructed answers: what is right, and what three judges say.

`tests/fixtures/answers.jsonl` is our own text. `benchmarks/quality/judges.py` prints the table and writes the verdicts anew.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from bookwheel.lab.scoring import official, score_answer, string_match_all, string_match_part

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "fixtures" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
]
# Answers that no rule on words alone can judge; each is a known miss.
MOST_MISSES = 8


def test_the_table_is_large_and_has_both_verdicts_of_every_kind():
    assert len(ROWS) >= 300
    kinds = Counter((row["kind"], row["right"]) for row in ROWS)
    for kind in {row["kind"] for row in ROWS} - {"abstention", "invented answer", "hedge", "several candidates"}:
        assert kinds[kind, 1] > 1
        assert kinds[kind, 0] > 1


def _judge(row):
    return int(score_answer(row["metric"], row["answer"], row["golds"], row["question"]).score > 0.999)


def test_every_verdict_is_the_one_on_record():
    for row in ROWS:
        ruler = string_match_all if row["metric"] == "set_f1" else string_match_part
        verdicts = (
            _judge(row),
            official(row["answer"], row["golds"]).score,
            pytest.approx(ruler(row["answer"], row["golds"]).score),
        )
        assert verdicts == (row["ours"], row["official"], row["ruler"]), row


def test_ours_misses_no_more_than_it_did():
    misses = [row["answer"] for row in ROWS if row["ours"] != row["right"]]
    assert len(misses) <= MOST_MISSES, misses
