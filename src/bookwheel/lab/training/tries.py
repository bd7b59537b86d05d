"""Tries: what rows have in common at their beginning is read once. Purely token ids: nothing of text, nothing of torch.

In sorted order every row begins like the one before it, for some tokens, and adds the rest:

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

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.training.rows import Row

# Of the queries and keys of one attention call, at least this share is not padding.
_LEAST_FILLED: Final = 0.5
# Of every row of a family.
_LEAST_SHARED: Final = 0.5


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
        adding = [row for row in range(len(self.paths)) if self._added(row)]
        for row in sorted(adding, key=lambda row: (self.shared[row] > 0, -self._added(row), -len(self.paths[row]))):
            call, added, length = calls[-1] if calls else [], self._added(row), len(self.paths[row])
            filled, longest = filled + added * length, max(longest, length)
            is_alike = bool(call) and (self.shared[row] > 0) == (self.shared[call[0]] > 0)
            if is_alike and filled >= _LEAST_FILLED * (len(call) + 1) * self._added(call[0]) * longest:
                call.append(row)
            else:
                calls.append([row])
                filled, longest = added * length, length
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

    def _added(self, row: int) -> int:
        return len(self.paths[row]) - self.shared[row]


def pack(rows: Sequence[tuple[int, ...]]) -> PackedRows:
    """Return the rows packed; equal rows have equal paths."""
    ids: list[int] = []
    positions: list[int] = []
    paths: dict[tuple[int, ...], tuple[int, ...]] = {}
    shared: dict[int, int] = {}
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
        ids=tuple(ids),
        positions=tuple(positions),
        paths=tuple(paths[row] for row in rows),
        shared=tuple(shared[index] for index in range(len(rows))),
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
