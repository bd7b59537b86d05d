"""Tell whether a gold that an answer asserts is said in answer to the question, or of something else.

"between 12 and 40", "at least 12": a bound, and no number
asked where it set out from  "from Tromsø to Bergen": Bergen is the other end
asked for the monthly rent   "3,200 a year"
asked who won                "Voss came second", "Voss and Maas shared the prize"
asked who is the director    "Ada Quill was until 2019", "the former director Ada Quill"
asked what was given first   "Saxin, followed by Tervonil"
asked how many were lost     "the storm of day 14"
asked for 2019               "4 million in 2018"
asked when it leaves         "it arrives at 23:10"
"""

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Final

from bookwheel.lab.scoring.chinese import is_beside_in_chinese
from bookwheel.text import lexicon
from bookwheel.text.normalization import BREAK, words_with_articles
from bookwheel.text.quantities import UNITS


def pair_words(text: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(pair.split()) for pair in text.split("|"))


_BOUNDS: Final = pair_words("more than|less than|fewer than|older than|at least|at most|up to")
_BOUND_WORDS: Final = lexicon.words("over under above below exceeding between before after")
_PERIODS: Final = {
    form: period
    for period, forms in {
        "hour": "hour hourly",
        "day": "day daily",
        "week": "week weekly",
        "month": "month monthly",
        "quarter": "quarter quarterly",
        "year": "year yearly annum annually annual",
    }.items()
    for form in forms.split()
}
# "12,400 euros a month" has lost its article here.
_RATED: Final = (UNITS - {"hour", "day", "week", "month", "year"}) | {"per", "a", "each", "every"}
_CHINESE_PERIOD: Final = re.compile(r"(?<![哪月\d])[每一1]([月年周天日])")
_ORDINALS: Final = lexicon.words("first second last 3rd 4th 5th 6th 7th 8th 9th 10th")
_WINS: Final = lexicon.words("won win wins winner winning")
_PRESENT: Final = lexicon.words("is are does do has")
# Where it is asked what must or can be, the bound is the answer: "at least 40 cm from the wall".
_LOWER: Final = lexicon.words("must should need needs needed required minimum min least")
_UPPER: Final = lexicon.words("may can allowed maximum max most limit")
_ABOVE: Final = lexicon.words("over above exceed exceeding more")
_BELOW: Final = lexicon.words("under below less fewer")
_PLACES: Final = lexicon.words("day page chapter section table figure plate line paragraph step part article clause no")
_FORMER: Final = lexicon.words("former formerly previous previously")
_LATER: Final = lexicon.words("then afterwards later")
_YEAR: Final = re.compile(r"1[5-9]\d\d|20\d\d")
# "It was the work of Ada" names her; "by a student of Ada" does not.
_WORKS: Final = lexicon.words(
    "work idea name brainchild invention hand hands person case leadership command direction guidance supervision "
    "auspices reign rule orders order request initiative name likes"
)
_AFTERWARDS: Final = lexicon.words("afterwards afterward thereafter later")
_SINCE: Final = lexicon.words("in since from")
_ROLES: Final = lexicon.words("to in at for under against opposite alongside beside")
_COPULAS: Final = lexicon.words("is was are were")
_DENIERS: Final = lexicon.words("no not none nothing nobody never neither")
_LOW: Final = lexicon.words("low small short few young")
_LOSES: Final = lexicon.words("lost loses lose beaten defeated")
_BEATS: Final = lexicon.words("beat beats defeated")
_KIN: Final = lexicon.words("wife husband son daughter father mother brother sister uncle aunt")
_CALLED: Final = lexicon.words("named called christened titled")
_Pairs = tuple[tuple[frozenset[str], frozenset[str]], ...]


def _oppose(*pairs: str) -> _Pairs:
    """Return both orders of each pair, as stems."""
    sides = [[frozenset(map(lexicon.stem, side.split())) for side in pair.split("|")] for pair in pairs]
    return tuple((one, other) for one, other in [*sides, *(pair[::-1] for pair in sides)])


_OPPOSITES: Final = _oppose(
    "leave depart|arrive",
    "begin|end expire",
    "open|close",
    "buy|sell",
    "born birth birthday|die death",
    "rise grow increase|fall decrease decline drop shrink",
    "approve accept adopt|reject refuse veto",
    *("highest|lowest", "largest biggest|smallest", "oldest eldest|youngest", "longest|shortest", "earliest|latest"),
    "most|least fewest",
)
_EVENTS: Final = tuple(
    frozenset(map(lexicon.stem, group.split()))
    for group in (
        *("build construct erect complete finish", "found establish form create start begin incorporate"),
        *("open inaugurate launch", "publish release issue come launch premiere air appear", "begin start"),
        *("end close finish expire dissolve abolish disband cease", "die death kill", "born birth birthday"),
        *("marry", "retire resign leave", "sign", "buy purchase acquire", "sell", "pay settle", "announce"),
        *("restore renovate", "file submit apply", "approve"),
    )
)
WAYS: Final = _oppose(
    *("to|from", "with|without", "before|after", "over|under", "above|below", "into|out", "for|against"),
    *("inside|outside", "up|down", "more|less", "his|her"),
)
PLURAL: Final = re.compile(
    r"\b(?:who|which|what)\b[^?]*?\b(?:are|were|both|all(?!-)|names)\b|\b(?:two|three|four)\b|哪些|哪几", re.IGNORECASE
)


def is_beside(row: Sequence[str], start: int, end: int, question: str) -> bool:
    """Return whether the tokens from `start` to `end` are said of something else than what is asked."""
    asked = words_with_articles(question)
    before, after = split_beside(row, start, end)
    clause = before + after
    is_number = row[start][0].isdigit()
    return (
        is_beside_in_chinese(before, after, question)
        or _is_later(before, after, asked)
        or _is_outdone(before, asked)
        or bool(_WINS & set(asked) and (set(after[:2]) & _LOSES or set(before[-1:]) & _BEATS))
        or has_opposite(clause, asked)
        or _is_other_role(before, asked)
        or (is_number and _has_other_event(clause, asked))
        or _has_other_year(row, start, end, clause, asked)
        or _has_other_period(row, asked)
        or _has_other_rank(clause, asked)
        or (before[-1:] in (["after"], ["before"]) and not ({*before[-1:], "or"} & set(asked) or _CALLED & set(before)))
        or _is_other_end(before, clause, asked, is_number=is_number)
        or bool(set(asked) & _PRESENT and (_FORMER & set(before) or "until" in after[:5]))
        or (is_number and (_is_bound(before, asked) or _is_of_another(before, asked)))
    )


def split_beside(row: Sequence[str], start: int, end: int) -> tuple[list[str], list[str]]:
    """Return the tokens of the clause before and after those from `start` to `end`."""
    before = list(takewhile(BREAK.__ne__, reversed(row[:start])))[::-1]
    return before, list(takewhile(BREAK.__ne__, row[end:]))


def has_opposite(clause: Sequence[str], asked: Sequence[str], pairs: _Pairs = _OPPOSITES) -> bool:
    """Return whether the clause says the opposite of what is asked: of the arrival, where the departure is."""
    said, wanted = ({lexicon.stem(word) for word in row} for row in (clause, asked))
    return any(one & wanted and not other & wanted and other & said and not one & said for one, other in pairs)


def _is_outdone(before: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether another is said to have more than the gold of what the question asks the most of."""
    if before[-1:] != ["than"] or _DENIERS & {*before}:
        return False
    most = {word.removesuffix("est") for word in asked if word.endswith("est")} | {*asked} & {"most"}
    return any(word.removesuffix("er") in most for word in before if word.endswith("er")) or (
        "more" in before and bool(most - _LOW)
    )


def _is_other_role(before: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether the gold is a receiver or a place, where the one who did it is asked for."""
    if not asked or (asked[0] not in {"who", "whose"} and list(asked[:2]) != ["which", "team"]):
        return False
    if list(before[-1:]) == ["of"] and asked[0] == "who" and "of" not in asked:
        return len(before) > 1 and before[-2] not in _WORKS | set(asked)
    if set(before[-3:]) & _LOSES:  # "Sund lost to Norvik"
        return False
    # Behind some prepositions the question asks for the gold: "from whom …", "who … to?".
    dangling = {word for word, following in pairwise([*asked, "whom"]) if following == "whom"}
    free = set(asked) if _COPULAS & set(asked[1:2]) else dangling
    return bool(before) and before[-1] in _ROLES - free and not {"whom", "where"} & set(asked)


def _has_other_event(clause: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether the clause speaks of another event than the question: built, where asked when it was automated."""
    stems = [{lexicon.stem(word) for word in row} for row in (asked, clause)]
    wanted, given = ({at for at, group in enumerate(_EVENTS) if group & row} for row in stems)
    if not given or given & wanted or not {"when", "year", "date"} & set(asked):
        return False
    shared = lexicon.find_content(clause) & lexicon.find_content(asked)
    return bool(wanted) or not any(map(str.isalpha, shared))


def _has_other_year(row: Sequence[str], start: int, end: int, clause: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether the clause speaks of another year than the one that the question is about."""
    wanted, given = (
        {word for word, unit in pairwise([*words, ""]) if _YEAR.fullmatch(word) and unit not in UNITS}
        for words in (asked, clause)
    )
    return bool(wanted and given) and not wanted & given and not _YEAR.fullmatch("".join(row[start:end]))


def _is_later(before: list[str], after: list[str], asked: Sequence[str]) -> bool:
    """Return whether the gold comes after another, where the first is asked for; or after the year it held before."""
    if "before" in asked:
        years = {year for word, year in pairwise(asked) if word == "before" and year.isdigit()}
        return bool(set(after[:1]) & _AFTERWARDS) or any(
            word in _SINCE and year in years for word, year in pairwise(before)
        )
    is_behind = after[:1] == ["followed"] or before[-2:] == ["followed", "by"] or bool(_LATER & {*before[:2]})
    return bool({"first", "earliest"} & set(asked)) and is_behind


def _is_bound(before: Sequence[str], asked: Sequence[str]) -> bool:
    if "between" in before[-4:] and "between" not in asked and before[-1] == "and":
        return True
    pair = tuple(before[-2:])
    is_denied = bool({"no", "not", "none"} & {*before[-4:]})
    if set(asked) & _LOWER and (pair == ("at", "least") or (is_denied and _BELOW & {*pair})):
        return False
    if set(asked) & _UPPER and (pair in {("at", "most"), ("up", "to")} or (is_denied and _ABOVE & {*pair})):
        return False
    if set(before[-1:]) & _BOUND_WORDS and before[-1] not in asked:
        return True
    return pair in _BOUNDS and before[-3:-2] != ["no"] and pair not in set(pairwise(asked))


def _is_of_another(before: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether a number is that of a page or a day, or somebody's kin's: "page 14", "his wife was 64"."""
    is_kins = _KIN & set(before) - set(asked) and {"his", "her", "their"} & set(before)
    return bool({*before[-1:]} & _PLACES - set(asked)) or bool(is_kins)


def _has_other_period(row: Sequence[str], asked: Sequence[str]) -> bool:
    wanted = {_PERIODS[word] for word in asked if word in _PERIODS}
    given = {
        _PERIODS[word] for each, word in pairwise(row) if word in _PERIODS and (each in _RATED or word[-2:] == "ly")
    }
    chinese_wanted, chinese_given = (
        set(_CHINESE_PERIOD.findall("".join(one).replace("日", "天"))) for one in (asked, row)
    )
    return any(a and b and not a & b for a, b in ((wanted, given), (chinese_wanted, chinese_given)))


def _has_other_rank(clause: Sequence[str], asked: Sequence[str]) -> bool:
    wanted = (_ORDINALS & set(asked)) | ({"first"} if _WINS & set(asked) else set())
    given = _ORDINALS & set(clause)
    return bool(wanted and given and not wanted & given)


def _is_other_end(before: Sequence[str], clause: Sequence[str], asked: Sequence[str], *, is_number: bool) -> bool:
    """Return whether the gold is the other end of a way than the one that is asked for."""
    preposition = [word for word in before[-2:] if word != "the"][-1:]
    if "from" in asked and "to" not in asked:
        return preposition == ["to"]
    return ("to" in asked or not is_number) and "from" not in asked and preposition == ["from"] and "to" in clause


def shares_with_rival(answer: str, gold: str, question: str) -> bool:
    """Return whether a name is given together with another one where one is asked for: "Voss and Maas"."""
    if not gold[:1].isupper() or PLURAL.search(question):
        return False
    name = r"\s+".join(map(re.escape, gold.split()))
    for match in re.finditer(rf"(?:\b([A-Z]\w+),?\s+(?:and|&)\s+)?\b{name}\b(?:\s+(?:and|&)\s+([A-Z]\w+))?", answer):
        rival = match[1] or match[2]
        if rival and rival.casefold() not in question.casefold():
            return True
    return False
