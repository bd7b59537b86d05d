"""Write the lessons of the local model's reader: passages of real documents, with what they answer and bear out.

    python benchmarks/training/reader_lessons.py OUT.jsonl [--views 5]
    python benchmarks/training/reader_lessons.py OUT.jsonl --part dev --squad 80

A lesson is one question. It is shown the window with its evidence and windows that rank high for it and have none, of
the same document. A question that the document does not answer is shown the best windows alone. What needs two passages
is shown them as the reader joins them. A claim is the right answer, the answer to another question, another span of the
passage, or a sentence of the evidence with a number, a negation or a bound changed. Questions that stand next to each
other are one line, so that a passage which several of them are shown is read once. Each view draws other passages and
claims for the same questions. Where they are from: reader_sources.py. The first twelve articles of SQuAD, which
thresholds are chosen on, and the last fifty paragraphs of CMRC are left for `--part dev`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from reader_sources import (
    RANKS,
    Claim,
    Question,
    find_answer,
    load_nq,
    load_squad,
    make_articles,
    make_documents,
    make_pairs,
    make_verdicts,
    make_written,
    pool,
)

from bookwheel.environment import Environment
from bookwheel.lab.scoring import load_metric
from bookwheel.models.gguf import load_tokenizer
from bookwheel.models.weights import find_local_weights
from bookwheel.preset import load_preset_plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.passages import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.text.tokens import Tokenizer

DATA = Path(os.environ.get("BOOKWHEEL_DATA", Path(__file__).parents[3] / "shared" / "data"))
WRITTEN = Path(__file__).with_name("written")
# Wrong passages of a lesson.
WRONG = 5
# Of the articles' questions, those that are shown the neighbours of their answer alone.
ABSENT = 0.15
# Questions that are read together.
TOGETHER = 12
F1 = load_metric("f1")
NUMBER = re.compile(r"\d+")
SPANS = [
    re.compile(pattern)
    for pattern in (
        r"[£$€¥]? ?\d+(?:[.,:/-]\d+)*(?: ?(?:%|[a-z]{1,7}\b|[\u4e00-\u9fff]{1,2}))?",
        r"(?:[A-Z][\w'’-]*\.?(?: (?:of|de|van|von|the|and|&) (?=[A-Z]))? ?){1,5}",
        r"`[^`]+`|[\"“][^\"”]+[\"”]|《[^》]+》",
        r"[^,;:()|–—，。；：（）、\n…]{2,120}",
    )
]
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
    ("至少", "至多"),
    ("之前", "之后"),
    ("不得", "可以"),
    ("没有", "有"),
]


def change(sentence: str, random: Random) -> str:
    """Return a sentence that says something else: another number, or an opposite; empty where neither is there."""
    ways = []
    if numbers := list(NUMBER.finditer(sentence)):
        one = random.choice(numbers)
        other = str(int(one[0]) + random.choice((1, 2, 3, 5, 10)))
        ways.append(sentence[: one.start()] + other.zfill(len(one[0])) + sentence[one.end() :])
    for first, second in OPPOSITES:
        for here, there in ((first, second), (second, first)):
            pattern = rf"\b{here}\b" if here.isascii() else here
            if re.search(pattern, sentence):
                ways.append(re.sub(pattern, there, sentence, count=1))
                break
    return random.choice(ways) if ways else ""


def find_spans(body: str) -> list[str]:
    """Return what can look like an answer: numbers with their units, names, quoted words, clauses."""
    spans = (found[0].strip(" \t,;:.，。；：、()（）*`“”|?!") for form in SPANS for found in form.finditer(body))
    return [span for span in dict.fromkeys(spans) if span]


def make_claims(one: Question, passage: str, random: Random) -> list[Claim]:
    """Return the right answer, and one that looks like it or a sentence that says otherwise, about passage 0."""
    if one.is_polar:
        return [(0, one.text, word, word == one.answer) for word in ("Yes.", "No.")]
    body = passage.rpartition(GAP)[2]
    sentences = re.split(r"(?<=[.!?])\s|(?<=[。！？])", body)
    sentence = next((text for text in sentences if one.answer and one.answer in text), body)
    others = [text for text in sentences if text != sentence and len(text) > 20 and not find_answer(text, one.golds)]
    draw, claims = random.random(), list[Claim]()
    if draw < 0.4 and 20 < len(sentence) < 200 and (other := change(sentence, random)):
        claims += [(0, "", sentence, True), (0, "", other, False)]
    if 0.3 < draw < 0.6 and one.answer and others and len(sentence) < 200:
        # Both are true; only one of them answers.
        claims += [(0, one.text, sentence, True), (0, one.text, random.choice(others), False)]
    if one.answer and draw > 0.5:
        near = [span for span in find_spans(body) if not F1(span, [*one.golds, one.answer]).score]
        near = [text for text in near if len(text.split()) <= len(one.answer.split()) + 3]
        changed = change(one.answer, random)
        if wrong := ([changed] if changed else []) + random.sample(near, min(1, len(near))):
            claims += [(0, one.text, one.answer, True), (0, one.text, random.choice(wrong), False)]
    return claims


@cache
def is_asked_whether(language: str) -> bool:
    """Return whether passages in a language are judged: its prompts ask whether they answer."""
    return "answers" in prompts_for(load_preset_plan("reader"), {"en": "Is it?", "zh": "是吗？"}[language]).turns


def pose(one: Question, random: Random) -> dict[str, Any] | None:
    """Return one view of a question as a line of lessons; None if there is nothing to show."""
    is_absent = not one.right or (one.can_be_absent and len(one.wrong) > 1 and random.random() < ABSENT)
    right = [] if is_absent else [random.choice(one.right[:2])]
    first = [text for text in one.wrong[:2] if random.random() < 0.8]
    rest = [text for text in one.wrong[:RANKS] if text not in first]
    wrong = first + random.sample(rest, min(WRONG - len(first), len(rest)))
    claims = list(one.claims)
    if right and not claims:
        claims = make_claims(one, right[0], random)
    if not (right or wrong):
        return None
    passages = [*right, *wrong]
    is_judged = one.is_posed and is_asked_whether(one.language)
    lesson = {"question": one.text, "shown": [*range(len(passages) * is_judged)], "right": [*range(len(right))]}
    if right and one.answer in ("Yes.", "No.", find_answer(right[0], [one.answer])):
        lesson["answer"] = one.answer
    lesson["claims"] = [claim for claim in claims if right]
    has_any = is_judged or "answer" in lesson or lesson["claims"]
    return {"passages": passages, "lessons": [lesson]} if has_any else None


def join(posed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return posed questions as one line; what several are shown stands there once."""
    places: dict[str, int] = {}
    lessons = []
    for one in posed:
        at = [places.setdefault(text, len(places)) for text in one["passages"]]
        (lesson,) = one["lessons"]
        moved = {name: [at[place] for place in lesson[name]] for name in ("shown", "right")}
        claims = [(at[place], *said) for place, *said in lesson["claims"]]
        lessons.append(lesson | moved | {"claims": claims})
    return {"passages": list(places), "lessons": lessons}


def draw_view(questions: Sequence[Question], random: Random) -> Iterator[dict[str, Any]]:
    """Yield the lines of one view, in an order of its own."""
    starts = list(range(0, len(questions), TOGETHER))
    random.shuffle(starts)
    for start in starts:
        some = (pose(one, random) for one in questions[start : start + TOGETHER])
        if posed := [one for one in some if one]:
            yield join(posed)


def load_train(options: argparse.Namespace, tokenizer: Tokenizer, random: Random) -> dict[str, list[Question]]:
    """Return the questions that every view poses; those of SQuAD are too many."""
    english, chinese = options.data / "qa_en", options.data / "qa_zh"
    cmrc = [one for article in load_squad(chinese / "cmrc2018_trial.json.gz") for one in article][:-50]
    return {
        # Twice, as it is what the reader is for.
        "documents": 2 * list(make_documents("train", tokenizer)),
        "nq": list(make_articles(pool(load_nq(english / "nq_open_oracle.jsonl.gz"), 20), tokenizer)),
        "hotpot": list(make_pairs(english / "hotpotqa_train.jsonl.gz", random)),
        "2wiki": list(make_pairs(english / "2wikimultihopqa_train.jsonl.gz", random)),
        "cmrc": list(make_articles(pool(cmrc, 6), tokenizer, "zh")),
        "verdicts": list(make_verdicts("train")),
        "written": [one for path in sorted(WRITTEN.glob("*.txt")) for one in make_written(path, random)],
    }


def load_dev(options: argparse.Namespace, tokenizer: Tokenizer) -> dict[str, list[Question]]:
    """Return the questions that nothing is taught of."""
    paragraphs = load_squad(options.data / "qa_zh" / "cmrc2018_trial.json.gz")
    cmrc = [one for article in paragraphs for one in article][-50:]
    return {
        "documents": list(make_documents("dev", tokenizer)),
        "cmrc": list(make_articles(pool(cmrc, 5), tokenizer, "zh")),
        "verdicts": list(make_verdicts("open")),
    }


def main() -> None:
    """Write a mixture, view after view."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--part", choices=("train", "dev"), default="train")
    parser.add_argument("--views", type=int, default=1)
    parser.add_argument("--squad", type=int, default=3000, help="questions of SQuAD in a view")
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    random = Random(options.seed)
    tokenizer = load_tokenizer(find_local_weights(Environment.load()), "local")
    is_train = options.part == "train"
    sources = load_train(options, tokenizer, random) if is_train else load_dev(options, tokenizer)
    articles = load_squad(options.data / "qa_en" / "squad_v1.1_train_subset.json.gz")
    squad = list(make_articles(articles[12:] if is_train else articles[:12], tokenizer))
    random.shuffle(squad)
    lessons = 0
    with options.out.open("w", encoding="utf-8") as out:
        for view in range(options.views):
            some = [squad[at % len(squad)] for at in range(view * options.squad, (view + 1) * options.squad)]
            for line in draw_view([*some, *(one for source in sources.values() for one in source)], random):
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                lessons += len(line["lessons"])
    sizes = {"squad": squad, **sources}
    print(f"{lessons} lessons in {options.views} views;", *(f"{name} {len(some)}" for name, some in sizes.items()))


if __name__ == "__main__":
    main()
