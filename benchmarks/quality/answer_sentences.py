"""Count how often our scoring takes the sentence of a text that answers a question about it, as a person would.

    python benchmarks/quality/answer_sentences.py FILE.json.gz ... [--count 1500] [--seed 29] [--show]

FILE is a question set in the form of SQuAD (qa_en/squad_*, qa_zh/cmrc2018_*, qa_zh/drcd_*). The sentence in which the
answer was marked should count. Of the other sentences that hold the same words most say them of something else; what is
taken of them is printed beside it. `--show` prints the answering sentences that do not count.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from typing import TYPE_CHECKING, Any, Final

from bookwheel.lab.scoring import score_answer
from bookwheel.text.normalization import contains_words, words

if TYPE_CHECKING:
    from collections.abc import Iterator

_SENTENCE: Final = re.compile(r".+?(?:(?<=[a-z0-9)\"]\.)\s+(?=[A-Z\"])|(?<=[。！？])|$)", re.DOTALL)


def load_questions(path: str) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Yield the paragraph, the question and the marked answers of each question that has one."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for article in json.load(file)["data"]:
            for paragraph in article["paragraphs"]:
                yield from ((paragraph["context"], one["question"], one["answers"]) for one in paragraph["qas"])


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    for path in given.files:
        questions = [one for one in load_questions(path) if one[2]]
        random.Random(given.seed).shuffle(questions)
        right: list[bool] = []
        others: list[bool] = []
        for context, question, answers in questions:
            golds = list(dict.fromkeys(answer["text"] for answer in answers))
            if len(right) == given.count or any(contains_words(words(question), words(gold)) for gold in golds):
                continue
            for match in _SENTENCE.finditer(context):
                score = score_answer("contains", match[0], golds, question)
                if match.start() <= answers[0]["answer_start"] < match.end() and answers[0]["text"] in match[0]:
                    right.append(score.score == 1)
                    if given.show and score.score < 1:
                        print(f"{question} | {golds[0]} | {match[0]!r} | {score.reason}")
                elif any(contains_words(words(match[0]), words(gold)) for gold in golds):
                    others.append(score.score == 1)
        print(f"{path}: {sum(right)} of {len(right)} answering sentences, {sum(others)} of {len(others)} others")


if __name__ == "__main__":
    main()
