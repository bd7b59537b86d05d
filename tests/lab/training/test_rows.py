from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rows import Row, build_row, micro_batches, padding_share, rows_of
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
