"""Train the weights by which windows of a whole document rank for a question, on the train part of `documents-qa`.

    python benchmarks/quality/train_passages.py [--epochs 400]

Prints the weights, and how often a window with gold evidence is among the first few, on train and dev.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np

from bookwheel.lab.tasks.documents_qa import load_documents, load_questions
from bookwheel.reading.ways.passages import WEIGHTS, PassageIndex
from bookwheel.text.ranking import QuestionWords


def collect(part: str) -> tuple[list[np.ndarray], list[np.ndarray], list[Any]]:
    """Return for each question the features of its windows and which of them hold evidence."""
    documents, indexes = load_documents(), {}
    features, golds, asked = [], [], []
    for one in load_questions(part):
        if one.kind == "absent":
            continue
        text = documents[one.doc].text
        index = indexes.setdefault(one.doc, None) or PassageIndex.build(text)
        indexes[one.doc] = index
        spans = [(start, start + len(quote)) for quote in one.evidence for start in find_all(text, quote)]
        measured = index.measure(QuestionWords(one.question))
        if not measured:
            features.append(np.zeros((1, len(WEIGHTS))))
            golds.append(np.zeros(1))
        else:
            features.append(np.array([[found[name] for name in WEIGHTS] for _, found in measured]))
            golds.append(
                np.array(
                    [
                        any(
                            index[at].start < end
                            and start < index[at].end
                            and min(end, index[at].end) - max(start, index[at].start) > 0.7 * (end - start)
                            for start, end in spans
                        )
                        for at, _ in measured
                    ],
                    dtype=float,
                )
            )
        asked.append(one)
    return features, golds, asked


def find_all(text: str, quote: str) -> list[int]:
    """Return where a quote stands."""
    places, at = [], text.find(quote)
    while at >= 0 and len(places) < 5:
        places.append(at)
        at = text.find(quote, at + 1)
    return places


def train(features: list[np.ndarray], golds: list[np.ndarray], epochs: int) -> np.ndarray:
    """Return the weights with the greatest likelihood of the gold windows, with a little decay (Adam)."""
    pairs = [(x, y) for x, y in zip(features, golds, strict=True) if y.any() and not y.all()]
    w = np.zeros(features[0].shape[1])
    m, v = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, epochs + 1):
        gradient = 0.002 * w
        for x, y in pairs:
            s = x @ w
            p = np.exp(s - s.max())
            p /= p.sum()
            q = p * y
            gradient = gradient + (p - q / q.sum()) @ x / len(pairs)
        m, v = 0.9 * m + 0.1 * gradient, 0.99 * v + 0.01 * gradient**2
        w = w - 0.1 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8)
    return w


def show(name: str, w: np.ndarray, features: list[np.ndarray], golds: list[np.ndarray], asked: list[Any]) -> None:
    """Print the shares."""
    hits, kinds = defaultdict(list), defaultdict(list)
    for x, y, one in zip(features, golds, asked, strict=True):
        order = np.argsort(-(x @ w), kind="stable")
        for k in (1, 2, 4, 8, 40):
            hits[k].append(y[order[:k]].any())
        kinds[one.doc.split("-")[0]].append(y[order[:1]].any())
        kinds[one.kind].append(y[order[:1]].any())
        kinds[one.language].append(y[order[:1]].any())
        kinds[one.style].append(y[order[:1]].any())
    print(name, len(asked), " ".join(f"first {k}: {np.mean(v):.3f}" for k, v in hits.items()))
    print("   ", " ".join(f"{k} {np.mean(v):.2f}" for k, v in sorted(kinds.items())))


def main() -> None:
    """Train and print."""
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    data = {part: collect(part) for part in ("train", "dev")}
    bm25 = np.array([float(name == "bm25") for name in WEIGHTS])
    w = train(*data["train"][:2], epochs)
    for part, found in data.items():
        show(f"{part}, bm25", bm25, *found)
        show(f"{part}, trained", w, *found)
    print({name: round(float(value), 3) for name, value in zip(WEIGHTS, w, strict=True)})


if __name__ == "__main__":
    main()
