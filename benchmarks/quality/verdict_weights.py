"""Fit the weights of the verdict on labelled answers, and print what they are worth; `--write` keeps them.

    python benchmarks/quality/verdict_weights.py train.jsonl open.jsonl [--write] [--precision 0.97]

The first file is fitted on; the second chooses the thresholds: the lowest one at which what is called supported is so
with the precision wanted, and the lowest one at which one in forty answers to another question passes. Rows are JSON
objects with lang, snippet, question, answer, label and answers, as those of the task `verdict`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import bookwheel.verdict
from bookwheel.documents.opening import TextDocument
from bookwheel.verdict.asking import is_misfit
from bookwheel.verdict.judge import Finding, WeightTable, examine
from bookwheel.verdict.measure import VETOES, is_vetoed
from bookwheel.verdict.sources import PlacedParts

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = Path(bookwheel.verdict.__file__).with_name("weights.json")
STRENGTHS = {"supported": 10.0, "answers": 10.0}
# Features that can only speak for a sentence, and those whose sign the data may choose; all others speak against it.
SUPPORT = frozenset({"order", "one clause", "asked in best", "says yes or no"})
FREE = ("short", "length")
# No weight makes up for these faults; the others decide elsewhere.
UNWEIGHED = frozenset({*VETOES, "misfit", "in all", "verbatim", "two values"})


def fit(rows: np.ndarray, labels: np.ndarray, names: list[str], strength: float) -> tuple[float, np.ndarray]:
    """Return bias and weights of logistic regression with an L2 penalty and the signs above, by Nesterov's method."""
    means, scales = rows.mean(0), np.maximum(rows.std(0), 0.1)
    scaled = np.c_[(rows - means) / scales, np.ones(len(rows))]
    low = np.array([*(0.0 if name in SUPPORT else -np.inf for name in names), -np.inf])
    high = np.array([*(np.inf if name in {*SUPPORT, *FREE} else 0.0 for name in names), np.inf])
    weights = ahead = np.zeros(scaled.shape[1])
    rate, momentum = 1 / (0.25 * np.linalg.norm(scaled, 2) ** 2 + strength), 1.0
    for _ in range(1500):
        errors = 1 / (1 + np.exp(-scaled @ ahead)) - labels
        new = np.clip(ahead - rate * (scaled.T @ errors + strength * np.r_[ahead[:-1], 0]), low, high)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, weights, momentum = new + (momentum - 1) / following * (new - weights), new, following
    plain = weights[:-1] / scales
    return float(weights[-1] - plain @ means), plain


def weigh(features: np.ndarray, table: tuple[float, np.ndarray]) -> np.ndarray:
    """Return the probabilities of rows."""
    return 1 / (1 + np.exp(-(features @ table[1] + table[0])))


def read(path: Path) -> list[dict]:
    """Return the labelled answers with the features of their sentences."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        findings = examine(row["answer"], row["question"], PlacedParts(TextDocument(row["snippet"])))
        rows.append({**row, "findings": [finding for finding in findings if not finding.is_absent]})
    return [row for row in rows if row["findings"]]


def fit_table(
    rows: list[dict], of: str, is_right: Callable[[dict], bool], fold: Callable, strength: float
) -> tuple[list[str], tuple[float, np.ndarray]]:
    """Fit on sentences; of a wrong answer of several sentences, the one that decides is the wrong one."""
    names = [name for name in getattr(rows[0]["findings"][0], of) if name not in UNWEIGHED]
    arrays = [np.array([[getattr(one, of)[name] for name in names] for one in row["findings"]]) for row in rows]
    table: tuple[float, np.ndarray] | None = None
    for _ in range(3):
        features, labels = [], []
        for row, array in zip(rows, arrays, strict=True):
            if len(array) == 1 or table is None or is_right(row) is (fold is min):
                kept = array
            else:
                scores = weigh(array, table)
                kept = array[[int(scores.argmin() if fold is min else scores.argmax())]]
            features += list(kept)
            labels += [is_right(row)] * len(kept)
        table = fit(np.array(features), np.array(labels, float), names, strength)
    assert table
    return names, table


def score(rows: list[dict], of: str, names: list[str], table: tuple[float, np.ndarray], fold: Callable) -> np.ndarray:
    """Return the probability of each whole answer."""

    def weigh_one(finding: Finding) -> float:
        if of == "features" and (finding.copy or is_vetoed(finding.features)):
            return float(finding.copy is not None)
        if of == "fit" and is_misfit(finding.fit):
            return 0.0
        return float(weigh(np.array([getattr(finding, of)[name] for name in names]), table))

    return np.array([fold([weigh_one(one) for one in row["findings"]]) for row in rows])


def find_threshold(scores: np.ndarray, labels: np.ndarray, precision: float) -> float:
    """Return the lowest threshold above which the share of right ones is at least so much."""
    order = np.argsort(-scores)
    shares = np.cumsum(labels[order]) / np.arange(1, len(order) + 1)
    good = np.flatnonzero(shares >= precision)
    last = int(good[-1]) if len(good) else 0
    after = scores[order[last + 1]] if last + 1 < len(order) else 0.0
    return float((scores[order[last]] + after) / 2)


def measure_auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the probability that a right one is above a wrong one."""
    right, wrong = scores[labels > 0], scores[labels < 1]
    return float(((right[:, None] > wrong).mean() + (right[:, None] >= wrong).mean()) / 2)


def is_borne_out(rows: list[dict], table: dict) -> np.ndarray:
    """Return for each answer whether it is copied or called supported."""
    weigher = WeightTable(**table)

    def is_supported(finding: Finding) -> bool:
        return weigher.weigh(finding.features) >= weigher.threshold and not is_vetoed(finding.features)

    return np.array([all(one.copy or is_supported(one) for one in row["findings"]) for row in rows])


def main() -> None:
    """Fit both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs=2, type=Path)
    parser.add_argument("--precision", type=float, default=0.97)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    train, chosen_on = map(read, given.files)
    tables = json.loads(FILE.read_text(encoding="utf-8"))
    for name, of, is_right, fold in (
        ("supported", "features", lambda row: row["label"] == "supported", min),
        ("answers", "fit", lambda row: row["answers"] == "yes", max),
    ):
        names, table = fit_table(train, of, is_right, fold, STRENGTHS[name])
        reduce = np.min if fold is min else np.max
        values = {}
        for rows in (train, chosen_on):
            scores, labels = score(rows, of, names, table, reduce), np.array([is_right(row) for row in rows], float)
            values = {"threshold": 0.0}
            if fold is min:
                values["threshold"] = find_threshold(scores, labels, given.precision)
            else:
                # Of forty answers to another question, one may pass and be borne out too.
                off = np.array([row["answers"] == "no" for row in rows])
                wrong = np.sort(scores[off & is_borne_out(rows, tables["supported"])])[::-1]
                allowed = round(off.sum() / 40)
                values = {"threshold": float(wrong[allowed]) + 1e-4}
            passed = scores >= values["threshold"]
            print(
                f"{name}: n {len(rows)}, AUC {measure_auc(scores, labels):.3f}, at {values['threshold']:.3f}: "
                f"{int((passed * labels).sum())} of {int(labels.sum())} right ones pass, "
                f"{int((passed * (1 - labels)).sum())} of {int((1 - labels).sum())} wrong ones"
            )
        weights = {key: round(float(value), 4) for key, value in zip(names, table[1], strict=True) if abs(value) > 1e-3}
        tables[name] = {"bias": round(table[0], 4), "weights": weights, **{k: round(v, 4) for k, v in values.items()}}
        for key, value in sorted(weights.items(), key=lambda pair: -abs(pair[1])):
            print(f"   {key:24} {value:+.2f}")
    if given.write:
        FILE.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
