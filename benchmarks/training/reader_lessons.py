"""Write the lessons of the local model's reader: passages of real documents, with what they answer and bear out.

    python benchmarks/training/reader_lessons.py OUT.jsonl [--part dev] [--claims FILES...]

Of `documents-qa` (its train part), SQuAD 1.1 (its training articles but the first twelve, which thresholds are chosen
on), HotpotQA (train) and CMRC 2018 (trial), all cut into windows as the reader cuts them. A question is shown the
window with its evidence and the windows that rank best for it and have none: of the same document, often of one clause.
A question that the document does not answer is shown the best windows alone. What needs two passages is shown them as
the reader joins them. A claim is the right answer, another span of the passage, or a sentence of the evidence with a
number, a negation or a bound changed. `--claims` adds triples of snippet, question and answer with their labels.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from bookwheel.environment import Environment
from bookwheel.lab.scoring import load_metric
from bookwheel.lab.tasks.documents_qa import load_documents, load_questions
from bookwheel.models.gguf import load_tokenizer
from bookwheel.models.weights import find_local_weights
from bookwheel.reading.ways.passages import PassageIndex, fit, overlaps
from bookwheel.reading.ways.short_answers import find_spans
from bookwheel.text.ranking import QuestionWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.lab.tasks.documents_qa import RealQuestion
    from bookwheel.text.tokens import Tokenizer

Group = dict[str, Any]
DATA = Path(os.environ.get("BOOKWHEEL_DATA", Path(__file__).parents[3] / "shared" / "data"))
WRITTEN = Path(__file__).with_name("reader_written.txt")
# Tokens of a window; the reader's own limit is 128.
WINDOW = 120
# Questions that are read together, windows that none of them is answered by, and wrong ones that each is shown.
TOGETHER, BESIDE, WRONG = 4, 4, 3
# Of the articles' questions, those that are shown the neighbours of their answer alone.
ABSENT = 0.2
LONGEST_ANSWER = 16
F1 = load_metric("f1")
NUMBER = re.compile(r"\d+")
# Words that a sentence turns false by, when they change places.
OPPOSITES = [
    ("at least", "at most"),
    ("before", "after"),
    ("more than", "less than"),
    ("unless", "if"),
    ("may not", "may"),
    ("must not", "must"),
    ("is not", "is"),
    ("was not", "was"),
    ("are not", "are"),
    ("all", "some"),
    ("first", "last"),
    ("with", "without"),
    ("up", "down"),
    ("can", "cannot"),
    ("will", "will not"),
]


def batch(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the values in parts."""
    for at in range(0, len(values), size):
        yield values[at : at + size]


def make_tokenizer() -> Tokenizer:
    """Return the local model's tokenizer."""
    return load_tokenizer(find_local_weights(Environment.load()), "local")


def load_questions_of(path: Path) -> set[str]:
    """Return the questions of a file of lessons."""
    return {one["question"] for line in path.open(encoding="utf-8") for one in json.loads(line)["lessons"]}


def flatten(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def find_answer(passage: str, wordings: Sequence[str]) -> str:
    """Return the first wording that stands in a passage, as it is written there."""
    for wording in wordings:
        found = re.search(rf"(?<!\w){re.escape(flatten(wording))}(?!\w)", passage, re.IGNORECASE)
        if not found and not wording.isascii():
            found = re.search(re.escape(flatten(wording)), passage)
        if found and len(found[0].split()) <= LONGEST_ANSWER:
            return found[0]
    return ""


def change(sentence: str, random: Random) -> str:
    """Return a sentence that says something else: another number, or an opposite; empty where neither is there."""
    ways = []
    if numbers := list(NUMBER.finditer(sentence)):
        one = random.choice(numbers)
        other = str(int(one[0]) + random.choice((1, 2, 3, 5, 10)))
        ways.append(sentence[: one.start()] + other.zfill(len(one[0])) + sentence[one.end() :])
    for first, second in OPPOSITES:
        for here, there in ((first, second), (second, first)):
            if re.search(rf"\b{here}\b", sentence):
                ways.append(re.sub(rf"\b{here}\b", there, sentence, count=1))
                break
    return random.choice(ways) if ways else ""


def make_claims(at: int, passage: str, question: str, golds: Sequence[str], answer: str, random: Random) -> list[Any]:
    """Return the right answer, and one that looks like it or a sentence that says otherwise."""
    body = passage.rpartition(" … ")[2]
    claims: list[Any] = []
    sentences = re.split(r"(?<=[.!?])\s", body)
    sentence = next((one for one in sentences if answer and answer in one), body)
    others = [one for one in sentences if one != sentence and len(one) > 20 and not find_answer(one, golds or ["\0"])]
    draw = random.random()
    if draw < 0.4 and 20 < len(sentence) < 200 and (other := change(sentence, random)):
        return [[at, "", sentence, True], [at, "", other, False]]
    if draw < 0.7 and answer and others and len(sentence) < 200:
        # Both are true; only one of them answers.
        return [[at, question, sentence, True], [at, question, random.choice(others), False]]
    if answer:
        near = [span.text for span in find_spans(body) if not F1(span.text, [*golds, answer]).score]
        near = [text for text in near if len(text.split()) <= len(answer.split()) + 3]
        changed = change(answer, random)
        if wrong := ([changed] if changed else []) + random.sample(near, min(1, len(near))):
            claims = [[at, question, answer, True], [at, question, random.choice(wrong), False]]
    return claims


class DocumentLessons:
    """The lessons of one document's questions."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self.index = PassageIndex.build(text)
        self.windows = [self.index[at] for at in range(len(self.index))]
        self.shown = [fit(window, tokenizer, WINDOW) for window in self.windows]
        self.tokenizer = tokenizer

    def rank(self, question: str) -> list[str]:
        """Return the windows that rank best, as they are shown."""
        ranked = self.index.rank(QuestionWords(question), 24)
        return list(dict.fromkeys(fit(one.window, self.tokenizer, WINDOW) for one in ranked))

    def find_right(self, one: RealQuestion) -> list[str]:
        """Return the windows with the evidence; for two places both as one."""
        pieces = [flatten(piece) for piece in one.evidence]
        holders = [[text for text in self.shown if piece in flatten(text)] for piece in pieces]
        ranked = self.rank(one.question)
        best = [
            min(texts, key=lambda text: ranked.index(text) if text in ranked else len(ranked))
            for texts in holders
            if texts
        ]
        best = list(dict.fromkeys(best))
        if one.kind == "two-places" and len(best) > 1:
            return [" ".join(best[:2])]
        return best[:1] if one.kind not in ("list", "rows") else best[:2]

    def find_wrong(self, one: RealQuestion) -> list[str]:
        """Return the windows that rank best and have nothing of the evidence or the answer, best first."""
        pieces = [flatten(piece) for piece in one.evidence]
        golds = [] if one.kind in ("yesno", "list", "rows") else [flatten(answer) for answer in one.answers]
        wrong: list[str] = []
        for text in [*self.rank(one.question), *self.shown]:
            has = any(piece in text or text.rpartition(" … ")[2] in piece for piece in pieces)
            if not has and not find_answer(text, golds) and not any(overlaps(text, other) for other in wrong):
                wrong.append(text)
            if len(wrong) == 8:
                break
        return wrong


def ask_whether(claims: Sequence[Any]) -> list[dict[str, Any]]:
    """Return a question for yes or no about one of two sentences that say opposite things."""
    said = [one for one in claims if not one[1] and one[2][:1].isupper() and one[2].isascii()]
    return [
        {
            "question": f"Is it true that {text.rstrip('.')}?",
            "right": [at],
            "shown": [],
            "answer": "Yes." if is_right else "No.",
        }
        for at, _, text, is_right in said
    ]


def group(lessons: Sequence[dict[str, Any]], random: Random) -> Group:
    """Return lessons that are read together: each is shown its right window and the best others of the group."""
    beside = list(dict.fromkeys(text for one in lessons for text in one["wrong"][: 2 + (not one["right"])]))
    random.shuffle(beside)
    answerless = [text for one in lessons if not one["right"] for text in one["wrong"][:3]]
    texts = list(dict.fromkeys([text for one in lessons for text in one["right"]] + answerless))
    texts += [text for text in beside if text not in texts][:BESIDE]
    records = []
    for one in lessons:
        right = [texts.index(text) for text in one["right"]]
        known = [text for text in one["wrong"] if text in texts]
        other = [
            text
            for text in texts
            if text not in one["right"]
            and text not in known
            and not find_answer(text, one["golds"] or ["\0"])
            and not any(overlaps(text, own) for own in one["right"])
        ]
        other = QuestionWords(one["question"]).choose(other, WRONG) if not one["is_open"] else []
        wrong = [texts.index(text) for text in (known + other)[: WRONG + (not right)]]
        record = {"question": one["question"], "right": right, "shown": [*right, *wrong]}
        if one["language"] == "zh":
            # Chinese questions are not judged.
            record["shown"] = []
        if right and one["answer"]:
            record["answer"] = one["answer"]
        if right and one["language"] == "en" and not one["is_polar"]:
            record["claims"] = make_claims(
                right[0], texts[right[0]], one["question"], one["golds"], one["answer"], random
            )
        if right and one["is_polar"] and one["language"] == "en":
            record["claims"] = [[right[0], one["question"], word, word == one["answer"]] for word in ("Yes.", "No.")]
        records.append(record)
        records += ask_whether(record.get("claims", ()))
    records = [one for one in records if one["shown"] or one.get("answer")]
    return {"passages": texts, "lessons": records}


def make_documents(part: str, tokenizer: Tokenizer, random: Random) -> Iterator[Group]:
    """Yield the lessons of real documents."""
    documents = load_documents()
    by_document: dict[str, list[RealQuestion]] = {}
    for one in load_questions(part):
        by_document.setdefault(one.doc, []).append(one)
    for name, questions in by_document.items():
        source = DocumentLessons(documents[name].text, tokenizer)
        lessons = []
        for one in questions:
            right = source.find_right(one) if one.kind != "absent" else []
            if one.kind != "absent" and not right:
                continue
            is_polar = one.kind == "yesno"
            if is_polar and one.language == "en":
                answer = f"{one.answers[0].rstrip('.')}."
            elif is_polar or one.kind in ("list", "rows"):
                answer = ""
            else:
                pieces = [flatten(piece) for piece in one.evidence] if one.kind in ("how", "why") else []
                answer = find_answer(right[0], [*one.answers, *pieces]) if right else ""
            lessons.append(
                {
                    "question": one.question,
                    "language": one.language,
                    "right": right,
                    "wrong": source.find_wrong(one),
                    "answer": answer,
                    "golds": list(one.answers) if one.kind not in ("yesno", "list", "rows") else [],
                    "is_polar": is_polar,
                    # Other windows may have more of a list's items, or say yes in other words.
                    "is_open": is_polar or one.kind in ("list", "rows"),
                    "kind": one.kind,
                    "place": source.shown.index(right[0])
                    if right and right[0] in source.shown
                    else random.randrange(len(source.shown)),
                }
            )
        lessons.sort(key=lambda one: one["place"])
        for some in batch(lessons[random.randrange(TOGETHER) :], TOGETHER):
            yield group(some, random) | {"document": name, "kinds": [one["kind"] for one in some]}


def make_squad(
    path: Path,
    tokenizer: Tokenizer,
    random: Random,
    known: set[str],
    *,
    language: str = "en",
    part: slice = slice(None),
) -> Iterator[Group]:
    """Yield the lessons of encyclopaedia articles: two neighbouring paragraphs at a time."""
    articles = json.loads(gzip.decompress(path.read_bytes()))["data"][part]
    paragraphs = [pair for article in articles for pair in batch(article["paragraphs"], 2)]
    random.shuffle(paragraphs)
    for pair in paragraphs:
        source = DocumentLessons("\n\n".join(one["context"] for one in pair), tokenizer)
        fresh = [asked for one in pair for asked in one["qas"] if asked["question"] not in known]
        asked = random.sample(fresh, min(TOGETHER, len(fresh)))
        if language == "zh":
            asked = asked[:2]
        lessons = []
        for one in asked:
            golds = [answer["text"] for answer in one["answers"]]
            holders = [text for text in source.shown if find_answer(text, golds)]
            ranked = [text for text in source.rank(one["question"]) if text in holders] or holders
            wrong = [text for text in source.rank(one["question"]) if text not in holders]
            if not ranked:
                continue
            is_absent = len(wrong) > 1 and random.random() < ABSENT
            lessons.append(
                {
                    "question": one["question"],
                    "language": language,
                    "right": [] if is_absent else ranked[:1],
                    "wrong": wrong,
                    "answer": "" if is_absent else find_answer(ranked[0], golds),
                    "golds": golds,
                    "is_polar": False,
                    "is_open": False,
                }
            )
        if lessons:
            yield group(lessons, random)


def make_hotpot(path: Path, random: Random, known: set[str]) -> Iterator[Group]:
    """Yield the lessons of questions that need two passages, and of those that ask for yes or no."""
    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n") if line]
    random.shuffle(records)
    for one in records:
        sentences = dict(one["context"])
        facts = [
            flatten(sentences[title][at])
            for title, at in one["supporting_facts"]
            if title in sentences and at < len(sentences[title])
        ]
        if not 2 <= len(facts) <= 3 or sum(map(len, facts)) > 520 or one["question"] in known:
            continue
        others = [
            flatten(" ".join(texts[:2]))[:300]
            for title, texts in one["context"]
            if title not in dict(one["supporting_facts"])
        ]
        near = QuestionWords(one["question"]).choose(others, 1)
        both = " ".join(facts)
        is_polar = one["answer"] in ("yes", "no")
        answer = f"{one['answer'].capitalize()}." if is_polar else find_answer(both, [one["answer"]])
        if not answer:
            continue
        alone = f"{facts[0]} {near[0]}" if near else facts[0]
        lesson = {"question": one["question"], "right": [0], "shown": [0, 1], "answer": answer}
        if is_polar:
            lesson["claims"] = [[0, one["question"], word, word == answer] for word in ("Yes.", "No.")]
        yield {"passages": [both, alone], "lessons": [lesson], "polar": is_polar}


def make_triples(paths: Sequence[Path], tokenizer: Tokenizer) -> Iterator[Group]:
    """Yield the claims of files of triples; a short snippet is one passage."""
    by_snippet: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        for one in map(json.loads, path.read_text().splitlines()):
            by_snippet.setdefault(flatten(one["snippet"]), []).append(one)
    for snippet, some in by_snippet.items():
        if tokenizer.count(snippet) > 400:
            continue
        lessons = []
        for one in some:
            is_right = one["label"] in ("supported", "quoted")
            claims = [[0, "", one["answer"], is_right]]
            claims.append([0, one["question"], one["answer"], is_right and one["answers"] == "yes"])
            lessons.append({"question": one["question"], "right": [], "claims": claims})
        for part in batch(lessons, 2 * TOGETHER):
            yield {"passages": [snippet], "lessons": list(part)}


def make_written(path: Path) -> Iterator[Group]:
    """Yield the lessons of short passages that were written for this: `reader_written.txt`, a block each.

    Y and N are questions that the passage answers by yes and no, S one with its short answer, A one that it does not
    answer; T is a sentence that it bears out in other words, F one that it does not.
    """
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        passage, *lines = [line.removeprefix("P: ") for line in block.splitlines()]
        claims = [[0, "", line[3:], line[0] == "T"] for line in lines if line[0] in "TF"]
        lessons: list[dict[str, Any]] = [{"question": claims[0][2], "claims": claims}] if claims else []
        for mark, _, text in (line.partition(": ") for line in lines if line[0] in "YNSA"):
            question, _, answer = text.partition(" | ")
            answer = {"Y": "Yes.", "N": "No."}.get(mark, answer)
            lessons.append({"question": question, "shown": [0], "right": [0] if answer else [], "answer": answer})
        yield {"passages": [passage], "lessons": lessons}


def main() -> None:
    """Write a mixture, in an order of its own; killed runs go on in it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--part", choices=("train", "dev"), default="train")
    parser.add_argument("--claims", type=Path, nargs="*", default=[])
    parser.add_argument("--squad", type=int, default=180)
    parser.add_argument("--hotpot", type=int, default=60, help="of each of the two kinds")
    parser.add_argument("--without", type=Path, help="a file of lessons; its questions on articles are left out")
    parser.add_argument("--written", type=int, default=2, help="times that the passages written for this are shown")
    parser.add_argument("--seed", type=int, default=20261124)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    random, tokenizer = Random(options.seed), make_tokenizer()
    known = load_questions_of(options.without) if options.without else set()
    groups = list(make_documents(options.part, tokenizer, random))
    part = slice(12, None) if options.part == "train" else slice(12)
    squad = make_squad(options.data / "qa_en/squad_v1.1_train_subset.json.gz", tokenizer, random, known, part=part)
    groups += islice(squad, options.squad)
    if options.part == "train":
        hotpot = list(make_hotpot(options.data / "qa_en/hotpotqa_train.jsonl.gz", random, known))
        for is_polar in (True, False):
            groups += [one for one in hotpot if one["polar"] is is_polar][: options.hotpot]
        cmrc = make_squad(options.data / "qa_zh/cmrc2018_trial.json.gz", tokenizer, random, known, language="zh")
        groups += islice(cmrc, options.squad // 9)
        groups += make_triples(options.claims, tokenizer)
        groups += [*make_written(WRITTEN)] * options.written
        random.shuffle(groups)
    with options.out.open("w", encoding="utf-8") as out:
        for one in groups:
            if one["lessons"]:
                record = {"passages": one["passages"], "lessons": one["lessons"]}
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
    lessons = [one for some in groups for one in some["lessons"]]
    absent = sum(not one["right"] for one in lessons)
    answers, claims = (
        sum(bool(one.get("answer")) for one in lessons),
        sum(len(one.get("claims", [])) for one in lessons),
    )
    print(f"{len(groups)} groups, {len(lessons)} lessons: {answers} answers, {claims} claims, {absent} with none right")


if __name__ == "__main__":
    main()
