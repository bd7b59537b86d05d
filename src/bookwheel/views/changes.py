"""The changes between two versions as a document that can be read and asked; each names the file and place it is from.

These are all changes from lease-2025.md to lease-2026.md. What is not among them stands in both alike.

## 1. Rent

Now: The tenant pays 45 crowns.        lease-2026.md#line-7
Before: The tenant pays 40 crowns.     lease-2025.md#line-7
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from bookwheel.documents.opening import TextDocument
from bookwheel.text.lexicon import language_of
from bookwheel.text.lines import has_lines, skip_file_header
from bookwheel.types import Part
from bookwheel.views.versions import TextChange, TextChangeKind, VersionPart

if TYPE_CHECKING:
    from bookwheel.documents.opening import SourceDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWords:
    """What changes are told with, in the reader's language."""

    intro: str
    """Of the names of both versions, `{old}` and `{new}`."""
    before: str
    after: str
    added: str
    removed: str
    moved: str


_WORDS: Final = {
    "en": ChangeWords(
        intro="These are all changes from {old} to {new}. What is not among them stands in both alike.",
        before="Before",
        after="Now",
        added="Added",
        removed="Removed",
        moved="Moved",
    ),
    "zh": ChangeWords(
        intro="以下是从 {old} 到 {new} 的全部改动。没有列出的内容在两个版本中相同。",
        before="原为",
        after="现为",
        added="新增",
        removed="删除",
        moved="移动",
    ),
}


class ChangesDocument(TextDocument):
    """The changes, told in the language of a question."""

    def __init__(self, changes: Sequence[TextChange], old: SourceDocument, new: SourceDocument, question: str) -> None:
        words, name = _WORDS[language_of(question)], f"{old.name} → {new.name}"
        pieces = [*render_changes(changes, words, old.name, new.name)]
        places = {True: _Places(new), False: _Places(old)}
        self._parts = [places[is_new].locate(text, part, name) for text, part, is_new in pieces]
        super().__init__("".join(text for text, *_ in pieces), name=name)

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Yield each change as a part of the file that it is from."""
        ends = accumulate(len(part.text) for part in self._parts)
        for part, end in zip(self._parts, ends, strict=True):
            if end > start:
                cut = max(0, len(part.text) - (end - start))
                yield Part(text=part.text[cut:], source=part.source, page=part.page)

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Return the pages of the files that these changes are from."""
        return tuple(dict.fromkeys(page for part in self._cut(start, end) if (page := part.page) is not None))

    def sources(self, start: int, end: int) -> tuple[str, ...]:
        """Return the files that these changes are from, with their lines."""
        return tuple(dict.fromkeys(part.source for part in self._cut(start, end)))

    def _cut(self, start: int, end: int) -> Iterator[Part]:
        for part in self.parts(start):
            if start >= end:
                return
            yield part
            start += len(part.text)


class _Places:
    """Where the parts of one version stand."""

    def __init__(self, document: SourceDocument) -> None:
        self._parts = [*document.parts()]
        self._text = "".join(part.text for part in self._parts)
        self._starts = [0, *accumulate(len(part.text) for part in self._parts)]
        self._line_ends = [found.start() for found in re.finditer("\n", self._text)]
        self._begins: dict[str, int] = {}
        for part, start in zip(self._parts, self._starts, strict=False):
            self._begins.setdefault(part.source, start)

    def locate(self, text: str, part: VersionPart | None, name: str) -> Part:
        """Return words as a part of the file that they are from; those around the changes are of both."""
        if part is None:
            return Part(text=text, source=name)
        found = self._parts[bisect_right(self._starts, part.start, hi=len(self._parts)) - 1]
        if found.page is not None or not has_lines(found.source):
            return Part(text=text, source=found.source, page=found.page)
        begins = skip_file_header(lambda start, end: self._text[start:end], self._begins[found.source])
        line = 1 + bisect_left(self._line_ends, max(begins, part.start)) - bisect_left(self._line_ends, begins)
        return Part(text=text, source=f"{found.source}#line-{line}")


def render_changes(
    changes: Sequence[TextChange], words: ChangeWords, old: str, new: str
) -> Iterator[tuple[str, VersionPart | None, bool]]:
    """Yield the changes as pieces of a text: sections with what is and what was.

    With each comes the part that it is, of the new version (True) or the old one; None for words around them.
    """
    yield f"{words.intro.format(old=old, new=new)}\n", None, True
    names = {
        TextChangeKind.ADDED: words.added,
        TextChangeKind.REMOVED: words.removed,
        TextChangeKind.MOVED: words.moved,
        TextChangeKind.REWORDED: words.after,
    }
    heading = None
    for change in changes:
        if change.heading != heading:
            heading = change.heading
            yield (f"\n## {heading}\n" if heading else ""), None, True
        if part := change.new or change.old:
            yield f"\n{names[change.kind]}: {part.text}\n", part, change.new is not None
        if change.kind is TextChangeKind.REWORDED and change.old:
            yield f"{words.before}: {change.old.text}\n", change.old, False
