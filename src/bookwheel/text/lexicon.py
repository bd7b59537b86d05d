"""Words by what they do in a sentence: function words, months, numbers, equal verbs; their stems and their language.

Small and hand-made on purpose: a missing entry makes a verdict more careful, never bolder.

>>> stem("signed"), stem("signs"), stem("wrote") == stem("writes")
('sign', 'sign', True)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from bookwheel.patterns import compile_late


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE: Final = words("is was are were be been being am 's as named called became becomes become remains remained")
AUXILIARIES: Final = BE | words("has have had do does did will shall should can must")
POSITIONS: Final = words("of in at on from near for during since until by within inside to into per through under")
"""Prepositions that open a detail, which a shorter sentence may leave out."""
DIRECTIONS: Final = words(
    "before after until since from to into over under above below against between except only more less fewer most "
    "least than both either every all each some any without towards toward instead rather"
)
"""Function words that a sentence cannot lose or gain and still say the same."""
COMPARATORS: Final = words("over under about around nearly almost least most than approximately roughly below above")
"""Before a number, they change it."""
FUNCTION_WORDS: Final = (
    AUXILIARIES
    | POSITIONS
    | DIRECTIONS
    | COMPARATORS
    | words(
        "a an the and or but so such that this these those there here it its he him his she her hers they them their "
        "we us our you your i me my who whom whose which what when where why how with without also then thus too very "
        "just while whereas because although though however yes onto upon among along across off out up down again "
        "other another own same one ones according namely both s t re ve ll d m o"
    )
) - words("named called became becomes become remains remained")
LIGHT: Final = words(
    "document text passage section page chapter author say state mention describe locate situate call name know "
    "accord answer question indicate note report respectively specifically"
)
"""Stems that an answer may add: they speak about the document, not of what it says."""
ASKING: Final = words(
    "who whom whose which what when where why how many much long far old often kind name tell find describe give list "
    "please type sort year date day time place number amount 's"
)
_MONTHS: Final = "january february march april may june july august september october november december"
MONTH_NAMES: Final = tuple(_MONTHS.split())
MONTHS: Final = words(_MONTHS)
MONTH: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTH_NAMES) + "|sept"
"""The alternatives of a regular expression, whole or shortened."""

_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
SMALL_NUMBERS: Final = tuple(_SMALL.split())
"""The words for 0 to 20, each at its number."""
NUMBER_WORDS: Final = {
    **{word: str(value) for value, word in enumerate(SMALL_NUMBERS)},
    **{word: str(10 * (value + 2)) for value, word in enumerate(_TENS.split())},
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "billion": "1000000000",
    "dozen": "12",
}
_IRREGULAR: Final = (
    "write wrote written|build built|buy bought|sell sold|pay paid|hold held|find found|found founded|make made|take "
    "took taken|give gave given|come came|go went gone|see saw seen|know knew known|begin began begun|send sent|spend "
    "spent|bring brought|teach taught|catch caught|lead led|leave left|lose lost|win won|meet met|sit sat|stand stood|"
    "run ran|draw drew drawn|grow grew grown|throw threw thrown|speak spoke spoken|break broke broken|choose chose "
    "chosen|drive drove driven|rise rose risen|fall fell fallen|eat ate eaten|keep kept|sleep slept|feel felt|tell "
    "told|get got gotten|burn burnt|bear bore born|wear wore worn|steal stole stolen|sing sang sung|swim swam swum|"
    "drink drank drunk|hide hid hidden|ride rode ridden|fly flew flown|die died|lie lay lain|bind bound|wind wound|"
    "fight fought|seek sought|bite bit bitten|become became|remain remained|child children|man men|woman women|foot "
    "feet|person people"
)
_EQUAL: Final = (
    "build construct erect|buy purchase acquire|begin start commence|end finish conclude|die decease|write author|"
    "locate situate|receive get obtain|show display|large big|little small|show exhibit|need require|use employ|"
    "make manufacture produce|appoint name|arrive reach|keep retain|entire whole|movie film|doctor physician|"
    "metre meter|kilometre kilometer km|percent %|kilogram kg|harbour harbor|colour color|grey gray|centre center|"
    "deliver bring|sign subscribe|cost price|live reside dwell|occur happen|weigh weight"
)


def _table(groups: str) -> dict[str, str]:
    table: dict[str, str] = {}
    for group in groups.split("|"):
        first, *others = group.split()
        table.update({other: table.get(first, first) for other in others})
    return table


IRREGULAR: Final = _table(_IRREGULAR)
EQUAL: Final = _table(_EQUAL)

CJK_FUNCTION: Final = frozenset(
    "的了是在于由和与也就都而及着之其此这那个把被从到向对为以等吗呢吧啊则便即所并乃矣於與這個從對為嗎則並將將会會"
)
_NO_NEGATION: Final = (
    "非常 不过 不仅 不但 无论 不久 无锡 非洲 不断 不同 没收 莫斯科 分别 特别 级别 性别 类别 区别 个别 识别 别墅 "
    "告别 未来 无线 无限 无人机 不锈钢 不动产 不列颠 未婚妻 未婚夫 南非 北非 东非 西非"
)
CJK_NO_NEGATION: Final = tuple(_NO_NEGATION.split())
"""Words with a sign of negation in them that negate nothing."""
CJK_DIGITS: Final = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
CJK_POWERS: Final = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return what all forms of a word share, and words of the same meaning with it."""
    word = IRREGULAR.get(word, word)
    return _STEMS.get(base := _cut_ending(word), base)


def _cut_ending(word: str) -> str:
    for ending, least, instead in (("ies", 5, "y"), ("ied", 5, "y"), ("sses", 5, "ss"), ("ing", 6, ""), ("ed", 5, "")):
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)] + instead
            break
    else:
        if word.endswith(("xes", "ches", "shes", "zes")):
            word = word[:-2]
        elif len(word) > 3 and word[-1] == "s" and word[-2] not in "siu":  # noqa: PLR2004 - "gas", "bus", "this" stay
            word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":  # noqa: PLR2004 - "stopp" of "stopped"
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word  # noqa: PLR2004


def is_verb(word: str) -> bool:
    return word in AUXILIARIES or word in IRREGULAR or word.endswith("ed")


def find_content(row: Iterable[str]) -> set[str]:
    """Return the stems of the words that say something."""
    return {stem(word) for word in row if word not in FUNCTION_WORDS}


_STEMS: Final = {_cut_ending(word): _cut_ending(first) for word, first in EQUAL.items()}
FORMS: Final[dict[str, tuple[str, ...]]] = {}
"""For each stem, the words that have it without beginning with it."""
for _word in (*IRREGULAR, *EQUAL):
    FORMS[stem(_word)] = (*FORMS.get(stem(_word), ()), _word)


BEGINNING: Final = 4000
"""Characters of a document that tell its language."""
_LETTER: Final = compile_late(r"[^\W\d_]")
_HAN: Final = compile_late("[\u4e00-\u9fff\u3400-\u4dbf]")
# Of Japanese and Korean, which have Chinese characters among their own.
_OTHER: Final = compile_late("[\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3]")


def language_of(text: str) -> str:
    """Return `zh` when at least three in ten letters are Chinese characters and not one is kana for four, else `en`."""
    letters, han = len(_LETTER.findall(text)), len(_HAN.findall(text))
    return "zh" if letters and han >= 0.3 * letters and 4 * len(_OTHER.findall(text)) < han else "en"
