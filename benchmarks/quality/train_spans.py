"""Train the weights by which `quotes` chooses its short answer, on the train part of `documents-qa` and on SQuAD's.

    python benchmarks/quality/train_spans.py [--squad 1500]

Writes reading/ways/short_answers.json. Prints how often the chosen span of a gold passage is right, on train and dev.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np

from bookwheel.lab.scoring import load_metric
from bookwheel.lab.tasks.documents_qa import load_documents, load_questions
from bookwheel.reading.ways.passages import find_windows
from bookwheel.reading.ways.short_answers import describe, find_spans, find_style
from bookwheel.text.ranking import QuestionWords

OUT = Path(__file__).parents[2] / "src/bookwheel/reading/ways/short_answers.json"
DATA = Path(os.environ.get("BOOKWHEEL_DATA", Path(__file__).parents[3] / "shared" / "data"))
EXACT, F1 = load_metric("exact"), load_metric("f1")
Case = tuple[list[dict[str, float]], np.ndarray, list[str], list[str]]


def make_case(question: str, passage: str, golds: list[str]) -> Case | None:
    """Return the features of the spans and which of them are right; None where none is, or none is asked for."""
    if find_style(question) != "span":
        return None
    words = QuestionWords(question)
    spans = list(find_spans(passage))
    right = np.array([F1(span.text, golds).score for span in spans])
    right = np.where(right >= max(0.65, right.max(initial=0)), right, 0.0)
    return ([describe(span, passage, words) for span in spans], right, [span.text for span in spans], golds)


def collect(part: str) -> list[Case]:
    """Return the cases of real documents: the window that holds a gold piece of evidence and a gold answer."""
    documents, cases, windows = load_documents(), [], {}
    for one in load_questions(part):
        if one.kind not in ("fact", "compare", "two-places"):
            continue
        found = windows.setdefault(one.doc, list(find_windows(documents[one.doc].text)))
        quotes = [" ".join(quote.split()) for quote in one.evidence]
        passage = next((window.text for window in found if any(quote in window.text for quote in quotes)), None)
        case = make_case(one.question, passage, list(one.answers)) if passage else None
        if case:
            cases.append(case)
    return cases


def collect_squad(count: int) -> list[Case]:
    """Return cases of SQuAD's training articles: the windows around the answers."""
    path = DATA / "qa_en" / "squad_v1.1_train_subset.json.gz"
    articles = json.loads(gzip.decompress(path.read_bytes()))["data"]
    asked = [(p["context"], q) for article in articles for p in article["paragraphs"] for q in p["qas"]]
    random.Random(1).shuffle(asked)
    cases = []
    for context, question in asked[:count]:
        start = question["answers"][0]["answer_start"]
        passage = next((w.text for w in find_windows(context) if w.start <= start < w.end), None)
        case = make_case(question["question"], passage, [a["text"] for a in question["answers"]]) if passage else None
        if case:
            cases.append(case)
    return cases


def train(cases: list[Case], epochs: int = 120) -> dict[str, float]:
    """Return the weights with the greatest likelihood of the right spans (Adam, decay); rare features are left out."""
    counts: dict[str, int] = {}
    for features, _, _, _ in cases:
        for name in {name for one in features for name in one}:
            counts[name] = counts.get(name, 0) + 1
    names = [name for name, seen in sorted(counts.items()) if seen >= 12]
    place = {name: at for at, name in enumerate(names)}
    data = []
    for features, right, _, _ in cases:
        x = np.zeros((len(features), len(names)))
        for row, one in enumerate(features):
            for name, value in one.items():
                if name in place:
                    x[row, place[name]] = value
        if right.any():
            data.append((x, right / right.sum()))
    w, m, v = (np.zeros(len(names)) for _ in range(3))
    for step in range(1, epochs + 1):
        gradient = 0.003 * w
        for x, target in data:
            s = x @ w
            p = np.exp(s - s.max())
            gradient = gradient + (p / p.sum() - target) @ x / len(data)
        m, v = 0.9 * m + 0.1 * gradient, 0.99 * v + 0.01 * gradient**2
        w = w - 0.1 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8)
    return {name: round(float(value), 3) for name, value in zip(names, w, strict=True) if abs(value) >= 0.01}


def show(name: str, cases: list[Case], weights: dict[str, float]) -> None:
    """Print how often the chosen span is right."""
    exact, f1, best = [], [], []
    for features, right, texts, golds in cases:
        scores = [sum(weights.get(key, 0) * value for key, value in one.items()) for one in features]
        text = texts[int(np.argmax(scores))]
        exact.append(EXACT(text, golds).score)
        f1.append(F1(text, golds).score)
        best.append(right.max(initial=0))
    print(
        f"{name}: n {len(cases)}, exact {np.mean(exact):.3f}, F1 {np.mean(f1):.3f}, best span's F1 {np.mean(best):.3f}"
    )


def main() -> None:
    """Train, show and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--squad", type=int, default=1500)
    options = parser.parse_args()
    own, dev, squad = collect("train"), collect("dev"), collect_squad(options.squad)
    weights: dict[str, Any] = train([*own, *own, *squad])
    OUT.write_text(json.dumps(weights, ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    for name, cases in (("documents-qa train", own), ("SQuAD train", squad), ("documents-qa dev", dev)):
        show(name, cases, weights)


if __name__ == "__main__":
    main()
