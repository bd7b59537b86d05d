"""Names, numbers and words for made-up text: lists of our own, and those of the data folder."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from bookwheel.lab.tasks.data_dir import DataDir


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


def nouns(data_dir: DataDir) -> list[str]:
    """Return common nouns: the data folder's, or a hundred of ours."""
    return data_dir.load_words().get("nouns") or OWN_NOUNS


def adjectives(data_dir: DataDir) -> list[str]:
    """Return adjectives: the data folder's, or about eighty of ours."""
    return data_dir.load_words().get("adjectives") or OWN_ADJECTIVES


def vocabulary(data_dir: DataDir) -> list[str]:
    """Return every word of the data folder's lists, without repeats."""
    return sorted({word for listed in data_dir.load_words().values() for word in listed})


def coin_word(rng: Random, syllables: tuple[int, ...] = (2, 2, 3)) -> str:
    """Make up a word that can be pronounced and is in no dictionary: "trealvoond"."""
    sounds = range(rng.choice(syllables))
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in sounds)


def draw_place(rng: Random) -> str:
    """Draw the name of a town that is on no map."""
    return coin_word(rng, (1, 2)).capitalize() + rng.choice(("by", "ford", "ham", "mouth", "stead", "vale", "wick"))


def draw_person(rng: Random) -> str:
    """Draw a given name and a family name."""
    return f"{rng.choice(GIVEN)} {rng.choice(FAMILY)}"


def draw_number(rng: Random, digits: int = 7) -> str:
    """Draw a number with `digits` digits."""
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


def draw_uuid(rng: Random) -> str:
    """Draw a random UUID."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def draw_key(rng: Random, data_dir: DataDir, language: str) -> str:
    """Draw a key: adjective and noun, or three Chinese characters."""
    if language == "zh":
        return rng.choice(ZH_ADJECTIVES) + rng.choice(ZH_MIDDLES) + rng.choice(ZH_NOUNS)
    return f"{rng.choice(adjectives(data_dir))}-{rng.choice(nouns(data_dir))}"


def draw_keys(rng: Random, data_dir: DataDir, language: str) -> Iterator[str]:
    """Yield keys without repeats, forever; they grow longer when the short ones are used up."""
    used: set[str] = set()
    misses = 0
    longer = 0
    while True:
        name = draw_key(rng, data_dir, language)
        for _ in range(longer):
            name = f"{rng.choice(nouns(data_dir))}-{name}" if language != "zh" else rng.choice(ZH_MIDDLES) + name
        if name in used:
            misses += 1
            longer += misses % 20 == 0
            continue
        misses = 0
        used.add(name)
        yield name
