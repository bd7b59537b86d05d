"""What a model is shown when it judges a sentence: the whole of a short document, else the passages that bear on it.

    first    the passages that have most of the sentence, by its values and by its rarest words
    then     what the memory took its lines from, and what the question asks about: a later passage may say otherwise
    then     what stands around the first ones
    last     as far as there is room, sentences that may put the first ones right in other words: by the rare words that
             they share with the question, the sentence and its best passage, and by words of change, "instead", 改为

A line alone seldom says what it is about: each passage stands below its file and its heading, a row below its header.
Programs and settings keep their lines, or all behind the first comment would be read as one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Final, cast

from bookwheel.patterns import compile_late
from bookwheel.text.changes import find_changes
from bookwheel.text.code import has_settings
from bookwheel.text.lines import FILE_HEADER
from bookwheel.text.ranking import QuestionWords, find_stems, weigh_rarity
from bookwheel.text.sentences import split_sentences
from bookwheel.text.structure import Shape
from bookwheel.verdict.judge import Finding
from bookwheel.verdict.search import LocatedSentence
from bookwheel.verdict.sources import SupportsParts

if TYPE_CHECKING:
    from bookwheel.reading.ways.passages import PassageIndex, Window
    from bookwheel.types import Document

MOST_SHOWN: Final = 18_000
"""Bytes of the passages that a model is shown, no more than a section has. They count tokens alike in any language."""
# Of a longer document the words' places are not looked up for the sake of a verdict.
_LONGEST: Final = 20_000_000
_MOST_ORIGINS: Final = 8
_MOST_LIKE: Final = 10
_MOST_ASKED: Final = 4
_MOST_AROUND: Final = 6
_ROWS_AROUND: Final = 6
# Windows whose sentences are ranked one by one: all of a text of some 200 pages, of a longer one the best.
_MOST_RANKED: Final = 1000
# What a sentence has of the best passage counts half, and a word of change a little less than another one as rare: one
# that stands in every third sentence of a text tells little.
_HOME_SHARE: Final = 0.5
_CHANGE_WEIGHT: Final = 0.8
_LATER_WEIGHT: Final = 1.0
# What names its clause, or is the note to which it has a mark, comes before all others.
_REFERENCE_WEIGHT: Final = 50.0
_MARK: Final = compile_late(r"\[\^?\w{1,8}\]")
_NUMBER: Final = (
    r"§+ ?\d+[a-z]?|第[一二三四五六七八九十百零\d]+[条條款项]|[A-Z]{1,4}-?\d{1,6}|\d{1,3}(?:\.\d{1,3})+|\d{3,6}"
)
_LABEL: Final = compile_late(rf"[^\w§]*({_NUMBER})(?![\dA-Za-z/-]|[.:]\d)")
# Bytes between two passages.
_JOINT: Final = 5
_WHOLE: Final = {Shape.ROW, Shape.TURN, Shape.CODE}
_FILES: Final = re.compile(f"^{FILE_HEADER.pattern}", re.MULTILINE)
# The lines above a mail's own words, of which who sent it and when tell what is later.
_MAILS: Final = re.compile(
    r"^(?:(?:From|To|Cc|Date|Sent|Subject|Von|An|Datum|Gesendet|Betreff|De|À|Date|Envoyé|Objet|发件人|收件人|抄送|日期|"
    r"发送时间|主题)[ \t]?[:：][^\n]*\n){3,}",
    re.MULTILINE | re.IGNORECASE,
)
_SENT: Final = re.compile(
    r"^(?:From|Date|Sent|Von|Datum|Gesendet|De|Envoyé|发件人|日期|发送时间)[ \t]?[:：].*$", re.MULTILINE | re.IGNORECASE
)


class JudgeView:
    """The passages of one document, as a judge is shown them."""

    def __init__(self, document: SupportsParts, room: int = MOST_SHOWN) -> None:
        self.whole = _read_whole(document, room)
        """The text of a document that is shown whole."""
        self._room = room
        self._index = None if self.whole else _index(document)
        text = self._index[0].source if self._index else ""
        self._heads = list_heads(text)
        self._asked: dict[str, list[int]] = {}
        """The windows of a question, which all sentences of its answer share."""
        self._candidates: dict[int, list[_Candidate]] = {}

    def show(self, finding: Finding, question: str, origins: Sequence[LocatedSentence] = ()) -> str:
        """Return the passages of a sentence, in the document's order."""
        if self.whole:
            return self.whole
        bare = (*finding.passages, *origins[:_MOST_ORIGINS], *finding.near)
        if not self._index:
            return _show_bare(bare, self._room)
        index, sheet = self._index, _Sheet(self._index, self._room, self._heads)
        best = [*sheet.find(finding.passages)]
        # A row or a line of a log is one window, however long it is.
        if not all(sheet.has_room(index[at]) for at in best):
            return _show_bare(bare, self._room)
        for at in self._choose(index, sheet, finding, question, origins):
            if 0 <= at < len(index):
                sheet.add(index[at])
        for window in self._rank_changes(index, QuestionWords(f"{question} {finding.text}"), best):
            sheet.add(window)
        return sheet.write() or _show_bare(bare, self._room)

    def _choose(
        self,
        index: PassageIndex,
        sheet: _Sheet,
        finding: Finding,
        question: str,
        origins: Sequence[LocatedSentence],
    ) -> Iterator[int]:
        """Yield the places of the windows to show, the most needed first."""
        like = index.find_places(QuestionWords(finding.text), _MOST_LIKE)
        first = [*sheet.find(finding.passages), *like]
        yield from first
        yield from sheet.find(origins[:_MOST_ORIGINS])
        yield from sheet.find(finding.near)
        if question not in self._asked:
            self._asked[question] = index.find_places(QuestionWords(question), _MOST_ASKED)
        yield from self._asked[question]
        for at in first[:_MOST_AROUND]:
            # A row says little without those beside it.
            reach = _ROWS_AROUND if index[at].shape is Shape.ROW else 1
            yield from (at + step * side for step in range(1, reach + 1) for side in (1, -1))

    def _rank_changes(self, index: PassageIndex, words: QuestionWords, best: Sequence[int]) -> list[Window]:
        """Return the sentences that may put right what the best passage says, the likeliest first."""
        weights = index.weigh_words(words.stems)
        referring = _refer_to([index[at] for at in best])
        known = {stem for at in best[:1] for stem in find_stems(index[at].text)}
        for stem, weight in index.weigh_words(known - weights.keys()).items():
            weights.setdefault(stem, _HOME_SHARE * weight)
        places: Iterable[int] = range(len(index))
        if len(index) > _MOST_RANKED:
            scores = index.score_places(weights)
            places = sorted(scores, key=lambda at: (-scores[at], at))[:_MOST_RANKED]
        candidates = [(at, one) for at in places for one in self._split(index, at)]
        counts = Counter(word for _, one in candidates for word in one.changes)
        changes = {word: _CHANGE_WEIGHT * weigh_rarity(count, len(candidates)) for word, count in counts.items()}
        ranked = [
            (
                sum(weights[stem] for stem in sorted(one.stems & weights.keys()))
                + sum(changes[word] for word in sorted(one.changes))
                + _LATER_WEIGHT * any(at > first for first in best[:1])
                + _REFERENCE_WEIGHT * bool(referring.search(one.window.text)),
                one.window,
            )
            for at, one in candidates
        ]
        return [window for _, window in sorted(ranked, key=lambda pair: -pair[0])]

    def _split(self, index: PassageIndex, at: int) -> list[_Candidate]:
        """Return the sentences of a window; all sentences of an answer are judged beside the same ones."""
        if at not in self._candidates:
            window = index[at]
            text = window.source[window.start : window.end]
            spans = [(0, len(text))] if window.shape in _WHOLE else split_sentences(text)
            self._candidates[at] = [
                _Candidate(
                    # Who "he" is stands in the sentence before.
                    window=replace(window, start=window.start + before, end=window.start + end),
                    stems=find_stems(text[start:end]),
                    changes=find_changes(text[start:end]),
                )
                for (before, _), (start, end) in pairwise([spans[0], *spans])
            ]
        return self._candidates[at]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A sentence that may put another one right."""

    window: Window
    """It and the one before it."""
    stems: set[str]
    changes: set[str]


class _Sheet:
    """Windows of a text that fit a room together; those of one heading stand below it once."""

    def __init__(self, index: PassageIndex, room: int, heads: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        self._index = index
        self._room = room
        self._starts = index.starts
        self._heads = heads
        self._taken: list[Window] = []
        self._leads: set[tuple[str, ...]] = set()

    def find(self, passages: Iterable[LocatedSentence]) -> Iterator[int]:
        """Yield the places of the windows in which passages begin."""
        for passage in passages:
            yield max(0, bisect_right(self._starts, passage.start) - 1)

    def add(self, window: Window) -> None:
        """Take what is new of a window if there is room for it."""
        for one in self._taken:
            if one.start <= window.start < one.end:
                window = replace(window, start=one.end)
            if one.start < window.end <= one.end:
                window = replace(window, end=one.start)
        if window.start < window.end and self.has_room(window):
            self._room -= self._measure(window)
            self._taken.append(window)
            self._leads.add(self._list_leads(window))

    def has_room(self, window: Window) -> bool:
        return self._measure(window) <= self._room

    def _measure(self, window: Window) -> int:
        leads = self._list_leads(window)
        return sum(_measure(text) + _JOINT for text in (*(() if leads in self._leads else leads), self._show(window)))

    def _show(self, window: Window) -> str:
        has_lines = window.shape is Shape.CODE or self._is_of_settings(window)
        return window.source[window.start : window.end].strip("\n") if has_lines else window.text

    def _is_of_settings(self, window: Window) -> bool:
        return any(map(has_settings, self._list_heads(window)[:1]))

    def _list_heads(self, window: Window) -> tuple[str, ...]:
        at = bisect_right(self._heads, window.start, key=itemgetter(0)) - 1
        return self._heads[at][1] if at >= 0 else ()

    def _list_leads(self, window: Window) -> tuple[str, ...]:
        """Return the file or mail of a window, where the text has several, and what leads it in there."""
        leads: Iterable[str] = window.leads
        if self._is_of_settings(window):
            # What looks like a heading there is a comment, and stays one.
            above = (line for start, end in window.lead_spans for line in window.source[start:end].splitlines())
            leads = (line for line in above if line.lstrip().startswith("#"))
        return tuple(dict.fromkeys((*self._list_heads(window), *leads)))

    def write(self) -> str:
        """Return the windows in order, each run of one heading below it."""
        blocks, last, end = list[str](), tuple[str, ...](), 0
        for window in sorted(self._taken, key=lambda one: one.start):
            leads = self._list_leads(window)
            between = window.source[end : window.start]
            if blocks and leads == last and not between.strip():
                is_broken = "\n" in f"{window.source[max(0, end - 1) : end]}{between}"
                blocks[-1] += f"\n{self._show(window)}" if is_broken else f" {self._show(window)}"
            elif blocks and leads and leads == last:
                blocks[-1] += f"\n…\n{self._show(window)}"
            else:
                blocks.append("\n".join((*leads, self._show(window))))
            last, end = leads, window.end
        return "\n\n".join(blocks)


def list_heads(text: str) -> list[tuple[int, tuple[str, ...]]]:
    """Return where each file of a text begins, and each mail of several, with what is shown above words of it.

    The name of a file; of a mail that of its file, who sent it, and when.
    """
    files = [(found.start(), found[1], ()) for found in _FILES.finditer(text)]
    mails = [(found.start(), "", tuple(_SENT.findall(found[0]))) for found in _MAILS.finditer(text)]
    heads, file = list[tuple[int, tuple[str, ...]]](), ""
    for start, name, lines in sorted(files + (mails if len(mails) > 1 else [])):
        file = name or file
        heads.append((start, (*filter(None, (file,)), *lines)))
    return heads


def _refer_to(windows: Sequence[Window]) -> re.Pattern[str]:
    """Return a pattern for what refers to passages: to the numbers of their clauses, or by the marks in them.

    "Clause 4.5: fifteen.", "§ 4 entfällt.", "Comment [LF10]: Trees want four of these.", "[^1]: Waived."
    """
    names = [name for window in windows for name in _MARK.findall(window.text)]
    names += [label[1] for window in windows for text in (*window.leads, window.text) if (label := _LABEL.match(text))]
    # A name of nothing is found nowhere.
    return re.compile("|".join(rf"(?<![\w.]){re.escape(name)}(?![\dA-Za-z]|\.\d)" for name in names) or r"(?!)")


def _read_whole(document: SupportsParts, room: int) -> str:
    """Return the text of a document that fits; of any other nothing."""
    length = getattr(document, "length", None)
    if length is None or length > room:
        return ""
    text = "".join(part.text for part in document.parts())
    return text if _measure(text) <= room else ""


def _index(document: SupportsParts) -> PassageIndex | None:
    # Who is not judged by a model starts without the parts of texts.
    from bookwheel.reading.ways.document_index import index_passages

    length = getattr(document, "length", None)
    is_read = hasattr(document, "slice") and hasattr(document, "name") and length is not None and length <= _LONGEST
    return index_passages(cast("Document", document)) if is_read else None


def _show_bare(passages: Iterable[LocatedSentence], room: int) -> str:
    """Return sentences of a document of which no more can be read."""
    taken, every = list[LocatedSentence](), list({one.text: one for one in passages}.values())
    for one in every:
        is_within = any(one is not other and one.text in other.text for other in every)
        if not is_within and (not taken or _measure(one.text) <= room):
            room -= _measure(one.text)
            taken.append(one)
    return "\n\n".join(one.text for one in sorted(taken, key=lambda passage: passage.start))


def _measure(text: str) -> int:
    return len(text.encode(errors="replace"))
