"""The ideal conversations of the way `quotes`, for a warm start: what a small model must be able to do.

    section, window or sentence with the evidence   ->  the question       so that its likelihood finds the place
    right passages among wrong ones, the question   ->  the answer
    wrong passages alone, the question              ->  "the document does not say"

The wrong passages are those of the same document that share the most words with the question. A sample gives the same
conversations every time, so a resumed run trains on what the killed one would have.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.quotes import find_nearest, split_windows
from bookwheel.text.chunks import split
from bookwheel.training.errors import ConfigError
from bookwheel.types import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.plan import Plan
    from bookwheel.reading.prompts import Prompts
    from bookwheel.tasks import Sample
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Message

# As many passages as a small memory holds.
_WRONG: Final = 2


def quote_trace(sample: Sample, tokenizer: Tokenizer, plan: Plan) -> Iterator[tuple[tuple[Message, ...], str]]:
    """Yield every conversation that the sample teaches: the prompt and the reply."""
    prompts = prompts_for(plan, sample.question)
    random = Random(f"quotes/{sample.id}")  # noqa: S311 - reproducible, no secrets
    facts = [_flatten(sample.text[one.start : one.end]) for one in sample.evidence if one.note]
    if not facts:
        raise ConfigError(f"sample {sample.id} does not say where its answer stands, and a warm start needs that")
    chunks = [chunk.text for chunk in split(sample.document, tokenizer, plan.chunk_tokens)]
    windows = [window for chunk in chunks for window in split_windows(chunk, tokenizer, plan.memory_tokens // 2)]
    passages = [_choose(windows, fact, random) for fact in facts]
    section = _choose(chunks, random.choice(facts), random)
    for text in dict.fromkeys((section, *passages, *facts)):
        yield prompts.turn("about", question="", section=text), sample.question
    rest = [window for window in windows if not any(fact in window for fact in facts)]
    wrong = find_nearest(rest, sample.question)[:_WRONG]
    mixed = [*passages, *wrong[:1]]
    yield _ask(random.sample(mixed, k=len(mixed)), sample, prompts), sample.golds[0]
    yield _ask(facts, sample, prompts), sample.golds[0]
    if wrong:
        yield _ask(wrong, sample, prompts), prompts.not_found


def _choose(texts: Sequence[str], fact: str, random: Random) -> str:
    """Return a text that holds the fact; the fact itself where it lies across two chunks."""
    return random.choice([text for text in texts if fact in _flatten(text)] or [fact])


def _flatten(text: str) -> str:
    """Return the text on one line, as a memory holds it."""
    return " ".join(text.split())


def _ask(passages: Sequence[str], sample: Sample, prompts: Prompts) -> tuple[Message, ...]:
    text = "\n".join(dict.fromkeys(passages))
    return prompts.answer(sample.question, Memory(text=text, tokens=0, limit=0))
