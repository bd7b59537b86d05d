"""Answers and documents from question sets and encyclopedia paragraphs, labelled by how they were made.

Short answers come from question sets in SQuAD's JSON: the gold answer, and the gold answer of another question to the
same text. Statements are sentences of a text: as they stand, or with another number, another name, a negation, or two
names exchanged.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from verdict_pairs import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
NUMBER: Final = re.compile(r"(?<![\d.,])\d{1,4}(?![\d.,]*\d)")
AUXILIARY: Final = re.compile(r"\b(is|was|are|were|has|had|will|can)\b(?! not)")
SENTENCE: Final = re.compile(r"(?<=[a-z]{3}[.!?]) (?=[A-Z])")
ZH_SENTENCE: Final = re.compile("(?<=[。！？])")


# Two of them share texts, which is_apart sends to the same side.
SETS: Final = ("squad_v1.1_dev", "squad_v1.1_train", "xquad", "cmrc2018_dev", "cmrc2018_trial", "drcd_dev")


def is_apart(text: str) -> bool:
    """Return True for the half of all texts that are only measured: their failures are never read for a rule."""
    return sha256(" ".join(text.split()).encode()).digest()[0] % 2 == 1


def read_natural(folder: Path, count: int, seed: int, *, apart: bool = False) -> Iterator[Pair]:
    """Yield pairs from files in SQuAD's form: gold answers, and golds of other questions to the same text."""
    rng = random.Random(seed)
    for path in sorted(folder.glob("**/*.json.gz")):
        if not any(name in path.name for name in SETS):
            continue
        language = "zh" if "qa_zh" in str(path) else "en"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            articles = json.load(file)["data"]
        paragraphs = [one for article in articles for one in article["paragraphs"] if len(one["qas"]) > 1]
        paragraphs = [one for one in paragraphs if is_apart(one["context"]) == apart]
        for paragraph in rng.sample(paragraphs, min(count, len(paragraphs))):
            asked, other = rng.sample(paragraph["qas"], 2)
            gold, wrong = asked["answers"][0]["text"], other["answers"][0]["text"]
            golds = {answer["text"].casefold() for answer in asked["answers"]}
            texts = {"kind": path.name.partition(".")[0], "language": language}
            texts |= {"document": paragraph["context"], "question": asked["question"]}
            if max(len(gold), len(wrong)) > (8 if language == "zh" else 30):
                # A whole sentence of the text is borne out by it, whatever was asked.
                continue
            yield Pair(**texts, answer=gold, is_right=True)
            if not any(wrong.casefold() in one or one in wrong.casefold() for one in golds):
                yield Pair(**texts, answer=wrong, is_right=False)


def read_sentences(folder: Path, count: int, seed: int) -> Iterator[Pair]:
    """Yield statements about paragraphs of an encyclopedia, right and changed, until there are so many."""
    rng = random.Random(seed)
    with gzip.open(folder / "wiki" / "wiki_paragraphs_en.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file.read().split("\n") if line]
    rng.shuffle(texts)
    names = [name for text in texts[:400] for name in NAME.findall(text)]
    made = 0
    while made < count:
        document = " ".join(texts.pop() for _ in range(8))
        sentence = rng.choice([one for one in SENTENCE.split(document) if 30 < len(one) < 240] or [""])
        for kind, answer in change_sentence(sentence, names, rng):
            if kind == "as it stands" or answer not in document:
                yield make_statement(kind, "en", document, answer)
                made += 1


def change_sentence(sentence: str, names: list[str], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield a sentence as it stands, and changed in all ways that it can be."""
    if not sentence:
        return
    yield "as it stands", sentence
    if number := NUMBER.search(sentence):
        other = str(int(number[0]) + rng.choice((-7, -2, 1, 3, 10)))
        yield "other number", sentence[: number.start()] + other + sentence[number.end() :]
    own = list(NAME.finditer(sentence))
    if own:
        place = rng.choice(own)
        yield "other name", sentence[: place.start()] + rng.choice(names) + sentence[place.end() :]
    if len(own) > 1 and own[0][0] != own[-1][0]:
        one, two = own[0], own[-1]
        middle = sentence[one.end() : two.start()]
        yield "names exchanged", sentence[: one.start()] + two[0] + middle + one[0] + sentence[two.end() :]
    if verb := AUXILIARY.search(sentence):
        yield "negated", f"{sentence[: verb.end()]} not{sentence[verb.end() :]}"


def read_chinese_sentences(folder: Path, count: int, seed: int) -> Iterator[Pair]:
    """Yield statements about Chinese paragraphs: as they stand, with another number, negated."""
    rng = random.Random(seed)
    with gzip.open(folder / "qa_zh" / "cmrc2018_dev.json.gz", "rt", encoding="utf-8") as file:
        texts = [one["context"] for article in json.load(file)["data"] for one in article["paragraphs"]]
    rng.shuffle(texts)
    made = 0
    while made < count:
        document = "\n".join(texts.pop() for _ in range(4))
        sentence = rng.choice([one for one in ZH_SENTENCE.split(document) if 10 < len(one) < 90] or [""])
        changed = {"as it stands": sentence}
        if number := NUMBER.search(sentence):
            changed["other number"] = sentence.replace(number[0], str(int(number[0]) + 3), 1)
        if "是" in sentence:
            changed["negated"] = sentence.replace("是", "不是", 1)
        for kind, answer in changed.items():
            if answer and (kind == "as it stands" or answer not in document):
                yield make_statement(kind, "zh", document, answer)
                made += 1


def make_statement(kind: str, language: str, document: str, answer: str) -> Pair:
    """Return a statement as the answer to a question that says nothing about it."""
    return Pair(
        kind=kind,
        language=language,
        document=document,
        question="这段文字说了什么?" if language == "zh" else "What does the text say?",
        answer=answer,
        is_right=kind == "as it stands",
    )
