"""Supervised steps on ideal traces, so that a model without any reward gets its first ones.

    ideal trace of a sample:  for every chunk  (question, ideal memory before, chunk) -> ideal memory after
                              at the end       (question, last ideal memory)          -> answer
    L = -1/T * sum_t log p(x_t)           over the replies' T tokens

Where a chunk does not change the memory, the reply is the prompt set's word for that. Prompts and ids are those that
the policy gets when it reads: warm start, rollouts and use share one prompt object.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Protocol

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rows import Row, build_row
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.chunks import split
from bookwheel.types import Chunk, Memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.policy_model import PolicyModel
    from bookwheel.plan import Plan
    from bookwheel.types import Message


class Oracle(Protocol):
    """Gives the ideal memory after each chunk."""

    def __call__(self, sample: Sample, chunks: Sequence[Chunk]) -> list[str]:
        """Return one memory a chunk."""
        ...


def ideal_rows(sample: Sample, model: PolicyModel, plan: Plan, oracle: Oracle) -> list[Row]:
    """Return the sample's ideal trace as rows whose replies are trained."""
    rows = [
        build_row(prompt, reply, sample.id)
        for messages, text in ideal_trace(sample, model, plan, oracle)
        for prompt, reply in [model.encode_exchange(messages, text)]
    ]
    longest = max(len(row.ids) for row in rows)
    if model.window and longest > model.window:
        raise ConfigError(
            f"an ideal conversation of sample {sample.id} has {longest} tokens and the policy's window holds "
            f"{model.window}: lower chunk_tokens or memory_tokens in [plan]"
        )
    return rows


def ideal_trace(
    sample: Sample, model: PolicyModel, plan: Plan, oracle: Oracle
) -> Iterator[tuple[tuple[Message, ...], str]]:
    """Yield every conversation of an ideal reading: the prompt and the reply."""
    prompts = prompts_for(plan, sample.question)
    chunks = list(split(sample.document, model.tokenizer, plan.chunk_tokens))
    memory = Memory.blank(plan.memory_tokens)
    for chunk, ideal in zip(chunks, oracle(sample, chunks), strict=True):
        tokens = model.tokenizer.count(ideal)
        if tokens > plan.memory_tokens:
            raise ConfigError(
                f"the ideal memory of sample {sample.id} has {tokens} tokens and memory_tokens is "
                f"{plan.memory_tokens}: raise it, or choose samples with less evidence"
            )
        is_unchanged = ideal == memory.text
        yield (
            prompts.update(sample.question, memory, chunk, plan.layout),
            (prompts.unchanged or ideal) if is_unchanged else ideal,
        )
        memory = Memory(text=ideal, tokens=tokens, limit=plan.memory_tokens)
    boxed = r"\boxed" in prompts.answer_template
    yield prompts.answer(sample.question, memory), rf"\boxed{{{sample.golds[0]}}}" if boxed else sample.golds[0]


def draw_samples(samples: Sequence[Sample], count: int, seed: int, step: int) -> list[Sample]:
    """Draw the samples of a supervised step; seed and step alone decide, so a resumed run draws the same."""
    return Random(f"{seed}/warm/{step}").choices(samples, k=count)  # noqa: S311 - reproducible, no secrets
