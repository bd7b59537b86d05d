"""Questions with the windows that answer them and those that only look so: what the reader's lessons are made of.

All texts are cut into windows as the reader cuts them. Sources:

    documents-qa      its train or its dev part
    SQuAD 1.1         whole articles of the training part
    NQ                every second question with its passage, among nineteen others
    HotpotQA, 2Wiki   train: two passages
    CMRC 2018         trial (Chinese), six paragraphs at a time
    verdicts          a part of the labelled answers that come with the package
    written           documents written for this (benchmarks/training/written/*.txt), a block for each passage:
                      S question | short answer, Y and N questions for yes and no, A asked in vain, T and F claims
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bookwheel.lab.tasks.documents_qa import load_documents, load_questions
from bookwheel.lab.tasks.verdicts import load_answers
from bookwheel.reading.ways.passages import GAP, PassageIndex, fit
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from random import Random

    from bookwheel.lab.tasks.documents_qa import RealQuestion
    from bookwheel.text.tokens import Tokenizer

Claim = tuple[int, str, str, bool]
"""A passage's place, the question or nothing, what is claimed, and whether it is borne out."""
# Tokens of a window; the reader's own limit is 128.
WINDOW = 120
RANKS = 14
"""Windows without the answer that are kept of a question, best first."""
LONGEST_ANSWER = 16


@dataclass(kw_only=True)
class Question:
    """A question, and what its document has for it."""

    text: str
    language: str = "en"
    right: list[str] = field(default_factory=list)
    """Windows that answer it; none where nothing does."""
    wrong: list[str] = field(default_factory=list)
    """Windows that rank best and do not answer it, best first."""
    answer: str = ""
    golds: list[str] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    """Those that are known; others are made of the answer."""
    can_be_absent: bool = False
    is_posed: bool = True
    """Whether passages are judged by it; else its claims alone are taught."""

    @property
    def is_polar(self) -> bool:
        """Whether yes or no is the answer."""
        return self.answer in ("Yes.", "No.")


def flatten(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def find_answer(passage: str, wordings: Iterable[str]) -> str:
    """Return the first wording that stands in a passage, as it is written there."""
    folded = passage.casefold()
    for wording in filter(None, map(flatten, wordings)):
        if wording.casefold() not in folded:
            continue
        edges = (r"(?<!\w)", r"(?!\w)") if wording.isascii() else ("", "")
        found = re.search(re.escape(wording).join(edges), passage, re.IGNORECASE)
        if found and len(found[0].split()) <= LONGEST_ANSWER:
            return found[0]
    return ""


@cache
def split_body(shown: str) -> frozenset[str]:
    """Return the sentences of a window without its leads."""
    body = shown.rpartition(GAP)[2]
    return frozenset(body[start:end].strip() for start, end in split_sentences(body))


class Material:
    """One document's windows."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.index = PassageIndex.build(text)
        self.windows = [self.index[at] for at in range(len(self.index))]
        self.shown = [fit(window, tokenizer, WINDOW) for window in self.windows]
        self._shown_by_place = dict(zip(((one.start, one.end) for one in self.windows), self.shown, strict=True))

    def rank(self, question: str) -> list[str]:
        """Return the windows that rank best, as they are shown."""
        ranked = (one.window for one in self.index.rank(QuestionWords(question), 24))
        return list(dict.fromkeys(self._shown_by_place[one.start, one.end] for one in ranked))

    def list_wrong(self, ranked: Sequence[str], right: Sequence[str], golds: Sequence[str]) -> list[str]:
        """Return the windows that rank best and have no gold answer; none shares a sentence with another."""
        wrong: list[str] = []
        taken = {sentence for text in right for sentence in split_body(text)}
        for text in [*ranked, *self.shown[: RANKS - len(ranked)]]:
            if not find_answer(text, golds) and taken.isdisjoint(split_body(text)):
                wrong.append(text)
                taken |= split_body(text)
        return wrong[:RANKS]

    def find_right(self, one: RealQuestion, ranked: Sequence[str]) -> list[str]:
        """Return the windows with the evidence; for two places both as one."""
        pieces = [flatten(piece) for piece in one.evidence]
        holders = [[text for text in self.shown if piece in flatten(text)] for piece in pieces]
        by_rank = [
            sorted(texts, key=lambda text: ranked.index(text) if text in ranked else len(ranked))
            for texts in holders
            if texts
        ]
        if one.kind == "two-places":
            best = list(dict.fromkeys(texts[0] for texts in by_rank))
            return [" ".join(best[:2])] if len(best) > 1 else best
        return list(dict.fromkeys(text for texts in by_rank for text in texts[:2]))


def make_documents(part: str, tokenizer: Tokenizer) -> Iterator[Question]:
    """Yield the questions on real documents."""
    documents, materials = load_documents(), dict[str, Material]()
    for one in load_questions(part):
        if one.doc not in materials:
            materials[one.doc] = Material(documents[one.doc].text, tokenizer)
        source = materials[one.doc]
        ranked = source.rank(one.question)
        right = source.find_right(one, ranked) if one.kind != "absent" else []
        if one.kind != "absent" and not right:
            continue
        is_open = one.kind in ("list", "rows", "yesno")
        golds = [] if is_open else list(one.answers)
        answer = ""
        if one.kind == "yesno":
            answer = "Yes." if one.answers[0] in ("Yes", "是") else "No."
        elif not is_open and right:
            pieces = [flatten(piece) for piece in one.evidence] if one.kind in ("how", "why") else []
            answer = find_answer(right[0], [*one.answers, *pieces])
        wrong = source.list_wrong(ranked, right, golds)
        holds = [flatten(piece) for piece in one.evidence]
        wrong = [text for text in wrong if not any(piece in text or text in piece for piece in holds)]
        if one.kind in ("list", "rows"):
            # Windows near the evidence may have others of the items.
            wrong = wrong[4:]
        yield Question(text=one.question, language=one.language, right=right, wrong=wrong, answer=answer, golds=golds)


def make_articles(
    articles: Iterable[Sequence[dict[str, Any]]], tokenizer: Tokenizer, language: str = "en"
) -> Iterator[Question]:
    """Yield the questions on articles of paragraphs in SQuAD's form."""
    for paragraphs in articles:
        contexts = [one["context"].strip() for one in paragraphs]
        starts = [0]
        for context in contexts:
            starts.append(starts[-1] + len(context) + 2)
        source = Material("\n\n".join(contexts), tokenizer)
        for (begin, end), paragraph in zip(pairwise(starts), paragraphs, strict=True):
            places = [at for at, window in enumerate(source.windows) if begin <= window.start < end]
            for asked in paragraph["qas"]:
                golds = [answer["text"] for answer in asked["answers"]]
                right = [source.shown[at] for at in places if find_answer(source.shown[at], golds)]
                ranked = source.rank(asked["question"])
                right.sort(key=lambda text, ranked=ranked: ranked.index(text) if text in ranked else len(ranked))
                if right:
                    wrong = source.list_wrong(ranked, right, golds)
                    yield Question(
                        text=asked["question"],
                        language=language,
                        right=right,
                        wrong=wrong,
                        answer=find_answer(right[0], golds),
                        golds=golds,
                        can_be_absent=True,
                    )


def load_squad(path: Path) -> list[list[dict[str, Any]]]:
    """Return the articles of a file."""
    return [article["paragraphs"] for article in json.loads(gzip.decompress(path.read_bytes()))["data"]]


def load_lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n") if line]


def pool(paragraphs: Sequence[dict[str, Any]], size: int) -> list[Sequence[dict[str, Any]]]:
    """Return paragraphs of many articles as documents of a few."""
    return [paragraphs[at : at + size] for at in range(0, len(paragraphs), size)]


def load_nq(path: Path) -> list[dict[str, Any]]:
    """Return every second question with its passage, in SQuAD's form."""
    return [
        {
            "context": f"{one['context'][0][0]}: {flatten(one['context'][0][1][0])}",
            "qas": [{"question": f"{one['question'].rstrip('?')}?", "answers": [{"text": x} for x in one["answers"]]}],
        }
        for one in load_lines(path)[::2]
    ]


def make_pairs(path: Path, random: Random) -> Iterator[Question]:
    """Yield the questions that need two passages, and those of them that ask for yes or no."""
    for one in load_lines(path):
        sentences = dict(one["context"])
        facts = [
            flatten(sentences[title][at])
            for title, at in one["supporting_facts"]
            if title in sentences and at < len(sentences[title])
        ]
        if not 2 <= len(facts) <= 3 or sum(map(len, facts)) > 520:
            continue
        titles = {title for title, _ in one["supporting_facts"]}
        others = [flatten(" ".join(texts[:2]))[:300] for title, texts in sentences.items() if title not in titles]
        near = QuestionWords(one["question"]).choose(others, 4)
        random.shuffle(facts)
        both = " ".join(facts)
        answer = (
            f"{one['answer'].capitalize()}." if one["answer"] in ("yes", "no") else find_answer(both, [one["answer"]])
        )
        if answer:
            wrong = [f"{facts[at % len(facts)]} {text}" for at, text in enumerate(near)]
            yield Question(text=one["question"], right=[both], wrong=[*wrong, *near], answer=answer, golds=[answer])


def make_verdicts(part: str) -> Iterator[Question]:
    """Yield the labelled answers of a part: claims about their snippets."""
    for one in load_answers():
        if one.part != part or len(one.snippet) > 1200:
            continue
        is_right = one.label == "supported"
        claims = [(0, "", one.answer, is_right), (0, one.question, one.answer, is_right and one.answers == "yes")]
        right = [flatten(one.snippet)]
        yield Question(text=one.question, language=one.lang, right=right, claims=claims, is_posed=False)


def make_written(path: Path, random: Random) -> Iterator[Question]:
    """Yield the questions on documents of a few passages each."""
    documents = re.split(r"^=== \S+ ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for document in filter(str.strip, documents):
        language, _, body = document.partition("\n")
        blocks = [block.splitlines() for block in body.strip().split("\n\n")]
        texts = [lines[0].removeprefix("P: ") for lines in blocks]
        for at, lines in enumerate(blocks):
            found = {mark: [line[3:] for line in lines[1:] if line[0] == mark] for mark in "SYNATF"}
            one = Question(text="", language=language, right=[texts[at]], wrong=texts[:at] + texts[at + 1 :])
            said = [line.split(" | ") for line in found["S"]]
            for question, answer in said:
                others = [other for asked, other in said if asked != question and other != answer]
                wrong: list[Claim] = [
                    (0, question, other, False) for other in random.sample(others, min(1, len(others)))
                ]
                claims = [(0, question, answer, True), *wrong]
                yield replace(one, text=question, answer=answer, golds=[answer], claims=claims)
            for mark, answer in (("Y", "Yes."), ("N", "No.")):
                for question in found[mark]:
                    yield replace(one, text=question, answer=answer)
            for question in found["A"]:
                yield replace(one, text=question, right=[], wrong=[texts[at], *one.wrong])
            told: list[Claim] = [(0, "", text, mark == "T") for mark in "TF" for text in found[mark]]
            if told:
                yield replace(one, text=told[0][2], wrong=[], claims=told, is_posed=False)
