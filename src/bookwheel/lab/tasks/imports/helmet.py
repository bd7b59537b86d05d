"""HELMET's files: questions over passages, key and value pairs, and its RULER files with context and question apart.

Its citation and reranking files need judges that are not string comparisons, and are refused by name. HELMET takes
book questions, summaries and many-shot labels from other projects' data sets, not from files of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bookwheel.lab.tasks.imports.documents import rename

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_helmet(values: Mapping[str, Any]) -> bool:
    """Return whether a record has the fields of one of HELMET's files."""
    names = values.keys()
    return (
        "ctxs" in names or {"docs", "qa_pairs"} <= names or "num_kvs" in names or {"context", "type_needle_v"} <= names
    )


def adapt_helmet(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of HELMET; ValueError for those that no string comparison can judge."""
    if "num_kvs" in values:
        question = f"Which value does the key {values['question']} have?"
        return {**rename(values, document="context", golds="answer", task="helmet-json-kv"), "question": question}
    if "type_needle_v" in values:
        return _adapt_needles(values)
    if "qa_pairs" in values:
        raise ValueError("answers with citations are judged by a model of entailment; this record cannot be scored")
    if "qid" in values and "answers" not in values:
        raise ValueError("a ranking of documents is asked for; this record cannot be scored")
    passages = (
        f"Passage: {one['title']}\n{one['text']}\n\n" if one.get("title") else f"{one['text']}\n\n"
        for one in values["ctxs"]
    )
    return {**rename(values, golds="answers", task="helmet-rag"), "document": "".join(passages)}


def _adapt_needles(values: Mapping[str, Any]) -> dict[str, Any]:
    asked, kind = values.get("query") or values.get("question"), values["type_needle_v"]
    golds = "answer" if "answer" in values else "outputs"
    return {
        **rename(values, document="context", golds=golds, task="helmet-niah"),
        "question": f"What are all the special magic {kind} for {asked}?",
        "metric": "string_match_all",
    }
