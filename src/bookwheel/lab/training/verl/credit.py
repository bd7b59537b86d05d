"""Credit, mini-batches and counts by sample, where the engine knows only rows. Nothing of tensors, nothing of verl.

verl stores each conversation as a row under the key `SAMPLE_SESSION_INDEX`. A session is one rollout of a sample:

    a_0_0  a_0_1  a_0_2    a read in two chunks and answered:   reward 1, advantage  0.5 on all three rows
    a_1_0  a_1_1           a read in one chunk and answered:    reward 0, advantage -0.5 on both rows
    b_0_0  b_0_1           the other session of b failed:       nothing to compare with, so no advantage

A mini-batch is a number of whole samples, so the number of optimizer steps depends on samples and never on how many
conversations they took. Its rows are dealt to the ranks evenly to within one row, so that none has to be made up.
`metrics.jsonl` gets the records that every run has, for the page, the model card and the curves.
"""

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from bookwheel.lab.training.advantages import Estimator, advantages
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.records import MetricsLog, load_records

_SMALLEST_GROUP: Final = 2
_FIGURES: Final = {
    "loss": "actor/loss",
    "entropy": "actor/entropy",
    "gradient": "actor/grad_norm",
    "kl": "actor/kl_loss",
    "clipped": "actor/pg_clipfrac",
    "shared": "actor/shared",
    "optimizer_steps": "actor/optimizer_steps",
    "learning_rate": "actor/lr",
}
"""Names in a record, and verl's."""
_CLOCK: Final = {"peak_share": "perf/mfu/actor", "memory_gb": "perf/max_memory_allocated_gb"}
_TIMING: Final = "timing_s/"
_EVICTED: Final = "training/filter_groups/evicted_samples"


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


def find_family(key: str) -> tuple[str, str]:
    """Return the sample of a row and which of its session's conversations it is: such rows may begin alike.

    >>> find_family("3f_1_0_2")
    ('3f_1', '2')
    """
    sample, _, conversation = key.rsplit("_", 2)
    return sample, conversation


def deal_rows(lengths: Sequence[int], ranks: int, families: Sequence[Hashable] = ()) -> list[int]:
    """Return an order of rows whose equal cuts give every rank a similar number of tokens.

    The engine gives the first ranks one row more where the rows do not divide evenly. Rows of one family stay together
    where a rank has room for them; without families, each row is its own.

    >>> deal_rows([5, 1, 4, 2, 3], 2)
    [0, 3, 1, 2, 4]
    >>> deal_rows([5, 5, 5, 5], 2, "abab")
    [0, 2, 1, 3]
    """
    share, rest = divmod(len(lengths), ranks)
    room = [share + (rank < rest) for rank in range(ranks)]
    dealt: list[list[int]] = [[] for _ in range(ranks)]
    load = [0] * ranks
    members: dict[Hashable, list[int]] = {}
    for row in range(len(lengths)):
        members.setdefault(families[row] if families else row, []).append(row)
    for family in sorted(members.values(), key=lambda rows: (-sum(lengths[row] for row in rows), rows)):
        left = family
        while left:
            rank = min((rank for rank in range(ranks) if len(dealt[rank]) < room[rank]), key=lambda rank: load[rank])
            fits = room[rank] - len(dealt[rank])
            taken, left = left[:fits], left[fits:]
            dealt[rank] += taken
            load[rank] += sum(lengths[row] for row in taken)
    return [row for rows in dealt for row in rows]


def split_parts(parts: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Return the parts in so many, by cutting the longest: all ranks go through the model equally often.

    >>> split_parts([[4, 1, 0], [2]], 3)
    [[4], [1, 0], [2]]
    """
    split = [list(part) for part in parts]
    while len(split) < count:
        place = max(range(len(split)), key=lambda part: len(split[part]))
        part = split[place]
        if len(part) == 1:
            raise ConfigError(f"a rank has fewer than {count} conversations: raise train.policy.row_tokens")
        split[place : place + 1] = [part[: len(part) // 2], part[len(part) // 2 :]]
    return split


def count_rows(
    rewards: Mapping[str, float], answers: Mapping[str, float], tags: Sequence[Mapping[str, Any]], *, expected: int
) -> dict[str, Any]:
    """Return a record's counts of a step's rows, of which each has a tag; `expected` rollouts were begun.

    `reward` and `accuracy` are means over all rollouts; a failed one counts as 0.
    """
    by_reward, by_answer = session_rewards(rewards), session_rewards(answers)
    sessions = sum(map(len, by_reward.values()))
    rollouts = max(expected, sessions)
    return {
        "reward": sum(sum(one.values()) for one in by_reward.values()) / rollouts,
        "accuracy": sum(sum(one.values()) for one in by_answer.values()) / rollouts,
        "rollouts": rollouts,
        "failed": rollouts - sessions,
        "groups": len(by_reward),
        "conversations": len(rewards),
        "prompt_tokens": sum(int(tag["prompt_len"]) for tag in tags),
        "reply_tokens": sum(int(tag["response_len"]) for tag in tags),
    }


class RunRecords:
    """Writes the records of a run."""

    def __init__(self, folder: Path) -> None:
        self.counts: dict[str, Any] = {}
        """Of the present step."""
        self._folder = folder
        self._log = MetricsLog(folder)
        # A resumed run goes on in its file.
        if not self._log.exists():
            self._log.truncate(0)

    def keep_before(self, step: int) -> None:
        """Drop the records of this step and later ones."""
        self._log.truncate(sum(record["step"] < step for record in load_records(self._folder)))

    def add_step(self, step: int, figures: Mapping[str, Any], seconds: float) -> None:
        """Write a step's record from its counts and verl's figures."""
        named = {name: float(figures[key]) for name, key in _FIGURES.items() if key in figures}
        record = {"kind": "step", "step": step, **self.counts, **named, "dropped": int(figures.get(_EVICTED, 0))}
        if "gradient" not in named:
            record["skipped"] = True
        clock: dict[str, Any] = {name: float(figures[key]) for name, key in _CLOCK.items() if key in figures}
        clock["phases"] = {
            key.removeprefix(_TIMING): round(float(value), 3)
            for key, value in figures.items()
            if key.startswith(_TIMING)
        }
        if seconds > 0 and self.counts:
            read = self.counts["prompt_tokens"] + self.counts["reply_tokens"]
            clock["tokens_per_second"] = round(read / seconds, 1)
        self._log.append(record, time.perf_counter() - seconds, clock)

    def add_evaluation(self, step: int, answers: Sequence[float], samples: int, seconds: float) -> None:
        """Write an evaluation's record; samples without an answer failed, and count as wrong."""
        accuracy, failed = sum(answers) / samples, samples - len(answers)
        record = {"kind": "evaluation", "step": step, "accuracy": accuracy, "n": samples, "failed": failed}
        self._log.append(record, time.perf_counter() - seconds)
