"""How often the few windows of a chunk that the way `quotes` scores hold the sentence with the answer.

    python benchmarks/nearest_windows.py [QUESTIONS] [SEED]

Questions of the SQuAD training articles in shared/data or $BOOKWHEEL_DATA. A chunk is 1,800 characters of the article
from the paragraph of the question on. Words alone decide here: no model is asked.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Final

from bookwheel.reading.ways.question_words import QuestionWords
from bookwheel.reading.ways.windows import split_windows
from bookwheel.text.sentences import split_sentences
from bookwheel.text.tokens import WordTokenizer

DATA: Final = Path(os.environ.get("BOOKWHEEL_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILE: Final = DATA / "qa_en" / "squad_v1.1_train_subset.json.gz"
CHARACTERS: Final = 1800
WINDOW_TOKENS: Final = 128
PLACES: Final = (1, 2, 3, 4, 6, 8)


def main() -> None:
    """Print the share of questions whose gold sentence is among the first few windows."""
    count, seed = (int(word) for word in (*sys.argv[1:], "1500", "1")[:2])
    articles = json.loads(gzip.decompress(FILE.read_bytes()))["data"]
    items = [
        (article["paragraphs"][at:], question)
        for article in articles
        for at, paragraph in enumerate(article["paragraphs"])
        for question in paragraph["qas"]
    ]
    Random(seed).shuffle(items)
    hits, n, windows_seen = dict.fromkeys(PLACES, 0), 0, 0
    for paragraphs, question in items[:count]:
        text = "\n\n".join(paragraph["context"] for paragraph in paragraphs)[:CHARACTERS]
        gold = question["answers"][0]
        sentence = find_sentence(text, gold["answer_start"], gold["answer_start"] + len(gold["text"]))
        windows = split_windows(text, WordTokenizer(), WINDOW_TOKENS)
        if not sentence or not any(sentence in window for window in windows):
            continue
        n, windows_seen = n + 1, windows_seen + len(windows)
        nearest = QuestionWords(question["question"]).choose(windows, len(windows))
        for place in PLACES:
            hits[place] += any(sentence in window for window in nearest[:place])
    print(f"n = {n}, seed {seed}, {windows_seen / n:.1f} windows a chunk")
    for place, right in hits.items():
        print(f"first {place}: {right / n:.3f}")


def find_sentence(text: str, start: int, end: int) -> str:
    """Return the sentence that holds the whole span, on one line; empty if none does."""
    spans = [(first, last) for first, last in split_sentences(text) if first <= start and end <= last]
    return " ".join(text[spans[0][0] : spans[0][1]].split()) if spans else ""


if __name__ == "__main__":
    main()
