"""`memagent_hqa`: MemAgent's documents of HotpotQA paragraphs, as its script writes them.

The pool is every paragraph of the file, sorted, each once. A list begins with the question's own paragraphs and goes on
with a draw from the rest; it is shuffled and numbered. The shuffle is seeded anew for every question, with 4, so at one
number of paragraphs every question has its own paragraphs in the same slots: a reader could learn the places.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import AssembledDocument, count_tokens, number_documents
from bookwheel.lab.tasks.base import GoldEvidence, InfeasibleSample
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.formats import load_items
from bookwheel.lab.tasks.ruler.resources import load_hotpot

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.lab.tasks.ruler.resources import PassageQuestion

_SHUFFLE: Final = 4
_DRAW: Final = 42
# Tokens of a paragraph by which the paper names its lengths.
_NOMINAL: Final = 140
_FILES: Final = {"dev": "qa_en/hotpotqa_dev.jsonl", "train": "qa_en/hotpotqa_train.jsonl"}


def list_numbers(question: PassageQuestion, total: int, paragraphs: int) -> list[int]:
    """Return the numbers of the paragraphs in the document's order."""
    if paragraphs >= total:
        numbers = list(range(total))
    else:
        rng = Random(_DRAW)  # noqa: S311 - not for secrets
        own = set(question.own)
        others = [number for number in range(total) if number not in own]
        numbers = [*question.own, *rng.sample(others, max(0, paragraphs - len(question.own)))]
    Random(_SHUFFLE).shuffle(numbers)  # noqa: S311 - not for secrets
    return numbers


def build(request: SampleRequest) -> SampleDraft:
    """Return the question with this index, in the file's order."""
    path = request.data_dir.file or request.data_dir.require(_FILES[request.split], f"the task {request.task}")
    questions, documents = load_hotpot(path)
    if request.index >= len(questions):
        raise InputError(f"{path} holds {len(questions)} questions and {request.index + 1} were asked for")
    paragraphs = int(request.options.get("paragraphs", max(1, request.tokens // _NOMINAL)))
    question = questions[request.index]
    if paragraphs < len(question.own):
        raise InfeasibleSample(f"this question brings {len(question.own)} paragraphs and {paragraphs} were asked for")
    numbers = list_numbers(question, len(documents), paragraphs)
    text = number_documents(documents[number] for number in numbers)
    return SampleDraft(
        question=question.query,
        golds=question.outputs,
        metric="contains",
        length=paragraphs * _NOMINAL if "paragraphs" in request.options else None,
        body=AssembledDocument(
            pieces=(text,),
            tokens=count_tokens([text], request.tokenizer),
            evidence=_find_evidence(path, question, text),
        ),
        metadata={
            "source": path.name,
            "paragraphs": len(numbers),
            "slots": sorted(numbers.index(number) + 1 for number in question.own if number in numbers),
        },
    )


def _find_evidence(path: Path, question: PassageQuestion, text: str) -> tuple[GoldEvidence, ...]:
    """Return the sentences that HotpotQA marks."""
    found: list[GoldEvidence] = []
    item = next((one for one in load_items(path) if one.id == question.id), None)
    for paragraph in item.paragraphs if item else ():
        for start, end in paragraph.support:
            quote = paragraph.text[start:end]
            place = text.find(quote)
            if place >= 0:
                found.append(GoldEvidence(start=place, end=place + len(quote), note=f"{paragraph.title}: {quote}"))
    return tuple(sorted(found, key=lambda one: one.start))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedOptions:
    """The option of `memagent_hqa`."""

    paragraphs: AtLeastOne | None = None
    """Their number; by default a 140th of the tokens."""


TASKS: Final = (
    Task(
        name="memagent_hqa",
        description="RULER-HQA as MemAgent's script writes it: numbered documents, 140 tokens each by name",
        build=build,
        options=NumberedOptions,
    ),
)
