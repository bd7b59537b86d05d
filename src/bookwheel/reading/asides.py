"""Tell what a reply says of the reading itself from what it says of the document.

A model is asked for a whole new memory, or for one word where a section adds nothing. It often says something else:
"UNCHANGED, as the section has no price", "I see nothing of use in this section", "The fee is 40; otherwise the memory
stays". Taken for a memory, each of these would wipe the one that is there. So a reply is taken apart:

    no part speaks of the reading                             the reply is the memory
    all do, and tell nothing of the document                  the memory stays
    some do, and the rest restates the memory                 the rest is the memory
    some do, and the rest restates some lines of it           these lines are replaced, and what is new stands below
    none does, but it has no word of section or memory        it is added below the memory

A part with a name or a number of the section that neither question nor memory has is never dropped. So in doubt a fact
is written twice, and none is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import CJK_DIGITS
from bookwheel.text.matching import Passage, Word, parse_words, word_overlap
from bookwheel.text.remarks import MEMORY, SECTION, TOLD, is_refusal, is_remark, says_absent
from bookwheel.text.sentences import list_sentences

# All the rest, where it is said to stay: "the guild pays the rest" is a fact. Words in between have an end, as a model
# that repeats itself would be read for ever.
_REST: Final = (
    r"(?i:\b(?:everything\selse|the rest)\b[^.,;]{0,200}?"
    r"\b(?:unchanged|same|stays?|stands?|remains?|kept|keep|holds?|as)\b"
    r"|(?:其余|其他)[^，。；,;]{0,200}?(?:不变|保留|保持))"
)
# What stands for lines of the memory that the reply does not say again.
_KEEPS: Final = (
    r"\bkeep (?:all|every|the)\b[^.;]{0,200}?\b(?:lines?|rest|others|entries)\b|\bas before\b"
    r"|\bother \w+ (?:stays?|remains?|are)\b[^.;]{0,200}?\bunchanged\b|[(\[][^)\]]{0,40}\bunchanged\b[^)\]]{0,40}[)\]]"
    r"|^\W*let me know\b"
)
_ELLIPSIS: Final = compile_late(r"^\W*(?:\.{3}|…)\W*$", re.MULTILINE)
# Words for the section, the memory and all the rest, as one who reads speaks of them; "the section manager" does not.
_SPEAKS: Final = compile_late(
    rf"\b(?:this|current|present|provided|given|latest|dieser|diesem|cette|esta|questa|deze)\s(?:new\s|\w+\s)?{SECTION}\b"
    rf"|\b(?:the|der|dem|la)\s(?:whole\s|entire\s)?{SECTION}(?:\s(?:\w+ly|also|only|just|itself))?"
    r"(?:\s*$|\s?[^\w\s]|\s(?:\w+s|\w+n['’]t|did|had|enthält|nennt)\b)"
    rf"|\bmemory\b|\b(?:the|my|old|other|existing|current|previous|these|alle?|die|les|las|le)\s{MEMORY}\b"
    rf"|\bno (?:other )?changes?\b|[本该此](?:节|段|章节|部分)|这一?[节段]|记忆|笔记|{_REST}|{_KEEPS}",
    re.IGNORECASE,
)
_DENIES: Final = compile_late(
    r"\b(?:not?|cannot|unable|none|nothing|never|neither|nor|without|lacks?|irrelevant|unrelated|kein\w*|nichts?|rien|aucune?|pas|ninguna?|nada|"
    r"niente|nessuna?|geen|niets)\b|n['’]t\b|(?:[节段]|部分)(?:内容|中|里|也|并|均|都|仍|还)*(?:没有?|未|无|不)|无关",
    re.IGNORECASE,
)
# "The section says Ada did not sign", "… states that no fee is due": what is denied is a fact of the document.
_TELLS: Final = compile_late(
    r"(?<!not )(?<!n['’]t )\b"
    r"(?:say|state|confirm|report|explain|show|tell|add|stipulate|provide|reveal|repeat)(?:s|ed)\s"
    r"(?!not?\b|nothing\b|neither\b|none\b|any)|\bsaid\s(?!not)|\bthat no\b|\bnotes that\b"
    r"|\bno\s(?:\w+\s){1,4}?(?:is|are|was|were|may|can|shall|will|must)\s"
    rf"(?!{TOLD}|named|found|provided|relevant|related)",
    re.IGNORECASE,
)
_OTHERS: Final = compile_late(rf"{_REST}|{_KEEPS}|\bmemory\b", re.IGNORECASE)
_STAYS: Final = compile_late(
    rf"\b{MEMORY}\b[^.;]{{0,200}}?\b(?:stays?|remains?|kept|keep|same|unchanged)\b", re.IGNORECASE
)
_CUT: Final = compile_late(
    rf"[;；]|[,，](?=\s*(?:and\s|with\s)?{_REST})|[,，]?\s*"
    r"(?:\b(?P<but>but|however|except(?: that)?|apart from|otherwise|save that|aber|außer|mais|sauf|pero|salvo)\b"
    r"|(?P<zh>但是?|不过|然而|除了|另外))"
)
# The word for unchanged as a model translates it that writes in the question's language.
_TRANSLATED: Final = compile_late(
    r"\A\W*(?:unverändert|inchangée?|sin cambios|invariat[oa]|ongewijzigd)(?=\s*(?:[^\w\s]|$))", re.IGNORECASE
)
_SIGNS: Final = " \t\n\"'“”‘’`*_#.。,，:：-–—>()（）[]"
# The line that leads a rewriting in: "好的，以下是更新后的记忆：".
_LEAD: Final = compile_late(rf"(?:\b{MEMORY}\b|记忆|笔记)[^:：]{{0,40}}[:：]\W*$", re.IGNORECASE)
_LONGEST_LEAD: Final = 80
# The share of a memory's words that a reply has which is the memory, where it speaks of the reading beside; the more so
# where it says that the memory stays.
_RESTATED: Final = 0.5
_RESTATED_WHOLE: Final = 0.7
# Of a line's words: of those of one that is like it, and of one that says it anew.
_ALIKE: Final = 0.35
_SAME: Final = 0.75
_ENOUGH_TOLD: Final = 2
_FEW: Final = 2


class Stance(Enum):
    """What a reply is to the memory before it."""

    REWRITE = auto()
    ADDITION = auto()
    REMARK = auto()
    UNCHANGED = auto()
    """A remark with the very word for it."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the model was shown when it replied."""

    memory: str = ""
    section: str = ""
    question: str = ""
    unchanged: str = ""
    """The word that it was to write where nothing is new."""
    quotes: bool = False
    """It was asked for quotes, so what it was not shown is no note."""

    @property
    def shown(self) -> str:
        return f"{self.memory}\n{self.section}\n{self.question}"

    @cached_property
    def _known(self) -> set[str]:
        return Passage(self.memory).index_keys | self._asked

    @cached_property
    def _asked(self) -> set[str]:
        return Passage(self.question).index_keys

    @cached_property
    def _section_keys(self) -> set[str]:
        return Passage(self.section).index_keys

    def read(self, reply: str) -> tuple[Stance, str]:
        """Return what the reply is to the memory, and its text without what speaks of the reading alone.

        >>> scene = Scene(memory="Ada paid 40.", section="The pump broke on 9 May.", unchanged="UNCHANGED")
        >>> scene.read("UNCHANGED - this section is about a pump.")
        (<Stance.UNCHANGED: 4>, '')
        >>> stance, text = scene.read("The section says that the pump broke on 9 May; the rest stays.")
        >>> stance, text.splitlines()
        (<Stance.ADDITION: 2>, ['Ada paid 40.', 'The section says that the pump broke on 9 May'])
        """
        reply = _TRANSLATED.sub(self.unchanged, _drop_lead(reply))
        parts, is_refused = self._split(reply), is_refusal(reply)
        has_word = self.unchanged.casefold() in reply.casefold()
        marked = [part for part in parts if has_word and self._is_mark(part.text)]
        if not marked and is_remark(reply) and not self._has_number(reply):
            return Stance.REMARK, ""
        is_aside = marked or is_refused or any(_speaks(part.text) for part in parts) or _ELLIPSIS.search(reply)
        if not is_aside:
            return self._read_plain(reply)
        if self.memory and not is_refused and (lines := self._find_rewriting(parts, marked)):
            is_same = marked and word_overlap(self._list_own(lines), Passage(self.memory).index_keys) == 1
            return (Stance.UNCHANGED, "") if is_same else (Stance.REWRITE, lines)
        opening = parts[0].text.strip(_SIGNS).casefold() if marked else ""
        is_first = bool(marked) and opening.startswith(self.unchanged.casefold())
        # "UNCHANGED:" is the heading of notes.
        is_heading = is_first and re.match(r"[^\n]*[:：]\W*\n", reply)
        is_doubted = bool(marked) or is_refused
        kept = [
            part
            for part in parts
            if (part is not parts[0] if is_heading else self._tells(part, is_doubted=is_doubted, is_first=is_first))
        ]
        told = self._join_told(parts, kept, marked)
        if told and not self.memory:
            return Stance.REWRITE, "\n".join(told) if marked else self._join_lines(parts, ()) or "\n".join(told)
        there = Passage(self.memory).index_keys
        new = [text for text in told if word_overlap(parse_words(text), there) < 1]
        if not new:
            return (Stance.UNCHANGED if marked else Stance.REMARK), ""
        return Stance.ADDITION, self._merge(new)

    def _join_told(self, parts: Sequence[_Part], kept: Sequence[_Part], marked: Sequence[_Part]) -> list[str]:
        """Return the lines of kept parts, and of a line with an aside those parts alone."""
        told = dict[str, None]()
        for part in kept:
            beside = (other for other in parts if other.line == part.line and other not in kept)
            is_whole = not any(other in marked or _speaks(other.text) or is_refusal(other.text) for other in beside)
            told[part.line.strip() if is_whole else part.text] = None
        return list(told)

    def _find_rewriting(self, parts: Sequence[_Part], marked: Sequence[_Part]) -> str:
        """Return the lines of a reply that restates the memory, without those that speak of the reading alone.

        Half of its words are enough, unless the reply says that others stay: then it has nearly all of them, or a line
        that is like each of the memory's.
        """
        told = self._join_lines(parts, marked)
        share = word_overlap(self._list_own(self.memory), Passage(told).index_keys)
        if share >= _RESTATED_WHOLE or (share >= _RESTATED and not (marked or any(map(_keeps, parts)))):
            return told
        old, new = ([line for line in text.splitlines() if _list_words(line)] for text in (self.memory, told))
        is_whole = len(old) > 1 and all(any(_share(line, one) >= _ALIKE for one in new) for line in old)
        return told if is_whole and share >= _RESTATED else ""

    def _join_lines(self, parts: Sequence[_Part], marked: Sequence[_Part]) -> str:
        """Return the lines of which any part is a note."""
        return "\n".join(dict.fromkeys(part.line for part in parts if self._is_kept(part, marked)))

    def _is_kept(self, part: _Part, marked: Sequence[_Part]) -> bool:
        """Return whether a part of a rewriting is one of its notes."""
        if part in marked or (is_remark(part.text) and not self._has_news(part.text)):
            return False
        is_note = not _SPEAKS.search(part.text) or _TELLS.search(part.text)
        return bool(is_note) or self._has_fact(part.text) or self._is_taken_over(part.text)

    def _has_fact(self, text: str) -> bool:
        """Return whether it has a name or a number of the section or of the memory that is not in the question."""
        exact = {word.index_key for word in parse_words(text) if word.is_exact or word.text in CJK_DIGITS}
        return bool((exact - self._asked) & (self._section_keys | self._known))

    def _merge(self, told: Sequence[str]) -> str:
        """Return the memory with what is told: in the place of the line that it says anew, else below."""
        lines = self.memory.splitlines()
        for text in told:
            shares = [_share(line, text) for line in lines]
            best = max(shares)
            if best >= _SAME and len(lines) > 1:
                lines[shares.index(best)] = text
            else:
                lines.append(text)
        return "\n".join(lines)

    def _split(self, reply: str) -> list[_Part]:
        parts = list[_Part]()
        for line, sentence in ((one, sentence) for one in reply.splitlines() for sentence in list_sentences(one)):
            start, is_exception = 0, False
            for cut in (*_CUT.finditer(sentence), None):
                text = sentence[start : cut.start() if cut else None].strip()
                # "One thing in this section: Ada did not sign."
                head, colon, rest = text.partition(": ") if ": " in text else text.partition("：")
                pieces = (head, rest) if colon and _SPEAKS.search(head) and not self._is_about(head) else (text,)
                parts += [_Part(piece, line, is_exception) for piece in pieces if piece.strip(_SIGNS)]
                if cut:
                    start, is_exception = cut.end(), bool(cut["but"] or cut["zh"])
        return parts

    def _is_about(self, head: str) -> bool:
        """Return whether the words before a colon are a subject: "Memory of the machines", "No change of the price"."""
        return any(word.index_key in (self._section_keys | self._known) - self._asked for word in _list_words(head))

    def _read_plain(self, reply: str) -> tuple[Stance, str]:
        """Return what a reply is that speaks of no section: one that takes no word from anywhere replaces nothing."""
        own = [word for word in parse_words(reply) if word.is_distinctive and not _DENIES.fullmatch(word.text)]
        own = [word for word in own if word.index_key not in self._asked]
        is_drawn = any(word.index_key in self._known or word.text[0].isdigit() for word in own)
        # The section is long, and nearly every reply has a word of the memory.
        if not (self.memory and self.section) or is_drawn or any(word.index_key in self._section_keys for word in own):
            return Stance.REWRITE, reply
        # "Keine Änderung.", "As above."
        is_nothing = says_absent(reply) or len(own) <= _FEW
        return (Stance.REMARK, "") if is_nothing else (Stance.ADDITION, self._merge([reply]))

    def _is_mark(self, part: str) -> bool:
        """Return whether a part has the word for unchanged: in capitals, first of all, or last of what it says."""
        bare, word = part.strip(_SIGNS), re.escape(self.unchanged)
        if not word or (self.unchanged.isupper() and re.search(rf"(?<!\w){word}(?!\w)", bare)):
            return bool(word)
        is_last = re.search(rf"(?<![a-z]){word}$", bare, re.IGNORECASE) and _SPEAKS.search(bare)
        # "Unchanged because this part is about the roof", and not "Unchanged fees were paid to Bo Lind".
        is_first = re.match(rf"{word}(?![^\W\u3400-\u9fff])", bare, re.IGNORECASE)
        return bool(
            is_last
            or (is_first and (re.match(rf"{word}\s*(?:[^\w\s]|$)", bare, re.IGNORECASE) or not self._has_news(bare)))
        )

    def _has_news(self, text: str) -> bool:
        """Return whether it has a name or a number of the section that is in neither memory nor question."""
        exact = {word.index_key for word in parse_words(text) if word.is_exact or word.text in CJK_DIGITS}
        return bool((exact & self._section_keys if self.section else exact) - self._known)

    def _tells(self, part: _Part, *, is_doubted: bool, is_first: bool) -> bool:
        """Return whether a part tells of the document. Reasons stand behind a word for unchanged or a refusal."""
        text = re.sub(re.escape(self.unchanged), "", part.text, flags=re.IGNORECASE) if is_doubted else part.text
        words = [word for word in parse_words(text) if word.is_distinctive and word.index_key not in self._known]
        shown = [word for word in words if word.index_key in self._section_keys]
        # What "unchanged, except that" leads in is meant to be told, wherever it is from.
        named = shown if (self.section or is_refusal(text)) and not (is_first and part.is_exception) else words
        has_fact = any(word.is_exact or word.text in CJK_DIGITS for word in named)
        has_fact = has_fact or bool(shown and self._is_taken_over(text))
        is_reason = is_first and not part.is_exception
        if not _SPEAKS.search(text):
            is_told = len(shown) >= _ENOUGH_TOLD and not is_reason
            return has_fact or is_told if is_doubted else not is_remark(text) or self._has_number(text)
        is_report = _TELLS.search(text) or (
            not _DENIES.search(text) and not _STAYS.search(text) and len(shown) >= _ENOUGH_TOLD
        )
        return not is_reason and (has_fact or bool(is_report) or self._is_taken_over(text))

    def _has_number(self, text: str) -> bool:
        """Return whether it has a number that only the section has: "No changes before 2032" is a fact."""
        numbers = {word.index_key for word in parse_words(text) if any(map(str.isdigit, word.text))}
        return bool((numbers & self._section_keys) - self._known)

    def _is_taken_over(self, text: str) -> bool:
        """Return whether the section has the words: "The memory of the device is soldered" may be of any document."""
        words = [word for word in parse_words(text) if word.is_distinctive]
        return len(words) >= _ENOUGH_TOLD and all(word.index_key in self._section_keys for word in words)

    def _list_own(self, text: str) -> list[Word]:
        """Return the words of some lines; those of the question come in any reply, so they tell nothing."""
        words = [word for line in text.splitlines() for word in _list_words(line)]
        return [word for word in words if word.index_key not in self._asked] or words


@dataclass(frozen=True, slots=True)
class _Part:
    """A clause of a reply."""

    text: str
    line: str
    """The whole line that it stands in."""
    is_exception: bool
    """It follows a "but", an "except", an "otherwise"."""


def _drop_lead(reply: str) -> str:
    first, _, rest = reply.partition("\n")
    is_lead = rest.strip() and len(first) <= _LONGEST_LEAD and _LEAD.search(first)
    return rest.strip() if is_lead else reply


def _list_words(line: str) -> list[Word]:
    return [word for word in parse_words(line) if word.is_distinctive]


def _share(line: str, other: str) -> float:
    """Return how many of a line's words another one has."""
    return word_overlap(parse_words(line), Passage(other).index_keys)


def _keeps(part: _Part) -> bool:
    return bool(_OTHERS.search(part.text))


def _speaks(text: str) -> bool:
    # "Nothing but the pier was tarred" begins with a remark of one word.
    return bool(_SPEAKS.search(text)) or (" " in text and is_remark(text))
