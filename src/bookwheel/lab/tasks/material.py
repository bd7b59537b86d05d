"""What samples are made of: names and words, sentences between which a passage can be set, and the facts hidden there.

The words and sentences of ours stand in lab/data/wordings.toml, by family of tasks and language.

noise      a few plain sentences over and over; the weakest of hiding places
essay      real books, sentence by sentence from a place drawn by the seed; made-up prose without the data folder
prose      made-up sentences that never repeat themselves outright
"""

import re
import tomllib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, count, cycle, repeat
from pathlib import Path
from random import Random
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import AssembledDocument, SourcePassage
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.data_dir import DataDir, read_text
from bookwheel.lab.tasks.definition import SampleRequest
from bookwheel.packaged import PACKAGE

ABSENT: Final = {"en": "not in the document", "zh": "文中没有提到"}
"""The gold answer where there is none."""
GAPS: Final = {"en": " ", "zh": ""}
"""What stands between two sentences."""
ESSAYS: Final = {"en": ("en_essays", "en_"), "zh": ("zh_", "zh_")}
"""Prefixes of file names for each language: of essays, and of any book."""
_CODAS: Final = ("", "", "l", "m", "n", "r", "s", "t", "ck", "nd")


@cache
def load_wordings() -> dict[str, dict[str, dict[str, Any]]]:
    """Return our words and sentences by family, language and kind."""
    return tomllib.loads((PACKAGE / "lab" / "data" / "wordings.toml").read_text(encoding="utf-8"))


class Wordings:
    """The sentences of a family of tasks in the language of a request.

    A call draws one sentence of a kind; an index returns all of them, or the only one.
    """

    def __init__(self, family: str, request: SampleRequest) -> None:
        self._table = load_wordings()[family][request.language]
        self._rng = request.rng

    def __getitem__(self, kind: str) -> Any:
        return self._table[kind]

    def __call__(self, kind: str) -> Any:
        return self._rng.choice(self._table[kind])


@cache
def list_words(kind: str, language: str = "en") -> list[str]:
    """Return all words of a kind, such as `nouns` or `given` (names), in the order that the seeds count on."""
    words = load_wordings()["words"][language][kind]
    return words.split() if isinstance(words, str) else list(words)


def coin_word(rng: Random, syllables: tuple[int, ...] = (2, 2, 3)) -> str:
    """Make up a word that can be pronounced and is in no dictionary: "trealvoond"."""
    onsets, vowels = list_words("onsets"), list_words("vowels")
    sounds = range(rng.choice(syllables))
    return "".join(rng.choice(onsets) + rng.choice(vowels) + rng.choice(_CODAS) for _ in sounds)


def draw_place(rng: Random) -> str:
    """Draw the name of a town that is on no map."""
    return coin_word(rng, (1, 2)).capitalize() + rng.choice(list_words("towns"))


def draw_person(rng: Random, language: str = "en") -> str:
    given, family = list_words("given", language), list_words("family", language)
    if language == "zh":
        return rng.choice(family) + rng.choice(given)
    return f"{rng.choice(given)} {rng.choice(family)}"


def draw_people(rng: Random, language: str, size: int) -> list[str]:
    """Draw people of whose names no two share a part."""
    order = ("family", "given") if language == "zh" else ("given", "family")
    first, second = (rng.sample(list_words(kind, language), size) for kind in order)
    return [GAPS[language].join(names) for names in zip(first, second, strict=True)]


def draw_number(rng: Random, digits: int = 7) -> str:
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


def draw_uuid(rng: Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def draw_distinct(draw: Callable[[], str]) -> Iterator[str]:
    """Yield what `draw` returns, each value once, forever."""
    used: set[str] = set()
    while True:
        value = draw()
        if value not in used:
            used.add(value)
            yield value


def draw_names(rng: Random, language: str) -> Iterator[str]:
    """Yield names for things, each once, forever: a made-up word, or two Chinese characters."""
    signs = [list_words(kind, "zh") for kind in ("adjectives", "middles")]
    return draw_distinct(lambda: "".join(map(rng.choice, signs)) if language == "zh" else coin_word(rng).capitalize())


def draw_keys(rng: Random, data_dir: DataDir, language: str) -> Iterator[str]:
    """Yield keys without repeats, forever: adjective and noun, or three Chinese characters.

    They grow longer when the short ones are used up.
    """
    adjectives = data_dir.words.get("adjectives") or list_words("adjectives")
    nouns = data_dir.words.get("nouns") or list_words("nouns")
    middles = list_words("middles", "zh")
    used: set[str] = set()
    misses = longer = 0
    while True:
        name = draw_object(rng) if language == "zh" else f"{rng.choice(adjectives)}-{rng.choice(nouns)}"
        for _ in range(longer):
            name = rng.choice(middles) + name if language == "zh" else f"{rng.choice(nouns)}-{name}"
        if name in used:
            misses += 1
            longer += misses % 20 == 0
            continue
        misses = 0
        used.add(name)
        yield name


def draw_object(rng: Random) -> str:
    """Draw a thing in three Chinese characters."""
    return "".join(rng.choice(list_words(kind, "zh")) for kind in ("adjectives", "middles", "nouns"))


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def write_prose(language: str, rng: Random) -> Iterator[str]:
    """Yield made-up sentences forever. Their words are built in, so they are the same on every machine."""
    sentences = load_wordings()["filler"][language]["prose"]

    def draw(kind: str) -> str:
        return rng.choice(list_words(kind, language))

    while language == "zh":
        yield rng.choice(sentences).format(
            a=draw("adjectives"),
            m=draw("middles"),
            n=draw("nouns"),
            season=draw("seasons"),
            given=draw("given"),
            family=draw("family"),
        )
    while True:
        noun, other = rng.sample(list_words("nouns"), 2)
        yield rng.choice(sentences).format(
            adjective=draw("adjectives"),
            noun=noun,
            other=other,
            place=draw("places"),
            season=draw("seasons"),
            given=draw("given"),
            family=draw("family"),
        )


def repeat_noise(language: str) -> Iterator[str]:
    return repeat(load_wordings()["filler"][language]["noise"])


def open_essays(language: str, data_dir: DataDir, rng: Random) -> tuple[Iterator[str], str]:
    """Return sentences of the essays in the data folder, and their name for a sample's metadata."""
    paths = data_dir.list_books(*ESSAYS[language])
    return (_cycle_books(paths, rng), "essay") if paths else (write_prose(language, rng), "prose")


def _cycle_books(paths: list[Path], rng: Random) -> Iterator[str]:
    """Yield the sentences of all books in turn, forever, from one that the seed chooses."""
    shelves = [load_sentences(path) for path in paths]
    flat_start = rng.randrange(sum(map(len, shelves)))
    for book in shelves:
        if flat_start < len(book):
            yield from book[flat_start:]
        flat_start = max(0, flat_start - len(book))
    for turn in count():
        yield from shelves[turn % len(shelves)]


_SENTENCE: Final = {
    False: re.compile(r"""(?:[^.!?]|[.!?](?!["'”’)]*\s))+[.!?]*["'”’)]*\s*"""),
    True: re.compile(r"[^。！？．]+[。！？．]*[”’」』）]*"),
}


@lru_cache(maxsize=8)
def load_sentences(path: Path) -> tuple[str, ...]:
    """Return a book's sentences with the blanks after them, without line breaks inside a paragraph."""
    text = read_text(path).replace("\r\n", "\n")
    han = len(re.findall("[\u4e00-\u9fff]", text[:4000])) > 400  # noqa: PLR2004 - a tenth of what was looked at
    paragraphs = re.split(r"\n\s*\n|\n(?=[\u3000 ]{2,})" if han else r"\n\s*\n", text)
    sentences: list[str] = []
    for paragraph in paragraphs:
        flat = re.sub(r"\s*\n\s*", "" if han else " ", paragraph.strip())
        parts = [part for part in _SENTENCE[han].findall(flat) if part.strip()]
        sentences += [*parts[:-1], parts[-1].rstrip() + "\n\n"] if parts else []
    if not sentences:
        raise InputError(f"{path} holds no text; replace it or take it out of the folder")
    return tuple(sentences)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of an English text without the blanks between them."""
    return [part.strip() for part in _SENTENCE[False].findall(text) if part.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A sentence with its place and its note; without a note it is a decoy."""

    text: str
    place: float
    note: str = ""
    key: str = ""
    replaces: tuple[str, ...] = ()

    def to_passage(self, end: str = " ") -> SourcePassage:
        evidence = GoldEvidence(start=0, end=len(self.text), note=self.note, key=self.key, replaces=self.replaces)
        return SourcePassage(text=self.text + end, evidence=(evidence,) if self.note else (), place=self.place)


def spread(rng: Random, size: int, tell: Callable[[int], tuple[str, str]], key: str = "") -> list[Fact]:
    """Return facts at random places in their order. `tell` returns the text and the note of each by its number."""
    places = sorted(rng.random() for _ in range(size))
    told = (tell(at) for at in range(size))
    return [Fact(text=text, place=place, note=note, key=key) for place, (text, note) in zip(places, told, strict=True)]


def hide(
    request: SampleRequest, facts: Sequence[Fact], hay: Iterator[str], end: str | None = None
) -> AssembledDocument:
    """Hide the facts in the filler; `end` follows each, by default the blank that the language has after a sentence."""
    gap = GAPS[request.language] if end is None else end
    return request.assemble(hay, [fact.to_passage(gap) for fact in facts])


def hide_in_essays(request: SampleRequest, facts: Sequence[Fact]) -> AssembledDocument:
    """Hide the facts among sentences of books, or of made-up prose without a data folder."""
    hay, _ = open_essays(request.language, request.data_dir, request.rng)
    return hide(request, facts, hay)


def draw_books(request: SampleRequest) -> list[Path]:
    """Return the books of the data folder in their order, from one that the seed chooses; none without a folder."""
    paths = request.data_dir.list_books(ESSAYS[request.language][1])
    first = request.rng.randrange(len(paths)) if paths else 0
    return paths[first:] + paths[:first]


def hide_in_books(request: SampleRequest, books: Sequence[Path], facts: Sequence[Fact]) -> AssembledDocument:
    """Hide the facts in the books, one after the other from the first page on; without books, in made-up prose."""
    pages = chain.from_iterable(map(load_sentences, cycle(books)))
    return hide(request, facts, pages if books else write_prose(request.language, request.rng))
