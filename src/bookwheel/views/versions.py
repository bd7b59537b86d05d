r"""The difference between two versions of a document: which of its parts are new, gone, reworded or moved. Pure.

Parts are those of `text.structure`: paragraphs, clauses, items, rows, turns. Blanks, broken lines and the number of a
clause that goes on from another's say nothing. Programs and settings are compared line by line within each file, with
their indentation; lines that came or went together are one change.

>>> old, new = "## Rent\n\nAda pays 4 crowns.\n", "## Rent\n\nAda pays 5 crowns.\n"
>>> [(change.kind.value, change.words) for change in compare_texts(old, new)]
[('reworded', 'Ada pays [-4-]{+5+} crowns.')]
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Final

from bookwheel.errors import InputError
from bookwheel.text.chinese_numbers import parse_cjk_number
from bookwheel.text.code import is_program
from bookwheel.text.lines import CLAUSE_NUMBER, ENDS, FILE_HEADER, Line, Span, has_lines, read_lines
from bookwheel.text.structure import split_parts
from bookwheel.views.diff import ChangeKind, diff_memories, mark_words

# Parts between the common beginning and the common end: the table of the comparison grows with their square.
_MOST_PARTS: Final = 20_000
# Characters of a part that may only have moved; shorter ones ("Agreed.") are often there twice.
_SHORTEST_MOVED: Final = 20
_HAN: Final = "[一二三四五六七八九十百]+"
_NUMBER: Final = re.compile(
    rf"^(?:(?:(?:§\s*)?\d{{1,3}}(?:\.\d{{1,3}})*[.)、]?|第(?:{_HAN}|\d+)[条款章节]|[IVXLC]+\.)\s+|[（(]?{_HAN}[、）)]\s*)"
)
# The number of a clause: alone it needs a mark behind it, for "18 crowns" has none.
_CLAUSE: Final = re.compile(
    r"(?:(?:§\s*)?(?:(\d{1,3}(?:\.\d{1,3})+)[.)、]?|\(?(\d{1,3})[.)、]|\(?([a-z])[.)])\s+|"
    rf"第({_HAN}|\d+)[条款章节]\s+|[（(]?({_HAN}|\d+)[、）)]\s*)(?=\S)"
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
    number: str = ""
    """The number of a clause, which the text begins with: that it is numbered anew is no change."""
    is_line: bool = False
    """A line of a program, whose indentation says something, or several."""

    @property
    def words(self) -> str:
        """The text without its number, which is what is compared."""
        return self.text if self.is_line else self.text.removeprefix(self.number).lstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChange:
    """A part that is not in both versions as it is."""

    kind: TextChangeKind
    old: VersionPart | None
    new: VersionPart | None
    words: str = ""
    """Of a reworded part, and a moved one with another number: `[-gone-]` and `{+new+}` words."""

    @property
    def heading(self) -> str:
        """The section that it stands in: of the new version, if it is there."""
        passage = self.new or self.old
        return passage.heading if passage else ""


def compare_texts(old: str, new: str, name: str = "") -> list[TextChange]:
    """Return the changes from one version to the next: prose in the new one's order, then programs, file by file.

    `name` is that of a text of one file, without a line for it. Raise InputError for too many parts.
    """
    old_files, new_files = (dict(_list_files(text, name)) for text in (old, new))
    changes = _compare_prose(*(_list_passages(text, files) for text, files in ((old, old_files), (new, new_files))))
    for file in sorted({*old_files, *new_files}):
        lines = [[one.text for one in files.get(file, ())] for files in (old_files, new_files)]
        if lines[0] != lines[1]:
            before, after = _trim(*(_list_lines(files.get(file, ()), file) for files in (old_files, new_files)))
            changes += _join_runs(_align(before, after), [*before, *after])
    return _drop_titles(_mark_moved(changes))


def _compare_prose(old: Sequence[VersionPart], new: Sequence[VersionPart]) -> list[TextChange]:
    before, after = _find_numbers(old, new)
    headings = {_strip_numbers(one.heading): one.heading for one in reversed(after)}
    # What is gone stands under the heading that its section has now.
    before = [replace(one, heading=headings.get(_strip_numbers(one.heading), one.heading)) for one in before]
    return list(_align(*_trim(before, after)))


def _trim(before: Sequence[VersionPart], after: Sequence[VersionPart]) -> tuple[Sequence[VersionPart], ...]:
    """Return what stands between the common beginning and the common end."""
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at].words != after[at].words), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if before[-1 - at].words != after[-1 - at].words), rest)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(before), len(after)) > _MOST_PARTS:
        raise InputError(
            f"the versions differ over {max(len(before), len(after)):,} paragraphs, and at most {_MOST_PARTS:,} are "
            f"compared: compare them chapter by chapter"
        )
    return before, after


def _list_files(text: str, name: str) -> Iterator[tuple[str, Sequence[Line]]]:
    """Yield the files whose lines are compared, with their lines: programs, settings, and what is called like them."""
    lines = read_lines(text)
    begins = [at for at, line in enumerate(lines) if FILE_HEADER.match(line.text)]
    for at, end in pairwise(sorted({0, *begins, len(lines)})):
        header = FILE_HEADER.match(lines[at].text)
        file = header[1] if header else name
        if has_lines(file.rpartition("#")[2]) and is_program(file) is not False:
            yield file, lines[at + bool(header) : end]


def _list_lines(lines: Sequence[Line], file: str) -> list[VersionPart]:
    return [
        VersionPart(start=line.start, end=line.end, text=line.text.rstrip(), heading=file, is_line=True)
        for line in lines
        if not line.is_blank
    ]


def _join_runs(changes: Iterable[TextChange], lines: Sequence[VersionPart]) -> list[TextChange]:
    """Join lines that came, or went, one right after the other."""
    follows = {id(below): above for above, below in pairwise(lines)}
    joined = list[TextChange]()
    last: VersionPart | None = None
    for change in changes:
        part = change.new or change.old
        above = follows.get(id(part))
        if joined and part and last and above is last and change.kind is joined[-1].kind is not TextChangeKind.REWORDED:
            whole = joined[-1].new or joined[-1].old or part
            whole = replace(whole, end=part.end, text=f"{whole.text}\n{part.text}")
            joined[-1] = replace(change, new=whole) if change.new else replace(change, old=whole)
        else:
            joined.append(change)
        last = part
    return joined


def _list_passages(text: str, files: Mapping[str, Sequence[Line]]) -> list[VersionPart]:
    """Return the parts and the headings of a text in their order, each on one line."""
    spans: dict[Span, tuple[str, bool]] = {}
    lined = sorted((lines[0].start, lines[-1].end) for lines in files.values() if lines)
    for part in split_parts(text):
        at = bisect_right(lined, (part.start, len(text)))
        if at and part.start <= lined[at - 1][1]:
            continue
        titles = _list_titles(text, *part.heading) if part.heading else {}
        heading = " › ".join(titles.values())
        for span in titles:
            spans.setdefault(span, (heading, True))
        if part.lead:
            # A numbered title right above its clauses names their section, as one above an empty line does.
            title = " ".join(text[slice(*part.lead)].split())
            is_title = bool(CLAUSE_NUMBER.match(title)) and not title.endswith(ENDS)
            heading = title if is_title else heading
            spans.setdefault(part.lead, (heading, is_title))
        spans[part.start, part.end] = (heading, False)
    passages = []
    for (start, end), (heading, is_title) in sorted(spans.items()):
        line = " ".join(text[start:end].split())
        if is_title:
            line = _NUMBER.sub("", line.strip("#*= ")) or line
        if line:
            passages.append(VersionPart(start=start, end=end, text=line, heading=heading, is_title=is_title))
    return passages


def _find_numbers(*versions: Sequence[VersionPart]) -> list[list[VersionPart]]:
    """Return the parts with the numbers of those whose number goes on from another's, or from that of its heading.

    So does one that goes on in the other version: the clause behind it may be gone.
    """
    read = [[None if part.is_title else _CLAUSE.match(part.text) for part in parts] for parts in versions]
    going = set[tuple[int, ...]]()
    for parts, one in zip(versions, read, strict=True):
        titles = [_CLAUSE.match(part.heading.rpartition(" › ")[2]) for part in parts]
        known = {_read_number(found) for found in (*one, *titles) if found}
        for found, above in zip(one, titles, strict=True):
            number = _read_number(found) if found else ()
            beside = {(*number[:-1], number[-1] + step) for step in (1, -1)} if number else set()
            if known & beside or (above and number == (*_read_number(above), 1)):
                going.add(number)
    return [
        [
            replace(part, number=found[0].strip()) if found and _read_number(found) in going else part
            for part, found in zip(parts, one, strict=True)
        ]
        for parts, one in zip(versions, read, strict=True)
    ]


def _read_number(found: re.Match[str]) -> tuple[int, ...]:
    if letter := found[3]:
        return (-1, ord(letter))
    digits = next(filter(None, (found[1], found[2], found[4], found[5])))
    return tuple(map(int, (digits if digits[0].isdigit() else parse_cjk_number(digits)).split(".")))


def _strip_numbers(heading: str) -> str:
    return " › ".join(_NUMBER.sub("", title) or title for title in heading.split(" › "))


def _list_titles(text: str, start: int, end: int) -> dict[tuple[int, int], str]:
    """Return the lines of a heading, which may have one below it, with their places."""
    found = {}
    for match in re.finditer(r"[^\n]*\S[^\n]*", text[start:end]):
        found[start + match.start(), start + match.end()] = " ".join(match[0].split()).strip("#*= ")
    return found


def _align(before: Sequence[VersionPart], after: Sequence[VersionPart]) -> Iterator[TextChange]:
    old, new = iter(before), iter(after)
    for change in diff_memories(*("\n".join(one.words for one in passages) for passages in (before, after))):
        if change.kind is ChangeKind.NEW:
            yield TextChange(kind=TextChangeKind.ADDED, old=None, new=next(new))
        elif change.kind is ChangeKind.GONE:
            yield TextChange(kind=TextChangeKind.REMOVED, old=next(old), new=None)
        else:
            was, is_ = next(old), next(new)
            if change.kind is ChangeKind.REWORDED:
                words = f"{_mark_numbers(was, is_)}{mark_words(change)}"
                yield TextChange(kind=TextChangeKind.REWORDED, old=was, new=is_, words=words)


def _mark_numbers(old: VersionPart, new: VersionPart) -> str:
    if old.number == new.number:
        return f"{new.number} ".lstrip()
    gone, added = f"[-{old.number}-]" if old.number else "", f"{{+{new.number}+}}" if new.number else ""
    return f"{gone}{added} "


def _mark_moved(changes: list[TextChange]) -> list[TextChange]:
    """Join a removed part and an added one of the same words, wherever they stand."""
    removed: dict[str, list[VersionPart]] = {}
    for change in changes:
        is_gone = change.kind is TextChangeKind.REMOVED
        if is_gone and (old := change.old) and (old.is_title or len(old.words) >= _SHORTEST_MOVED):
            removed.setdefault(old.words, []).append(old)
    gone: Counter[VersionPart] = Counter()
    joined: list[TextChange] = []
    for change in changes:
        if change.kind is TextChangeKind.ADDED and change.new and (there := removed.get(change.new.words)):
            old, new = there.pop(0), change.new
            gone[old] += 1
            words = f"{_mark_numbers(old, new)}{new.words}" if old.number != new.number else ""
            # What stands below a heading tells by itself that it has moved.
            joined += [] if old.is_title else [TextChange(kind=TextChangeKind.MOVED, old=old, new=new, words=words)]
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
