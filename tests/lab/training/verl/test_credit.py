from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.training.advantages import Estimator, advantages
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.records import curves, held_out_scores, load_records, totals
from bookwheel.lab.training.verl.credit import (
    RunRecords,
    count_rows,
    deal_rows,
    find_family,
    parse_key,
    row_advantages,
    session_rewards,
    split_by_sample,
    split_parts,
)

# A batch: for each sample, for each session, its reward and the number of its conversations.
batches = st.lists(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 12)), min_size=1, max_size=6), min_size=1, max_size=9
)


def rewards_of(batch):
    return {
        f"{sample:x}_{session}_{row}": reward
        for sample, sessions in enumerate(batch)
        for session, (reward, rows) in enumerate(sessions)
        for row in range(rows)
    }


@given(batches, st.sampled_from(Estimator))
def test_every_row_carries_the_advantage_of_its_rollout_among_the_rollouts_of_its_sample(batch, estimator):
    given = row_advantages(rewards_of(batch), estimator)
    for sample, sessions in enumerate(batch):
        rewards = [reward for reward, _ in sessions]
        expected = advantages(rewards, estimator) if len(rewards) > 1 else []
        for session, (advantage, (_, rows)) in enumerate(zip(expected, sessions, strict=bool(expected))):
            assert [given[f"{sample:x}_{session}_{row}"] for row in range(rows)] == [advantage] * rows


@given(batches)
def test_a_rollout_of_many_conversations_counts_as_much_as_one_of_one(batch):
    short = [[(reward, 1) for reward, _ in sessions] for sessions in batch]
    long, brief = (row_advantages(rewards_of(one), Estimator.MEAN) for one in (batch, short))
    assert {key: value for key, value in long.items() if key.endswith("_0")} == brief


def test_a_rollout_whose_rivals_all_failed_is_not_trained_on():
    assert row_advantages({"a_2_0": 1.0, "a_2_1": 1.0, "b_0_0": 1.0, "b_3_0": 0.0}, Estimator.MEAN) == {
        "b_0_0": 0.5,
        "b_3_0": -0.5,
    }


def test_samples_may_have_an_underscore_in_their_names():
    assert session_rewards({"a_b_3_0": 1.0, "a_b_12_1": 0.0}) == {"a_b": {"3": 1.0, "12": 0.0}}


@given(batches, st.integers(1, 12))
def test_mini_batches_are_whole_samples_and_as_many_as_asked_for(batch, updates):
    keys = list(rewards_of(batch))
    parts = split_by_sample(keys, updates)
    assert sorted(key for part in parts for key in part) == sorted(keys)
    names = [{parse_key(key)[0] for key in part} for part in parts]
    assert sum(map(len, names)) == len(batch)
    assert len(parts) == min(updates, len(batch))
    assert max(map(len, names)) - min(map(len, names)) <= 1


def test_no_rows_give_no_mini_batch():
    assert split_by_sample([], 4) == []


@given(st.lists(st.integers(1, 8192), min_size=1, max_size=60), st.integers(1, 8))
def test_rows_are_dealt_once_each_and_ranks_get_similar_loads(lengths, ranks):
    order = deal_rows(lengths, ranks)
    assert sorted(order) == list(range(len(lengths)))
    share, rest = divmod(len(lengths), ranks)
    sizes = [share + (rank < rest) for rank in range(ranks)]
    starts = [sum(sizes[:rank]) for rank in range(ranks)]
    loads = [
        sum(lengths[row] for row in order[start : start + size]) for start, size in zip(starts, sizes, strict=True)
    ]
    assert max(loads) - min(loads) <= max(lengths) * (1 + (rest > 0))


def test_rows_that_begin_alike_go_to_one_rank_where_it_has_room():
    keys = [f"{sample}_{session}_{turn}" for session in range(4) for sample in "abc" for turn in range(2)]
    lengths = [8 if key.endswith("0") else 3 for key in keys]
    families = [find_family(key) for key in keys]
    order = deal_rows(lengths, 2, families)
    assert sorted(order) == list(range(24))
    ranks = [{families[row] for row in part} for part in (order[:12], order[12:])]
    assert not ranks[0] & ranks[1]
    # Where a rank has room for three rows, a family of four is cut once.
    cut = deal_rows(lengths, 8, families)
    parts = [[families[row] for row in cut[at : at + 3]] for at in range(0, 24, 3)]
    assert sum(len(set(part)) for part in parts) <= 6 + 6


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 40))
def test_parts_are_cut_into_as_many_as_the_other_ranks_have(parts, count):
    rows = [*chain(*parts)]
    if count > len(rows):
        with pytest.raises(ConfigError, match="row_tokens"):
            split_parts(parts, count)
        return
    cut = split_parts(parts, count)
    assert len(cut) == max(count, len(parts))
    assert [*chain(*cut)] == rows
    assert all(cut)


REWARDS = {"a_0_0": 1.0, "a_0_1": 1.0, "a_1_0": 0.0, "b_0_0": 0.5}
ANSWERS = {"a_0_0": 1.0, "a_0_1": 1.0, "a_1_0": 0.0, "b_0_0": 0.0}
TAGS = [{"prompt_len": 10, "response_len": 3}] * 4


def test_rollouts_count_once_however_many_conversations_they_had_and_failed_ones_as_nought():
    counts = count_rows(REWARDS, ANSWERS, TAGS, expected=4)
    assert (counts["rollouts"], counts["failed"], counts["groups"], counts["conversations"]) == (4, 1, 2, 4)
    assert (counts["reward"], counts["accuracy"]) == (1.5 / 4, 1 / 4)
    assert (counts["prompt_tokens"], counts["reply_tokens"]) == (40, 12)


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
