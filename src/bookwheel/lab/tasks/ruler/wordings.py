"""The sentences of RULER's prompts: ours by default, or RULER's own, read from a checkout of it.

A template has {context}, and its prefix is the beginning of the answer, which stands behind the question. RULER's files
are read as data; nothing of them runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.literals import read_literals

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """One family's prompt."""

    text: str
    prefix: str
    reply_tokens: int
    """The tokens of the length that are kept free for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordings:
    """All sentences."""

    needles: PromptTemplate
    """With {type_needle_v} and {query}."""
    chain: PromptTemplate
    """With {query} and {num_v}."""
    common: PromptTemplate
    frequent: PromptTemplate
    passages: PromptTemplate
    """With {query}."""
    needle: str
    """With {type_needle_v}, {key} and {value}."""
    noise: str
    is_official: bool = False


OURS: Final = Wordings(
    needles=PromptTemplate(
        text="Some secret {type_needle_v} stand in the text below. Keep them in mind, for they will be asked for.\n"
        "{context}\nWhat are all the secret {type_needle_v} that belong to {query}?",
        prefix=" The secret {type_needle_v} that belong to {query} are",
        reply_tokens=128,
    ),
    chain=PromptTemplate(
        text="Follow the variables in this text, and what each of them is set to.\n\n{context}\n"
        "Question: Which variables hold the value {query}, by one step or by several?",
        prefix=" Answer: {num_v} variables of the text hold the value {query}: ",
        reply_tokens=30,
    ),
    common=PromptTemplate(
        text="Here is a numbered list of words. Some come again and again; note which.\n{context}\n"
        "Question: Which 10 words stand in the list more often than the others?",
        prefix=" Answer: More often than the others stand these 10:",
        reply_tokens=120,
    ),
    frequent=PromptTemplate(
        text="Count how often each made-up word comes in this row. {context}\n"
        "Question: Leave the dots aside and explain nothing. Which three words come most often?",
        prefix=" Answer: The three words that come most often:",
        reply_tokens=50,
    ),
    passages=PromptTemplate(
        text="Some documents follow, and then a question about them. Give its answer alone.\n\n{context}\n\n"
        "Give the answer alone, as the documents have it.\n\nQuestion: {query}",
        prefix=" Answer:",
        reply_tokens=32,
    ),
    needle="To {key} belongs one of the secret {type_needle_v}, namely {value}.",
    noise="The harbour is calm. The bread is warm. Clouds drift by. Someone comes. Someone goes again.",
)
_FAMILIES: Final = {
    "needles": "niah",
    "chain": "variable_tracking",
    "common": "common_words_extraction",
    "frequent": "freq_words_extraction",
    "passages": "qa",
}
_SCRIPTS: Final = "scripts/data/synthetic"


def find_scripts(checkout: Path) -> Path:
    """Return the folder of the scripts in a checkout of RULER."""
    folder = checkout / _SCRIPTS
    if not (folder / "constants.py").is_file():
        raise InputError(f"{checkout} is no checkout of RULER: it has no {_SCRIPTS}/constants.py")
    return folder


def load_wordings(checkout: Path) -> Wordings:
    """Return RULER's own sentences, from its `constants.py` and `niah.py`."""
    folder = find_scripts(checkout)
    tasks = read_literals(folder / "constants.py").get("TASKS", {})
    script = read_literals(folder / "niah.py")
    try:
        templates = {
            ours: PromptTemplate(
                text=tasks[theirs]["template"],
                prefix=tasks[theirs]["answer_prefix"],
                reply_tokens=int(tasks[theirs]["tokens_to_generate"]),
            )
            for ours, theirs in _FAMILIES.items()
        }
        return Wordings(**templates, needle=script["needle"], noise=script["haystack"], is_official=True)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder}: its constants are not those that are known here: {error!r}") from error
