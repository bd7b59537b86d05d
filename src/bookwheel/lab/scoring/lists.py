"""The metrics of lists: every value that was asked for together, and no other.

    asked which towns, gold Linz and Graz
    "1. Graz 2. Linz"                        all of them
    "Linz, Graz and Bo", "Only Linz"         one too many, one too few
    "Linz; Graz keeps its hall"              says it of some only

A gold may stand in another form (`bookwheel.lab.scoring.forms`), and stays whole where it has a separator in it.
"""

import re
from collections.abc import Sequence
from typing import Final

from bookwheel.lab.scoring.commitment import asserts_any, mentions
from bookwheel.lab.scoring.forms import list_forms, names_person
from bookwheel.lab.scoring.score import NOTHING, Score
from bookwheel.text import lexicon
from bookwheel.text.normalization import contains_words, words, words_with_articles

# Golds stand as single signs while an answer is cut into items.
_MARK: Final = "[\ue000-\uf8ff]"
_FIRST_MARK: Final = 0xE000
_SEPARATOR: Final = re.compile(
    r"[\n;；、，|]|(?<!\d),|,(?!\d{3}(?!\d))|(?<=\d),\s|\s(?:and|or|&|plus)\s|以及|还有|\s[-–—/]\s|(?<=[^\W\d_])[.。](?:\s|$)"
)
_CHINESE_AND: Final = re.compile("(?<=[\u4e00-\u9fff\ue000-\uf8ff])[和及与](?=[\u4e00-\u9fff\ue000-\uf8ff])")
_ONLY: Final = re.compile(r"^\W*(?:only|just)\b[^.;,\n]*", re.IGNORECASE)
_BULLET: Final = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,2}[.):]|\d{1,2}\.\s)\s*")
# The names of the columns, and the line below them.
_HEADER: Final = re.compile(r"^\|.*\|\s*\n\|[-| :]+\|\s*$", re.MULTILINE)
_INTRODUCTION: Final = re.compile(r"^[^:：\n]{0,200}[:：]\s*")
# "… Linz, Graz and the Bo mill.": what follows two golds and an "and", up to the end of the sentence.
_TAIL: Final = re.compile(
    rf"{_MARK},\s(?:(?:an?|the)\s)?{_MARK},?\sand\s(?:(?:an?|the)\s)?"
    r"([^\W\d]+(?:\s(?:of\s)?[^\W\d]+){0,2})(?=\s*(?:[.;!\n]|$))"
)
# A choice that is left open, and nothing else: "Linz or Graz".
_OFFER: Final = re.compile(rf"\W*{_MARK}(?:,\s*{_MARK})*,?\s*(?:or|或者?|还是)\s*(?:the\s)?{_MARK}\W*", re.IGNORECASE)
# What may be chosen freely is a list all the same.
_FREE: Final = re.compile(r"\b(?:can|could|may|might)\b|可以|能", re.IGNORECASE)
_PLAIN: Final = re.compile("[a-z]{4,}(?<!ss|cs|us|is)")
_NO_ITEM: Final = lexicon.words("nothing nobody none not no else others rest so similar later afterwards")
_CLAUSES: Final = re.compile(r"[;；。]|\.\s|\b(?:but|while|whereas)\b")
_TWO: Final = 2
# An item without a gold that has so many words more than the longest gold is a sentence, and no item.
_MOST_EXTRA: Final = 3


def share_of(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score the share of the golds that stand in the answer; other words around them cost nothing."""
    if not words_with_articles(answer):
        return NOTHING
    spelled = {gold: _spell([gold], _name_persons(answer, [gold], question)) for gold in golds}
    held = {gold: asserts_any(answer, forms, question=question, alone=False) for gold, forms in spelled.items()}
    parts = {gold: float(form is not None) for gold, form in held.items()}
    count = int(sum(parts.values()))
    return Score(score=count / len(parts) if parts else 0.0, reason=f"holds {count} of {len(parts)}", parts=parts)


def all_of(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 when every gold stands in the answer, none is left open, and a list names nothing else."""
    share = share_of(answer, golds, question)
    reason = share.reason
    is_whole = share.score == 1
    if is_whole and len(golds) > 1:
        if not _FREE.search(question) and _OFFER.fullmatch(_mark_golds(answer, _spell(golds))):
            is_whole, reason = False, f"{reason}, and decides for none"
        elif _lists_some(answer, golds):
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
    forms = _spell(golds, _name_persons(answer, golds, question))
    tail = _TAIL.search(_mark_golds(answer, forms))
    if tail and _is_item(tail[1]):
        return tail[1]
    rows = [words(form) for form in forms]
    items = _split_items(answer, forms)
    if any(len(item) > max(len(words(gold)) for gold in golds) + 1 for item in items):
        return ""
    extra = (item for item in items if not any(contains_words(item, row) for row in rows))
    return next((" ".join(item) for item in extra if not _NO_ITEM & {*item}), "")


def _is_item(text: str) -> bool:
    row = [word for word in words(text) if word != "of"]
    return not any(word in lexicon.FUNCTION_WORDS | _NO_ITEM or lexicon.is_verb(word) for word in row)


def _name_persons(answer: str, golds: Sequence[str], question: str) -> list[str]:
    """Return the family names by which an answer names the golds."""
    return list(filter(None, (names_person(answer, gold, question) for gold in golds)))


def _spell(golds: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """Return the golds and their other forms: in a list, a headache is headaches too."""
    forms = [form for gold in golds for form in (gold, *list_forms(gold))] + [*others]
    return forms + [
        gold.removesuffix("s") if gold[-1] == "s" else f"{gold}s" for gold in golds if _PLAIN.fullmatch(gold)
    ]


def _mark_golds(answer: str, golds: Sequence[str]) -> str:
    """Return what follows the introduction of an answer, with each gold as a single sign."""
    body = _HEADER.sub("", _INTRODUCTION.sub("", answer.replace("**", "").strip()))
    for at, gold in sorted(enumerate(golds), key=lambda one: -len(one[1])):
        ends = [r"(?<!\w)(?<!\d[.,])", r"(?!\w)(?![.,]\d)"] if gold.isascii() else ["", ""]
        body = re.sub(f"{ends[0]}{re.escape(gold)}{ends[1]}", chr(_FIRST_MARK + at), body, flags=re.IGNORECASE)
    return _CHINESE_AND.sub("、", body)


def _split_items(answer: str, golds: Sequence[str]) -> list[list[str]]:
    """Return the words of each item of an answer."""
    names = {_FIRST_MARK + at: gold for at, gold in enumerate(golds)}
    pieces = _SEPARATOR.split(_mark_golds(answer, golds))
    return list(filter(None, (words(_BULLET.sub("", piece).translate(names)) for piece in pieces)))


def set_f1(answer: str, golds: Sequence[str]) -> Score:
    """Score what the answer lists against the set of golds: naming too much costs as much as naming too little.

    Of red and green, "red and green" has 1.0, "red" 0.67 (precision 1, recall 0.5), "red, green, blue, white" too.
    """
    if not words_with_articles(answer):
        return NOTHING
    wanted = [[words(form) for form in _spell([gold])] for gold in dict.fromkeys(golds)]
    rows = [row for forms in wanted for row in forms]
    items = _list_values(answer, golds)
    named = sum(any(contains_words(item, row) for item in items for row in forms) for forms in wanted)
    wrong = sum(not any(contains_words(item, row) for row in rows) for item in items)
    precision = named / (named + wrong) if named + wrong else 0.0
    recall = named / len(wanted) if wanted else 0.0
    score = 2 * precision * recall / (precision + recall) if named else 0.0
    return Score(score=score, reason=f"set F1 {score:.2f}", parts={"precision": precision, "recall": recall})


def _list_values(answer: str, golds: Sequence[str]) -> list[list[str]]:
    """Return the words of each item. Prose around the items is left out."""
    rows = [words(form) for form in _spell(golds)]
    longest = max((len(words(gold)) for gold in golds), default=1)
    items: list[list[str]] = []
    for item in _split_items(answer, _spell(golds)):
        has_gold = any(contains_words(item, row) for row in rows)
        if has_gold or len(item) <= longest + _MOST_EXTRA:
            items += _split_run(item, rows) if has_gold else [item]
    return items


def _split_run(item: list[str], golds: Sequence[list[str]]) -> list[list[str]]:
    """Split an item with several values in a row ("A B C D") where all golds are single words of one kind."""
    if any(len(gold) != 1 for gold in golds):
        return [item]
    kinds = {_shape(gold[0]) for gold in golds}
    values = [[word] for word in item if _shape(word) in kinds]
    # Most words of a list without separators are golds.
    is_run = 2 * sum([word] in golds for word in item) > len(item)
    has_prose = kinds == {"word"} and len(item) > 1 and not is_run
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
