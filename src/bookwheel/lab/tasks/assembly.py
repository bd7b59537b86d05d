"""Build a document of a given number of tokens: filler in order, with passages at chosen places.

Filler is drawn and counted in batches, so no text is counted again and again. A text of ordinary length is then
counted as a whole, and its last filler is shortened until it fits. For a long text the counts of the batches are added
up, with one token to spare for each seam. The result has at most the requested tokens, and at least 98 % of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from bookwheel.lab.tasks.base import GoldEvidence, InfeasibleSample
from bookwheel.text.tokens import Tokenizer

CLOSE: Final = 0.98
"""The least share of the budget that counts as hitting it."""
# From this share on no more filler is added.
_NEAR: Final = 0.99
# Tokens that may be missing from any document: below a hundred, 2 % is less than a word.
_GRAIN: Final = 2
_ROUNDS: Final = 12
_LONGEST_WORD: Final = 24
_BATCH: Final = 32_768
# Characters; up to here a text is counted whole, beyond it in segments of this size.
_SEGMENT: Final = 262_144


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePassage:
    """A passage to set into the filler, with its line ends and its evidence (offsets into the passage)."""

    text: str
    evidence: tuple[GoldEvidence, ...] = ()
    place: float = 0.0
    """From 0 (before all filler) to 1 (after it); passages with the same place keep their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledDocument:
    """A finished document."""

    pieces: tuple[str, ...]
    tokens: int
    evidence: tuple[GoldEvidence, ...] = field(default=())


def assemble(
    filler: Iterable[str], passages: Sequence[SourcePassage], *, tokens: int, tokenizer: Tokenizer, task: str
) -> AssembledDocument:
    """Build a document of just under `tokens` tokens; InputError when the passages alone are longer."""
    ordered = sorted(passages, key=lambda passage: passage.place)
    fixed = count_tokens([passage.text for passage in ordered], tokenizer)
    if fixed > tokens:
        raise length_error(task, tokens, fixed)
    source = iter(filler)
    margin = tokens // 2000 if tokens * 4 > _SEGMENT else 0
    first_draw = draw_filler(source, tokens - fixed - margin, tokenizer)
    summed = fixed + first_draw.tokens + first_draw.seams + 2 * len(ordered)
    if margin and CLOSE * tokens < summed <= tokens:
        texts, evidence = _arrange(first_draw.units, ordered)
        return AssembledDocument(pieces=_join_pieces(texts), tokens=summed, evidence=evidence)
    best = _fill(source, first_draw.units, ordered, tokens, tokenizer)
    if best is None:
        raise length_error(task, tokens, fixed + 1)
    if best.tokens < min(CLOSE * tokens, tokens - _GRAIN):
        raise InfeasibleSample(
            f"the task {task} has material for {best.tokens} tokens and {tokens} were asked for; ask for fewer, "
            f"or point --data to a folder that holds more"
        )
    return best


def _fill(
    filler: Iterator[str], units: list[str], passages: Sequence[SourcePassage], tokens: int, tokenizer: Tokenizer
) -> AssembledDocument | None:
    """Return the longest document found within the budget, or None.

    Joined texts may have fewer tokens than their parts, so filler is added as long as the gap is worth it.
    """
    best: AssembledDocument | None = None
    for _ in range(_ROUNDS):
        body = join(units, passages, tokenizer)
        if body.tokens > tokens and units:
            *units, last = units
            spare = tokenizer.count(last) - (body.tokens - tokens)
            units += cut_unit(last, spare, tokenizer) if spare > 0 else []
            continue
        if body.tokens > tokens:
            break
        if best is None or body.tokens > best.tokens:
            best = body
        more = draw_filler(filler, tokens - body.tokens, tokenizer).units if body.tokens < _NEAR * tokens else []
        if not more:
            break
        units += more
    return best


def length_error(task: str, tokens: int, need: int) -> InfeasibleSample:
    """Return the error for a length that cannot hold the sample's own passages."""
    return InfeasibleSample(
        f"this sample of {task} needs at least {need} tokens and {tokens} were asked for; ask for longer documents"
    )


def join(units: Sequence[str], passages: Sequence[SourcePassage], tokenizer: Tokenizer) -> AssembledDocument:
    """Return a document of all the filler and all the passages, however long."""
    texts, evidence = _arrange(list(units), sorted(passages, key=lambda passage: passage.place))
    return AssembledDocument(pieces=_join_pieces(texts), tokens=count_tokens(texts, tokenizer), evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFiller:
    """Filler that was drawn from its source."""

    units: list[str]
    tokens: int
    """The sum of the counts of its batches."""
    seams: int
    """Borders between texts that were counted separately."""


def draw_filler(filler: Iterator[str], budget: int, tokenizer: Tokenizer) -> DrawnFiller:
    """Draw units of filler of about `budget` tokens, and cut the last one to fit."""
    units: list[str] = []
    left, seams, per_token = budget, 0, 0.5
    while left > 0:
        batch: list[str] = []
        room = min(int(0.9 * left * per_token), _BATCH)
        for unit in filler:
            batch.append(unit)
            room -= len(unit)
            if room <= 0:
                break
        if not batch:
            break
        seams += 1
        text = "".join(batch)
        cost = tokenizer.count(text)
        if cost <= left:
            units += batch
            left -= cost
            per_token = len(text) / max(1, cost)
            continue
        for unit in batch:
            seams += 1
            cost = tokenizer.count(unit)
            if cost > left:
                return DrawnFiller(units=units + cut_unit(unit, left, tokenizer), tokens=budget, seams=seams)
            units.append(unit)
            left -= cost
    return DrawnFiller(units=units, tokens=budget - left, seams=seams)


def cut_unit(unit: str, tokens: int, tokenizer: Tokenizer) -> list[str]:
    """Cut a unit after a word to at most `tokens`, keeping the blanks at its end; empty when no word fits."""
    body = unit.rstrip()
    tail = unit[len(body) :]
    room = tokens - tokenizer.count(tail)
    text = _trim_to_word(body, tokenizer.fit(body, room)) if room > 0 else ""
    while text and tokenizer.count(text + tail) > tokens:
        text = _trim_to_word(body, len(text) - 1)
    return [text + tail] if text else []


def _trim_to_word(body: str, end: int) -> str:
    """Return the text before `end`, without a Latin word that would be cut. Chinese has no blanks to look for."""
    if 0 < end < len(body) and body[end].isalnum() and body[end - 1 : end + 1].isascii():
        end = max(body.rfind(" ", 0, end), body.rfind("\n", 0, end), end - _LONGEST_WORD, 0)
    return body[: max(0, end)].rstrip()


def _arrange(units: list[str], passages: Sequence[SourcePassage]) -> tuple[list[str], tuple[GoldEvidence, ...]]:
    """Return the texts in the document's order, and the evidence with offsets into the document."""
    stops = [round(passage.place * len(units)) for passage in passages]
    texts: list[str] = []
    evidence: list[GoldEvidence] = []
    offset = 0
    for (begin, end), passage in zip(pairwise([0, *stops]), passages, strict=True):
        texts += units[begin:end]
        offset += sum(map(len, units[begin:end]))
        evidence += [replace(one, start=one.start + offset, end=one.end + offset) for one in passage.evidence]
        texts.append(passage.text)
        offset += len(passage.text)
    return texts + units[stops[-1] if stops else 0 :], tuple(evidence)


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> int:
    """Return the tokens of the joined texts, never too few.

    A long text is counted in segments, with one token to spare for each border.
    """
    segments = _join_pieces(texts, _SEGMENT)
    return sum(map(tokenizer.count, segments)) + max(0, len(segments) - 1)


def _join_pieces(texts: Sequence[str], size: int = 65_536) -> tuple[str, ...]:
    """Join the texts to pieces of at least `size` characters; the last may be shorter."""
    pieces: list[str] = []
    waiting: list[str] = []
    length = 0
    for text in texts:
        waiting.append(text)
        length += len(text)
        if length >= size:
            pieces.append("".join(waiting))
            waiting, length = [], 0
    return tuple(pieces) + (("".join(waiting),) if length else ())


def number_documents(texts: Iterable[str]) -> str:
    """Return the texts under numbers from 1, as RULER and MemAgent write them."""
    return "\n\n".join(f"Document {number}:\n{text}" for number, text in enumerate(texts, start=1))
