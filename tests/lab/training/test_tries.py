from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.training.rows import Row
from bookwheel.lab.training.tries import count_shared, pack, shared_share, trie_batches

# Few different ids, so that rows often begin alike, contain each other or are equal.
SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12)


def row(ids, rollout="r"):
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
    given_rows = [row(ids, str(i)) for i, ids in enumerate(rows)]
    batches = trie_batches(given_rows, budget)
    assert sorted(one.rollout for batch in batches for one in batch) == sorted(one.rollout for one in given_rows)
    for batch in batches:
        different = {one.ids for one in batch}
        assert len(different) == 1 or len(prefixes(different)) <= budget


def test_a_cut_falls_between_tries_and_not_into_one():
    tries = [[row((first, *range(30), last)) for last in range(4)] for first in (1, 2, 3)]
    batches = trie_batches([one for rows in tries for one in rows], 90)
    assert [[one.ids[0] for one in batch] for batch in batches] == [[1] * 4 + [2] * 4, [3] * 4]


def test_a_better_cut_is_not_bought_with_a_small_micro_batch():
    lone, trie = row((0, 1)), [row((1, *range(30), last)) for last in range(60)]
    assert len(trie_batches([lone, *trie], 60)[0]) > 20


def test_rows_with_the_same_ids_cost_once():
    rows = [row((1, 2, 3, 4), str(i)) for i in range(50)]
    assert len(trie_batches(rows, 4)) == 1
    assert shared_share([rows]) == 0.98


def test_nothing_is_shared_between_rows_that_begin_apart():
    assert shared_share([[row((1, 2)), row((2, 2))]]) == 0.0
    assert shared_share([]) == 0.0
