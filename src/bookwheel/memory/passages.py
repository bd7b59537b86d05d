"""Passages of a memory's texts: what a question is put to, and how words of it become quotes with source and date."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bookwheel.memory.speakers import TURN, find_time, find_turn, keep_spans, list_speakers
from bookwheel.picture import Box, Picture
from bookwheel.plan import DESCRIBED
from bookwheel.text.kinds import find_kind, shows_kind
from bookwheel.text.leads import WithLeads
from bookwheel.text.lexicon import language_of
from bookwheel.text.lines import skip_file_header
from bookwheel.text.sentences import split_sentences
from bookwheel.types import Part
from bookwheel.views.verdicts import describe_pages

if TYPE_CHECKING:
    from bookwheel.journal.memory_pictures import MemoryPictures
    from bookwheel.journal.memory_rows import MemoryText

# Characters of a passage of a text. A sign of Chinese says what several letters say, and is a token of its own.
_PASSAGE: Final = {"en": 1200, "zh": 400}
# Who quotes needs few words around an answer, and passages of many dates.
_SHORT: Final = 4
_ASKS: Final = ("?", "？")
# Two different lines above a mail's own words, and a blank one: a single line may be of any text.
_NAMES: Final = r"(?:From|To|Cc|Date|Subject|发件人|收件人|主题|日期)"
_HEADERS: Final = re.compile(
    rf"\s*(?:=====[^\n]*\n\s*)?(?P<first>{_NAMES})[:：][^\n]*\n(?:(?P=first)[:：][^\n]*\n)*"
    rf"(?!(?P=first)){_NAMES}[:：][^\n]*\n(?:{_NAMES}[:：][^\n]*\n)*[ \t]*\n",
    re.IGNORECASE,
)
_TITLE: Final = re.compile(
    r"^(?:Subject|主题)[:：][ \t]*(?:(?:Re|Fwd?|回复|转发)[:：][ \t]*)*(?P<words>[^\n]*)$", re.IGNORECASE | re.MULTILINE
)
# A line of an older mail in a reply.
_REPEATED: Final = re.compile(r"^[ \t]*>[ \t>]*(?P<words>[^\n]*)(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedQuote:
    """The words of a text, with where and when they are from."""

    __pydantic_config__ = DESCRIBED

    quote: str
    source: str
    at: str
    start: int
    """Character offset into the text."""
    end: int
    text: int = 0
    """The number of the text; 0 of what was written by hand."""
    speaker: str = ""
    """Who says it, in a talk."""
    page: int | None = None
    picture: str = ""
    """The label of the picture that it stands in."""
    box: Box | None = None
    """Its place on the page, where it stands in a picture: left, top, right, bottom, as shares of its sides."""
    confidence: float | None = None
    """How sure the recogniser is of the words, from 0 to 1."""

    def describe_place(self) -> str:
        page = "" if self.page is None else describe_pages([self.page])
        sure = "" if self.confidence is None else f"read in a picture ({self.confidence:.0%})"
        # What is known by its day alone is of its beginning.
        day, _, time = self.at.partition("T00:00:00")
        return " · ".join(filter(None, (self.source, page, sure, self.speaker, day if time else self.at)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPassage:
    """A passage of a text, and where it stands in the document of passages."""

    text: MemoryText
    start: int
    words: str
    place: int = 0
    """The character of the document where its words begin."""
    told: tuple[tuple[str, str], ...] = ()
    """Of lines that were written by hand, each with the words that it puts right."""


class PassageDocument(WithLeads):
    """The passages that a question is put to, newest first, each below a line with its source and date."""

    def __init__(
        self, passages: Sequence[MemoryPassage], *, has_headers: bool, pictures: MemoryPictures | None = None
    ) -> None:
        self.name = "passages"
        self._pictures = pictures
        self.passages: list[MemoryPassage] = []
        self._parts: list[Part] = []
        length = 0
        for passage in sorted(passages, key=lambda one: (one.text.instant, one.text.number, -one.start), reverse=True):
            if at := skip_file_header(lambda start, end, words=passage.words: words[start:end], 0):  # type: ignore[misc]
                # The line with a file's or mail's name, which is no words of its own.
                passage = replace(passage, start=passage.start + at, words=passage.words[at:])  # noqa: PLW2901
            header = format_header(passage.text) if has_headers else ""
            self.passages.append(replace(passage, place=length + len(header)))
            self._parts.append(Part(text=f"{header}{passage.words.rstrip()}\n\n", source=passage.text.source))
            length += len(self._parts[-1].text)
        self.length = length

    def parts(self, start: int = 0) -> Iterator[Part]:
        for part in self._parts:
            if start < len(part.text):
                yield replace(part, text=part.text[start:]) if start > 0 else part
            start = max(0, start - len(part.text))

    def slice(self, start: int, end: int) -> str:
        return "".join(part.text for part in self.parts())[start:end]

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        del start, end
        return ()

    def list_pictures(self) -> tuple[Picture, ...]:
        """Return the pictures whose marks stand in it."""
        return self._pictures.pointed_at(self.slice(0, self.length)) if self._pictures else ()

    def load_picture(self, sha256: str) -> bytes:
        return self._pictures.load(sha256) if self._pictures else b""

    def find(self, place: int) -> MemoryPassage | None:
        return next((one for one in reversed(self.passages) if one.place <= place), None)

    def cut_out(self, words: str) -> PassageDocument | None:
        """Return a document of these words of a passage alone, in a talk with who says them and when."""
        for passage in self.passages:
            place = passage.words.find(words)
            if place >= 0:
                turns = [turn.start() for turn in TURN.finditer(passage.words, 0, place + 1)]
                start = max(turns, default=passage.words.rfind("\n", 0, place) + 1)
                own = replace(passage, start=passage.start + start, words=passage.words[start : place + len(words)])
                return PassageDocument([own], has_headers=False)
        return None

    @property
    def speakers(self) -> set[str]:
        return list_speakers(one.words for one in self.passages)

    def find_told(self, quote: DatedQuote) -> str:
        """Return what a quote of words written by hand puts right."""
        homes = (one for one in self.passages if (one.text.number, one.text.at) == (0, quote.at))
        pairs = [pair for one in homes if not quote.text for pair in one.told]
        return next((told for line, told in pairs if quote.quote in line), "")

    def find_speaker(self, quote: DatedQuote) -> str:
        """Return who says a quote, by a name before its line where there are no times."""
        homes = (one for one in self.passages if (one.text.source, one.text.number) == (quote.source, quote.text))
        home = next((one for one in homes if one.start <= quote.start < one.start + len(one.words)), None)
        return find_turn(home.words, quote.start - home.start)[0] if home else ""

    def quote(self, start: int, end: int) -> DatedQuote | None:
        """Return a span of the document as words of a text."""
        # A sentence may begin in the header line above its passage.
        if (passage := self.find(end - 1)) is None:
            return None
        start = max(start, passage.place)
        words = passage.words[start - passage.place : end - passage.place]
        at = passage.start + start - passage.place
        lead = len(words) - len(words.lstrip())
        speaker, said = find_turn(passage.words, start - passage.place + lead)
        return DatedQuote(
            quote=words,
            source=passage.text.source,
            at=find_time(said, passage.text.at),
            start=at,
            end=at + len(words),
            text=passage.text.number,
            # A label before a colon is a name in a talk alone, which has times.
            speaker=speaker if said else "",
        )


def format_header(text: MemoryText) -> str:
    """Return the line that stands before each piece of a text."""
    at = f"added {text.at}" if text.is_undated else text.at
    return f"[{text.source} · {at}]\n"


def leave_out_others(passages: Sequence[MemoryPassage], question: str) -> list[MemoryPassage]:
    """Return the passages without turns in which another than the one who is asked about speaks of themselves."""
    speakers = list_speakers(one.words for one in passages)
    return [
        replace(one, start=one.start + start, words=one.words[start:end])
        for one in passages
        for start, end in keep_spans(one.words, question, speakers)
    ]


def is_title(line: str, question: str) -> bool:
    """Return whether a line is the title of a mail that has nothing of the kind that is asked for.

    A title has the question's words more often than the sentence that answers it.
    """
    title, kind = _TITLE.fullmatch(line.strip()), find_kind(question)
    return bool(title and not (kind and shows_kind(kind, title["words"])))


def leave_out_titles(passages: Sequence[MemoryPassage], question: str) -> list[MemoryPassage]:
    """Return the passages without the titles of mails that answer nothing."""
    left = list[MemoryPassage]()
    for one in passages:
        headers = _HEADERS.match(one.words)
        title = _TITLE.search(one.words, 0, headers.end()) if headers else None
        # Its words may be in the next passage.
        has_words = headers and (one.words[headers.end() :].strip() or one.start + len(one.words) < one.text.characters)
        if headers and title and is_title(title[0], question) and has_words:
            spans = [(0, title.start()), (title.end(), len(one.words))]
        else:
            spans = [(0, len(one.words))]
        left += [
            replace(one, start=one.start + start, words=one.words[start:end]) for start, end in spans if start < end
        ]
    return left


def leave_out_repeated(passages: Sequence[MemoryPassage]) -> list[MemoryPassage]:
    """Return the passages without the lines that a reply repeats of an older mail, where one has them from that mail.

    Who replies does not say them again: they are no newer for it, nor theirs.
    """
    own = " ".join(word for one in passages for word in _REPEATED.sub("\n", one.words).split())
    left = list[MemoryPassage]()
    for one in passages:
        start = 0
        for line in (*_REPEATED.finditer(one.words), None):
            if line and not ((said := " ".join(line["words"].split())) and said in own):
                continue
            end = line.start() if line else len(one.words)
            if one.words[start:end].strip():
                left.append(replace(one, start=one.start + start, words=one.words[start:end]))
            start = line.end() if line else end
    return left


def cut_passages(content: str, *, is_short: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the passages of a text, cut where a line is empty, else at line ends, where there are any.

    So a message keeps the line above it, which has who says it and when.
    """
    start, size = 0, _PASSAGE[language_of(content[: _PASSAGE["en"]])] // (_SHORT if is_short else 1)
    while start < len(content):
        end = min(len(content), start + size)
        if end < len(content):
            least = start + size // (_SHORT if is_short else 2)
            ends = (found + len(mark) for mark in ("\n\n", "\n") if (found := content.rfind(mark, least, end)) > 0)
            end = next(ends, end)
        if content[start:end].strip():
            yield start, content[start:end]
        start = end


def only_asks(words: str) -> bool:
    """Return whether a passage has nothing but questions: what a chat asked before is no answer to it."""
    if not words.rstrip().endswith(_ASKS):
        return False
    sentences = (words[start:end].strip() for start, end in split_sentences(words))
    return all(sentence.endswith(_ASKS) for sentence in sentences if sentence)
