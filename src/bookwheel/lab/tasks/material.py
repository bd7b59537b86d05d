"""What samples are made of: names and words, sentences between which a passage can be set, and the facts hidden there.

noise      a few plain sentences over and over; the weakest of hiding places
essay      real books, sentence by sentence from a place drawn by the seed; made-up prose without the data folder
prose      made-up sentences that never repeat themselves outright
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, cycle, repeat
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import SourcePassage
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.data_dir import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from random import Random

    from bookwheel.lab.tasks.assembly import AssembledDocument
    from bookwheel.lab.tasks.data_dir import DataDir
    from bookwheel.lab.tasks.definition import SampleRequest


def _split_words(words: str) -> list[str]:
    return words.split()


OWN_ADJECTIVES: Final = _split_words(
    "amber azure brisk calm candid cedar chalky clever copper coral crisp curious dapper dusky eager early fabled "
    "faded fallow fern frosty gentle gilded glassy granite grateful hollow honest humble ivory jolly keen lively "
    "lucid mellow mossy nimble northern oaken olive patient pearly placid plain polar proud quiet rapid rosy rustic "
    "sandy scarlet silent silver simple slender smoky solemn sturdy sunny tawny tidal tranquil umber velvet violet "
    "walnut windy wintry woven young zesty"
)
OWN_NOUNS: Final = _split_words(
    "anchor apron arbor badger barrel beacon bellow bobbin boulder bridge bucket candle canvas cellar chimney "
    "cobbler compass cottage cradle curtain dagger donkey drummer easel ember falcon feather ferry fiddle flagon "
    "fountain garland gate goblet granary hammer harbor harvest hatchet heron hinge hollow ink jacket jasmine kettle "
    "ladder lantern lattice ledger locket loom magpie mallet mantle marble meadow mirror mitten needle nutmeg orchard "
    "otter paddle pantry parcel pebble pepper pigeon pillow plum pocket quarry quill raft raven ribbon rudder saddle "
    "saffron shuttle sickle spindle sparrow stable steeple sundial tankard thimble thistle timber trellis trumpet "
    "tulip turnip valley vessel violin wagon walnut weaver wharf whistle willow windmill"
)
GIVEN: Final = _split_words(
    "Ada Anselm Beatrix Bram Cosima Dorian Edda Emeric Fenna Gideon Hedda Ilse Jory Keziah Lorcan Maren Nils Odile "
    "Orin Petra Quentin Rosalind Silas Thea Ulric Vesna Wendel Xenia Yorick Zelda"
)
FAMILY: Final = _split_words(
    "Abernoth Brackwell Cindermoor Dunfall Eastlake Farrowby Glimwood Hathersage Inskip Jessamy Kellaway Larkspur "
    "Marrow Netherby Oakhurst Pellworth Quill Ravensmoor Stonebridge Tamsin Underhill Varley Wetherfield Yarrow"
)
ZH_ADJECTIVES: Final = _split_words(
    "青 红 白 紫 金 银 碧 墨 朱 素 清 明 暖 寒 静 幽 古 新 长 远 轻 深 晨 暮 春 秋 东 西 南 北"
)
ZH_MIDDLES: Final = _split_words(
    "石 竹 松 梅 兰 荷 柳 桐 枫 杏 桃 藤 溪 湖 海 江 山 云 雪 雨 风 月 星 霜 露 烟 玉 铜 木 瓷"
)
ZH_NOUNS: Final = _split_words(
    "灯 钟 桥 船 伞 扇 琴 笛 鼓 壶 杯 盘 镜 梳 笔 砚 书 画 剑 弓 车 轮 门 窗 塔 亭 鹤 鹿 马 鱼"
)
ZH_FAMILY: Final = _split_words("沈 陆 顾 纪 苏 谢 温 秦 罗 方 叶 邵 薛 贺 宋 严")
ZH_GIVEN: Final = _split_words("明远 若兰 子衿 书言 清和 知秋 怀瑾 云舟 望舒 景行 思齐 听雨 静姝 长卿 安澜 采薇")

_ONSETS: Final = _split_words("b br c cr d dr f fl g gr h j k l m n p pl qu r s st t tr v w z")
_VOWELS: Final = _split_words("a e i o u ai ea oo")
_CODAS: Final = ("", "", "l", "m", "n", "r", "s", "t", "ck", "nd")


def list_vocabulary(data_dir: DataDir) -> list[str]:
    """Return every word of the data folder's lists, without repeats."""
    return sorted({word for listed in data_dir.words.values() for word in listed})


def coin_word(rng: Random, syllables: tuple[int, ...] = (2, 2, 3)) -> str:
    """Make up a word that can be pronounced and is in no dictionary: "trealvoond"."""
    sounds = range(rng.choice(syllables))
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in sounds)


def draw_place(rng: Random) -> str:
    """Draw the name of a town that is on no map."""
    return coin_word(rng, (1, 2)).capitalize() + rng.choice(("by", "ford", "ham", "mouth", "stead", "vale", "wick"))


def draw_person(rng: Random, language: str = "en") -> str:
    """Draw a given name and a family name."""
    if language == "zh":
        return rng.choice(ZH_FAMILY) + rng.choice(ZH_GIVEN)
    return f"{rng.choice(GIVEN)} {rng.choice(FAMILY)}"


def draw_number(rng: Random, digits: int = 7) -> str:
    """Draw a number with `digits` digits."""
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


def draw_uuid(rng: Random) -> str:
    """Draw a random UUID."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def draw_distinct(draw: Callable[[], str]) -> Iterator[str]:
    """Yield what `draw` returns, each value once, forever."""
    used: set[str] = set()
    while True:
        value = draw()
        if value not in used:
            used.add(value)
            yield value


def draw_keys(rng: Random, data_dir: DataDir, language: str) -> Iterator[str]:
    """Yield keys without repeats, forever: adjective and noun, or three Chinese characters.

    They grow longer when the short ones are used up.
    """
    adjectives = data_dir.words.get("adjectives") or OWN_ADJECTIVES
    nouns = data_dir.words.get("nouns") or OWN_NOUNS
    used: set[str] = set()
    misses = 0
    longer = 0
    while True:
        if language == "zh":
            name = rng.choice(ZH_ADJECTIVES) + rng.choice(ZH_MIDDLES) + rng.choice(ZH_NOUNS)
        else:
            name = f"{rng.choice(adjectives)}-{rng.choice(nouns)}"
        for _ in range(longer):
            name = f"{rng.choice(nouns)}-{name}" if language != "zh" else rng.choice(ZH_MIDDLES) + name
        if name in used:
            misses += 1
            longer += misses % 20 == 0
            continue
        misses = 0
        used.add(name)
        yield name


_NOISE: Final = {
    "en": "The harbour is calm. The bread is warm. Clouds drift over the hill. Someone opens a door and shuts it.\n",
    "zh": "港口很平静。面包还是热的。云从山上飘过。有人开了门，又把门关上。\n",
}
GAPS: Final = {"en": " ", "zh": ""}
"""What stands between two sentences."""
BOOKS: Final = {"en": ("en_essays", "en_"), "zh": ("zh_", "zh_")}
"""Prefixes of file names for each language: of essays, and of any book."""


def repeat_noise(language: str) -> Iterator[str]:
    """Yield the same line forever."""
    return repeat(_NOISE[language])


def open_essays(language: str, data_dir: DataDir, rng: Random) -> tuple[Iterator[str], str]:
    """Return sentences of the essays in the data folder, and their name for a sample's metadata."""
    narrow, wide = BOOKS[language]
    paths = data_dir.list_books(narrow) or data_dir.list_books(wide)
    if not paths:
        return write_prose(language, rng), "prose"
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


def write_prose(language: str, rng: Random) -> Iterator[str]:
    """Yield made-up sentences forever. Their words are built in, so they are the same on every machine."""
    while language == "zh":
        yield rng.choice(_ZH).format(
            a=rng.choice(ZH_ADJECTIVES),
            m=rng.choice(ZH_MIDDLES),
            n=rng.choice(ZH_NOUNS),
            season=rng.choice("春夏秋冬"),
            given=rng.choice(ZH_GIVEN),
            family=rng.choice(ZH_FAMILY),
        )
    while True:
        noun, other = rng.sample(OWN_NOUNS, 2)
        yield rng.choice(_EN).format(
            adjective=rng.choice(OWN_ADJECTIVES),
            noun=noun,
            other=other,
            place=rng.choice(_PLACES),
            season=rng.choice(("spring", "summer", "autumn", "winter")),
            given=rng.choice(GIVEN),
            family=rng.choice(FAMILY),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A sentence with its place and its note; without a note it is a decoy."""

    text: str
    place: float
    note: str = ""
    key: str = ""
    replaces: tuple[str, ...] = ()

    def to_passage(self, end: str = " ") -> SourcePassage:
        """Return the passage to set into the filler."""
        evidence = GoldEvidence(start=0, end=len(self.text), note=self.note, key=self.key, replaces=self.replaces)
        return SourcePassage(text=self.text + end, evidence=(evidence,) if self.note else (), place=self.place)


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
    paths = request.data_dir.list_books(BOOKS[request.language][1])
    first = request.rng.randrange(len(paths)) if paths else 0
    return paths[first:] + paths[:first]


def hide_in_books(request: SampleRequest, books: Sequence[Path], facts: Sequence[Fact]) -> AssembledDocument:
    """Hide the facts in the books, one after the other from the first page on; without books, in made-up prose."""
    pages = chain.from_iterable(map(load_sentences, cycle(books)))
    return hide(request, facts, pages if books else write_prose(request.language, request.rng))


def capitalize(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
