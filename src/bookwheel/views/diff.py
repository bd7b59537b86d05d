r"""The difference between two memories: which lines were kept, reworded, new or gone. Pure.

Every view of a reading shows this difference: the HTML, the terminal, MCP and, through HTTP, the page.

>>> [(change.kind.value, change.text) for change in diff_memories("signed by ada", "Signed by Ada\nin May")]
[('reworded', 'Signed by Ada'), ('new', 'in May')]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.chinese_numbers import FINANCIAL_SIGNS

_SCRIPTS_WITHOUT_BLANKS: Final = "\u3040-\u30ff\u3400-\u9fff\U00020000-\U000323af"
# A number is one piece: 7,850 did not become 8,120 in two places, 十八 grew no 二, 伍万陆仟 no 玖. So is twenty-four.
_PIECE: Final = compile_late(
    rf"(?<!\w)[-−]\d+(?:[.,:]\d+)*|\d+(?:[.,:]\d+)+|[〇零一二两三四五六七八九十百千万亿{FINANCIAL_SIGNS}]{{2,}}|[{_SCRIPTS_WITHOUT_BLANKS}]|[^\W{_SCRIPTS_WITHOUT_BLANKS}]+(?:[-.@'’][^\W{_SCRIPTS_WITHOUT_BLANKS}]+)*|\s+|[^\w\s]"
)
# Two lines that share fewer of their words count as one gone and one new line.
_LEAST_SIMILARITY: Final = 0.45
# Pairs of lines compared for rewording: 200 lines rewritten at once. More would take noticeable time.
_MOST_PAIRS: Final = 40_000


class ChangeKind(StrEnum):
    """The fate of a line, or of some words of a reworded line."""

    KEPT = "kept"
    NEW = "new"
    GONE = "gone"
    REWORDED = "reworded"


SIGNS: Final = {ChangeKind.KEPT: " ", ChangeKind.NEW: "+", ChangeKind.GONE: "-", ChangeKind.REWORDED: "~"}
"""What stands before a line of each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordRun:
    """Neighbouring words and blanks of a reworded line that are all kept, all new or all gone."""

    kind: ChangeKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """One line of the new memory, or one that is gone from the old memory."""

    kind: ChangeKind
    text: str
    """As in the new memory; where the line is gone, as in the old one."""
    words: tuple[WordRun, ...] = ()
    """Of a reworded line only."""

    @property
    def old_text(self) -> str:
        return "".join(run.text for run in self.words if run.kind is not ChangeKind.NEW) if self.words else self.text


def diff_memories(before: str, after: str) -> tuple[LineChange, ...]:
    """Compare two memories line by line. Blank lines are left out.

    The kept, reworded and new lines are the new memory in its order; the kept, reworded and gone lines are the old one.
    """
    old, new = split_lines(before), split_lines(after)
    changes: list[LineChange] = []
    old_start = new_start = 0
    for old_end, new_end in (*_common(old, new), (len(old), len(new))):
        changes += _diff_block(old[old_start:old_end], new[new_start:new_end])
        changes += (LineChange(kind=ChangeKind.KEPT, text=line) for line in new[new_end : new_end + 1])
        old_start, new_start = old_end + 1, new_end + 1
    return tuple(changes)


def find_changes(before: str, after: str) -> tuple[LineChange, ...]:
    """Return the lines that differ."""
    return tuple(one for one in diff_memories(before, after) if one.kind is not ChangeKind.KEPT)


def format_line(change: LineChange) -> str:
    """Return a line behind its sign; of a reworded one the words are marked."""
    return f"{SIGNS[change.kind]} {mark_words(change)}"


def changed_share(before: str, after: str) -> float:
    """Return how much of a memory changed: 0 where nothing did, 1 where no word is left."""
    if before == after:
        return 0.0
    # Counted, not ordered: a timeline of 700 steps asks for this 700 times.
    old, new = (Counter(piece for piece in _PIECE.findall(text) if not piece.isspace()) for text in (before, after))
    pieces = old.total() + new.total()
    return 1 - 2 * (old & new).total() / pieces if pieces else 0.0


def split_lines(text: str) -> list[str]:
    """Return the lines of a memory that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


def mark_words(
    change: LineChange, gone: str = "[-{}-]", new: str = "{{+{}+}}", escape: Callable[[str], str] = str
) -> str:
    """Return a reworded line with marks of its words, as `git diff --word-diff` writes it: `[-gone-]` and `{+new+}`."""
    marks = {ChangeKind.GONE: gone, ChangeKind.NEW: new}
    words = "".join(marks.get(run.kind, "{}").format(escape(run.text)) for run in change.words)
    return words or escape(change.text)


def _diff_block(old: Sequence[str], new: Sequence[str]) -> Iterator[LineChange]:
    """Compare lines between two kept ones."""
    old_start = new_start = 0
    for old_end, new_end in (*_similar(old, new), (len(old), len(new))):
        yield from (LineChange(kind=ChangeKind.GONE, text=line) for line in old[old_start:old_end])
        yield from (LineChange(kind=ChangeKind.NEW, text=line) for line in new[new_start:new_end])
        if new_end < len(new):
            words = tuple(_diff_words(old[old_end], new[new_end]))
            yield LineChange(kind=ChangeKind.REWORDED, text=new[new_end], words=words)
        old_start, new_start = old_end + 1, new_end + 1


def _diff_words(before: str, after: str) -> Iterator[WordRun]:
    """Yield the runs of a reworded line. Words that were replaced one beside the other are replaced together."""
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    gone = added = kept = ""
    old_start = new_start = 0
    for old_end, new_end in (*_common(old, new), (len(old), len(new))):
        next_gone, next_added = "".join(old[old_start:old_end]), "".join(new[new_start:new_end])
        if gone and added and kept.isspace() and next_gone and next_added:
            gone, added, kept = gone + kept + next_gone, added + kept + next_added, ""
        elif next_gone or next_added:
            yield from _list_runs(gone, added, kept)
            gone, added, kept = next_gone, next_added, ""
        kept += "".join(new[new_end : new_end + 1])
        old_start, new_start = old_end + 1, new_end + 1
    yield from _list_runs(gone, added, kept)


def _list_runs(gone: str, added: str, kept: str) -> list[WordRun]:
    runs = ((ChangeKind.GONE, gone), (ChangeKind.NEW, added), (ChangeKind.KEPT, kept))
    return [WordRun(kind=kind, text=text) for kind, text in runs if text]


def _similar(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pair each line with the one that it was reworded from. The pairs keep both orders."""
    if len(old) * len(new) > _MOST_PAIRS:
        return
    new_words = [_words(line) for line in new]
    alike = [[0.0] * len(new) for _ in old]
    for i, words in enumerate(map(_words, old)):
        for j, others in enumerate(new_words):
            share = 2 * len(words & others) / (len(words) + len(others)) if words and others else 0.0
            alike[i][j] = share if share >= _LEAST_SIMILARITY else 0.0
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + alike[i][j])
    i = j = 0
    while i < len(old) and j < len(new):
        if alike[i][j] and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1


def _words(line: str) -> set[str]:
    # Without case: a line that only became upper case was reworded.
    return {piece.casefold() for piece in _PIECE.findall(line) if any(map(str.isalnum, piece))}


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence in both. Elements are matched as early as possible."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    return [*((at, at) for at in range(head)), *((head + i, head + j) for i, j in _longest(old[head:], new[head:]))]


def _longest(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Find a longest common subsequence with one bit for each old element (Hyyrö 2004).

    A row of bits is one whole number, so that lines of thousands of words take milliseconds.
    """
    places: dict[str, int] = {}
    for at, element in enumerate(old):
        places[element] = places.get(element, 0) | 1 << at
    row = full = (1 << len(old)) - 1
    rows = [row]
    for element in new:
        hits = row & places.get(element, 0)
        row = (row + hits | row - hits) & full
        rows.append(row)
    # Walk back. The bit of an old element is 0 where that element makes the common subsequence longer.
    i, j = len(old), len(new)
    pairs: list[tuple[int, int]] = []
    while i and j:
        if rows[j] >> i - 1 & 1:
            i -= 1
        elif not rows[j - 1] >> i - 1 & 1:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]
