"""A short answer: a span of the best passage's own words.

    how, why, lists                 the sentence that answers, or the whole passage: a gist cannot be copied
    yes or no                       no, where the sentence that has most of the question's words denies something, else
                                    yes; the passage, where no sentence has half of them
    all others                      of the spans that can be an answer, the one with the greatest sum of weights,
                                    where it is far ahead of the others; else the passage

A model that was taught to copies spans by itself (question_scorer.py); the spans here are for all others.

Spans: numbers with their units, dates, names, quoted words, cells, clauses, sentences. Features: what is asked for with
the form of the span, how near it stands to the question's words, how many of these it repeats, its length. The weights
are trained on the passages that bear the gold answers out (benchmarks/quality/train_spans.py).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp, log
from typing import TYPE_CHECKING, Final

from bookwheel.text.lexicon import stem
from bookwheel.text.matching import Passage
from bookwheel.text.ranking import find_stems
from bookwheel.text.sentences import split_sentences
from bookwheel.verdict.marks import NOT
from bookwheel.verdict.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bookwheel.text.ranking import QuestionWords

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_UNIT: Final = (
    r"(?: ?%| ?°C?| ?(?:k|c|m)?m\b| ?k?g\b| ?[kMG]B\b| ?(?:percent|per cent|years?|months?|weeks?|days?|"
    r"hours?|minutes?|seconds?|"
    r"min|ms|h|pm|am|pounds?|euros?|dollars?|p|l|t|km|m²|people|times|GB|MB)\b)?"
)
_BEFORE: Final = (
    "at",
    "by",
    "in",
    "on",
    "to",
    "of",
    "is",
    "as",
    "are",
    "was",
    "were",
    "for",
    "the",
    "a",
    "than",
    "with",
    "from",
)
_AFTER: Final = "|".join(rf"(?<=\b{word}\s)" for word in _BEFORE)
_FORMS: Final = {
    "date": re.compile(
        rf"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?\d{{1,2}}(?:st|nd|rd|"
        rf"th)? {_MONTH}(?: \d{{4}})?|{_MONTH} \d{{1,2}}(?:, \d{{4}})?|"
        rf"{_MONTH} \d{{4}}|\d{{4}}-\d\d-\d\d|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|"
        rf"\d{{1,2}}[:.]\d\d(?: ?[ap]\.?m\.?)?|"
        r"(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|[上下]?午?\d{1,2}[点时](?:\d{1,2}分|半)?|\b(?:1[5-9]|20)\d\d\b|周[一二三四五六日]"
    ),
    "number": re.compile(
        rf"[£$€¥]? ?\d+(?:[.,:]\d+)*{_UNIT}|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|"
        rf"twelve|\w+teen|twenty|thirty|"
        rf"forty|fifty|sixty|seventy|eighty|ninety|hundred|half)(?:-[a-z]+)?\b(?: [a-z]+)?|"
        rf"[\d一二两三四五六七八九十百千]+(?:\.\d+)?(?:[^\W\d_a-zA-Z]{{1,2}})?"
    ),
    "name": re.compile(r"(?:[A-Z][\w'’-]*\.?(?: (?:of|de|van|von|the|and|&) (?=[A-Z]))? ?){1,5}"),
    "quoted": re.compile(r"`[^`]+`|\*\*[^*]+\*\*|[\"“][^\"”]+[\"”]|《[^》]+》|「[^」]+」"),
    "after": re.compile(rf"(?:{_AFTER})[^,;:.()|]{{2,60}}|(?<=[在为是由向到])[^，。；：]{{1,20}}"),
    "clause": re.compile(r"[^,;:()|–—，。；：（）、\n…]{2,120}"),
    "cell": re.compile(r"(?<=[|,;\t])[^|,;\t]{1,60}(?=[|,;\t]|$)|(?:(?<=  )|^)\S+(?: \S+)*(?=  |$)"),
}
_HOW_WHY: Final = re.compile(
    r"^\s*(?:and |so )?(?:why|how (?!many|much|long|far|old|often|big|large|high|deep|soon|late|early|"
    r"tall|heavy)|what (?:happens|should|must i)|reason\b)|为什么|为啥|为何|怎么|咋|如何|怎样|原因",
    re.IGNORECASE,
)
_ENDING_IN_S: Final = (
    r"is|was|has|does|takes|costs|needs|comes|opens|closes|shuts|starts|ends|lasts|leaves|pays|holds|stays"
)
_LIST: Final = re.compile(
    rf"(?:^|\bplease|\band)\s*list\b|\b(?:list (?:all|every|the|of)|name all|which (?!(?:{_ENDING_IN_S})\b)\w+s|"
    r"what are|what \w+s are|who all|all the)\b|哪些|哪几|有什么|有哪",
    re.IGNORECASE,
)
_EITHER: Final = re.compile(r"\bor\b|还是", re.IGNORECASE)
_POLAR: Final = re.compile(
    r"^\s*(?:is|are|was|were|do|does|did|can|could|may|must|has|have|had|will|would|should|am)\b|"
    r"吗[？?]?\s*$|是否|能不能|可不可以|有没有|会不会|要不要",
    re.IGNORECASE,
)
_ASKED: Final = {
    "time": re.compile(
        r"\bwhen\b|\bw?hat (?:time|date|day|year|month)|\bwich (?:day|date)|\bhow (?:long|old|late|early|"
        r"soon)|\buntil\b|\bdeadline\b|"
        r"\bdate\b|\b(?:which|what) (?:day|week)|何时|什么时候|几点|几号|哪天|哪一?[年月日天]|多久|多长时间|日期|时间",
        re.IGNORECASE,
    ),
    "number": re.compile(
        r"\bhow (?:many|much|far|big|large|high|deep|heavy|wide|often|tall)|\b(?:price|cost|fee|rent|"
        r"number|no\.?|amount|"
        r"total|percentage|rate|fine|charge|limit|max\w*|min\w*)\b|多少|几[个位次天本台辆条张份名人]|费用|价格|数量|金额",
        re.IGNORECASE,
    ),
    "name": re.compile(r"\bwho(?:se|m)?\b|\bwhich (?:person|company|firm)|谁|哪位|哪个人|什么人|叫什么", re.IGNORECASE),
    "place": re.compile(r"\bwhere\b|\bw?hich (?:room|place|town|city)|哪里|哪儿|在哪|什么地方|何处", re.IGNORECASE),
}
_HAS: Final = {
    "time": re.compile(
        r"\d{1,2}[:.]\d\d\b|\b(?:1[5-9]|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)?\s(?:Jan|Feb|Mar|Apr|May|Jun|"
        r"Jul|Aug|Sep|Oct|Nov|Dec)|"
        r"\b(?:Mon|Tues?|Wed|Thu(?:rs)?|Fri|Sat|Sun)(?:day|nesday|sday|urday)?\b|\b(?:day|week|month|year|"
        r"hour|minute|second)s?\b|"
        r"\b\d+ ?(?:am|pm|min|h|s|ms)\b|noon|midnight|\d[年月日号点时分天周]|"
        r"[一二三四五六七八九十]+[年月日天周]|星期|周[一二三四五六日]"
    ),
    "number": re.compile(
        r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|hundred|half)\b|[一二两三四五六七八九十百千]"
    ),
    "name": re.compile(r"(?<=[a-z,;:(] )[A-Z][a-z]+|\b[A-Z][a-z]+ [A-Z][a-z]+|[\u4e00-\u9fff]{2}"),
    "place": re.compile(r"\b(?:in|at|on|near|behind|under|to|from)\b|在|[里处室楼区路]"),
}
_GAP: Final = " … "
_EDGE: Final = ' \t,;:.，。；：、()（）*`"“”|?!'
_MOST: Final = 80
# Share of exp(sum of weights) that the best span must have. Below it as many are wrong as right, and a wrong word
# in the answer's place misleads.
_SURE: Final = 0.6
# Of the question's words, the share that a sentence must have to say yes or no: then four of five are right.
_LEAST_POLAR: Final = 0.5


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a passage that can be the answer."""

    start: int
    end: int
    text: str
    form: str


def find_kind(question: str) -> str:
    """Return what a question asks for: a time, a number, a name, a place; or nothing that has a form."""
    return next((kind for kind, pattern in _ASKED.items() if pattern.search(question)), "")


def has_kind(kind: str, text: str) -> bool:
    """Return whether a text has what such a question asks for."""
    return not kind or bool(_HAS[kind].search(text))


def find_style(question: str) -> str:
    """Return what an answer has to be: `polar`, `sentence`, `list` or `span`."""
    if _POLAR.search(question):
        return "polar"
    if _HOW_WHY.search(question):
        return "sentence"
    return "list" if _LIST.search(question) and not _EITHER.search(question) else "span"


def choose_answer(passage: str, words: QuestionWords) -> str:
    """Return the short answer to a question, out of a passage."""
    style = find_style(words.question)
    body = passage.rpartition(_GAP)[2]
    if style in ("polar", "list"):
        return body
    if style == "sentence":
        # The one with most of the question's words, and the one after it, which may have the "because".
        sentences = split_sentences(body)
        shares = [len(find_stems(body[start:end]) & words.stems) for start, end in sentences]
        at = shares.index(max(shares)) if shares else 0
        return body[sentences[at][0] : sentences[min(at + 1, len(shares) - 1)][1]].strip() if shares else body
    spans = list(find_spans(body))
    weights = _load_weights()
    scores = [
        sum(weights.get(name, 0.0) * value for name, value in describe(one, body, words).items()) for one in spans
    ]
    best = max(scores, default=0.0)
    share = 1 / sum(exp(score - best) for score in scores) if scores else 0.0
    return spans[scores.index(best)].text if share >= _SURE else body


def find_polarity(passages: Sequence[str], words: QuestionWords) -> bool | None:
    """Return whether passages answer yes; None where no sentence of theirs has enough of the question's words."""
    bodies = [passage.rpartition(_GAP)[2] for passage in passages]
    sentences = [body[start:end] for body in bodies for start, end in split_sentences(body)]
    best = max(sentences, key=words.share, default="")
    return None if words.share(best) < _LEAST_POLAR else not parse(best).marks[NOT]


def find_spans(body: str) -> Iterator[Span]:
    """Yield the spans of a passage that can be an answer, each once."""
    seen: set[tuple[int, int]] = set()
    forms = [(form, match.start(), match.end()) for form, pattern in _FORMS.items() for match in pattern.finditer(body)]
    for form, start, end in (*forms, *(("sentence", start, end) for start, end in split_sentences(body))):
        text = body[start:end].strip(_EDGE)
        first = body.find(text, start)
        place = (first, first + len(text))
        if text and place not in seen and len(seen) < _MOST:
            seen.add(place)
            yield Span(*place, text, form)


def describe(span: Span, body: str, words: QuestionWords) -> dict[str, float]:
    """Return the features of a span."""
    kind = find_kind(words.question) or "other"
    own = find_stems(span.text)
    asked = words.stems
    before, after = body[: span.start], body[span.end :]
    near = [_measure_gap(before, asked, last=True), _measure_gap(after, asked, last=False)]
    first = re.split(r"[^\w\u4e00-\u9fff]+", words.question.strip().casefold(), maxsplit=1)[0]
    sentence_start = max(before.rfind(". "), before.rfind("。"), before.rfind("? "), -1) + 1
    sentence = body[sentence_start : span.end + max(0, after.find(". "))]
    return {
        f"{kind}/{span.form}": 1.0,
        f"{first}/{span.form}": 1.0,
        "repeats": len(own & asked) / max(1, len(own)),
        "repeats any": float(bool(own & asked)),
        "covered": len(find_stems(sentence) & asked) / max(1, len(asked)),
        "before": 1 / (1 + near[0]),
        "after": 1 / (1 + near[1]),
        "length": log(1 + len(span.text)),
        "length2": log(1 + len(span.text)) ** 2 / 4,
        "place": span.start / max(1, len(body)),
        "digits": float(any(map(str.isdigit, span.text))),
        f"{kind}/digits": float(any(map(str.isdigit, span.text))),
        f"{kind}/upper": float(span.text[:1].isupper()),
    }


def _measure_gap(text: str, asked: set[str], *, last: bool) -> int:
    keys = Passage(text[-160:] if last else text[:160]).ordered_keys
    places = [at for at, key in enumerate(reversed(keys) if last else keys) if stem(key) in asked]
    return min(places, default=30)


@cache
def _load_weights() -> Mapping[str, float]:
    found: dict[str, float] = json.loads(
        (resources.files("bookwheel.reading.ways") / "short_answers.json").read_text(encoding="utf-8")
    )
    return found
