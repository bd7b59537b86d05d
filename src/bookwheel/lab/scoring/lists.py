"""The metrics of lists: every value that was asked for together, and no other.

    asked which towns, gold Linz and Graz
    "1. Graz 2. Linz"                        all of them
    "Linz, Graz and Bo", "Only Linz"         one too many, one too few
    "Linz; Graz keeps its hall"              says it of some only

A gold may stand in another form (`bookwheel.lab.scoring.forms`), and stays whole where it has a separator in it.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from bookwheel.lab.scoring.commitment import asserts_any, mentions
from bookwheel.lab.scoring.forms import list_forms, names_person
from bookwheel.lab.scoring.paraphrases import says_again
from bookwheel.lab.scoring.score import NOTHING, Score
from bookwheel.text import lexicon
from bookwheel.text.normalization import contains_words, words, words_with_articles
from bookwheel.text.quantities import UNITS

# Golds stand as single signs while an answer is cut into items.
_MARK: Final = "[\ue000-\uf8ff]"
_FIRST_MARK: Final = 0xE000
_SEPARATOR: Final = re.compile(
    r"[\n;；、，|]|(?<!\d),|,(?!\d{3}(?!\d))|(?<=\d),\s|\s(?:and|or|&|plus)\s|以及|还有|\s[-–—/]\s|(?<=[^\W\d_]{3})(?<!Mrs)[.。](?:\s|$)"
)
_CHINESE_AND: Final = re.compile("(?<=[\u4e00-\u9fff\ue000-\uf8ff])[和及与](?=[\u4e00-\u9fff\ue000-\uf8ff])")
_ONLY: Final = re.compile(r"^\W*(?:only|just)\b[^.;,\n]*", re.IGNORECASE)
_BULLET: Final = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,2}[.):]|\d{1,2}\.\s)\s*")
# The names of the columns, and the line below them.
_HEADER: Final = re.compile(r"^\|.*\|\s*\n\|[-| :]+\|\s*$", re.MULTILINE)
_INTRODUCTION: Final = re.compile(r"^[^:：\n]{0,200}[:：](?!\d)\s*")
# "… Linz, Graz and the Bo mill.": what follows two golds and an "and", up to the end of the sentence.
_TAIL: Final = re.compile(
    rf"{_MARK}(?:,\s(?:(?:an?|the)\s)?|、){_MARK}(?:,?\sand\s(?:also\s)?(?:(?:an?|the)\s)?|、)"
    r"([^\W\d]+?(?:\s(?:of\s)?[^\W\d]+?){0,2})"
    rf"(?=\s*(?:[.;!。；，\n]|$)|[都均也要需、]|\s(?:{'|'.join(sorted(lexicon.AUXILIARIES))})\b)"
)
_PLAIN: Final = re.compile("(?:[a-z]+ )*[a-z]{4,}(?<!ss|cs|us|is)")
# A sentence without a gold that says something else: "(Bo is not.)"
_SENTENCE: Final = re.compile(r"(?<=[.。!！；;\n（(])")
_ELSE: Final = lexicon.AUXILIARIES | lexicon.words("not no never isnt arent 不 没 无 未")
_HISSES: Final = re.compile("(?:[xz]|[cs]h)$")
_MARKED: Final = re.compile(_MARK)
_NAME: Final = re.compile(rf"\b(?!(?i:{'|'.join(sorted(lexicon.FUNCTION_WORDS))})\b)[A-Z]")
_AGES: Final = lexicon.words("aged age years year old") | UNITS
_NO_ITEM: Final = lexicon.words("nothing nobody none not no else others rest so similar later afterwards")
_LONGEST_HAN: Final = 4
_HAN_HEADS: Final = frozenset("色号楼层室路站")
_CLAUSES: Final = re.compile(r"[;；。]|\.\s|\b(?:but|while|whereas)\b")
_TWO: Final = 2
# An item without a gold that has so many words more than the longest gold is a sentence, and no item.
_MOST_EXTRA: Final = 3


def share_of(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score the share of the golds that stand in the answer; other words around them cost nothing."""
    if not words_with_articles(answer):
        return NOTHING
    spelled = _spell(golds, answer, question)
    parts = {
        gold: float(
            asserts_any(answer, spelled[gold], question=question, alone=False) is not None or says_again(answer, gold)
        )
        for gold in golds
    }
    count = int(sum(parts.values()))
    return Score(score=count / len(parts) if parts else 0.0, reason=f"holds {count} of {len(parts)}", parts=parts)


def all_of(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 when every gold stands in the answer, and a list names nothing else."""
    share = share_of(answer, golds, question)
    reason = share.reason
    is_whole = share.score == 1
    if is_whole and len(golds) > 1:
        if _lists_some(answer, golds):
            is_whole, reason = False, f"{reason}, and says it of some only"
        elif extra := _find_extra(answer, golds, question):
            is_whole, reason = False, f'{reason}, and names "{extra}" too'
    return Score(score=float(is_whole), reason=reason, parts=share.parts)


def _lists_some(answer: str, golds: Sequence[str]) -> bool:
    """Return whether a clause lists some of the golds, and another says something of the others."""
    only = _ONLY.search(answer)
    if only and sum(mentions(only[0], gold) for gold in golds) == 1:
        return True
    clauses = [(one, [gold for gold in golds if mentions(one, gold)]) for one in _CLAUSES.split(answer)]
    clauses = [(one, named) for one, named in clauses if named]
    if len(clauses) < _TWO:
        return False
    extra = [len(words(one)) - sum(len(words(gold)) for gold in named) for one, named in clauses]
    return extra[0] <= 1 and extra[-1] >= _TWO and not any(set(clauses[0][1]) & set(named) for _, named in clauses[1:])


def _find_extra(answer: str, golds: Sequence[str], question: str) -> str:
    """Return an item that is no gold: at the end of a list, or anywhere where the answer is nothing but a list."""
    spelled = _spell(golds, answer, question)
    tail = _TAIL.search(_mark_golds(answer, spelled))
    if tail and _is_item(tail[1], golds):
        return tail[1]
    items = _split_items(answer, spelled)
    if any(len(words(item)) > max(len(words(gold)) for gold in golds) + 1 for item in items):
        return ""
    return next((item for item in items if not _find_held(item, spelled) and _is_item(item, golds)), "")


def _is_item(text: str, golds: Sequence[str]) -> bool:
    """Return whether a piece of a list may be one more of the golds' kind, and no clause, age or "her daughters"."""
    # "Cleo" of "Cleo attended"; nothing of "sings".
    row = list(takewhile(lambda word: not lexicon.is_verb(word), (word for word in words(text) if word != "of")))
    if all(word[0].isdigit() or word in _AGES for word in row):
        return bool(row) and any(any(map(str.isdigit, gold)) for gold in golds)
    if all(gold[0].isupper() and gold.isascii() for gold in golds) and text.isascii() and not _NAME.search(text):
        return False
    return not (lexicon.FUNCTION_WORDS | _NO_ITEM) & {*row} and (
        text.isascii() or (len(row) <= _LONGEST_HAN and not {*"不没无等"} & {*row})
    )


def _find_held(text: str, spelled: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the golds that an item names, in whichever form."""
    row = words(text)
    return [
        gold
        for gold, forms in spelled.items()
        if any(contains_words(row, words(form)) for form in forms) or says_again(text, gold)
    ]


def _spell(golds: Sequence[str], answer: str = "", question: str = "") -> dict[str, list[str]]:
    """Return the forms of each gold: a headache is headaches too, and red and blue doors are red doors."""
    rows = [gold.split() if gold.isascii() else [*gold] for gold in golds]
    # One sign is no name: 李明 and 王明 share nothing.
    least = 1 if all(gold.isascii() or gold[-1] in _HAN_HEADS for gold in golds) else _TWO
    is_shared = len({tuple(row[-1:]) for row in rows}) == 1 and len(golds) > 1 and all(len(row) > least for row in rows)
    names = {gold: names_person(answer, gold, question) or gold for gold in golds}
    spelled = {gold: [*dict.fromkeys((gold, names[gold], *list_forms(gold)))] for gold in golds}
    for gold, row in zip(golds, rows, strict=True):
        if _PLAIN.fullmatch(gold):
            plural = f"{gold}es" if _HISSES.search(gold) else f"{gold}s"
            spelled[gold].append(gold.removesuffix("s") if gold[-1] == "s" else plural)
        if is_shared:
            spelled[gold].append((" " if gold.isascii() else "").join(row[:-1]))
    return spelled


def _mark_golds(answer: str, spelled: Mapping[str, Sequence[str]]) -> str:
    """Return what follows the introduction of an answer, with each gold as a single sign."""
    body = _HEADER.sub("", _INTRODUCTION.sub("", answer.replace("**", "").strip()))
    for at, gold in sorted(enumerate(_list_forms(spelled)), key=lambda one: -len(one[1])):
        ends = [r"(?<!\w)(?<!\d[.,])", r"(?!\w)(?![.,]\d)"] if gold.isascii() else ["", ""]
        body = re.sub(f"{ends[0]}{re.escape(gold)}{ends[1]}", chr(_FIRST_MARK + at), body, flags=re.IGNORECASE)
    return _CHINESE_AND.sub("、", body)


def _list_forms(spelled: Mapping[str, Sequence[str]]) -> list[str]:
    return [form for forms in spelled.values() for form in forms]


def _split_items(answer: str, spelled: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the items of an answer; a sentence without a gold that has a verb says something else."""
    names = {_FIRST_MARK + at: form for at, form in enumerate(_list_forms(spelled))}
    sentences = _SENTENCE.split(_mark_golds(answer, spelled))
    listed = "".join(one for one in sentences if _MARKED.search(one) or not _ELSE & {*words(one)})
    items = (_BULLET.sub("", piece).translate(names).strip() for piece in _SEPARATOR.split(listed))
    return [item for item in items if words(item)]


def set_f1(answer: str, golds: Sequence[str]) -> Score:
    """Score what the answer lists against the set of golds: naming too much costs as much as naming too little.

    Of red and green, "red and green" has 1.0, "red" 0.67 (precision 1, recall 0.5), "red, green, blue, white" too.
    """
    if not words_with_articles(answer):
        return NOTHING
    spelled = _spell(golds)
    held = [_find_held(item, spelled) for item in _list_values(answer, spelled)]
    named, wrong = len({gold for one in held for gold in one}), held.count([])
    precision = named / (named + wrong) if named + wrong else 0.0
    recall = named / len({*golds}) if golds else 0.0
    score = 2 * precision * recall / (precision + recall) if named else 0.0
    return Score(score=score, reason=f"set F1 {score:.2f}", parts={"precision": precision, "recall": recall})


def _list_values(answer: str, spelled: Mapping[str, Sequence[str]]) -> list[str]:
    """Return each item. Prose around the items is left out."""
    rows = [words(form) for form in _list_forms(spelled)]
    longest = max((len(words(gold)) for gold in spelled), default=1)
    items: list[str] = []
    for item in _split_items(answer, spelled):
        if _find_held(item, spelled):
            items += _split_run(item, rows)
        elif len(words(item)) <= longest + _MOST_EXTRA:
            items.append(item)
    return items


def _split_run(item: str, golds: Sequence[list[str]]) -> list[str]:
    """Split an item with several values in a row ("A B C D") where all golds are single words of one kind."""
    if any(len(gold) != 1 for gold in golds):
        return [item]
    row, kinds = words(item), {_shape(gold[0]) for gold in golds}
    values = [word for word in row if _shape(word) in kinds]
    # Most words of a list without separators are golds.
    is_run = 2 * sum([word] in golds for word in row) > len(row)
    has_prose = kinds == {"word"} and len(row) > 1 and not is_run
    return [item] if has_prose or not values else values


def _shape(word: str) -> str:
    if word.isdigit():
        return f"number of {len(word) // 3}"
    return "word" if word.isalpha() else "code"


def find_listed(answer: str, golds: Sequence[str]) -> str | None:
    """Return the gold whose parts are all that an answer lists: "1. Dunmuir 2. Corrie" for "Corrie and Dunmuir"."""
    listed, offers = _split_parts(answer), {"or", "或"} & set(words(answer))
    golds = [gold for gold in golds if not offers or offers & set(words(gold))]
    return next((gold for gold in golds if len(listed) > 1 and listed == _split_parts(gold)), None)


def _split_parts(text: str) -> set[tuple[str, ...]]:
    items = (
        tuple(map(lexicon.stem, words(_BULLET.sub("", piece))))
        for piece in _SEPARATOR.split(_CHINESE_AND.sub("、", text))
    )
    return {item for item in items if item}
