"""Tell whether an answer commits to a gold answer, or only mentions it.

A gold that stands in the answer counts only where the answer asserts it:

    "It was Ada Quill."                        asserted
    "I think it was Ada Quill."                asserted: a guess is an answer
    "It was not Ada Quill."                    denied
    "Bram Marrow rather than Ada Quill"        denied
    "Ada Quill or Bram Marrow"                 one of several: no answer
    "4821907, 5530118 and 7719302"             one of several: no answer

One occurrence that is asserted is enough. Clauses end at punctuation, and what is said in one does not reach another.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from bookwheel.lab.scoring.relevance import is_beside, pair_words, split_beside
from bookwheel.text import lexicon
from bookwheel.text.normalization import (
    ARTICLES,
    BREAK,
    contains_words,
    find_words,
    match_words,
    split_clauses,
    words,
)
from bookwheel.text.quantities import UNITS

# Tokens before a gold that a denial reaches over: "was not in fact Ada Quill".
_REACH: Final = 4
DENIALS: Final = lexicon.words(
    "not never neither nor isnt wasnt arent werent isn wasn dont doesnt didnt cannot cant except excluding unlike "
    "without no"
)
# "not only Ada", "not until 1953", "no later than 1953" assert what follows.
_NO_DENIAL: Final = lexicon.words(
    "only just until till later less more fewer merely simply least far before exceed exceeding over above under below"
)
_DENYING_PAIRS: Final = pair_words("rather than|instead of|other than|anything but|different from|as opposed|away from")
_TURNS: Final = lexicon.words("but rather instead actually yet however")
VERBS_DENIED: Final = lexicon.words(
    "isnt wasnt arent werent didnt doesnt dont hasnt havent hadnt wont wouldnt couldnt cannot cant never"
)
_AUXILIARIES: Final = lexicon.words("is was are were did does do has have had will would could can")
# "It is unclear if Ada signed" and "it is false that Ada signed" assert nothing of her.
_OPEN_PAIRS: Final = pair_words(
    "clear if|unclear if|sure if|unsure if|know if|known if|say if|false that|untrue that|wrong that|incorrect that|"
    "doubtful that"
)
# "Perhaps Ada, perhaps Bram" names two and decides for none.
_HEDGES: Final = lexicon.words("perhaps maybe possibly")
# "Either of them", said of what stands before, and of nothing behind it.
_UNDECIDED: Final = re.compile(
    r"\beither of (?:them|these|the two)\s*(?=[.,;:!?]|$)|(?:无法|不能|难以)(?:确定|判断).{0,3}哪一?[个者]\W*$|"
    r"(?:\bnot|n['’]t|\bun)\s?(?:\w+\s){0,2}?(?:clear|certain|sure|say|tell|decide|know)\swhich(?:\sone)?(?:\sapplies)?\W*$",
    re.IGNORECASE,
)
# "两小时十分" is more than two hours, and "80块五" more than 80.
_GOES_ON: Final = re.compile("hour(?:\\d+分|半)|年(?:\\d+month|[半多])|块[\\d一二三四五六七八九](?:毛|$)")
_NOT_SO: Final = lexicon.words("not never wrong incorrect false untrue mistaken")
_AFTER_OR: Final = lexicon.words("so more less thereabouts later earlier about around rather")
_CHINESE_DENIAL: Final = re.compile(
    r"(?:不是|并非|而非|不会是|绝非|没有|不在|除了|而不是|零下|不到|[不非未无])的?(?:因为|由于)?$"
)
_CHINESE_NO_DENIAL: Final = re.compile(r"(?:不仅是?|不只是?|不但是?|不过是?)$")
_JOINTS: Final = frozenset({BREAK, "and", "or", "和", "与", "、"})
_LEAST_NUMBERS: Final = 3
_LEAST_DIGITS: Final = 3


def asserts_any(answer: str, golds: Iterable[str], *, question: str = "", alone: bool = True) -> str | None:
    """Return the first gold that the answer commits to; None where it commits to none.

    With `alone`, a gold that is named as one of several does not count.
    """
    wanted = {gold: words(gold) for gold in golds}
    rivals = list(wanted.values()) if alone else None
    undecided = _UNDECIDED.search(answer) if alone else None
    if undecided:
        wanted = {
            gold: part for gold, part in wanted.items() if "or" in part or mentions(answer[undecided.end() :], gold)
        }
    found = (gold for gold, part in wanted.items() if _is_asserted(_list_tokens(answer, part), part, rivals, question))
    return next(found, None)


def mentions(answer: str, gold: str) -> bool:
    """Return whether the gold stands in the answer at all, as whole tokens."""
    part = words(gold)
    return contains_words([token for token in _list_tokens(answer, part) if token != BREAK], part)


def _list_tokens(answer: str, gold: Sequence[str]) -> list[str]:
    """Return the tokens of an answer, with articles where the gold is one."""
    return [token for token in split_clauses(answer) if token not in ARTICLES or set(gold) <= ARTICLES]


def _is_asserted(row: Sequence[str], part: Sequence[str], golds: Sequence[list[str]] | None, question: str) -> bool:
    """Return whether one occurrence of a gold is asserted; without `golds`, others may stand beside it."""
    dense = [at for at, token in enumerate(row) if token != BREAK]
    bare = [row[at] for at in dense]
    # Where the question itself is about what is not so, "Edward was not crowned" is its answer.
    denies = bool(DENIALS & set(words(question))) or "不" in question or "没" in question
    # Clauses that begin with a "perhaps".
    hedges = sum(token in _HEDGES for before, token in pairwise([BREAK, *row]) if before == BREAK)
    longer = [gold for gold in golds or () if len(gold) > len(part)]
    for place in find_words(bare, part):
        stop = match_words(bare, place, part)
        # A piece of a longer gold is looked at with that gold.
        if any(at <= place and stop <= match_words(bare, at, gold) for gold in longer for at in find_words(bare, gold)):
            continue
        start, end = dense[place], dense[stop - 1] + 1
        before, after = split_beside(row, start, end)
        if _GOES_ON.match("".join([*part[-1:], *after[:2]])):
            continue
        if _denies_before(before, asked=denies) or (not denies and _denies_after(after)):
            continue
        if golds is None or not (
            _is_alternative(before, after, golds)
            or _is_in_list(row, start, end, golds)
            or (hedges > 1 and set(before[:1]) & _HEDGES)
            or (question and is_beside(row, start, end, question))
        ):
            return True
    return False


def _denies_before(before: Sequence[str], *, asked: bool) -> bool:
    """Return whether what stands before a gold denies it; where a denial is asked for, only "Not Ada but Bram" does."""
    near = before[-_REACH - 1 :]
    if not asked and ("whether" in near or _OPEN_PAIRS & set(pairwise(near))):
        return True
    for at in range(len(near) - 1, -1, -1):
        following = near[at + 1] if at + 1 < len(near) else ""
        if at and not asked and (near[at - 1], near[at]) in _DENYING_PAIRS:
            # "none other than Ada" is Ada.
            return at < 2 or near[at - 2] != "none"  # noqa: PLR2004 - the word before the pair
        if near[at] in _TURNS:
            return False
        if near[at] in DENIALS and following not in _NO_DENIAL and (not asked or before == ["not"]):
            # "no" denies what stands beside it: "no Ada Quill", but "no doubt it was Ada Quill".
            return near[at] != "no" or at == len(near) - 1
    joined = "".join(near)
    return not asked and bool(_CHINESE_DENIAL.search(joined)) and not _CHINESE_NO_DENIAL.search(joined)


def _denies_after(after: Sequence[str]) -> bool:
    """Return whether the clause goes on to say that it is not so: "Ada did not sign", "Ada is wrong"."""
    near = [*after[:2], "", ""]
    is_denied = near[0] in VERBS_DENIED or (near[0] in _AUXILIARIES and near[1] in _NOT_SO)
    return is_denied or "".join(near) in {"不是", "没有"}


def _is_alternative(before: list[str], after: list[str], golds: Sequence[list[str]]) -> bool:
    """Return whether the occurrence is one side of an "or" whose other side is no gold."""
    if after and after[0] in {"or", "或"}:
        rest = after[1:]
        # "630 kg or 8 persons": the same in other units.
        if len(rest) > 1 and rest[0].isdigit() and any(gold[-1:] and gold[-1] in UNITS for gold in golds):
            return rest[1] in UNITS
        return not (rest and rest[0] in _AFTER_OR) and not any(rest[: len(gold)] == gold for gold in golds if gold)
    if before and before[-1] in {"or", "或"}:
        rest = before[:-1]
        return not any(rest[-len(gold) :] == gold for gold in golds if gold)
    joined = "".join(after[:2])
    return joined.startswith(("或者", "还是")) or "".join(before[-2:]).endswith(("或者", "还是"))


def _is_in_list(row: Sequence[str], start: int, end: int, golds: Sequence[list[str]]) -> bool:
    """Return whether the occurrence is a number in a list of similar numbers of which most are no golds."""
    if end - start != 1 or not row[start].isdigit() or len(row[start]) < _LEAST_DIGITS:
        return False
    numbers = {row[start], *_walk_numbers(row, start, -1), *_walk_numbers(row, start, 1)}
    others = numbers - {gold[0] for gold in golds if len(gold) == 1}
    is_pair = any(row[at : at + 1] == ["and"] for at in (start - 1, end) if at >= 0)
    return len(others) + 1 >= (2 if is_pair else _LEAST_NUMBERS)


def _walk_numbers(row: Sequence[str], start: int, way: int) -> list[str]:
    """Return the numbers of similar length that stand next to this one, with only joints between."""
    found: list[str] = []
    at = start + way
    while 0 <= at < len(row) and (row[at] in _JOINTS or row[at].isdigit()):
        if row[at].isdigit() and abs(len(row[at]) - len(row[start])) <= 1:
            found.append(row[at])
        at += way
    return found
