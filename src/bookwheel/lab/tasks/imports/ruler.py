"""RULER's own JSON Lines: the whole prompt in one field, split here into document and question.

The head of a prompt, its examples (of vt and cwe) and its question are no document; a reader of chunks would meet them
once and forget them. The document is the text between the last head and the question; the question carries the
beginning of the answer that RULER puts after it. Examples go to the sample's metadata.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# How the head of each family ends, and where its question begins.
_LAYOUTS: Final = (
    (
        "niah",
        re.compile(r"I will quiz you about the [^\n]*\n"),
        re.compile(r"\nWhat (?:is|are all) the special [^\n]*"),
    ),
    ("vt", re.compile(r"hidden in the following text\.\n\n"), re.compile(r"\nQuestion: [^\n]*")),
    ("cwe", re.compile(r"Memorize the ones that appear most often\.\n"), re.compile(r"\nQuestion: [^\n]*")),
    ("fwe", re.compile(r"most frequently appeared coded words\.\s"), re.compile(r"\nQuestion: [^\n]*")),
    ("qa", re.compile(r"The following are given documents\.\n\n"), re.compile(r"\n\n[^\n]*\n\nQuestion: [^\n]*")),
)
_UNIT: Final = 1024


def adapt_ruler(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a prompt as document and question; ValueError for one of another layout."""
    prompt, outputs = values["input"], values["outputs"]
    if not isinstance(prompt, str) or not isinstance(outputs, list):
        raise ValueError(  # noqa: TRY004 - the caller names the line of every ValueError
            "'input' must be a text and 'outputs' a list, as RULER's scripts write them"
        )
    family, begin, match = _find_parts(prompt)
    prefix = str(values.get("answer_prefix", "")).strip()
    question = match.group().strip().rpartition("\n")[2].removeprefix("Question: ")
    if prefix and not question.endswith(prefix):
        question = f"{question}\n{prefix}"
    tokens = int(values.get("length_w_model_temp") or values.get("length") or 0)
    head = prompt[:begin]
    return {
        # No id: its index is the sample's number in some files and a place in the text in others.
        "document": prompt[begin : match.start()],
        "question": question,
        "golds": outputs,
        "metric": "string_match_part" if family == "qa" else "string_match_all",
        "length": _round_length(tokens),
        "tokens": tokens,
        "metadata": {"family": family, "head": head, "answer_prefix": prefix},
    }


def _find_parts(prompt: str) -> tuple[str, int, re.Match[str]]:
    """Return the family, where the document begins, and the question."""
    for family, head, question in _LAYOUTS:
        heads = list(head.finditer(prompt))
        questions = list(question.finditer(prompt, heads[-1].end() - 1)) if heads else []
        if questions:
            return family, heads[-1].end(), questions[-1]
    raise ValueError(
        "'input' is no prompt of RULER's thirteen tasks; give document and question in fields of their own"
    )


def _round_length(tokens: int) -> int:
    """Return the length that was asked for: prompts stay a little below it, and lengths are doubled 1024s."""
    length = _UNIT
    while length < tokens:
        length *= 2
    return length if tokens else 0
