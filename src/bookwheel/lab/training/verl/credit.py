"""Credit and mini-batches by sample, where the engine knows only rows. Nothing of tensors, nothing of verl.

verl stores each conversation as a row under the key `SAMPLE_SESSION_INDEX`. A session is one rollout of a sample:

    a_0_0  a_0_1  a_0_2    a read in two chunks and answered:   reward 1, advantage  0.5 on all three rows
    a_1_0  a_1_1           a read in one chunk and answered:    reward 0, advantage -0.5 on both rows
    b_0_0  b_0_1           the other session of b failed:       nothing to compare with, so no advantage

A mini-batch is a number of whole samples, so the number of optimizer steps depends on samples and never on how many
conversations they took. Its rows are dealt to the ranks evenly to within one row, so that none has to be made up.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from bookwheel.lab.training.advantages import advantages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bookwheel.lab.training.advantages import Estimator

_SMALLEST_GROUP = 2


def parse_key(key: str) -> tuple[str, str]:
    """Return the sample and the session of a row.

    >>> parse_key("3f_1_0_2")
    ('3f_1', '0')
    """
    sample, session, _ = key.rsplit("_", 2)
    return sample, session


def session_rewards(rewards: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the rewards by sample and session, from the rewards of rows. All rows of a session have the same."""
    samples: dict[str, dict[str, float]] = {}
    for key, reward in rewards.items():
        sample, session = parse_key(key)
        samples.setdefault(sample, {})[session] = reward
    return samples


def row_advantages(rewards: Mapping[str, float], estimator: Estimator) -> dict[str, float]:
    """Return the advantage of each row, from the rewards of rows. Rows of a session without a rival have none.

    >>> from bookwheel.lab.training.advantages import Estimator
    >>> row_advantages({"a_0_0": 1.0, "a_0_1": 1.0, "a_1_0": 0.0, "b_0_0": 1.0}, Estimator.MEAN)
    {'a_0_0': 0.5, 'a_0_1': 0.5, 'a_1_0': -0.5}
    """
    credit = {
        (sample, session): advantage
        for sample, sessions in session_rewards(rewards).items()
        if len(sessions) >= _SMALLEST_GROUP
        for session, advantage in zip(sessions, advantages(list(sessions.values()), estimator), strict=True)
    }
    return {key: credit[parse_key(key)] for key in rewards if parse_key(key) in credit}


def split_by_sample(keys: Iterable[str], parts: int) -> list[list[str]]:
    """Return the rows in `parts` mini-batches of whole samples, as equal in samples as can be.

    >>> split_by_sample(["a_0_0", "b_0_0", "a_1_0", "c_0_0"], 2)
    [['a_0_0', 'a_1_0', 'b_0_0'], ['c_0_0']]
    """
    samples: dict[str, list[str]] = {}
    for key in keys:
        samples.setdefault(parse_key(key)[0], []).append(key)
    # By name, which is random: in the order of arrival, short readings would come first.
    names = sorted(samples)
    count = min(parts, len(names))
    bounds = [-(-len(names) * part // count) for part in range(count + 1)] if count else []
    return [[key for name in names[start:end] for key in samples[name]] for start, end in pairwise(bounds)]


def deal_rows(lengths: Sequence[int], ranks: int) -> list[int]:
    """Return an order of rows whose equal cuts give every rank a similar number of tokens.

    The engine gives the first ranks one row more where the rows do not divide evenly.

    >>> deal_rows([5, 1, 4, 2, 3], 2)
    [0, 3, 1, 2, 4]
    """
    share, rest = divmod(len(lengths), ranks)
    room = [share + (rank < rest) for rank in range(ranks)]
    dealt: list[list[int]] = [[] for _ in range(ranks)]
    load = [0] * ranks
    for row in sorted(range(len(lengths)), key=lambda row: (-lengths[row], row)):
        rank = min((rank for rank in range(ranks) if len(dealt[rank]) < room[rank]), key=lambda rank: load[rank])
        dealt[rank].append(row)
        load[rank] += lengths[row]
    return [row for rows in dealt for row in rows]
