import pytest

from bookwheel.lab.training.records import curves, held_out_scores, load_records, totals
from bookwheel.lab.training.verl.records import RunRecords, count_rows

REWARDS = {"a_0_0": 1.0, "a_0_1": 1.0, "a_1_0": 0.0, "b_0_0": 0.5}
ANSWERS = {"a_0_0": 1.0, "a_0_1": 1.0, "a_1_0": 0.0, "b_0_0": 0.0}
TAGS = [{"prompt_len": 10, "response_len": 3}] * 4


def test_rollouts_count_once_however_many_conversations_they_had_and_failed_ones_as_nought():
    counts = count_rows(REWARDS, ANSWERS, TAGS, expected=4)
    assert (counts.rollouts, counts.failed, counts.groups, counts.conversations) == (4, 1, 2, 4)
    assert (counts.reward, counts.accuracy) == (1.5 / 4, 1 / 4)
    assert (counts.prompt_tokens, counts.reply_tokens) == (40, 12)


def test_the_page_reads_a_run_on_verl_as_any_other(tmp_path):
    records = RunRecords(tmp_path)
    records.add_evaluation(0, [1.0, 0.0], 4, 1.0)
    records.counts = count_rows(REWARDS, ANSWERS, TAGS, expected=4)
    records.add_step(1, {"actor/loss": 0.25, "actor/grad_norm": 1.5, "actor/optimizer_steps": 2}, 3.0)
    found = load_records(tmp_path)
    assert found[1]["clock"]["seconds"] == pytest.approx(3.0, abs=0.5)
    assert found[1]["optimizer_steps"] == 2
    (score,) = held_out_scores(found)
    assert (score.accuracy, score.n, score.failed) == (0.25, 4, 2)
    assert {curve.name for curve in curves(found)} >= {"reward", "accuracy", "loss", "gradient", "failed"}
    assert (totals(found).rollouts, totals(found).failed, totals(found).tokens) == (4, 1, 52)


def test_a_step_without_an_update_says_so(tmp_path):
    records = RunRecords(tmp_path)
    records.counts = count_rows(REWARDS, ANSWERS, TAGS, expected=4)
    records.add_step(1, {}, 3.0)
    assert load_records(tmp_path)[0]["skipped"] is True


def test_a_resumed_run_drops_the_records_after_its_checkpoint(tmp_path):
    records = RunRecords(tmp_path)
    records.add_evaluation(0, [1.0], 1, 1.0)
    for step in (1, 2, 3):
        records.add_step(step, {}, 1.0)
    RunRecords(tmp_path).keep_before(3)
    assert [record["step"] for record in load_records(tmp_path)] == [0, 1, 2]
