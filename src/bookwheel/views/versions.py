r"""The difference between two versions of a document: which of its parts are new, gone, reworded or moved. Pure.

Parts are those of `text.structure`: paragraphs, clauses, items, rows, turns. Blanks and broken lines say nothing.

>>> old, new = "## Rent\n\nAda pays 4 crowns.\n", "## Rent\n\nAda pays 5 crowns.\n"
>>> [(change.kind.value, change.words) for change in compare_texts(old, new)]
[('reworded', 'Ada pays [-4-]{+5+} crowns.')]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bookwheel.errors import InputError
from bookwheel.text.structure import split_parts
from bookwheel.views.diff import ChangeKind, diff_memories, mark_words

# Parts between the common beginning and the common end: the table of the comparison grows with their square.
_MOST_PARTS: Final = 20_000
# Characters of a part that may only have moved; shorter ones ("Agreed.") are often there twice.
_SHORTEST_MOVED: Final = 20
_NUMBER: Final = re.compile(
    r"^(?:(?:§\s*)?\d{1,3}(?:\.\d{1,3})*[.)、]?|第[一二三四五六七八九十百\d]+[条款章节]|[IVXLC]+\.)\s+"
)


class TextChangeKind(StrEnum):
    """What became of a part."""

    ADDED = "added"
    REMOVED = "removed"
    REWORDED = "reworded"
    MOVED = "moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionPart:
    """A part of one version."""

    start: int
    end: int
    text: str
    heading: str
    is_title: bool = False
    """A heading, without its number: that a section is numbered anew is no change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChange:
    """A part that is not in both versions as it is."""

    kind: TextChangeKind
    old: VersionPart | None
    new: VersionPart | None
    words: str = ""
    """Of a reworded part: `[-gone-]` and `{+new+}` words."""

    @property
    def heading(self) -> str:
        """The section that it stands in: of the new version, if it is there."""
        passage = self.new or self.old
        return passage.heading if passage else ""


def compare_texts(old: str, new: str) -> list[TextChange]:
    """Return the changes from one version to the next, in the new one's order. Raise InputError for too many parts."""
    before, after = _list_passages(old), _list_passages(new)
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at].text != after[at].text), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if before[-1 - at].text != after[-1 - at].text), rest)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(before), len(after)) > _MOST_PARTS:
        raise InputError(
            f"the versions differ over {max(len(before), len(after)):,} paragraphs, and at most {_MOST_PARTS:,} are "
            f"compared: compare them chapter by chapter"
        )
    return _drop_titles(_mark_moved(list(_align(before, after))))


def _list_passages(text: str) -> list[VersionPart]:
    """Return the parts and the headings of a text in their order, each on one line."""
    spans: dict[tuple[int, int], tuple[str, bool]] = {}
    for part in split_parts(text):
        titles = _list_titles(text, *part.heading) if part.heading else {}
        heading = " › ".join(titles.values())
        for span in titles:
            spans.setdefault(span, (heading, True))
        if part.lead:
            spans.setdefault(part.lead, (heading, False))
        spans[part.start, part.end] = (heading, False)
    passages = []
    for (start, end), (heading, is_title) in sorted(spans.items()):
        line = " ".join(text[start:end].split())
        if is_title:
            line = _NUMBER.sub("", line.strip("#*= ")) or line
        if line:
            passages.append(VersionPart(start=start, end=end, text=line, heading=heading, is_title=is_title))
    return passages


def _list_titles(text: str, start: int, end: int) -> dict[tuple[int, int], str]:
    """Return the lines of a heading, which may have one below it, with their places."""
    found = {}
    for match in re.finditer(r"[^\n]*\S[^\n]*", text[start:end]):
        found[start + match.start(), start + match.end()] = " ".join(match[0].split()).strip("#*= ")
    return found


def _align(before: Sequence[VersionPart], after: Sequence[VersionPart]) -> Iterator[TextChange]:
    old, new = iter(before), iter(after)
    for change in diff_memories(*("\n".join(one.text for one in passages) for passages in (before, after))):
        if change.kind is ChangeKind.NEW:
            yield TextChange(kind=TextChangeKind.ADDED, old=None, new=next(new))
        elif change.kind is ChangeKind.GONE:
            yield TextChange(kind=TextChangeKind.REMOVED, old=next(old), new=None)
        else:
            was, is_ = next(old), next(new)
            if change.kind is ChangeKind.REWORDED:
                yield TextChange(kind=TextChangeKind.REWORDED, old=was, new=is_, words=mark_words(change))


def _mark_moved(changes: list[TextChange]) -> list[TextChange]:
    """Join a removed part and an added one of the same words, wherever they stand."""
    removed: dict[str, list[VersionPart]] = {}
    for change in changes:
        is_gone = change.kind is TextChangeKind.REMOVED
        if is_gone and (old := change.old) and (old.is_title or len(old.text) >= _SHORTEST_MOVED):
            removed.setdefault(old.text, []).append(old)
    gone: Counter[VersionPart] = Counter()
    joined: list[TextChange] = []
    for change in changes:
        if change.kind is TextChangeKind.ADDED and change.new and (there := removed.get(change.new.text)):
            old = there.pop(0)
            gone[old] += 1
            # What stands below a heading tells by itself that it has moved.
            joined += [] if old.is_title else [TextChange(kind=TextChangeKind.MOVED, old=old, new=change.new)]
        else:
            joined.append(change)
    return [one for one in joined if not (one.kind is TextChangeKind.REMOVED and one.old and gone[one.old])]


def _drop_titles(changes: Sequence[TextChange]) -> list[TextChange]:
    """Leave out the headings whose section was added or removed with them: what stands below names them."""
    told = {(change.kind, change.heading) for change in changes if not _is_title(change)}
    return [one for one in changes if not (_is_title(one) and (one.kind, one.heading) in told)]


def _is_title(change: TextChange) -> bool:
    part = change.new or change.old
    return part is not None and part.is_title and change.kind in {TextChangeKind.ADDED, TextChangeKind.REMOVED}


def render_changes(changes: Sequence[TextChange], words: tuple[str, str, str, str, str]) -> str:
    """Return the changes as a text that can be read and asked: sections with what is and what was.

    `words` stand for before, after, added, removed and moved, in the reader's language.
    """
    before, after, added, removed, moved = words
    lines: list[str] = []
    heading = None
    for change in changes:
        if change.heading != heading:
            heading = change.heading
            lines += ["", f"## {heading}", ""] if heading else [""]
        old, new = (passage.text if passage else "" for passage in (change.old, change.new))
        if change.kind is TextChangeKind.REWORDED:
            lines += [f"{after}: {new}", f"{before}: {old}", ""]
        else:
            names = {TextChangeKind.ADDED: added, TextChangeKind.REMOVED: removed, TextChangeKind.MOVED: moved}
            lines += [f"{names[change.kind]}: {new or old}", ""]
    return "\n".join(lines).strip() + "\n"
