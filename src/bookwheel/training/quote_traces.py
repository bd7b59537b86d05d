"""The ideal conversations of the way `quotes`, for a warm start: what a small model must be able to do.

    the evidence, its window or its section                  ->  the question, so that its likelihood finds the place
    the evidence, its window, or right and wrong windows     ->  the answer
    a wrong sentence, a wrong window or wrong windows        ->  "not found"

The wrong passages are those of the same document that share the most words with the question. Each sample teaches one
conversation of each line, drawn by the sample's name: so a resumed run trains on what the killed one would have.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.question_words import QuestionWords
from bookwheel.reading.ways.quotes import WINDOWS, overlaps, split_windows
from bookwheel.text.chunks import split
from bookwheel.text.sentences import split_sentences
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
# The share of samples that show a whole section: the longest of the conversations.
_LONG: Final = 0.2


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
    words = QuestionWords(sample.question)
    others = words.choose([one for one in windows if not any(fact in one for fact in facts)], WINDOWS)
    wrong = [one for at, one in enumerate(others) if not any(overlaps(one, other) for other in others[:at])][:_WRONG]
    at = random.randrange(len(facts))
    section = _choose(chunks, facts[at], random) if random.random() < _LONG else passages[at]
    yield prompts.turn("about", question="", section=random.choice((facts[at], section))), sample.question
    mixed = random.sample([*passages, *wrong[:1]], k=len(passages) + len(wrong[:1]))
    yield _ask(random.choice((facts, passages, passages, mixed)), sample, prompts), sample.golds[0]
    if wrong:
        sentences = [one for text in (*passages, *wrong) for one in _split(text) if one not in facts]
        nearest = words.choose(sentences, 1)[:1] or wrong[:1]
        misleading = random.choice((nearest, nearest, wrong[:1], wrong))
        if not any(gold.casefold() in text.casefold() for gold in sample.golds for text in misleading):
            yield _ask(misleading, sample, prompts), prompts.not_found


def _choose(texts: Sequence[str], fact: str, random: Random) -> str:
    """Return a text that holds the fact; the fact itself where it lies across two chunks."""
    return random.choice([text for text in texts if fact in _flatten(text)] or [fact])


def _split(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in split_sentences(text)]


def _flatten(text: str) -> str:
    """Return the text on one line, as a memory holds it."""
    return " ".join(text.split())


def _ask(passages: Sequence[str], sample: Sample, prompts: Prompts) -> tuple[Message, ...]:
    text = "\n".join(dict.fromkeys(passages))
    return prompts.answer(sample.question, Memory(text=text, tokens=0, limit=0))
