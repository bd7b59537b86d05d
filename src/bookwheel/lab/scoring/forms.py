"""The other forms in which an answer may give a gold: a family name, a code without hyphens, the name without its kind.

Edward Joseph Leonski         Edward Leonski
Major Adair                   Adair, Mr. Adair
Presque Isle County           Presque Isle, where the question asks for a county
天启五年（1625年）            天启五年, 1625年
from around 1520              1520
his aunt                      aunt
American                      United States, US, USA
PX-77-L                       PX77L
an allergy to flour           flour allergy
under the floor by the stove  beneath the floor next to the stove: the words that say something, in their order
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from bookwheel.lab.scoring.commitment import DENIALS, VERBS_DENIED, asserts_any, mentions
from bookwheel.lab.scoring.relevance import WAYS, has_opposite
from bookwheel.text import lexicon
from bookwheel.text.chinese_numbers import parse_chinese_numbers
from bookwheel.text.normalization import ARTICLES, contains_words, words
from bookwheel.text.sentences import list_sentences

_NATION_GROUPS: Final = (
    *("american|united states|us|usa|america", "british|united kingdom|uk|britain|great britain", "english|england"),
    *("scottish|scotland", "welsh|wales", "irish|ireland", "french|france", "german|germany", "italian|italy"),
    *("spanish|spain", "portuguese|portugal", "dutch|netherlands", "belgian|belgium", "swiss|switzerland"),
    *("austrian|austria", "polish|poland", "czech|czech republic|czechia", "hungarian|hungary", "russian|russia"),
    *("ukrainian|ukraine", "swedish|sweden", "norwegian|norway", "danish|denmark", "finnish|finland"),
    *("icelandic|iceland", "greek|greece", "turkish|turkey", "israeli|israel", "egyptian|egypt", "indian|india"),
    *("pakistani|pakistan", "chinese|china", "japanese|japan", "korean|korea", "australian|australia"),
    *("canadian|canada", "mexican|mexico", "brazilian|brazil", "argentine|argentinian|argentina", "chilean|chile"),
    *("nigerian|nigeria", "south african|south africa"),
)
_NATIONS: Final = {name: group.partition("|")[0] for group in _NATION_GROUPS for name in group.split("|")}
_OWNED: Final = re.compile(r"^(?:his|her|their|its)\s+", re.IGNORECASE)
_ABOUT: Final = re.compile(
    r"^(?:(?:from|around|about|circa|ca?\.|approximately|roughly|some|the|in|on|at|to|by)\s+)+(?=\S)", re.IGNORECASE
)
_ASIDE: Final = re.compile(r"^(.+?)\s*[(（]([^()（）]+)[)）]$")
_RANKED: Final = re.compile(r"^([^,\d]+?),\s*(?=\d|[A-Z][a-z]+ of )")
_COMPOUND: Final = re.compile(
    r"(?:an? |the )?([a-z]+) (?:to|for|made of) (?:(?:an?|the|his|her|its|their) )?([a-z]+|[A-Z]{2,})"
)
_NOUN: Final = re.compile(r"(?:an? |the )?(\w+) ([a-z]+)")
_QUALIFIERS: Final = (
    DENIALS
    | VERBS_DENIED
    | lexicon.words("although though despite nothing nobody ruled nearly almost will would may might could want wanted")
)
# The sides of a thing, and the words for each.
_SIDES: Final = {
    word: side.partition(" ")[0]
    for side in (
        *("under beneath underneath below", "on upon", "in inside within", "behind", "over above"),
        "beside next by near at",
    )
    for word in side.split()
}
_TWO, _THREE = 2, 3
_LIGHT: Final = lexicon.AUXILIARIES | lexicon.words("a an the his her its their")
_OFTEN: Final = re.compile(
    r"(?:once (?:an?|per|every|each) |every |each )?(hour|dai|day|week|month|quarter|year)(?:ly)?"
)
_KINDS: Final = frozenset({"inc", "ltd", "city", "company", "corporation"})
_CHINESE_KIND: Final = re.compile(r"^(.{2,}?)(公司|集团|大学|中学|大道|车站|站|县|市|省|区|镇|村|河|湖|山|岛|寺|人)$")
_SPACED: Final = re.compile(r"[1-9]\d{0,2}(?: \d{3})+")
_COUNTED: Final = re.compile(r"([\d.,]+)\s?([\u3400-\u9fff]{1,2})")
_DIGITS_OF_CODE: Final = 7
_TITLES: Final = lexicon.words(
    "mr mrs ms miss professor doctor sir dame lord lady major captain colonel general sergeant count countess "
    "king queen prince princess duke duchess father sister president judge councillor canon reverend"
)
_SHORT_TITLES: Final = {"dr": "doctor", "prof": "professor", "cllr": "councillor", "rev": "reverend", "capt": "captain"}
_WHO: Final = re.compile(
    r"\b(?:who|whom|whose|(?:what|which)(?: \w+){0,3} (?:actor|actress|author|role|character|singer|player|person|"
    r"artist|writer|director|king|queen|president|officer|politician|comedian|novelist|composer))\b",
    re.IGNORECASE,
)


def find_other_form(answer: str, golds: Sequence[str], question: str) -> str | None:
    """Return a gold that the answer asserts in another form; None where there is none."""
    for gold in golds:
        # A gold that is there in full was judged already: denied, or one of several.
        if mentions(answer, gold):
            continue
        name = names_person(answer, gold, question)
        forms = [*([name] if name else ()), *list_forms(gold, question)]
        if any(asserts_any(answer, [form], question=question) for form in forms) or _says_again(answer, gold):
            return gold
        # "240" to "how many crates?", where the gold is 240 crates in Chinese.
        counted = _COUNTED.fullmatch(gold)
        if counted and counted[2] in question and words(answer) == words(counted[1]):
            return gold
        groups = re.findall(r"[^\W_]+", gold)
        is_long = sum(map(str.isdigit, gold)) >= _DIGITS_OF_CODE and not re.search(r"[.,/:]", gold)
        is_code = len(groups) > 1 and re.search(r"\d", gold) and (re.search(r"[A-Z]", gold) or is_long)
        if is_code and re.search(rf"(?<![\w-]){_join_groups(groups)}(?![\w-])", answer):
            return gold
    return None


def _says_again(answer: str, gold: str) -> bool:
    """Return whether a sentence says what a gold of several words does, in its order."""
    part = words(gold)
    wanted = _list_content(part)
    if len(wanted) < _TWO or gold[:1].isupper() or not gold.isascii():
        return False
    for said in map(words, list_sentences(answer)):
        if len(wanted) == _TWO:
            # Two words stay side by side: "the disk was full" for "disk full", but no "disk behind the full shelf".
            is_said = contains_words([lexicon.stem(word) for word in said if word not in _LIGHT], wanted)
        else:
            is_said = _follows(_list_content(said), wanted, between=int(len(wanted) > _THREE))
        is_turned = any(bool(group & {*said}) != bool(group & {*part}) for group in (_QUALIFIERS, {"or"}))
        is_other = has_opposite(said, part) or has_opposite(said, part, WAYS)
        has_sides = contains_words(_list_sides(said), _list_sides(part)) or not _list_sides(part)
        if is_said and has_sides and not is_turned and not is_other and _has_agent(said) == _has_agent(part):
            return True
    return False


def _follows(row: Sequence[str], wanted: Sequence[str], *, between: int) -> bool:
    """Return whether all that is wanted stands in a row, in its order, with so many others between."""
    for start in (at for at, stem in enumerate(row) if stem == wanted[0]):
        rest = iter(row[start : start + len(wanted) + between])
        if all(stem in rest for stem in wanted):
            return True
    return False


def _list_content(row: Sequence[str]) -> list[str]:
    return [lexicon.stem(word) for word in row if word not in lexicon.FUNCTION_WORDS | _SIDES.keys()]


def _list_sides(row: Sequence[str]) -> list[str]:
    return [_SIDES[word] for word in row if word in _SIDES]


def _has_agent(row: Sequence[str]) -> bool:
    """Return whether something is done by somebody: "bitten by the dog", but "the floor by the stove"."""
    return any(word == "by" and lexicon.is_verb(verb) for verb, word in pairwise(row))


def _join_groups(groups: Sequence[str]) -> str:
    """Return the pattern of a code whose groups may be set off otherwise; of a telephone number abroad, too."""
    code = "[ ()-]{0,2}".join(groups)
    return rf"(?:{code}|\+\d{{1,3}}[ -]?(?:\(0\)[ -]?)?{code[1:]})" if re.match(r"0\d", code) else code


def list_forms(gold: str, question: str = "") -> list[str]:
    """Return the shorter and equal forms that stand for a gold as an answer to the question."""
    return list(dict.fromkeys(form for form in _make_forms(gold.strip(), question) if form and form != gold))


def _make_forms(gold: str, question: str) -> Iterator[str]:
    yield _OWNED.sub("", gold)
    if _SPACED.fullmatch(gold):
        yield gold.replace(" ", "")
    if set(words(bare := _ABOUT.sub("", gold))) - ARTICLES:
        yield bare
    if aside := _ASIDE.match(gold):
        yield from aside.groups()
    yield from _compound(gold)
    yield from _write_measure(gold, question)
    if ranked := _RANKED.match(gold):
        yield ranked[1]
    if re.fullmatch(r"\d{3,4}年", gold):
        yield gold[:-1]
    yield from _write_number(words(bare))
    nation = _NATIONS.get(gold.casefold())
    if nation and re.search(r"\b(?:nationality|country|nation)\b", question, re.IGNORECASE):
        yield from (name for name, group in _NATIONS.items() if group == nation)
    asked = set(words(question))
    parts = gold.removeprefix("The ").removeprefix("the ").split()
    # The kind is the question's word, or says no more than that there is a company.
    if len(parts) > 1 and parts[0][:1].isupper() and parts[-1].casefold() in asked | _KINDS:
        yield " ".join(parts[:-1])
    if (chinese := _CHINESE_KIND.match(gold)) and chinese[2] in question:
        yield chinese[1]
    # "Jacques Dominique Wilkins": first and last name, or without the first.
    if len(parts) == 3 and all(part[:1].isupper() and part.isalpha() for part in parts):  # noqa: PLR2004 - names
        yield f"{parts[0]} {parts[2]}"
        yield f"{parts[1]} {parts[2]}"


def _compound(gold: str) -> Iterator[str]:
    """Yield a noun before another for one behind it, and the reverse; "of" may mean what is inside."""
    if compound := _COMPOUND.fullmatch(gold):
        yield f"{compound[2]} {compound[1]}"
    if noun := _NOUN.fullmatch(gold):
        yield from (f"{noun[2]} {joint} {noun[1]}" for joint in ("for", "made of"))


def _write_measure(gold: str, question: str) -> Iterator[str]:
    """Yield a frequency, a price and a temperature as they are said: every week, 80块, 23.5度."""
    often = _OFTEN.fullmatch(gold.casefold())
    if often and gold.casefold() != often[1]:
        period = often[1].replace("dai", "day")
        yield "daily" if period == "day" else f"{period}ly"
        yield from (f"{joint} {period}" for joint in ("every", "each", "once a", "once an", "once per", "once every"))
    price, degrees = re.fullmatch(r"([\d.,]+)\s?元", gold), re.fullmatch(r"([\d.]+)\s?(?:℃|°C|摄氏度)", gold)
    # 36个月 for 三年, and the reverse.
    years, months = re.fullmatch(r"(\d+)年", parse_chinese_numbers(gold)), re.fullmatch(r"(\d+)个月", gold)
    if years and len(years[1]) < _THREE:
        yield f"{12 * int(years[1])}个月"
    if months and int(months[1]) % 12 == 0:
        yield from ["1年", "一年"] if months[1] == "12" else [f"{int(months[1]) // 12}年"]
    if price and re.search("[钱价费租金元]", question):
        yield f"{price[1]}块"
    if degrees and re.search("温|temperature|hot|warm|cold", question):
        yield from (f"{degrees[1]}度", f"{degrees[1]} degrees")


def _write_number(number: Sequence[str]) -> Iterator[str]:
    """Yield how a number or a time may be written that is not read so everywhere: 14 200, 18.30."""
    if len(number) == 1 and re.fullmatch(r"\d{4,6}", number[0]):
        yield f"{int(number[0]):,}".replace(",", " ")
    if len(number) == 1 and (time := re.fullmatch(r"(\d\d)h(\d\d)", number[0])):
        yield f"{int(time[1])}.{time[2]}"


def names_person(answer: str, gold: str, question: str) -> str | None:
    """Return the shorter name by which an answer names a person: "Adair" or "Mr. Adair" for Major Adair."""
    parts = gold.split()
    titles = [part for part in parts if _read_title(part) in _TITLES]
    bare = [part for part in parts if part not in titles]
    is_name = all(part[:1].isupper() for part in parts) and all(part.strip(".").isalpha() for part in parts)
    if not (is_name and bare and len(parts) > 1 and (titles or _WHO.search(question))):
        return None
    if titles and len(bare) > 1 and re.search(rf"\b{re.escape(' '.join(bare))}\b", answer):
        return " ".join(bare)
    family = bare[-1]
    for match in re.finditer(rf"(?<![\w&-]){re.escape(family)}(?![\w-]|['’]s)", answer):
        previous = re.search(r"([\w.'’-]+)\s+$", answer[: match.start()])
        if _may_precede(previous[1] if previous else "", bare, titles) and not re.match(
            r"\s+(?:&|[A-Z])", answer[match.end() :]
        ):
            return family
    return None


def _read_title(word: str) -> str:
    plain = word.strip(".").casefold()
    return _SHORT_TITLES.get(plain, plain)


def _may_precede(word: str, bare: Sequence[str], titles: Sequence[str]) -> bool:
    """Return whether a word before a family name leaves open that it is this person."""
    plain = _read_title(word)
    if plain in _TITLES:
        return not titles or plain in map(_read_title, titles)
    if not word[:1].isupper():
        return plain != "the"
    return word == bare[0] or (len(plain) == 1 and plain == bare[0][:1].casefold())
