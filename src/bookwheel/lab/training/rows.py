"""From conversations to rows, and from rows to micro-batches. Purely token ids: nothing of text, nothing of torch.

A reading of two chunks by rollout 7, advantage 0.75, becomes three rows:

    ids      1 5 5 5 9 | 3 4 2        the ids sent, then the ids sampled: never re-tokenised text
    trained  . . . . . | x x x        only what the policy sampled
    Row 2 the second update, row 3 the answer: the same advantage, the same rollout.

A conversation whose prompt begins with all of the one before it (tool use in several turns) is not a row of its own:
it makes that row longer, and the tool's tokens between the two replies stay untrained. Because the loss is a mean over
sampled tokens, either way of cutting gives the same loss.

What rows have in common at their beginning is read once. In sorted order every row begins like the one before it, for
some tokens, and adds the rest:

    row 1   1 2 3 4 5        shares 0, adds 1 2 3 4 5
    row 2   1 2 3 6          shares 3, adds 6
    row 3   1 2 7 8          shares 2, adds 7 8

    packed    1 2 3 4 5 6 7 8
    position  0 1 2 3 4 3 2 3
    paths     row 1 stands at 0 1 2 3 4, row 2 at 0 1 2 5, row 3 at 0 1 6 7

A token sees its own row up to itself, so every row's states are those it has alone. The packed length is the number of
different prefixes: the nodes of the rows' trie. The loss sees none of this; it gets the states of each row by its path.

>>> packed = pack([(1, 2, 3, 4, 5), (1, 2, 3, 6), (1, 2, 7, 8)])
>>> packed.ids, packed.paths[2]
((1, 2, 3, 4, 5, 6, 7, 8), (0, 1, 6, 7))
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Final

from bookwheel.lab.training.errors import ConfigError
from bookwheel.types import Conversation

_MOST_PADDING: Final = 0.1
# Of the queries and keys of one attention call, at least this share is not padding.
_LEAST_FILLED: Final = 0.5
# Of every row of a family.
_LEAST_SHARED: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One conversation as the policy is trained on it."""

    ids: tuple[int, ...]
    trained: tuple[bool, ...]
    """True for ids that the policy sampled."""
    logprobs: tuple[float, ...]
    """The sampler's, one for each trained id."""
    advantage: float
    """The rollout's, for every trained id."""
    credits: tuple[float, ...] = ()
    """Beside it, one for each trained id; empty where no token has credit of its own."""
    rollout: str
    """The id of its rollout."""

    @property
    def tokens(self) -> int:
        """The number of trained ids; they make up the loss's denominator."""
        return len(self.logprobs)

    @property
    def weights(self) -> tuple[float, ...]:
        """What each trained id is reinforced by."""
        return tuple(self.advantage + one for one in self.credits) or (self.advantage,) * self.tokens


def build_row(prompt: tuple[int, ...], reply: tuple[int, ...], rollout: str = "") -> Row:
    """Return a row whose reply was given, not sampled: to imitate it, or to score it."""
    return Row(
        ids=prompt + reply,
        trained=(False,) * len(prompt) + (True,) * len(reply),
        logprobs=(0.0,) * len(reply),
        advantage=1.0,
        rollout=rollout,
    )


def rows_of(
    conversations: Iterable[Conversation], advantage: float, rollout: str, own: Iterable[tuple[float, ...]] = ()
) -> list[Row]:
    """Return the rows of one rollout, in order; conversations without a sampled token give none.

    `own` are the credits of each conversation's sampled tokens.
    """
    rows: list[Row] = []
    for conversation, more in zip(conversations, chain(own, repeat(())), strict=False):
        record = conversation.reply.tokens
        if record is None:
            raise ConfigError("training needs exact token ids and log-probabilities, and this model gave none")
        prior = rows[-1].ids if rows else ()
        longer = bool(prior) and record.prompt[: len(prior)] == prior
        start = rows.pop() if longer else Row(ids=(), trained=(), logprobs=(), advantage=advantage, rollout=rollout)
        between = record.prompt[len(start.ids) :]
        rows.append(
            Row(
                ids=start.ids + between + record.reply,
                trained=start.trained + (False,) * len(between) + (True,) * len(record.reply),
                logprobs=start.logprobs + record.logprobs,
                advantage=advantage,
                credits=start.credits + more,
                rollout=rollout,
            )
        )
    return [row for row in rows if row.tokens]


def micro_batches(rows: Sequence[Row], budget: int) -> list[list[Row]]:
    """Group rows by length; a group has at most `budget` padded tokens and under a tenth padding.

    Rows with the same ids stand together and cost once: the policy reads them once. A row over the budget is alone.
    """
    groups: list[list[Row]] = []
    longest = distinct = 0
    for row in sorted(rows, key=lambda row: (-len(row.ids), row.ids, row.trained, row.rollout)):
        same = bool(groups) and groups[-1][-1].ids == row.ids and groups[-1][-1].trained == row.trained
        fits = (distinct + 1) * longest <= budget and len(row.ids) > (1 - _MOST_PADDING) * longest
        if not groups or not (same or fits):
            groups.append([])
            longest, distinct = len(row.ids), 0
        groups[-1].append(row)
        distinct += not same
    return groups


def padding_share(groups: Sequence[Sequence[Row]]) -> float:
    """Return how much of what the policy reads is padding."""
    read = sum(len(row.ids) for group in groups for row in group)
    padded = sum(len(group) * max(len(row.ids) for row in group) for group in groups)
    return 1 - read / padded if padded else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedRows:
    """Rows as one sequence in which nothing stands twice."""

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    """Of each packed token in its row."""
    paths: tuple[tuple[int, ...], ...]
    """For each row, in the order given, where its tokens stand in the sequence."""
    shared: tuple[int, ...]
    """For each row, how many of its first tokens an earlier one brought."""

    def attention_calls(self) -> list[list[int]]:
        """Return the rows that attend in one padded call: they share or begin, and are alike in size."""
        calls: list[list[int]] = []
        filled = longest = 0
        added = [len(path) - shared for path, shared in zip(self.paths, self.shared, strict=True)]
        adding = [row for row, count in enumerate(added) if count]
        for row in sorted(adding, key=lambda row: (self.shared[row] > 0, -added[row], -len(self.paths[row]))):
            call, length = calls[-1] if calls else [], len(self.paths[row])
            filled, longest = filled + added[row] * length, max(longest, length)
            is_alike = bool(call) and (self.shared[row] > 0) == (self.shared[call[0]] > 0)
            if is_alike and filled >= _LEAST_FILLED * (len(call) + 1) * added[call[0]] * longest:
                call.append(row)
            else:
                calls.append([row])
                filled, longest = added[row] * length, length
        return calls

    def families(self) -> list[tuple[list[int], int]]:
        """Return rows that share at least half of their tokens, and how many they share; a lone row shares all."""
        families: list[tuple[list[int], int]] = []
        longest = 0
        for row in sorted(range(len(self.paths)), key=lambda row: self.paths[row]):
            length = len(self.paths[row])
            rows, common = families[-1] if families else ([], 0)
            common, longest = min(common, self.shared[row]), max(longest, length)
            if rows and common >= _LEAST_SHARED * longest:
                rows.append(row)
                families[-1] = (rows, common)
            else:
                families.append(([row], length))
                longest = length
        return families


def pack(rows: Sequence[tuple[int, ...]]) -> PackedRows:
    """Return the rows packed; equal rows have equal paths."""
    ids: list[int] = []
    positions: list[int] = []
    paths: dict[tuple[int, ...], tuple[int, ...]] = {}
    shared = [0] * len(rows)
    before: tuple[int, ...] = ()
    path: tuple[int, ...] = ()
    for index in sorted(range(len(rows)), key=lambda index: rows[index]):
        row = rows[index]
        shared[index] = count_shared(before, row)
        path = (*path[: shared[index]], *range(len(ids), len(ids) + len(row) - shared[index]))
        ids += row[shared[index] :]
        positions += range(shared[index], len(row))
        before, paths[row] = row, path
    return PackedRows(
        ids=tuple(ids), positions=tuple(positions), paths=tuple(paths[row] for row in rows), shared=tuple(shared)
    )


def count_shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return how many first tokens the two have in common."""
    return bisect_left(range(1, min(len(one), len(other)) + 1), True, key=lambda n: one[:n] != other[:n])


def trie_batches(rows: Sequence[Row], budget: int) -> list[list[Row]]:
    """Cut the rows into micro-batches of at most `budget` packed tokens, where they share least.

    The cut falls in the second half of what fits, so no micro-batch is small for the sake of a good cut. A row over
    the budget is alone.
    """
    ordered = sorted(rows, key=lambda row: (row.ids, row.trained, row.rollout))
    shared = [0, *(count_shared(one.ids, other.ids) for one, other in pairwise(ordered))]
    batches: list[list[Row]] = []
    start = 0
    while start < len(ordered):
        end, tokens, half = start, 0, start + 1
        while end < len(ordered):
            added = len(ordered[end].ids) - (shared[end] if end > start else 0)
            if end > start and tokens + added > budget:
                end = min(range(min(half, end), end + 1), key=lambda cut: (shared[cut], -cut))
                break
            tokens += added
            end += 1
            half = end + 1 if tokens < budget / 2 else half
        batches.append(ordered[start:end])
        start = end
    return batches


def shared_share(batches: Sequence[Sequence[Row]]) -> float:
    """Return how much of the rows' tokens is not read, because another row of the micro-batch brings it."""
    whole = sum(len(row.ids) for batch in batches for row in batch)
    read = sum(len(pack([row.ids for row in batch]).ids) for batch in batches)
    return 1 - read / whole if whole else 0.0
