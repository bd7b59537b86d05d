"""Published measures of single benchmarks, each with the extraction of the answer that belongs to it, flaws included.

hotpot_em, hotpot_f1      HotpotQA: equal, or overlapping, words; yes, no and "noanswer" only where equal
qa_f1_zh, rouge_zh        LongBench's Chinese sets: F1 and ROUGE-L over the words that jieba cuts
letter                    LongBench 2: the letter in "The correct answer is (B)"
label                     BABILong: the one label of the task in the first sentence that the question does not hold
holds                     NoLiMa: a gold as it is written, anywhere
helmet_match, ranking     HELMET: a gold among the words of the answer; NDCG@10 of "3 > 1 > 2"
alce_asqa, alce_qampari   HELMET's answers with citations: the share of the answers asked for; at most five of them
ib_…                      InfiniteBench's, by task
"""

import json
import logging
import math
import re
from collections.abc import Callable, Sequence
from typing import Final

from bookwheel.errors import MissingExtra
from bookwheel.lab.scoring.published import ALL_MARKS, MEASURES, best, harmonic_mean, measure_rouge, split_words
from bookwheel.lab.scoring.score import Score

_CATEGORICAL: Final = frozenset({"yes", "no", "noanswer"})


def _normalize(text: str) -> str:
    return " ".join(split_words(text))


def _judge(right: object, reason: str = "by the published measure") -> Score:
    return Score(score=float(bool(right)), reason=reason)


def hotpot_em(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where answer and a gold are the same words."""
    return _judge(_normalize(answer) in map(_normalize, golds))


def hotpot_f1(answer: str, golds: Sequence[str]) -> Score:
    """Score F1 over words; where one of both is yes, no or "noanswer", only if the other is too."""

    def compare(one: str, gold: str) -> float:
        given, wanted = _normalize(one), _normalize(gold)
        if given != wanted and _CATEGORICAL & {given, wanted}:
            return 0.0
        return harmonic_mean(given.split(), wanted.split())

    return best(answer, golds, compare, "F1")


def _cut_chinese(text: str) -> list[str]:
    try:
        import jieba

        jieba.setLogLevel(logging.WARNING)  # it tells everyone that it loads its words
    except ImportError as error:
        raise MissingExtra("cutting Chinese into words as LongBench does", "published") from error
    return list(jieba.cut(text, cut_all=False))


_CHINESE_MARKS: Final = str.maketrans(
    "",
    "",
    "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏.",
)


def _strip_chinese(text: str) -> str:
    return "".join(text.lower().translate(ALL_MARKS).translate(_CHINESE_MARKS).split())


def qa_f1_zh(answer: str, golds: Sequence[str]) -> Score:
    """Score F1 over Chinese words without punctuation."""

    def split(text: str) -> list[str]:
        return [word for word in map(_strip_chinese, _cut_chinese(text)) if word]

    return best(answer, golds, lambda one, gold: harmonic_mean(split(one), split(gold)), "F1")


def rouge_zh(answer: str, golds: Sequence[str]) -> Score:
    """Score ROUGE-L over Chinese words."""

    def compare(one: str, gold: str) -> float:
        return measure_rouge(" ".join(_cut_chinese(one)), " ".join(_cut_chinese(gold)))

    return best(answer, golds, compare, "ROUGE-L")


_STATED: Final = (re.compile(r"The correct answer is \(([A-D])\)"), re.compile(r"The correct answer is ([A-D])"))


def letter(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the sentence that was asked for names the right letter, the first gold."""
    bare = answer.strip().replace("*", "")
    match = next(filter(None, (pattern.search(bare) for pattern in _STATED)), None)
    return _judge(
        match and match[1] == golds[0], f"names {match[1]}" if match else "names no letter as it was asked to"
    )


def label(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the first gold is the only label in the answer's first sentence.

    The golds after the first are the task's labels, without those that the question holds.
    """
    said = answer.lower().split(".")[0]
    for stop in ("<context>", "<example>", "Question"):
        said = said.split(stop)[0]
    target, labels = golds[0].lower(), {one.lower() for one in golds[1:]}
    named = {one for one in labels if one in said}
    parts = target.split(",") if "," in target and len(target) > len("e,n") else [target]
    return _judge(set(parts) <= named and len(named) == len(parts), f"names {len(named)} labels")


def holds(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where a gold stands in the answer, as it is written."""
    return _judge(any(gold in answer for gold in golds))


_PREFIXED: Final = re.compile(r"answer:(.*)(?:\n|$)", re.IGNORECASE)


def helmet_match(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the words of a gold stand in the answer, or in what follows its "Answer:"."""
    match = _PREFIXED.search(answer) or re.search(r"^(.*)(?:\n|$)", answer)
    stated = re.sub("^answer:", "", match[1].strip(), flags=re.IGNORECASE).strip() if match else ""
    return _judge(any(_normalize(gold) in _normalize(text) for text in (answer, stated) for gold in golds))


def _drop_citations(answer: str) -> str:
    bare = re.sub(r"\n+", " ", answer).replace("<|im_end|>", "")
    return re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", bare)).replace(" |", "").replace("]", "")


def alce_asqa(answer: str, golds: Sequence[str]) -> Score:
    """Score the share of the golds, each a JSON list of equal answers, of which one stands in the answer."""
    text = _normalize(_drop_citations(answer))
    found = [any(_normalize(one) in text for one in json.loads(gold)) for gold in golds]
    return Score(score=sum(found) / len(found) if found else 0.0, reason=f"holds {sum(found)} of {len(found)}")


def alce_qampari(answer: str, golds: Sequence[str]) -> Score:
    """Score how many of the golds, at most five, are items of the answer, a list with commas."""
    listed = _drop_citations(answer).rstrip().rstrip(".").rstrip(",").split(",")
    items = {_normalize(one.strip()) for one in listed} - {""}
    count = sum(any(_normalize(one) in items for one in json.loads(gold)) for gold in golds)
    score = min(_FIVE, count) / min(_FIVE, len(golds)) if golds else 0.0
    return Score(score=score, reason=f"lists {count} of {len(golds)}")


_FIVE: Final = 5
_RUN: Final = re.compile(r"(\d+)(?:\s*>\s*(\d+))*")
_DEPTH: Final = 10


def ranking(answer: str, golds: Sequence[str]) -> Score:
    """Score NDCG@10 of the longest run of numbers "3 > 1 > 2". A gold is "number=relevance"."""
    bare = re.sub(r"[\[\]:]", "", answer).lower().replace("id", "")
    longest = max((match[0] for match in _RUN.finditer(bare)), key=len, default="")
    order = [part.strip() for part in longest.split(">") if part.strip().isdigit()]
    relevance = {name: float(value) for name, _, value in (gold.rpartition("=") for gold in golds)}
    gains = [relevance.get(name, 0.0) for name in dict.fromkeys(order)]
    ideal = sorted(relevance.values(), reverse=True)

    def discount(values: Sequence[float]) -> float:
        return sum(value / math.log2(rank + 1) for rank, value in enumerate(values[:_DEPTH], start=1))

    score = discount(gains) / discount(ideal) if discount(ideal) else 0.0
    return Score(score=score, reason=f"NDCG@10 {score:.2f}")


def _blank(text: str, marks: str) -> str:
    return text.translate(str.maketrans(marks, " " * len(marks)))


def ib_word(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the gold is a word of the answer (key and value pairs)."""
    return _judge(golds[0] in _blank(answer, "\n:\"'.,?!{}").split())


def ib_number(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the first run of digits is the gold (pass keys, strings of digits)."""
    match = re.search("[0-9]+", answer)
    return _judge(match and match[0] == golds[0])


def ib_code_run(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the last word is the gold number."""
    words = _blank(answer.strip(), "\n.`'\":").split()
    try:
        return _judge(words and int(words[-1]) == int(golds[0]))
    except ValueError:
        return _judge(right=False)


def _follow_prefix(answer: str, prefixes: Sequence[str], golds: Sequence[str]) -> bool | None:
    """Return whether a gold follows the first of the prefixes that the answer holds; None where it holds none."""
    for prefix in prefixes:
        _, found, rest = answer.partition(prefix)
        if found:
            # One character after the prefix is skipped, whatever it is.
            return bool(rest) and rest[1:].startswith(tuple(golds))
    return None


def ib_code_debug(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 for the right letter in front, or letter or function behind "is:" and the like."""
    bare = answer.strip()
    if bare[:2] in (f"{golds[0]}.", f"{golds[0]}:"):
        return _judge(right=True)
    for word in ("\n", "`", "'", '"', "-", "*", "Option", "option"):
        bare = bare.replace(word, " ")
    bare = re.sub(" {2,}", " ", bare)
    return _judge(_follow_prefix(bare, ("answer is:", "is:", "answer:", "correct option is:"), golds))


def ib_math_find(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the first number is the gold; where the gold is whole, one with a point is an error."""
    match = re.search(r"\d+\.\d+|\d+", answer)
    if not match or ("." in match[0] and "." not in golds[0]):
        return _judge(right=False)
    return _judge(float(match[0]) == float(golds[0]))


def ib_math_calc(answer: str, golds: Sequence[str]) -> Score:
    """Score the share of the intermediate values that are right before the first wrong one.

    The first number of the answer is left out, as it was for GPT-4, for which the published prompt is.
    """
    given = [int(number) for number in re.findall("[0-9]+", answer)][1:]
    right = 0
    for mine, gold in zip(given, golds, strict=False):
        if mine != int(gold):
            break
        right += 1
    return Score(score=right / len(golds), reason=f"share {right / len(golds):.2f}")


def ib_speaker(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where the first gold is a word of the answer, in capitals."""
    return _judge(golds[0] in _blank(answer.strip(), "\n:\"'.,?!{}").upper().split())


def ib_choice(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 for the right letter in front, the right text alone, or either behind "answer is" and the like."""
    bare = answer.strip()
    if not bare:
        return _judge(right=False)
    if bare[0] in "ABCD":
        return _judge(bare[0] in golds)
    if bare in golds:
        return _judge(right=True)
    bare = re.sub(" {2,}", " ", _blank(bare, "\n\"'.,?!{}"))
    follows = _follow_prefix(bare, ("answer is:", "answer:", "answer is", "option is"), golds)
    if follows is not None:
        return _judge(follows)
    # A substring of "ABCD", as the published script looks.
    return _judge(next((word for word in bare.split() if word in "ABCD"), None) in golds)


def rouge_lsum(answer: str, golds: Sequence[str]) -> Score:
    """Score ROUGE-L over all lines, by the package rouge-score."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtra("judging summaries as InfiniteBench does", "published") from error
    scorer = RougeScorer(["rougeLsum"])
    return best(answer, golds, lambda one, gold: float(scorer.score(gold, one)["rougeLsum"].fmeasure), "ROUGE-Lsum")


def ib_qa_zh(answer: str, golds: Sequence[str]) -> Score:
    """Score F1 over characters."""
    return best(answer, golds, lambda one, gold: harmonic_mean(_strip_chinese(one), _strip_chinese(gold)), "F1")


def _parse_oolong(answer: str) -> str:
    _, colon, last = answer.rpartition(":")
    if not colon:
        words = answer.split()
        return answer if len(answer) < _FEW_CHARACTERS or not words else words[-1]
    last = last.strip().replace("*", "").replace("[", "").replace("]", "")
    named = () if len(last) < _FEW_CHARACTERS else (phrase for phrase in _COMPARED if phrase in last)
    return next(iter(named), last)


_FEW_CHARACTERS: Final = 20
_COMPARED: Final = ("more common", "less common", "same frequency")


def oolong(answer: str, golds: Sequence[str]) -> Score:
    """Score what follows the last colon: 1 where it is the first gold, or the comparison in it."""
    given, gold = _parse_oolong(answer), golds[0]
    return _judge(given == gold or (given in _COMPARED and given in gold))


def oolong_number(answer: str, golds: Sequence[str]) -> Score:
    """Score what follows the last colon by 0.75 to the power of its difference from the gold."""
    given = _parse_oolong(answer)
    try:
        score = 1.0 if given == golds[0] else float(0.75 ** abs(int(golds[0]) - int(given)))
    except ValueError:
        score = 0.0
    return Score(score=score, reason=f"score {score:.2f}")


def oolong_date(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 where what follows the last colon is the date of the gold, year-month-day."""
    try:
        from dateutil import parser
    except ImportError as error:
        raise MissingExtra("reading dates as OOLONG does", "published") from error
    try:
        return _judge(parser.parse(_parse_oolong(answer)) == parser.isoparse(golds[0]))
    except (ValueError, OverflowError):
        return _judge(right=False)


_BOXED: Final = re.compile(r"\\boxed\{\\text\{([^}]*)\}\}")
_BOXED_BARE: Final = re.compile(r"\\boxed\{+([^}]*)\}+")


def _parse_value(text: str) -> int | str | list[str]:
    try:
        return int(text)
    except ValueError:
        return [part.strip() for part in text.split(",") if part.strip()] if "," in text else text


def oolong_real(answer: str, golds: Sequence[str]) -> Score:
    """Score what is boxed: a number by its difference, a list by its share of the gold's, a text without its case.

    Without a box the answer is a text, even where it is a number.
    """
    boxed, gold = _BOXED.search(answer) or _BOXED_BARE.search(answer), _parse_value(golds[0])
    given = _parse_value(boxed[1]) if boxed else answer
    score = 0.0
    if isinstance(gold, int) and isinstance(given, int):
        score = float(0.75 ** abs(gold - given))
    elif isinstance(gold, str) and isinstance(given, str):
        score = float(gold.strip().lower() == given.strip().lower())
    elif isinstance(gold, list) and isinstance(given, list):
        score = len({*gold} & {*given}) / len(gold) if gold else 0.0
    return Score(score=score, reason=f"score {score:.2f}")


Measure = Callable[[str, Sequence[str]], Score]
PUBLISHED: Final[dict[str, Measure]] = {
    **MEASURES,
    **{
        one.__name__: one
        for one in (
            *(hotpot_em, hotpot_f1, qa_f1_zh, rouge_zh, letter, label, holds, helmet_match, ranking, alce_asqa),
            *(alce_qampari, ib_word, ib_number, ib_code_run, ib_code_debug, ib_math_find, ib_math_calc, ib_speaker),
            *(ib_choice, ib_qa_zh, rouge_lsum),
            *(oolong, oolong_number, oolong_date, oolong_real),
        )
    },
}
"""All published measures by name."""
