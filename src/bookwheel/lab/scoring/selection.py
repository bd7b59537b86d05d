"""Tell which value an answer settles on, where it names several of the gold's kind.

An answer that holds the gold may give another value and only mention the gold:

    "Jenna Coleman, who was followed by Pearl Mackie."      opens with another name
    "Charlton Heston played the king opposite Yul Brynner." does what was asked
    "1347–1349", "50 % Ost, 48 % West"                      a range, a list of parts

Values are runs of names, numbers and dates, or what stands in 《》. What several clauses claim is weighed in `claims`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bookwheel.lab.scoring.relevance import PLURAL
from bookwheel.text import lexicon
from bookwheel.text.normalization import ARTICLES, find_words, words
from bookwheel.text.quantities import UNITS
from bookwheel.text.sentences import split_sentences

# A point after up to three letters is an abbreviation's, after more the sentence's.
_REST: Final = r"(?:[\w'’&-]|(?:(?<=\b\w)|(?<=\b\w\w)|(?<=\b\w\w\w))\.)*"
_NAME: Final = re.compile(
    rf"(?<![\w'’])[A-ZÀ-Þ]{_REST}(?:\s+(?:(?:of|the|de|la|von|van|der|and the)\s+)*[A-ZÀ-Þ0-9]{_REST})*"
)
_UNIT: Final = (
    r"(?:\s?(?:%|percent|per cent|million|billion|thousand|[ap]\.?m\b|kg|km|[mgt]\b|miles?|euros?|pounds?|dollars?|"
    r"[万亿千百]+|°\s?[CF]))"
)
_NUMBER: Final = re.compile(
    rf"(?i:\d{{3,}}(?: \d{{3,}})+|[$€£¥]?\s?\d[\d,.:/–-]*\d|\d)(?:st|nd|rd|th)?{_UNIT}?(?:\s?元)?"
    rf"(?i:\s(?:{'|'.join(lexicon.MONTH_NAMES)})\b)?|"
    rf"(?i:\b(?:{'|'.join(lexicon.MONTH_NAMES)})\s+\d{{1,2}}(?:,\s+\d{{4}})?)"
)
_DATE: Final = re.compile(
    rf"(?i:(?:\d{{1,2}}(?:st|nd|rd|th)?\s+)?(?:{'|'.join(lexicon.MONTH_NAMES)})\b"
    r"(?:\s+\d{1,2}(?!\d)(?:st|nd|rd|th)?)?(?:,?\s+\d{4})?)|"
    r"\b\d{4}-\d{2}-\d{2}\b|\b1\d{3}\b|\b20\d\d\b|\d+(?:st|nd|rd|th)\s+century|\d{2,4}\s*年"
)
_TITLE: Final = re.compile(r"《[^》]+》")
# "B7", which stands beside "B6".
_LABEL: Final = re.compile(r"[A-Z]{1,3}-?\d{1,4}[a-z]?")
# "105aeff9-5dfc-4177", which is one value and no list of numbers; "01872 550 118".
_CODE: Final = re.compile(r"(?=\w*\d)(?=[\w-]*[A-Za-z])[\w-]{8,}|\(?\+?\d{2,6}\)?(?:[ -]\d{2,6}){1,4}")
_RANGE: Final = re.compile(
    r"(?<![\d./-])(\d[\d,.]*)\s?(?:%|年)?\s?(?:[–—~～至到]|-(?=\d))\s?(\d[\d,.]*)(?![\d/-]|-\d)|"
    r"\b[Ff]rom\s(?:about\s)?(\d[\d,.]*)\s?%?\sto\s(\d[\d,.]*)"
)
_LIFE: Final = lexicon.words(
    "born die died death birth birthday begin began start open opens close closes end ended from until range between"
)
_SETS_OFF: Final = re.compile(r"[\s*_\"”’']*(?:$|[,;(—–\n。，；（]|\.\s|\.$|\s-\s)")
_LEAD: Final = re.compile(
    r"^[\s*_#>\"“'’「『-]*(?:(?:the|it was|it is|it's|in|on|at|by|from|around|about)\s+)?", re.IGNORECASE
)
_DISCOURSE: Final = lexicon.words(
    "okay ok yes no none well sure so therefore thus however hence according based certainly actually first second "
    "finally answer step note given since because let's lets also then here there this that these those in on at by "
    "for from as after before during both he she it they his her its their we i you my our your if when while "
    "although though unfortunately correct right final to of with between under sorry looking"
)
_CONCLUDES: Final = re.compile(
    r"(?i:\b(?:so|therefore|thus|hence|the answer|final answer|that is|i\.e\.|namely)\b)|答案|因此|所以|即"
)
_AGENT: Final = re.compile(r"\b[Tt]he (\w{2,})(?:er|or) (?:is|was) (?:the )?$")
_RELATIVE: Final = re.compile(r",\s+(?:who|whom|which|that)\b[^,;.]*$")
# "50 % Ost, 48 % West" has no verb.
_VERB: Final = re.compile(
    r"\b(?:is|was|are|were|has|have|had|be|been|did|does|do|will|would|can|came|made|gave|took|went|\w{2,}ed)\b",
    re.IGNORECASE,
)
_DENIED_AFTER: Final = re.compile(
    r"\W*(?:(?:is|was|did|does|do|has|had|were|are|could|would)(?:\snot\b|n['’]t)|never\b)"
)
_DENIED_BEFORE: Final = re.compile(r"(?:\bnot|\brather than|\binstead of|\bunlike|n['’]t|不是|并非|而非)\s*(?:the\s)?$")
# "Ada Quill, the owner of the Lark, lives at": who opens the sentence is what it speaks of.
_SPOKEN_OF: Final = re.compile(r",\s(?:the|an?|who|which|whose)\s[^,;.()\n]+,\s(?:\w+ly\s)?(\w+)\b[^,;.()\n]*")
_CLOCK: Final = re.compile(r"\d\dh\d\d")
_YEAR: Final = re.compile(r"\d{4}")
_HAN: Final = re.compile("[\u2e80-\u9fff]")
_FEW_WORDS: Final = 3
_STATEMENT: Final = 6
DIGIT: Final = re.compile(f"[0-9{''.join({*lexicon.CJK_DIGITS} - {'一'})}]")
LONGEST: Final = 4000
"""Characters of an answer that are weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """A value of the gold's kind that an answer names."""

    start: int
    end: int
    is_gold: bool


def settles_on_other(answer: str, golds: Sequence[str], gold: str, question: str) -> bool:
    """Return whether the answer gives another value than the gold, which it only mentions."""
    text = answer[:LONGEST].replace("**", "").replace("__", "").strip()
    if _is_range(text, gold, question):
        return True
    pattern = None if _is_quoted(text) else _choose_pattern(gold)
    values = _find_values(text, pattern, golds, question) if pattern else []
    own = [one for one in values if one.is_gold]
    others = [
        one
        for one in values
        if not (one.is_gold or _DENIED_AFTER.match(text[one.end :]) or _DENIED_BEFORE.search(text[: one.start]))
    ]
    is_plural = pattern is _NAME and PLURAL.search(question)
    if not own or not others or is_plural or _CONCLUDES.search(text[max(0, own[-1].start - 60) : own[-1].start]):
        return False
    if pattern is _NAME and (_has_agent(text, others, question) or _is_relative(text, own, others, question)):
        return True
    is_list = pattern is not _NAME and pattern is not _TITLE and not _VERB.search(text)
    lead = len(text) - len(_LEAD.sub("", text))
    leads = others[0].start < own[0].start and others[0].start <= lead
    return leads and (is_list or (_opens_with_other(text, own, others) and not _stands_alone(text, own, question)))


def is_statement(gold: str) -> bool:
    """Return whether a gold is a statement, which other clauses explain, and no value that has rivals."""
    return len(words(gold)) >= _STATEMENT


def _is_quoted(text: str) -> bool:
    """Return whether an answer is sentences of a document, a line each: they speak of more than what was asked."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and all(line.endswith((".", "。")) and len(words(line)) > _FEW_WORDS for line in lines)


def find_units(row: Sequence[str]) -> set[str]:
    """Return the units of a row's numbers; days and years are of one, times of the clock of one, a count of none."""
    bare = "date" if lexicon.MONTHS & {*row} else ""
    numbers = [(word, unit) for word, unit in zip(row, [*row[1:], ""], strict=True) if DIGIT.search(word)]
    kinds = (
        (word, unit, "time" if _CLOCK.fullmatch(word) else "date" if _YEAR.fullmatch(word) else bare)
        for word, unit in numbers
    )
    return {unit if unit in UNITS else kind for _, unit, kind in kinds}


def _choose_pattern(gold: str) -> re.Pattern[str] | None:
    """Return what a gold's rivals look like; None where it has none, as a whole statement."""
    if is_statement(gold):
        return None
    gold = gold.strip("\"'“”‘’")
    if gold.startswith("《"):
        return _TITLE
    if _DATE.fullmatch(gold.strip()):
        return _DATE
    if _CODE.fullmatch(gold):
        return None
    if re.search(r"\d", gold) and not _LABEL.fullmatch(gold):
        return _NUMBER
    return _NAME if gold[:1].isupper() and not _HAN.search(gold) else None


def _find_values(text: str, pattern: re.Pattern[str], golds: Sequence[str], question: str) -> list[_Value]:
    """Return the values of a kind that the question does not name, in the order of the text."""
    asked = words(question)
    wanted = [words(gold) for gold in golds]
    nothing = _DISCOURSE | ARTICLES | (lexicon.MONTHS if pattern is _NAME else frozenset())
    values = []
    for match in pattern.finditer(text):
        row = words(match[0].rstrip(".,'’"))
        is_named = find_words(asked, row, most=1) and row not in wanted
        if not row or is_named or all(word in nothing or (pattern is _NAME and word.isdigit()) for word in row):
            continue
        if len(row) > 1 and row[0] in _DISCOURSE:
            row = row[1:]
        # "350 °F (180 °C)": no rivals, as they are of other units.
        units = find_units(row)
        if pattern is _NUMBER and "" not in units and not any(find_units(part) & {*units, ""} for part in wanted):
            continue
        is_gold = any(_is_same(row, part) for part in wanted)
        values.append(_Value(start=match.start(), end=match.end(), is_gold=is_gold))
    return values


def _is_same(row: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether one is a piece of the other, or has initials for its first names."""
    if set(row) <= set(part) or find_words(row, part, most=1):
        return True
    initials = [word for word in row[:-1] if len(word) == 1]
    return bool(initials) and row[-1] == part[-1] and initials[0] == part[0][0]


def _opens_with_other(text: str, own: Sequence[_Value], others: Sequence[_Value]) -> bool:
    """Return whether the answer is another value, with the gold in what is said of it."""
    first = others[0]
    if not _SETS_OFF.match(text[first.end :].removeprefix("'s")):
        return False
    spoken_of = _SPOKEN_OF.fullmatch(text, first.end, own[0].start)
    if spoken_of and (lexicon.is_verb(spoken_of[1]) or spoken_of[1].endswith("s")):
        return False
    # "Havana, Cuba", "LEX (Blue Grass Airport)": the gold stands beside it and says the same.
    between = text[first.end : own[0].start].strip(" *_\"“'’")
    follows = re.match(r"[\s*_\"”'’]*(?:$|[),.;）])", text[own[0].end :])
    return not (between in {",", "(", "（", "—", "–", "-", ", the", "(the"} and follows)


def _stands_alone(text: str, own: Sequence[_Value], question: str) -> bool:
    """Return whether a sentence behind the first gives the gold and nothing more: "Understood. It is Ada Quill."."""
    said = lexicon.FUNCTION_WORDS.union(ARTICLES, words(question), *(words(text[one.start : one.end]) for one in own))
    later = split_sentences(text, len(text))[1:]
    behind = [text[start:end] for start, end in later if any(start <= one.start < end for one in own)]
    return any(set(words(sentence)) <= said for sentence in behind)


def _has_agent(text: str, others: Sequence[_Value], question: str) -> bool:
    """Return whether another is said to have done what is asked, with the verb as a noun: "the mover was Bram"."""
    asked = {lexicon.stem(word) for word in words(question)}
    nouns = filter(None, (_AGENT.search(text[: one.start]) for one in others))
    return any(lexicon.stem(noun[1] + end) in asked for noun in nouns for end in ("", "e", "ed"))


def _is_relative(text: str, own: Sequence[_Value], others: Sequence[_Value], question: str) -> bool:
    """Return whether the gold stands in what is said of another: "a Scottish Office, which the Parliament opposed"."""
    stems = lexicon.find_content(words(question))
    for one in others:
        between = text[one.end : own[0].start]
        if one.start < own[0].start and _RELATIVE.fullmatch(between):
            return not {lexicon.stem(word) for word in words(between)} & stems
    return False


def _is_range(text: str, gold: str, question: str) -> bool:
    """Return whether the gold is only an end of a range."""
    wanted = words(gold)
    if _RANGE.search(gold) or set(words(question)) & _LIFE or not wanted or not any(c.isdigit() for c in gold):
        return False
    inside = [words(end) for match in _RANGE.finditer(text) for end in match.groups() if end]
    number = next(word for word in wanted if word[0].isdigit()) if any(w[0].isdigit() for w in wanted) else ""
    outside = words(_RANGE.sub(" ", text))
    return [number] in inside and number not in outside
