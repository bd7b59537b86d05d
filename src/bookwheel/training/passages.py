"""The passages among which a question's answer is to be chosen: the right one, none, and the nearest wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.question_words import QuestionWords
from bookwheel.reading.ways.quotes import WORDS, overlaps, split_windows
from bookwheel.scoring import contains
from bookwheel.text.chunks import split
from bookwheel.training.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.plan import Plan
    from bookwheel.tasks import Sample
    from bookwheel.text.tokens import Tokenizer

# The more wrong passages, the harder the choice and the longer the step.
_WRONG: Final = 3
# The share of questions that are shown no passage with the answer.
_UNANSWERED: Final = 0.2
# The share of questions that choose among whole chunks: those cost five times as many tokens.
_CHUNKS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageOption:
    """A text that may be chosen."""

    text: str
    is_right: bool
    bonus: float
    """What the way adds to the share of the question's surprise that the text takes away."""


def list_passages(sample: Sample, tokenizer: Tokenizer, plan: Plan) -> list[PassageOption]:
    """Return the passages to choose from, drawn by the sample's name: a resumed run draws the same."""
    random = Random(f"choice/{sample.id}")  # noqa: S311 - reproducible, no secrets
    chunks = [chunk.text for chunk in split(sample.document, tokenizer, plan.chunk_tokens)]
    words = QuestionWords(sample.question)

    def build(text: str, *, is_right: bool = False) -> PassageOption:
        return PassageOption(text=text, is_right=is_right, bonus=WORDS * words.share(text))

    if random.random() < _CHUNKS and (nearest := _list_wrong(chunks, sample, words)):
        # The way searches a chunk for passages from half the least gain on.
        nothing = PassageOption(text="", is_right=False, bonus=plan.least_gain / 2)
        return [nothing, build(_draw_right(chunks, sample, random), is_right=True), build(nearest[0])]
    windows = [window for chunk in chunks for window in split_windows(chunk, tokenizer, plan.memory_tokens // 2)]
    wrong = [build(one) for one in _list_wrong(windows, sample, words)]
    is_unanswered = bool(wrong) and random.random() < _UNANSWERED
    nothing = PassageOption(text="", is_right=is_unanswered, bonus=plan.least_gain)
    right = [] if is_unanswered else [build(_draw_right(windows, sample, random), is_right=True)]
    return [nothing, *right, *wrong]


def _draw_right(texts: Sequence[str], sample: Sample, random: Random) -> str:
    """Return a text with the evidence; the evidence itself where it lies across two chunks."""
    facts = [" ".join(sample.text[one.start : one.end].split()) for one in sample.evidence if one.note]
    if not facts:
        raise ConfigError(f"sample {sample.id} does not say where its answer stands, and a warm start needs that")
    return random.choice([text for text in texts if any(fact in " ".join(text.split()) for fact in facts)] or facts)


def _list_wrong(texts: Sequence[str], sample: Sample, words: QuestionWords) -> list[str]:
    """Return the texts without a gold answer that share the most words with the question."""
    others = [text for text in texts if not contains(text, sample.golds).score]
    return list(_drop_overlaps(words.choose(others, 4 * _WRONG)))[:_WRONG]


def _drop_overlaps(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts that share no sentence with an earlier one."""
    for at, text in enumerate(texts):
        if not any(overlaps(text, other) for other in texts[:at]):
            yield text
