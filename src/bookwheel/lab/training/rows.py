"""From conversations to rows, and from rows to micro-batches. Purely token ids: nothing of text, nothing of torch.

A reading of two chunks by rollout 7, advantage 0.75, becomes three rows:

    ids      1 5 5 5 9 | 3 4 2        the ids sent, then the ids sampled: never re-tokenised text
    trained  . . . . . | x x x        only what the policy sampled
    Row 2 the second update, row 3 the answer: the same advantage, the same rollout.

A conversation whose prompt begins with all of the one before it (tool use in several turns) is not a row of its own:
it makes that row longer, and the tool's tokens between the two replies stay untrained. Because the loss is a mean over
sampled tokens, either way of cutting gives the same loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.lab.training.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.types import Conversation

_MOST_PADDING: Final = 0.1


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
    rollout: str
    """The id of its rollout."""

    @property
    def tokens(self) -> int:
        """The number of trained ids; they make up the loss's denominator."""
        return len(self.logprobs)


def build_row(prompt: tuple[int, ...], reply: tuple[int, ...], rollout: str = "") -> Row:
    """Return a row whose reply was given, not sampled: to imitate it, or to score it."""
    return Row(
        ids=prompt + reply,
        trained=(False,) * len(prompt) + (True,) * len(reply),
        logprobs=(0.0,) * len(reply),
        advantage=1.0,
        rollout=rollout,
    )


def rows_of(conversations: Iterable[Conversation], advantage: float, rollout: str) -> list[Row]:
    """Return the rows of one rollout, in order; conversations without a sampled token give none."""
    rows: list[Row] = []
    for conversation in conversations:
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
