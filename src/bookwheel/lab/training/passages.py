"""The passages among which a question's answer is to be chosen: the right one and the nearest wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.lab.scoring import contains
from bookwheel.lab.training.errors import ConfigError
from bookwheel.reading.ways.passages import overlaps, split_windows
from bookwheel.text.chunks import split
from bookwheel.text.ranking import QuestionWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.plan import Plan
    from bookwheel.text.tokens import Tokenizer

# The more wrong passages, the harder the choice and the longer the step.
_WRONG: Final = 3
# The share of questions that are shown no passage with the answer.
_UNANSWERED: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageOption:
    """A text that may be chosen."""

    text: str
    is_right: bool


def list_passages(sample: Sample, tokenizer: Tokenizer, plan: Plan) -> list[PassageOption]:
    """Return the passages to choose from, drawn by the sample's name: a resumed run draws the same."""
    random = Random(f"choice/{sample.id}")  # noqa: S311 - reproducible, no secrets
    chunks = [chunk.text for chunk in split(sample.document, tokenizer, plan.chunk_tokens)]
    windows = [window for chunk in chunks for window in split_windows(chunk, tokenizer, plan.memory_tokens // 2)]
    wrong = _list_wrong(windows, sample)
    is_unanswered = bool(wrong) and random.random() < _UNANSWERED
    right = [] if is_unanswered else [_draw_right(windows, sample, random)]
    return [
        *(PassageOption(text=text, is_right=True) for text in right),
        *(PassageOption(text=text, is_right=False) for text in wrong),
    ]


def _draw_right(texts: Sequence[str], sample: Sample, random: Random) -> str:
    """Return a text with the evidence; the evidence itself where it lies across two chunks."""
    facts = [" ".join(sample.text[one.start : one.end].split()) for one in sample.evidence if one.note]
    if not facts:
        raise ConfigError(f"sample {sample.id} does not say where its answer stands, and a warm start needs that")
    return random.choice([text for text in texts if any(fact in " ".join(text.split()) for fact in facts)] or facts)


def _list_wrong(texts: Sequence[str], sample: Sample) -> list[str]:
    """Return the texts without a gold answer that share the most words with the question."""
    words = QuestionWords(sample.question)
    others = [text for text in texts if not contains(text, sample.golds).score]
    chosen = words.choose(others, 4 * _WRONG)
    # A passage without any of the words would be no hard choice.
    near = [text for text in chosen if words.find(text)]
    return list(_drop_overlaps(near or chosen))[:_WRONG]


def _drop_overlaps(texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts that share no sentence with an earlier one."""
    for at, text in enumerate(texts):
        if not any(overlaps(text, other) for other in texts[:at]):
            yield text
