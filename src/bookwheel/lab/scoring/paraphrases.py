"""Tell whether a sentence says what a gold of several words does, in other words or in another order.

a drive belt that is worn       the worn drive belt: what is said of a thing, before it or behind it
the vicarage loft               the attic of the vicarage: the whole before its part or behind it
the token had expired           an expired token
an allergy to flour             allergic to flour
two cups of milk for the cake   for the cake, two cups of milk: the same parts, each as it was

A part is a run of words with the preposition of a way before it. The words that say something stand for all words of
one meaning (`bookwheel.text.lexicon`). What denies, turns round or places elsewhere is another thing.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from bookwheel.lab.scoring.commitment import DENIALS, VERBS_DENIED
from bookwheel.lab.scoring.relevance import has_opposite
from bookwheel.text import lexicon
from bookwheel.text.normalization import ARTICLES, BREAK, contains_words, split_clauses, words
from bookwheel.text.quantities import UNITS
from bookwheel.text.sentences import list_sentences

_TURNS: Final = (
    DENIALS
    | VERBS_DENIED
    | lexicon.words("although though despite nothing nobody ruled nearly almost will would may might could want wanted")
)
# The sides of a thing, and the words for each.
_SIDES: Final = {
    word: at
    for at, one in enumerate(("under beneath underneath below", "on upon", "in inside within", "behind", "over above"))
    for word in one.split()
} | dict.fromkeys(("beside", "next", "by", "near", "at"), -1)
_WAYS: Final = (
    *(("to", "from"), ("with", "without"), ("before", "after"), ("over", "under"), ("above", "below"), ("into", "out")),
    *(("for", "against"), ("inside", "outside"), ("up", "down"), ("more", "less"), ("his", "her")),
)
_PREPOSITIONS: Final = frozenset(word for pair in _WAYS for word in pair) | {"of"}
_OWNED: Final = lexicon.words("a an the his her its their your our my")
_LIGHT: Final = lexicon.AUXILIARIES | _OWNED
# "The weir on the Ouse" is the Ouse weir; a cat at the house is no house cat.
_JOINTS: Final = lexicon.words("of on")
_RELATIVES: Final = lexicon.words("that which who")
_BETWEEN: Final = lexicon.AUXILIARIES | lexicon.words("need needs needed to")
_TWO, _THREE = 2, 3
_ASKS_WHY: Final = re.compile("为什么|为何|为啥|原因|怎么会")
_CHINESE_DENIALS: Final = frozenset("不没未无非")


def says_again(answer: str, gold: str, question: str = "") -> bool:
    """Return whether a sentence of the answer says what the gold does."""
    part, asked = lexicon.join_phrases(words(gold)), words(question)
    if _ASKS_WHY.search(question) and not gold.isascii():
        return any(_gives_reason(words(said), part) for said in list_sentences(answer))
    wanted = _list_content(part)
    is_reason = "why" in asked
    if is_reason:
        wanted = [one for one in wanted if one not in _list_content(asked)]
    is_quantity = all(word[0].isdigit() or word in UNITS for word in part)
    if len(wanted) < _TWO or is_quantity or gold[:1].isupper() or not gold.isascii() or lexicon.MONTHS & {*part}:
        return False
    # Of two things that happened each keeps its own: "the price fell and the volume rose".
    is_single = sum(lexicon.is_verb(word) and word not in lexicon.AUXILIARIES for word in part) < _TWO
    runs = [
        _find_runs(lexicon.join_phrases(split_clauses(gold)), is_before=is_before)
        for is_before in (False, True)
        if is_single
    ]
    for row in _list_rows(answer):
        said = [word for word in row if word not in ARTICLES | {BREAK}]
        is_said = _follows(_list_content(said), wanted, between=int(len(wanted) > _THREE))
        if len(wanted) == _TWO and not is_reason:
            # Two words stay side by side: "the disk was full" for "disk full", but no "disk behind the full shelf".
            is_said = contains_words(lexicon.list_meanings(word for word in said if word not in _LIGHT), wanted)
        found = [*_find_runs(row, is_before=False), *_find_runs(row, is_before=True)]
        if (is_said or any(_has_runs(found, one) for one in runs)) and not _is_other(said, part):
            return True
    return False


def _list_rows(answer: str) -> Iterator[list[str]]:
    """Yield the tokens of each sentence and of each of its clauses."""
    for sentence in list_sentences(answer):
        row = lexicon.join_phrases(split_clauses(sentence))
        yield row
        yield from (list(group) for is_break, group in groupby(row, BREAK.__eq__) if not is_break)


def _is_other(said: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether a sentence denies what the gold says, says its opposite, of another side or with another agent."""
    is_turned = any(bool(group & {*said}) != bool(group & {*part}) for group in (_TURNS, {"or"}))
    sides, other_sides = _find_sides(part), _find_sides(said)
    return (
        is_turned
        or has_opposite(said, part)
        or any(_find_other_ways(said, part))
        or any(other_sides.get(word) != side for word, side in sides.items())
        or _has_agent(said) != _has_agent(part)
    )


def _follows(row: Sequence[str], wanted: Sequence[str], *, between: int) -> bool:
    """Return whether all that is wanted stands in a row, in its order, with so many others between."""
    for start in (at for at, one in enumerate(row) if one == wanted[0]):
        rest = iter(row[start : start + len(wanted) + between])
        if all(one in rest for one in wanted):
            return True
    return False


def _find_runs(row: Sequence[str], *, is_before: bool) -> list[tuple[str, list[str]]]:
    """Return the runs of words that say something, each with the preposition before it.

    A whole stands before its part; what is said of a thing stands before it, or is a run of its own.
    """
    runs: list[tuple[str, list[str]]] = []
    run: list[str] = []
    between: list[str] = [BREAK]
    # "The dog that had bitten the man": a verb with an object stays with the one who does it.
    bare = [word for word, after in pairwise([*row, ""]) if not (word in _RELATIVES and lexicon.is_verb(after))]
    doing = {
        at
        for at, (word, verb, after) in enumerate(zip(bare, bare[1:], bare[2:], strict=False))
        if word in lexicon.AUXILIARIES and lexicon.is_verb(verb) and after in _OWNED
    }
    bare = [word for at, word in enumerate(bare) if at not in doing]
    for word, after in pairwise([*bare, BREAK, BREAK]):
        is_light = word == BREAK or word in lexicon.FUNCTION_WORDS | DENIALS | _SIDES.keys() | _BETWEEN
        # "Simmered with": a verb without an object says something of what stands before it.
        is_said = lexicon.is_verb(word) and after in (lexicon.FUNCTION_WORDS | {BREAK}) - _OWNED
        if run and (is_light or is_said):
            _add_run(runs, run, between, is_before=is_before)
            run, between = [], ["was"] if is_said and not is_light else []
        if is_light:
            between.append(word)
        else:
            run.append(word)
    return runs


def _add_run(runs: list[tuple[str, list[str]]], run: Sequence[str], between: Sequence[str], *, is_before: bool) -> None:
    found = lexicon.list_meanings(run)
    is_counted = run[0].isdigit() and between[-1:] == ["of"]
    is_part = is_counted or (len(between) > 1 and between[-2] in _JOINTS and between[-1] in _OWNED)
    is_said = is_before and {*between} <= _BETWEEN and bool(lexicon.AUXILIARIES & {*between})
    if runs and (is_part or is_said):
        runs[-1] = (runs[-1][0], found + runs[-1][1])
    else:
        # "Next to" is a side, and no way.
        is_side = bool(_SIDES.keys() & {*between})
        way = next((word for word in between[::-1] if word in _PREPOSITIONS), "")
        runs.append(("" if is_side else way, found))


def _has_runs(said: Sequence[tuple[str, list[str]]], wanted: Sequence[tuple[str, list[str]]]) -> bool:
    return all(any(way in ("", ends) and row[-len(run) :] == run for ends, row in said) for way, run in wanted)


def _find_other_ways(said: Sequence[str], part: Sequence[str]) -> Iterator[bool]:
    """Yield whether one goes to where the other comes from, for each such pair."""
    for one, other in _WAYS:
        yield (one in part and other in said and one not in said) or (
            other in part and one in said and other not in said
        )


def _list_content(row: Sequence[str]) -> list[str]:
    return lexicon.list_meanings(word for word in row if word not in lexicon.FUNCTION_WORDS | _SIDES.keys())


def _find_sides(row: Sequence[str]) -> dict[str, int]:
    """Return for the words behind a preposition of place on which side of them something is."""
    sides: dict[str, int] = {}
    side: int | None = None
    for before, word in pairwise(["", *row]):
        if word in _SIDES:
            side = _SIDES[word]
        elif word not in lexicon.FUNCTION_WORDS and side is not None:
            sides.update(dict.fromkeys(lexicon.list_meanings([word]), side))
        elif before not in lexicon.FUNCTION_WORDS | _SIDES.keys():
            side = None
    return sides


def _has_agent(row: Sequence[str]) -> bool:
    """Return whether something is done by somebody: "bitten by the dog", but "the floor by the stove"."""
    triples = zip(row, row[1:], [*row[2:], ""], strict=False)
    return any(word == "by" and lexicon.is_verb(verb) and not who.endswith("ing") for verb, word, who in triples)


def _gives_reason(said: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether a Chinese sentence has the signs of a reason in their order, close together."""
    wanted, row = (
        [sign for sign in one if not sign.isascii() and sign not in lexicon.CJK_FUNCTION] for one in (part, said)
    )
    for start in (at for at, sign in enumerate(row) if sign == wanted[0] and len(wanted) > _THREE):
        end = start
        for sign in wanted:
            end = row.index(sign, end) + 1 if sign in row[end:] else len(row) + 2 * len(wanted)
        if end - start <= 2 * len(wanted) and not _CHINESE_DENIALS & {*row[start:end]} - {*wanted}:
            return True
    return False
