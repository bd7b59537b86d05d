"""Question sets in their official formats, as QuestionItems.

    HotpotQA, 2WikiMultihopQA   {question, answer, context: [[title, [sentences]]], supporting_facts: [[title, number]]}
    MuSiQue                     {question, answer, answer_aliases, paragraphs: [{title, paragraph_text, is_supporting}]}
    SQuAD, CMRC 2018, DRCD      {data: [{title, paragraphs: [{context, qas: [{question, answers: [{text}]}]}]}]}
    your own                    {question, answers, paragraphs: ["…" or {title, text}]} or {question, answers, document}
                                and, where it is to be another than the task's, metric

A file is one JSON value or JSON Lines, packed with gzip or not; which of the formats it is, is seen from its fields.
SQuAD 2's unanswerable questions become items without golds, and so do yours of the metric `unanswerable`. Questions
that cannot be used are counted, with the reason.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.scoring import load_metric
from bookwheel.lab.scoring.choices import is_polar
from bookwheel.lab.tasks.base import parse_golds, refuse_misspelt
from bookwheel.lab.tasks.data_dir import BrokenRecord, read_all_records, read_records
from bookwheel.text.normalization import contains_words, words


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A titled paragraph of a question's context."""

    title: str
    text: str
    support: tuple[tuple[int, int], ...] = ()
    """Spans of the text that the answer needs; none in a distractor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionItem:
    """A question with its paragraphs; at least one of them has support, where there is an answer."""

    id: str
    question: str
    golds: tuple[str, ...]
    """Empty where the paragraphs do not answer the question, as SQuAD 2 marks them."""
    paragraphs: tuple[Paragraph, ...]
    metric: str = ""
    """The metric that the file names; empty where the task chooses one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """The questions of a file."""

    items: tuple[QuestionItem, ...]
    left_out: Mapping[str, int]
    """Questions of the file that cannot be used, by the reason."""


_NOT_GROUNDED: Final = "the answer stands in none of its paragraphs"
_MARKED: Final = "marked as not answerable, and other paragraphs of the pool may answer it"


def load_items(path: Path) -> tuple[QuestionItem, ...]:
    """Load all questions whose paragraphs hold the answer, or that are marked to have none."""
    return load_question_set(path).items


@lru_cache(maxsize=8)
def load_question_set(path: Path) -> QuestionSet:
    """Load the questions of a file; InputError where none can be used, with the place of the first bad record."""
    items: list[QuestionItem] = []
    left_out: Counter[str] = Counter()
    first = ""
    for _, where, record in read_records(path):
        try:
            for parsed in _parse_record(record, where):
                item = _ground(parsed) if isinstance(parsed, QuestionItem) else None
                if item:
                    items.append(item)
                else:
                    left_out[parsed if isinstance(parsed, str) else _NOT_GROUNDED] += 1
                if isinstance(parsed, str):
                    first = first or f"{where}: not a question of a known format: {parsed}"
        except _ODD as error:
            left_out[_name_fault(error)] += 1
            first = first or f"{where}: not a question of a known format: {_name_fault(error)}"
    if not items:
        raise InputError(f"{path}, {first}" if first else f"{path} holds no question with an answer in its paragraphs")
    return QuestionSet(items=tuple(items), left_out=dict(left_out))


_ODD: Final = (KeyError, TypeError, ValueError, IndexError, AttributeError)


def _name_fault(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"the field {error} is missing"
    return str(error) if isinstance(error, ValueError) else f"a field is not of the form of its format: {error}"


def _parse_record(record: Any, where: str) -> Iterator[QuestionItem | str]:
    """Yield the record's questions, or the reason why one cannot be used."""
    if not isinstance(record, dict):
        raise ValueError("not valid JSON" if isinstance(record, BrokenRecord) else "expected a JSON object")  # noqa: TRY004 - a reason
    paragraphs = record.get("paragraphs")
    first = paragraphs[0] if isinstance(paragraphs, list) and paragraphs else None
    if isinstance(first, dict) and "qas" in first:
        yield from _parse_squad(record)
    elif isinstance(first, dict) and "paragraph_text" in first:
        yield from _parse_musique(record, where)
    elif isinstance(record.get("context"), (list, dict)):
        yield _parse_hotpot(record, where)
    else:
        yield _parse_own(record, where)


def _parse_squad(article: dict[str, Any]) -> Iterator[QuestionItem | str]:
    # An article has hundreds of questions: an odd paragraph is left out alone, and so is an odd question.
    for number, paragraph in enumerate(article["paragraphs"]):
        if not isinstance(paragraph, dict) or not isinstance(paragraph.get("qas"), list):
            yield "a paragraph has no list 'qas'"
            continue
        title = str(article.get("title") or paragraph.get("title") or paragraph.get("id", "")).replace("_", " ")
        for qa in paragraph["qas"]:
            try:
                yield _parse_qa(qa, paragraph["context"], title, number)
            except _ODD as error:
                yield _name_fault(error)


def _parse_qa(qa: dict[str, Any], context: str, title: str, number: int) -> QuestionItem:
    answers = [] if qa.get("is_impossible") else qa.get("answers", [])
    golds = tuple(dict.fromkeys(str(answer["text"]) for answer in answers if str(answer["text"]).strip()))
    return QuestionItem(
        id=str(qa.get("id", f"{title}-{number}")),
        question=_parse_question(qa),
        golds=() if qa.get("is_impossible") else golds or ("",),
        paragraphs=(Paragraph(title=title, text=context, support=_answer_span(context, answers) if golds else ()),),
    )


def _parse_question(record: dict[str, Any]) -> str:
    question = record["question"]
    if not isinstance(question, str) or not question.strip():
        raise ValueError("'question' must be a text that is not empty")
    return question.strip()


def _answer_span(context: str, answers: list[dict[str, Any]]) -> tuple[tuple[int, int], ...]:
    """Return the span of the sentence with the first answer.

    The given offset is only a hint, because it is wrong in some sets.
    """
    text = str(answers[0]["text"])
    start = int(answers[0].get("answer_start", -1))
    if context[start : start + len(text)] != text:
        start = context.find(text)
    if start < 0:
        return ((0, len(context)),)
    ends = [match.end() for match in _END.finditer(context)]
    begin = max((place for place in ends if place <= start), default=0)
    finish = min((place for place in ends if place >= start + len(text)), default=len(context))
    return ((begin, begin + len(context[begin:finish].rstrip())),)


_END: Final = re.compile(r"[.!?]['\")\]]*\s+|[。！？；][”’」』）]*|\n+")


def _parse_musique(record: dict[str, Any], where: str) -> Iterator[QuestionItem | str]:
    if not record.get("answerable", True):
        yield _MARKED
        return
    paragraphs: list[Paragraph] = []
    for one in record["paragraphs"]:
        text = one["paragraph_text"].strip()
        support = ((0, len(text)),) if one["is_supporting"] else ()
        paragraphs.append(Paragraph(title=one["title"], text=text, support=support))
    golds = tuple(dict.fromkeys([record["answer"], *record.get("answer_aliases", ())]))
    identity = str(record.get("id", where))
    yield QuestionItem(id=identity, question=_parse_question(record), golds=golds, paragraphs=tuple(paragraphs))


def _parse_hotpot(record: dict[str, Any], where: str) -> QuestionItem:
    context, facts = record["context"], record.get("supporting_facts", ())
    if isinstance(context, dict):
        context = list(zip(context["title"], context["sentences"], strict=True))
        facts = list(zip(facts["title"], facts["sent_id"], strict=True))
    supported = {(title, int(number)) for title, number in facts}
    paragraphs = tuple(_join_sentences(title, sentences, supported) for title, sentences in context)
    identity = str(record.get("id", record.get("_id", where)))
    return QuestionItem(id=identity, question=_parse_question(record), golds=parse_golds(record), paragraphs=paragraphs)


def _join_sentences(title: str, sentences: list[str], supported: set[tuple[str, int]]) -> Paragraph:
    text = ""
    spans: list[tuple[int, int]] = []
    for number, sentence in enumerate(sentences):
        glue = "" if not text or text[-1].isspace() or sentence[:1].isspace() else " "
        begin = len(text) + len(glue) + len(sentence) - len(sentence.lstrip())
        text += glue + sentence
        if (title, number) in supported and sentence.strip():
            spans.append((begin, len(text.rstrip())))
    lead = len(text) - len(text.lstrip())
    support = tuple((begin - lead, end - lead) for begin, end in spans)
    return Paragraph(title=title, text=text.strip(), support=support)


def _parse_own(record: dict[str, Any], where: str) -> QuestionItem:
    values = record.get("paragraphs", [record["document"]] if "document" in record else None)
    if not isinstance(values, list) or not values:
        raise ValueError("'paragraphs' must be a list, or 'document' a text")
    refuse_misspelt(record)
    metric = str(record.get("metric", ""))
    try:
        _ = load_metric(metric) if metric else None
    except InputError as error:
        raise ValueError(str(error)) from error
    titled = [{"title": "", "text": one} if isinstance(one, str) else one for one in values]
    paragraphs = tuple(Paragraph(title=str(one.get("title", "")), text=str(one["text"]).strip()) for one in titled)
    question = _parse_question(record)
    item = QuestionItem(
        id=str(record.get("id", where)),
        question=question,
        golds=() if metric == "unanswerable" else parse_golds(record),
        paragraphs=paragraphs,
        metric=metric,
    )
    if not (metric or is_polar(item.golds, question)) or _has_answer(item, [one.text for one in paragraphs]):
        return item
    # A yes stands in no paragraph, and who names a metric knows how the answer is judged: it rests on all of them.
    whole = tuple(replace(one, support=((0, len(one.text)),)) for one in paragraphs if item.golds) or paragraphs
    return replace(item, paragraphs=whole, metric=metric or ("choice" if item.golds else ""))


def _ground(item: QuestionItem) -> QuestionItem | None:
    """Return the item with evidence that holds its answer, or None.

    Where the marked sentences do not hold it, the evidence becomes whole paragraphs.
    """
    if not item.golds:
        return item
    if not any(words(gold) for gold in item.golds):
        return None
    quotes = [p.text[begin:end] for p in item.paragraphs for begin, end in p.support]
    if quotes and (item.metric or _has_answer(item, quotes) or {"yes", "no"} & {*item.golds}):
        return item
    supported = any(p.support for p in item.paragraphs)
    wider = [bool(p.support) or (not supported and _has_answer(item, [p.text])) for p in item.paragraphs]
    if not _has_answer(item, [p.text for p, taken in zip(item.paragraphs, wider, strict=True) if taken]):
        return None
    spans = [((0, len(p.text)),) if taken else () for p, taken in zip(item.paragraphs, wider, strict=True)]
    paragraphs = tuple(replace(p, support=span) for p, span in zip(item.paragraphs, spans, strict=True))
    return replace(item, paragraphs=paragraphs)


def _has_answer(item: QuestionItem, texts: list[str]) -> bool:
    """Return True when a gold stands in one of the texts as whole tokens."""
    return any(contains_words(words(text), words(gold)) for text in texts for gold in item.golds)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageQuestion:
    """A question with the numbers of its own documents, and of others of the same article."""

    query: str
    outputs: tuple[str, ...]
    own: tuple[int, ...]
    id: str = ""
    article: tuple[int, ...] = ()

    def choose_documents(self, total: int, size: int, rng: Random) -> list[int]:
        """Return so many numbers of all documents: its own ones, then those of its article, then any."""
        if size >= total:
            return (list(range(total)) * -(-size // total))[:size]
        if size - len(self.own) <= len(self.article):
            return [*self.own, *rng.sample(self.article, size - len(self.own))]
        taken = {*self.own, *self.article}
        others = [number for number in range(total) if number not in taken]
        return [*self.own, *self.article, *rng.sample(others, size - len(self.own) - len(self.article))]


def number_squad(articles: Sequence[dict[str, Any]]) -> tuple[list[PassageQuestion], list[str]]:
    """Return the questions of SQuAD's articles, and all paragraphs, sorted, each once."""
    paragraphs = [[paragraph["context"] for paragraph in article["paragraphs"]] for article in articles]
    documents = sorted({text for article in paragraphs for text in article})
    numbers = {text: number for number, text in enumerate(documents)}
    questions = [
        PassageQuestion(
            query=asked["question"],
            outputs=tuple(answer["text"] for answer in asked["answers"]),
            own=(numbers[paragraph["context"]],),
            article=tuple(numbers[text] for text in article if text != paragraph["context"]),
        )
        for record, article in zip(articles, paragraphs, strict=True)
        for paragraph in record["paragraphs"]
        for asked in paragraph["qas"]
        if not asked.get("is_impossible")
    ]
    return questions, documents


@lru_cache(maxsize=2)
def load_hotpot(path: Path, *, has_answers: bool = True) -> tuple[list[PassageQuestion], list[str]]:
    """Load the questions of a file of HotpotQA, and all their paragraphs with titles, sorted, each once."""
    asked: list[tuple[str, list[str], list[str], str]] = []
    for _, where, record in read_all_records(path):
        try:
            texts = [f"{title}\n{''.join(sentences)}" for title, sentences in record["context"]]
            identity = str(record.get("id", record.get("_id", where)))
            asked.append((record["question"], [record["answer"]] if has_answers else [], texts, identity))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}, {where}: not a question of HotpotQA with its paragraphs: {error!r}") from error
    documents = sorted({text for _, _, own, _ in asked for text in own})
    numbers = {text: number for number, text in enumerate(documents)}
    questions = [
        PassageQuestion(query=query, outputs=tuple(answers), own=tuple(numbers[text] for text in own), id=identity)
        for query, answers, own, identity in asked
    ]
    return questions, documents
