"""Filler: endless text, in units between which a passage can be set.

noise      a few plain sentences over and over; the weakest of hiding places
essay      real books, sentence by sentence from a place drawn by the seed; made-up prose without the data folder
prose      made-up sentences that never repeat themselves outright
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import count, repeat
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.data_dir import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

    from bookwheel.lab.tasks.data_dir import DataDir

_NOISE: Final = {
    "en": "The harbour is calm. The bread is warm. Clouds drift over the hill. Someone opens a door and shuts it.\n",
    "zh": "港口很平静。面包还是热的。云从山上飘过。有人开了门，又把门关上。\n",
}
BOOKS: Final = {"en": ("en_essays", "en_"), "zh": ("zh_", "zh_")}
"""Prefixes of file names for each language: of essays, and of any book."""


def noise(language: str) -> Iterator[str]:
    """Yield the same line forever."""
    return repeat(_NOISE[language])


def essay(language: str, data_dir: DataDir, rng: Random) -> tuple[Iterator[str], str]:
    """Return sentences of the essays in the data folder, and their name for a sample's metadata."""
    narrow, wide = BOOKS[language]
    paths = data_dir.list_books(narrow) or data_dir.list_books(wide)
    if not paths:
        return prose(language, rng), "prose"
    return _cycle_books(paths, rng), "essay"


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


_SENTENCE: Final = {
    False: re.compile(r"""(?:[^.!?]|[.!?](?!["'”’)]*\s))+[.!?]*["'”’)]*\s*"""),
    True: re.compile(r"[^。！？．]+[。！？．]*[”’」』）]*"),
}

_PLACES: Final = (
    "mill",
    "quay",
    "orchard",
    "market",
    "chapel",
    "ferry house",
    "upper road",
    "library",
    "smithy",
    "inn",
)
_EN: Final = (
    "The {adjective} {noun} stood by the {place} all {season}, and nobody asked whose it was. ",
    "{given} walked down to the {place} with the {noun} and came back without it. ",
    "In {season} the {place} smelled of rain and {adjective} timber. ",
    "They talked about the {noun} for an hour, and about the {other} for two. ",
    "Every {season} someone promised to mend the {noun}, and every {season} it was left as it was. ",
    "The {adjective} {noun} is worth more than any {other} that never leaves the {place}. ",
    "{given} had always thought of the {place} as {adjective}, though {family} called it otherwise. ",
    "When the bell rang, the people at the {place} put down the {noun} and looked up. ",
    "Nothing came of the quarrel over the {other}; the {noun} was quietly returned. ",
    "It was the sort of {season} evening on which even the {noun} looks {adjective}.\n\n",
    "Old {family} kept the {other} beside the {noun}, for reasons of his own. ",
    "The road past the {place} was closed, so {given} took the path over the hill.\n\n",
)
_ZH: Final = (
    "{given}提着一盏{a}{n}从桥边走过，没有人问他要去哪里。",
    "那年{season}天，{a}{m}{n}一直放在窗下，谁也没有动过。",
    "茶馆里的人谈了半日{m}{n}，又谈了半日天气。",
    "每到{season}天，{family}家的人都说要修那{n}，可是一直没有修。",
    "雨停了以后，{given}把{a}{n}挂回墙上，慢慢地扫起院子来。\n\n",
    "一件{a}{m}{n}并不值钱，只是看久了便舍不得。",
    "路上遇见{family}先生，他说{season}天快要过去了。",
    "集市散得早，剩下几个人围着{m}{n}说笑。\n\n",
)


def prose(language: str, rng: Random) -> Iterator[str]:
    """Yield made-up sentences forever. Their words are built in, so they are the same on every machine."""
    while True:
        yield _zh_sentence(rng) if language == "zh" else _en_sentence(rng)


def _en_sentence(rng: Random) -> str:
    noun, other = rng.sample(lexicon.OWN_NOUNS, 2)
    return rng.choice(_EN).format(
        adjective=rng.choice(lexicon.OWN_ADJECTIVES),
        noun=noun,
        other=other,
        place=rng.choice(_PLACES),
        season=rng.choice(("spring", "summer", "autumn", "winter")),
        given=rng.choice(lexicon.GIVEN),
        family=rng.choice(lexicon.FAMILY),
    )


def _zh_sentence(rng: Random) -> str:
    return rng.choice(_ZH).format(
        a=rng.choice(lexicon.ZH_ADJECTIVES),
        m=rng.choice(lexicon.ZH_MIDDLES),
        n=rng.choice(lexicon.ZH_NOUNS),
        season=rng.choice("春夏秋冬"),
        given=rng.choice(lexicon.ZH_GIVEN),
        family=rng.choice(lexicon.ZH_FAMILY),
    )
