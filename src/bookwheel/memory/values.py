"""What changes over the texts of a memory: the newest value of what was asked for, and what others say in its place.

    "My dentist is Vix."  …  "I had to find a new dentist. Now I have Orm."      Orm holds, Vix is superseded

A model that only quotes cannot weigh what it quotes. It answers with the newest line that has all of the question's
words that its own choice has, or part of them and a word that tells of a change. The line is given whole where the
sentence alone has no value: the value often stands in the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from bookwheel.memory.passages import DatedQuote, MemoryPassage, PassageDocument, is_title
from bookwheel.memory.speakers import FIRST, TURN, find_turn, is_named
from bookwheel.reading.ways.passages import GAP
from bookwheel.text.changes import tells_change
from bookwheel.text.lexicon import language_of, stem
from bookwheel.text.matching import parse_words
from bookwheel.text.questions import can_answer
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.remarks import is_absence
from bookwheel.text.sentences import split_sentences

# Two sentences are about the same where they share these parts of the words of the shorter and the longer one.
_SAME: Final = 0.5
_SAME_LONGER: Final = 0.3
# Lines above a mail's own words, which have no full stop.
_HEADERS: Final = re.compile(
    r"\s*(?:(?:From|To|Cc|Date|Subject|发件人|收件人|主题|日期)[:：][^\n]*(?:\n\s*|\Z))+", re.IGNORECASE
)
# Characters of the longest line that is one statement.
_LINE: Final = 300
# Of the question's words, where a word tells of a change: one in so many. In Chinese, pairs of signs are words.
_PART: Final = {"en": 2, "zh": 3}
# Signs that only join Chinese words: a pair with one of them is no word.
_SEAM: Final = re.compile(r"[的在了是和与哪谁吗呢吧]")
_TOLD: Final = re.compile(r"[.!?…。！？][\"'”’»)\]』」]*\s*$")
_IS: Final = re.compile(r"\b(?:is|are|was|were|called|named)\b|[是叫]", re.IGNORECASE)


def list_newest(best: str, question: str, document: PassageDocument) -> list[str]:
    """Return the statements of what the best passage for a question speaks of, newest first; its own comes last."""
    asked = QuestionWords(question)
    text, wanted = document.slice(0, document.length), asked.find(best) & asked.stems
    wanted = {word for word in wanted if not _SEAM.search(word)} or wanted
    # Lines of a passage may have been joined; a sentence stands as it was.
    pieces = [piece[start:end].strip() for piece in best.split(GAP) for start, end in split_sentences(piece)]
    sentences = sorted(pieces, key=asked.share, reverse=True)
    place, own = next(((text.find(one), one) for one in sentences if one in text), (-1, best))
    home = document.find(place)
    names = {stem(word.index_key) for word in parse_words(question) if word.is_exact}
    # A line that shares only a name is of another matter.
    if home is None or not wanted - names:
        return [best]
    mine, part = _list_stems(best), _PART[language_of(question)]
    # Who writes by hand puts right.
    written = {line for one in document.passages if not one.text.number for line in _split_lines(one.words)}
    newest = list[str]()
    for line in _list_later(document, home, home.start + place - home.place):
        found = asked.find(line)
        is_change = (line in written or tells_change(line)) and part * len(found & wanted) >= len(wanted)
        is_new = bool(_list_stems(line) - mine - asked.stems)
        if is_new and (is_change or wanted <= found) and can_answer(question, line) and not is_title(line, question):
            newest.append(_shorten(line, wanted, mine | asked.stems))
    return [*newest, best if best in text else own]


def _list_later(document: PassageDocument, home: MemoryPassage, place: int) -> list[str]:
    """Return the lines of later texts, and in a talk the later turns of the same one, newest first."""
    found: list[tuple[datetime, int, int, str]] = []
    for passage in document.passages:
        is_same = passage.text.number == home.text.number
        if not is_same and passage.text.instant <= home.text.instant:
            continue
        at = 0
        for line in _split_lines(passage.words):
            at = max(at, passage.words.find(line, at))
            if not is_same or (TURN.match(line) and passage.start + at > place):
                found.append((passage.text.instant, passage.text.number, passage.start + at, line))
    return [line for *_, line in sorted(found, reverse=True)]


def says_more(noted: str, found: str) -> bool:
    """Return whether an answer says all that another one does, and more."""
    return is_absence(found) or _list_stems(found) < _list_stems(noted)


def find_told(question: str, document: PassageDocument) -> str:
    """Return the newest turn that tells of what is asked for; empty where none does.

    A small model does not know for an answer what stands in two sentences, or in words of a talk. The turn is of
    somebody who is asked about, or of no speaker's own things where the question names nobody who speaks.
    """
    asked, speakers = QuestionWords(question), document.speakers
    stems_of = {who: {stem(word.index_key) for word in parse_words(who)} for who in speakers}
    is_of_speaker = any(names & asked.stems and is_named(who, question) for who, names in stems_of.items())
    is_chinese = language_of(question) == "zh" and not is_of_speaker
    for passage in document.passages if speakers else ():
        for line in reversed(list(_split_lines(passage.words))):
            names = stems_of.get(find_turn(line, 0)[0], set())
            wanted = asked.stems - names
            if is_chinese:
                # Of pairs of signs some are no words: most of the others will do.
                signs = {word for word in wanted if not _SEAM.search(word)}
                found = asked.find(line) & signs
                wanted = found if 3 * len(found) >= 2 * len(signs) and len(found) > 1 else signs
            if not wanted or not wanted <= asked.find(line) or not names:
                continue
            told = _shorten(line, wanted, asked.stems | names)
            is_own = bool(names & asked.stems)
            if not is_of_speaker:  # Something of nobody's own: of several words that are asked for, or what one is.
                asks_or_own = told.rstrip().endswith(("?", "？")) or FIRST.search(told)
                is_own = not asks_or_own and (len(wanted) > 1 or bool(_IS.search(told)))
            known = asked.stems | names
            if is_own and (bool(_list_stems(told) - known) if is_chinese else _has_value(told, known)):
                return told
    return ""


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text that are whole statements, such as turns of a talk; elsewhere its sentences."""
    held = list[str]()
    for line in (*map(str.strip, text.splitlines()), ""):
        is_end = not line or bool(_TOLD.search(line)) or line.startswith(("==", "#", "["))
        held += [line] if line else []
        if is_end and held:
            block = "\n".join(held)
            if len(held) == 1 and len(block) <= _LINE:
                yield block
            else:
                yield from (block[start:end].strip() for start, end in split_sentences(block))
            held = []


def _shorten(line: str, wanted: set[str], known: set[str]) -> str:
    """Return the sentence of a line that has the words and a name or number that is new; else the line."""
    for start, end in split_sentences(line):
        sentence = line[start:end].strip()
        if _has_value(sentence, known) and wanted <= QuestionWords(" ".join(wanted), wanted).find(sentence):
            return sentence
    return line


def _has_value(text: str, known: set[str]) -> bool:
    """Return whether a text has a name or a number beside the words that are known."""
    return any(
        word.is_exact or (word.is_distinctive and word.text[0].isupper())
        for word in parse_words(text)
        if stem(word.index_key) not in known
    )


def find_rivals(
    answer: str, quotes: Sequence[DatedQuote], question: str, document: PassageDocument
) -> list[DatedQuote]:
    """Return the sentences that have the question's words, and a value that is not the answer's; newest first."""
    asked, said = QuestionWords(question), _list_stems(answer)
    names = {stem(word.index_key) for word in parse_words(question) if word.is_exact}
    rivals: list[DatedQuote] = []
    for quote in quotes:
        mine, wanted = _list_stems(quote.quote), asked.find(quote.quote)
        speaker = document.find_speaker(quote)
        if told := document.find_told(quote):
            rivals += _list_told(told, quote, document)
        if not wanted:
            continue
        # Of two lines that share only a name of the question, one is of another matter, unless they are much the same.
        is_named = bool(asked.stems - names) and not wanted - names
        for passage in document.passages:
            if _is_beside(quote, passage):
                continue
            for first, end in split_sentences(passage.words):
                headers = _HEADERS.match(passage.words, first, end)
                start = headers.end() if headers else first
                words = passage.words[start:end].strip()
                theirs = _list_stems(words)
                (short, long), shared = sorted((len(mine), len(theirs))), len(mine & theirs)
                is_alike = shared >= max(_SAME * short, _SAME_LONGER * long, 1)
                is_alike = is_alike and (not is_named or shared > _SAME * long)
                if is_alike and wanted <= asked.find(words) and mine - theirs and theirs - mine - said:
                    at = passage.place + passage.words.find(words, start)
                    rival = document.quote(at, at + len(words))
                    if rival and (not speaker or document.find_speaker(rival) in {speaker, ""}):
                        rivals.append(rival)
    return list(dict.fromkeys(rivals))


def _list_told(told: str, quote: DatedQuote, document: PassageDocument) -> Iterator[DatedQuote]:
    """Yield the sentences of the texts that say what words written by hand put right."""
    before, after = _list_stems(told), _list_stems(quote.quote)
    for passage in document.passages if before - after else ():
        for start, end in split_sentences(passage.words) if passage.text.number else ():
            theirs = _list_stems(passage.words[start:end])
            if before - after <= theirs and (theirs & before & after or not before & after):
                found = document.quote(passage.place + start, passage.place + len(passage.words[:end].rstrip()))
                yield from [found] if found else []


def _is_beside(quote: DatedQuote, passage: MemoryPassage) -> bool:
    """Return whether a passage is of the same day of the same text as a quote; each correction is by itself."""
    here, there = (quote.source, quote.text, quote.at), (passage.text.source, passage.text.number, passage.text.at)
    return here[:2] == there[:2] and (here[2] == there[2] if not quote.text else here[2][:10] == there[2][:10])


def _list_stems(text: str) -> set[str]:
    return {stem(word.index_key) for word in parse_words(text) if word.is_distinctive}
