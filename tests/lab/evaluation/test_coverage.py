"""What a search finds of the evidence, and what a constant answer earns."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.commands.data import show_coverage
from bookwheel.lab.evaluation.coverage import find_constant, find_share, measure_coverage, tile_text
from bookwheel.lab.evaluation.layout import build_sections
from bookwheel.lab.evaluation.report import build_report, report_to_json
from bookwheel.lab.evaluation.run import evaluate
from bookwheel.lab.evaluation.sections import to_markdown
from bookwheel.lab.tasks import GoldEvidence, Sample, SampleDocument, write_samples
from bookwheel.text.tokens import WordTokenizer

WORDS = WordTokenizer()
FILLER = "The harbour is calm and the bread is warm. " * 160


def make(number, sentence, question, gold="Ada", metric="contains"):
    text = FILLER + sentence + " " + FILLER
    evidence = (GoldEvidence(start=len(FILLER), end=len(FILLER) + len(sentence), note=sentence),)
    return Sample(
        id=f"s{number}",
        task="t",
        question=question,
        golds=(gold,),
        document=SampleDocument("d", [text]),
        metric=metric,
        length=1000,
        evidence=evidence,
    )


def test_evidence_that_shares_words_with_the_question_is_found():
    assert find_share(make(0, "The lamp belongs to Ada.", "Who has the lamp?"), WORDS, 320) == 1
    assert find_share(make(0, "The lantern went to Ada.", "Who owns what glows?"), WORDS, 320) == 0
    assert find_share(make(0, "The lamp belongs to Ada.", "Who has the lamp?"), WORDS, 10) == 0


WORDY = st.lists(
    st.sampled_from(["lamp", "Lamp.", "lamps", "lamplight", "the", "harbour", "灯", "灯塔", "ada's", "x_lamp. ", "\n"]),
    max_size=60,
).map(" ".join)


@given(text=WORDY, size=st.integers(1, 90))
def test_passages_tile_the_text_within_their_size(text, size):
    passages = list(tile_text(text, size))
    assert "".join(text[one] for one in passages) == text
    assert all(0 < one.stop - one.start <= size for one in passages)


def test_characters_that_change_their_length_in_lower_case_move_no_passage():
    sample = make(0, "The lamp belongs to Ada.", "Who has the lamp?")
    longer = replace(sample, document=SampleDocument("d", ["\u0130" * 400 + " ", sample.text]))
    moved = tuple(replace(one, start=one.start + 401, end=one.end + 401) for one in sample.evidence)
    assert find_share(replace(longer, evidence=moved), WORDS, 320) == 1


def test_the_best_constant_is_scored_by_the_samples_own_metric():
    samples = [make(0, "x", "q", "Ada"), make(1, "x", "q", "Ada"), make(2, "x", "q", "Bram")]
    assert find_constant(samples) == ("Ada", pytest.approx(2 / 3))
    assert find_constant([make(0, "x", "q", "", "unanswerable")])[0] == "not in the document"
    assert find_constant([make(0, "x", "q", "Ada"), make(1, "x", "q", "Bram")]) == ("Ada", 0.5)


def test_an_evaluation_reports_what_its_tasks_can_show(tmp_path, settings, reader):
    file = tmp_path / "s.jsonl"
    samples = [make(n, f"The lamp {n} belongs to Ada.", f"Who has lamp {n}?") for n in range(3)]
    write_samples([*samples, make(3, "The lantern went to Bo.", "Who owns what glows?", "Bo")], file)
    evaluation = settings(tasks=(), lengths=(), samples=(str(file),), ways=("closed-book", "sequential"))
    report = build_report(asyncio.run(evaluate(evaluation, tmp_path / "r.jsonl", reader)))
    (row,) = report.coverage
    assert (row.samples, row.found, row.complete) == (4, 0.75, 0.75)
    assert (row.constant, row.constant_score) == ("Ada", 0.75)
    markdown = to_markdown("t", build_sections(report))
    assert "| t | 1,000 | 4 | 75 % | 75 % | Ada | 75 % |" in markdown
    assert report_to_json(report)["coverage"][0]["found"] == 0.75


def test_the_command_prints_a_row_for_each_task(tmp_path, capsys):
    path = tmp_path / "s.jsonl"
    write_samples([make(0, "The lamp belongs to Ada.", "Who has the lamp?")], path)
    assert show_coverage(path, tokens=320) == 0
    assert "100%   100%  100% by 'Ada'" in capsys.readouterr().out
    write_samples([replace(make(0, "The lamp belongs to Ada.", "Who has the lamp?"), length=0)], path, force=True)
    assert show_coverage(path, tokens=320) == 0
    assert "t                               any     1" in capsys.readouterr().out
    assert show_coverage(path, tokens=320, as_json=True) == 0
    (row,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (row["task"], row["found"], row["constant"]) == ("t", 1.0, "Ada")
    assert measure_coverage([], WORDS, 10) == []
