"""Sentences of a text, as spans that tile it.

>>> text = "Ada lit it. It burned.  Then rain."
>>> [text[start:end] for start, end in split_sentences(text)]
['Ada lit it. ', 'It burned.  ', 'Then rain.']

A sentence ends with its mark, the quotes that close there and the blanks after them; at a blank line; and before a line
that is an item, a heading, a row of a table, a label ("Depth: 40 m"), or begins with its time, as in a log. A heading,
and the line that names a file, end with their line. Everything that needs sentences takes them from here: quotes, the
verdict on both of its sides, and the origins of memory lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import words

_END: Final = compile_late(
    r"^(?:={5} [^\n]+ ={5}|#{1,6} [^\n]+)\n"
    r"|(?P<mark>[.!?…])(?P<closed>[\"'”’»)\]]*)\s+"
    r"|(?:[。！？]|；(?!(?!\s*\w{1,2}[)）])[^（()）\n]{0,60}[)）]))[”’」』）》]*\s*"
    r"|\n\s*\n\s*"
    r"|\n(?=[\[(]?(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d?:\d\d|(?:[A-Z][a-z]{2} [ \d]\d )?\d\d:\d\d:\d\d)\b)"
    r"|\n(?=\s*(?:[•·|=>]|[-*+]\s|#+\s|\(?\d{1,3}[.)、]\s|[\w-]{1,40}[:：]\s|[^\sa-z][^\n:：!?;。！？；]{0,39}[:：]\s))",
    re.MULTILINE,
)
# What stands before a dot that ends no sentence: what it shortens goes on, whatever comes.
_TITLES: Final = words(
    "Mr Mrs Ms Dr St Prof Rev Hon Capt Col Gen Lt Sgt Gov Sen Rep Messrs Mt Mme Mlle vs cf vgl viz approx e.g i.e "
    "Fig Figs fig figs Eq Eqs eq eqs"
)
# After these a sentence can end, but not before a small letter, a number or a bracket ("No. 5", "6 p.m. and",
# "et al. (2022)").
_SHORT: Final = words(
    "abs abschn al apr art aug av ave avr bros ca ch co corp dec déc dept dez ed eds est etc evtl ex excl feb févr "
    "geb gest govt inc incl inkl jan janv jr juil ltd mar max min no nos nov nr oct op p para paras pp reg regs resp "
    "sec sept sr tel usw vol vols ziff"
)
_WEEKDAYS: Final = words("Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun")
# So is what has no vowel ("cl. 4", "Sch. 2", "Mill Rd. and") and is no unit ("It weighs 5 kg. 40 men left."), and a
# street of German.
_CLIPPED: Final = compile_late(r"(?<![^\W_])(?<!\d )[B-DF-HJ-NP-TV-Z]?[b-df-hj-np-tv-xzß]{1,5}\Z|[^\W\d_]str\Z")
# The letter before the dot of "J. Quill" or "U.S. Navy".
_INITIAL: Final = compile_late(r"(?<![^\W_])[A-ZÀ-ÖØ-Þ]\Z|[\u2e80-\uffef][A-Z]\Z")
_DOTTED: Final = compile_late(r"(?<![^\W_])(?:[^\W\d_]\. ?)+[^\W\d_]\Z")
# "1." at the beginning of a line is the number of an item.
_ITEM_NUMBER: Final = compile_late(r"^[ \t]*\(?\d{1,3}\Z", re.MULTILINE)
# Behind the number of a day: "12. Oktober". Four of these months are English too, and need a year behind them, or what
# stands before a day: "am 1. April".
_GERMAN_MONTH: Final = compile_late(
    r"(?:Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|(?:April|August|September|November)(?=\s+\d{4}\b))\b"
)
_MONTH: Final = compile_late(r"(?:April|August|September|November)\b")
_DAY: Final = compile_late(r"(?:0?[1-9]|[12]\d|3[01])")
_DATE: Final = compile_late(r"\b\d{1,2}\.\s?\d{1,2}\.\s?\d{2,4}\b")
_ARTICLE: Final = compile_late(r"\b(?:im|beim|zum|zur|vom|der|die|das|dem|den|des)\s+\d{1,2}\Z", re.IGNORECASE)
# The other half of "z. B." and of "n. Chr."
_HALF: Final = compile_late(r"[^\W\d_](?:hr)?\.")
_DAY_BEFORE: Final = compile_late(
    r"\b(?:am|vom|zum|dem|den|der|des|seit|bis|ab|und|nach|vor|mo|di|mi|do|fr|sa|so|\w+tag|\w+woch),?\s+(?:0?[1-9]|[12]\d|3[01])\Z",
    re.IGNORECASE,
)
# Characters of the longest word in these lists, with an opening quote or bracket.
_LONGEST_SHORT: Final = 10
_LONGEST_ORDINAL: Final = 2
_OPENS: Final = ("(", "[")
# And of a day of the week with the number of the day.
_LONGEST_DAY: Final = 16
# A match that begins before a limit may end this much behind it.
_MARGIN: Final = 64
# A longer piece without an end is cut at a comma, a line or a blank.
LONGEST: Final = 400
_SOFT_END: Final = (compile_late(r"[;，、：]\s*|[,:](?!\d)\s*"), compile_late(r"\s+"))


def split_sentences(text: str, longest: int = LONGEST) -> list[tuple[int, int]]:
    """Return the spans of the sentences; together they are the whole text. Cut what is longer than `longest`."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*find_ends(text), len(text)):
        while end - start > longest:
            cut = _find_soft_end(text, start, start + longest)
            spans.append((start, cut))
            start = cut
        if end > start:
            spans.append((start, end))
            start = end
    return spans


def list_sentences(text: str) -> list[str]:
    """Return the sentences of any length, without the blanks around them."""
    return [text[start:end].strip() for start, end in split_sentences(text, len(text)) if not text[start:end].isspace()]


def find_ends(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the places from `start` to `end` where a sentence ends, blanks included; not the end of the text."""
    last = len(text) if end is None else min(end, len(text))
    for match in _END.finditer(text, start, min(last + _MARGIN, len(text))):
        if match.end() > last:
            return
        if match["mark"] is None or _is_end(text, match):
            yield match.end()


def _is_end(text: str, match: re.Match[str]) -> bool:
    """Tell if a Latin mark ends a sentence."""
    at, after = match.start(), text[match.end() : match.end() + 1]
    # '"Go!" she said', "the ... lamp"
    if after.islower() and (match["closed"] or match["mark"] == "…" or text[at - 1 : at] == "."):
        return False
    if match["mark"] != "." or text.count("\n", at, match.end()) > 1:
        return True
    begins = max(0, at - _LONGEST_SHORT)
    words = text[begins:at].rsplit(None, 1)
    word = words[-1].lstrip("\"'“‘«([") if words else ""
    if word in _TITLES or _INITIAL.search(word):
        return False
    if word.isdigit():
        return not _is_ordinal(text, word, at, match.end())
    if len(word) == 1 and word.islower() and _HALF.match(text, match.end()):
        return False
    shapes = (_DOTTED, _CLIPPED)
    is_short = word.lower() in _SHORT or word in _WEEKDAYS or any(shape.search(text, begins, at) for shape in shapes)
    return not (is_short and (after.islower() or after.isdigit() or after in _OPENS))


def _is_ordinal(text: str, word: str, at: int, end: int) -> bool:
    """Tell if the number whose dot stands at `at` counts what goes on at `end`: an item, a day, a floor."""
    before = max(0, at - _LONGEST_DAY)
    if _ITEM_NUMBER.search(text, before, at):
        return True
    if len(word) > _LONGEST_ORDINAL:
        return False
    if text[end : end + 1].islower() or _ARTICLE.search(text, before, at):
        return True
    if any(one.start() < at < one.end() for one in _DATE.finditer(text, before, end + _LONGEST_DAY)):
        return True
    is_month = _MONTH.match(text, end) and _DAY_BEFORE.search(text, before, at)
    return bool(_DAY.fullmatch(word) and (is_month or _GERMAN_MONTH.match(text, end)))


def _find_soft_end(text: str, start: int, end: int) -> int:
    """Return the last comma or blank in the second half of the piece, else its end."""
    half = (start + end) // 2
    for pattern in _SOFT_END:
        cuts = [match.end() for match in pattern.finditer(text, half, end)]
        if cuts:
            return cuts[-1]
    return end
