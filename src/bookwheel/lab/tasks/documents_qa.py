"""`documents-qa`: documents as people have them, and what people ask of them.

Contracts, minutes, e-mails, tables, logs, manuals, code: the documents come with the package and stand as they are.
`tokens` is the most that a document may have; the column of a report is that number. What is asked, and how the answer
is scored:

    fact, compare, two-places              `contains`; `choice` where the question holds a gold answer
    how, why                               `contains`; the document's own sentence that bears the answer out is one too
    yesno                                  `choice`
    list, rows                             `share_of`, the share of the items
    absent                                 `unanswerable`: the document does not say it, but something near it

The data card is lab/data/documents_qa/README.md. `held_out=true` asks the third of the documents that nothing is built
on; it is for a last measurement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import AssembledDocument
from bookwheel.lab.tasks.base import GoldEvidence, InfeasibleSample
from bookwheel.lab.tasks.data_dir import read_packed
from bookwheel.lab.tasks.definition import BOTH, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import ABSENT
from bookwheel.text.normalization import contains_words, words
from bookwheel.text.tokens import Tokenizer

KINDS: Final = ("fact", "yesno", "how", "why", "list", "rows", "compare", "two-places", "absent")
PARTS: Final = ("train", "dev", "test")
_LISTS: Final = frozenset({"list", "rows"})
_TOLD: Final = frozenset({"how", "why"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RealDocument:
    """A document with the part of the data that it belongs to."""

    id: str
    name: str
    """Its file's name; the ending says what it is."""
    part: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RealQuestion:
    """A question on one of the documents."""

    doc: str
    language: str
    kind: str
    style: str
    """plain, paraphrase, short or misspelt"""
    question: str
    answers: tuple[str, ...]
    """Wordings of the short answer; empty where the document does not say."""
    evidence: tuple[str, ...]
    """The document's words that bear it out, one piece for each place."""
    items: tuple[tuple[str, ...], ...]
    """For lists and rows: every item with its wordings."""
    near: str
    """What tempts, where the document does not say."""
    derived: bool
    """True: no wording of the answer stands in the document, but it follows."""


@lru_cache(maxsize=1)
def load_documents() -> Mapping[str, RealDocument]:
    return {record["id"]: RealDocument(**record) for record in read_packed("documents_qa", "documents.jsonl.gz")}


@lru_cache(maxsize=3)
def load_questions(part: str) -> tuple[RealQuestion, ...]:
    """Return the questions on the documents of a part: train, dev or test."""
    if part not in PARTS:
        raise InputError(f"documents-qa has the parts {', '.join(PARTS)}, not {part!r}")
    documents = load_documents()
    records = (one for one in read_packed("documents_qa", "questions.jsonl.gz") if documents[one["doc"]].part == part)
    return tuple(
        RealQuestion(
            **record
            | {"answers": tuple(record["answers"]), "evidence": tuple(record["evidence"])}
            | {"items": tuple(map(tuple, record["items"]))}
        )
        for record in records
    )


def make_metric(question: RealQuestion) -> str:
    if question.kind == "absent":
        return "unanswerable"
    if question.kind in _LISTS:
        return "share_of"
    asked = words(question.question)
    inside = any(contains_words(asked, words(answer)) for answer in question.answers)
    return "choice" if question.kind == "yesno" or inside else "contains"


def make_golds(question: RealQuestion) -> tuple[str, ...]:
    """Return the gold answers; of a list's items the shortest wordings.

    Who is asked how or why may say it in the document's own words, where one place bears it out.
    """
    if question.kind in _LISTS:
        return tuple(min(wordings, key=len) for wordings in question.items)
    if question.kind in _TOLD and len(question.evidence) == 1:
        return (*question.answers, *question.evidence)
    return question.answers or (ABSENT[question.language],)


@task(
    "documents-qa",
    "contracts, minutes, tables, logs, code and other documents as people have them, whole",
    languages=BOTH,
    held_out=bool,  # True: the third of the documents that is kept for a last measurement
    kind=str,  # questions of one kind only
)
def build(request: SampleRequest) -> SampleDraft:
    """Return the question with this index, in the seed's order."""
    part = "test" if request.options.get("held_out") else request.split
    questions = [one for one in load_questions(part) if one.language == request.language]
    order = Random(f"{request.task} {request.seed}").sample(questions, len(questions))  # noqa: S311 - not for secrets
    kind = request.options.get("kind")
    if kind not in (None, *KINDS):
        raise InputError(f"documents-qa has questions of the kinds {', '.join(KINDS)}, not {kind!r}")
    asked = [one for one in order if kind in (None, one.kind) and _count(request.tokenizer, one.doc) <= request.tokens]
    if request.index >= len(asked):
        raise InfeasibleSample(
            f"documents-qa has {len(asked)} {part} questions in {request.language!r} on documents of at most "
            f"{request.tokens} tokens and {request.index + 1} were asked for; lower --count or ask for longer documents"
        )
    question = asked[request.index]
    document = load_documents()[question.doc]
    places = sorted((document.text.index(quote), quote) for quote in question.evidence)
    evidence = tuple(
        GoldEvidence(start=start, end=start + len(quote), note=" ".join(quote.split())) for start, quote in places
    )
    return SampleDraft(
        question=question.question,
        golds=make_golds(question),
        metric=make_metric(question),
        body=AssembledDocument(
            pieces=(document.text,), tokens=_count(request.tokenizer, question.doc), evidence=evidence
        ),
        metadata={
            "document": question.doc,
            "kind": question.kind,
            "style": question.style,
            "part": part,
            "derived": question.derived,
        },
    )


# By the tokenizer's name: the tokens of a text are asked for again for every question on it.
_COUNTS: Final[dict[tuple[str, str], int]] = {}


def _count(tokenizer: Tokenizer, doc: str) -> int:
    key = (tokenizer.name, doc)
    if key not in _COUNTS:
        _COUNTS[key] = tokenizer.count(load_documents()[doc].text)
    return _COUNTS[key]
