"""Samples in other projects' files, as records of ours.

    MemAgent      eval_N.json      {context, input, answers, num_docs}; its RULER files {context, input, outputs};
                                   index files, whose context is a list of numbers into a pool of paragraphs
    LongBench 1   JSON Lines       {context, input, answers, length, dataset, language, _id}
    LongBench 2   JSON array       {context, question, choice_A … choice_D, answer: "A", _id}
    BABILong      JSON Lines       {input, question, target}
    RULER         JSON Lines       {index, input, outputs, length, answer_prefix}                      see `ruler`
    LoCoMo        JSON array       {sample_id, conversation: {session_1: [turns], …}, qa: [{…}]}       see `dialogues`
    LongMemEval   JSON array       {question_id, haystack_sessions, haystack_dates, question, answer}  see `dialogues`
    MRCR          Parquet or JSON  {prompt: messages, answer, random_string_to_prepend}                see `dialogues`
    HELMET        JSON (Lines)     {question, answers, ctxs: [{title, text}]} and others               see `helmet`
    InfiniteBench JSON Lines       {context, input, answer, options}

A record may hold several questions about one document. `pool` is the file whose paragraphs an index file numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bookwheel.lab.tasks.imports.dialogues import adapt_locomo, adapt_longmemeval, adapt_mrcr
from bookwheel.lab.tasks.imports.documents import (
    adapt_babilong,
    adapt_choices,
    adapt_context,
    adapt_helmet,
    adapt_ruler,
    is_helmet,
)
from bookwheel.lab.tasks.imports.records import read_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["adapt_record", "read_records"]


def adapt_record(values: Mapping[str, Any], pool: Path | None = None) -> Iterator[dict[str, Any]]:
    """Yield what a record of a known project asks, with our fields; one of ours stays as it is.

    ValueError says what is wrong with a record, or what it needs.
    """
    if "document" in values or "paragraphs" in values:
        yield dict(values)
    elif "qa" in values and ("conversation" in values or "session_1" in values):
        yield from adapt_locomo(values)
    elif "haystack_sessions" in values:
        yield adapt_longmemeval(values)
    elif "prompt" in values and "answer" in values and "random_string_to_prepend" in values:
        yield adapt_mrcr(values)
    elif is_helmet(values):
        yield adapt_helmet(values)
    elif "input" in values and "outputs" in values and "context" not in values:
        yield adapt_ruler(values)
    elif "target" in values and "question" in values and "input" in values:
        yield adapt_babilong(values)
    elif "context" not in values:
        yield dict(values)
    elif "choice_A" in values or values.get("options"):
        yield adapt_choices(values)
    else:
        yield adapt_context(values, pool)
