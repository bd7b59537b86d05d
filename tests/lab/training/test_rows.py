from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rows import (
    Row,
    build_row,
    count_shared,
    micro_batches,
    pack,
    padding_share,
    rows_of,
    shared_share,
    trie_batches,
)
from bookwheel.types import Conversation, Message, Reply, TokenRecord


def said(prompt, reply):
    record = TokenRecord(
        prompt=tuple(prompt), reply=tuple(reply), logprobs=tuple(-0.1 * (i + 1) for i in range(len(reply)))
    )
    return Conversation(messages=(Message(role="user", content="?"),), reply=Reply(text="!", tokens=record))


def row(length, rollout="a", ids=None):
    ids = tuple(ids or range(length))
    return Row(ids=ids, trained=(False,) * (length - 1) + (True,), logprobs=(-1.0,), advantage=1.0, rollout=rollout)


def test_a_reading_becomes_one_row_a_conversation_with_one_advantage():
    rows = rows_of([said([1, 5, 5], [3, 4]), said([1, 6], [2]), said([1, 7], [8, 2])], 0.75, "r7")
    assert [r.ids for r in rows] == [(1, 5, 5, 3, 4), (1, 6, 2), (1, 7, 8, 2)]
    assert rows[0].trained == (False, False, False, True, True)
    assert {r.advantage for r in rows} == {0.75}
    assert {r.rollout for r in rows} == {"r7"}
    assert sum(r.tokens for r in rows) == 5


def test_a_last_conversation_without_tokens_takes_nothing_from_the_others():
    rows = rows_of([said([1, 5], [3]), said([1, 7], [])], 0.5, "r")
    assert [(r.ids, r.advantage) for r in rows] == [((1, 5, 3), 0.5)]


def test_turns_that_continue_each_other_are_one_row_and_the_tool_between_stays_untrained():
    (only,) = rows_of([said([1, 5], [3, 4]), said([1, 5, 3, 4, 9, 9], [6])], 1.0, "r")
    assert only.ids == (1, 5, 3, 4, 9, 9, 6)
    assert only.trained == (False, False, True, True, False, False, True)
    assert only.logprobs == (-0.1, -0.2, -0.1)


def test_turns_whose_ids_drifted_stay_apart():
    assert len(rows_of([said([1, 5], [3, 4]), said([1, 5, 3, 8, 9], [6])], 1.0, "r")) == 2


def test_a_model_without_exact_ids_cannot_be_trained():
    conversation = Conversation(messages=(), reply=Reply(text="x"))
    with pytest.raises(ConfigError, match="token ids"):
        rows_of([conversation], 1.0, "r")


LENGTHS = st.lists(st.integers(2, 400), min_size=1, max_size=80)


@given(LENGTHS, st.integers(50, 2000))
def test_micro_batches_hold_every_row_once_within_the_budget_and_hardly_pad(lengths, budget):
    rows = [row(length, rollout=str(i)) for i, length in enumerate(lengths)]
    groups = micro_batches(rows, budget)
    assert sorted(r.rollout for group in groups for r in group) == sorted(r.rollout for r in rows)
    assert padding_share(groups) < 0.1
    for group in groups:
        distinct = {r.ids for r in group}
        assert len(distinct) == 1 or len(distinct) * max(len(r.ids) for r in group) <= budget


def test_rows_with_the_same_ids_cost_once():
    rows = [row(10, rollout=str(i)) for i in range(50)] + [row(10, "other", ids=range(1, 11))]
    assert [len(group) for group in micro_batches(rows, 20)] == [51]
    assert [len(group) for group in micro_batches(rows, 10)] == [50, 1]


def test_a_given_reply_is_a_row_to_imitate():
    assert build_row((1, 2), (3, 4, 5), "r") == Row(
        ids=(1, 2, 3, 4, 5),
        trained=(False, False, True, True, True),
        logprobs=(0.0, 0.0, 0.0),
        advantage=1.0,
        rollout="r",
    )


def test_padding_is_counted_against_the_longest_row_of_each_group():
    assert padding_share([[row(10), row(5)], [row(5)]]) == pytest.approx(1 - 20 / 25)
    assert padding_share([]) == 0.0


# Few different ids, so that rows often begin alike, contain each other or are equal.
SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12)


def lettered_row(ids, rollout="r"):
    return Row(ids=ids, trained=(False,) * (len(ids) - 1) + (True,), logprobs=(-1.0,), advantage=1.0, rollout=rollout)


def prefixes(rows):
    return {ids[:end] for ids in rows for end in range(1, len(ids) + 1)}


@given(SEQUENCES)
def test_every_different_prefix_stands_in_the_pack_once(rows):
    packed = pack(rows)
    assert len(packed.ids) == len(packed.positions) == len(prefixes(rows))


@given(SEQUENCES)
def test_a_path_gives_back_the_row_and_its_positions(rows):
    packed = pack(rows)
    for ids, path in zip(rows, packed.paths, strict=True):
        assert tuple(packed.ids[place] for place in path) == ids
        assert tuple(packed.positions[place] for place in path) == tuple(range(len(ids)))


@given(SEQUENCES)
def test_rows_stand_together_exactly_as_far_as_they_begin_alike(rows):
    packed = pack(rows)
    for (one, path), (other, other_path) in itertools.combinations(zip(rows, packed.paths, strict=True), 2):
        assert count_shared(path, other_path) == count_shared(one, other)
        assert not set(path[count_shared(one, other) :]) & set(other_path)


@given(SEQUENCES)
def test_the_attention_calls_ask_once_for_every_token(rows):
    packed = pack(rows)
    asked = [
        place for call in packed.attention_calls() for one in call for place in packed.paths[one][packed.shared[one] :]
    ]
    assert sorted(asked) == list(range(len(packed.ids)))


@given(SEQUENCES)
def test_at_least_half_of_every_attention_call_is_no_padding(rows):
    packed = pack(rows)
    for call in packed.attention_calls():
        added = [len(packed.paths[one]) - packed.shared[one] for one in call]
        lengths = [len(packed.paths[one]) for one in call]
        filled = sum(a * b for a, b in zip(added, lengths, strict=True))
        assert 2 * filled >= len(call) * max(added) * max(lengths)
        assert len({packed.shared[one] > 0 for one in call}) == 1


@given(SEQUENCES)
def test_a_family_shares_its_beginning_and_at_least_half_of_every_row(rows):
    packed = pack(rows)
    families = packed.families()
    assert sorted(one for family, _ in families for one in family) == list(range(len(rows)))
    for family, common in families:
        assert len({rows[one][:common] for one in family}) == 1
        assert all(2 * common >= len(rows[one]) for one in family)


@given(SEQUENCES, st.integers(1, 60))
def test_micro_batches_hold_every_row_once_within_the_budget(rows, budget):
    given_rows = [lettered_row(ids, str(i)) for i, ids in enumerate(rows)]
    batches = trie_batches(given_rows, budget)
    assert sorted(one.rollout for batch in batches for one in batch) == sorted(one.rollout for one in given_rows)
    for batch in batches:
        different = {one.ids for one in batch}
        assert len(different) == 1 or len(prefixes(different)) <= budget


def test_a_cut_falls_between_tries_and_not_into_one():
    tries = [[lettered_row((first, *range(30), last)) for last in range(4)] for first in (1, 2, 3)]
    batches = trie_batches([one for rows in tries for one in rows], 90)
    assert [[one.ids[0] for one in batch] for batch in batches] == [[1] * 4 + [2] * 4, [3] * 4]


def test_a_better_cut_is_not_bought_with_a_small_micro_batch():
    lone, trie = lettered_row((0, 1)), [lettered_row((1, *range(30), last)) for last in range(60)]
    assert len(trie_batches([lone, *trie], 60)[0]) > 20


def test_packed_rows_with_the_same_ids_cost_once():
    rows = [lettered_row((1, 2, 3, 4), str(i)) for i in range(50)]
    assert len(trie_batches(rows, 4)) == 1
    assert shared_share([rows]) == 0.98


def test_nothing_is_shared_between_rows_that_begin_apart():
    assert shared_share([[lettered_row((1, 2)), lettered_row((2, 2))]]) == 0.0
    assert shared_share([]) == 0.0
