"""Judge answers as models of several families write them by our scoring, RULER's and MemAgent's.

    python benchmarks/quality/natural_answers.py [FILE…] [--wrong]

The answers stand in tests/lab/scoring/data, each with the judgement of a person. `--wrong` lists those that our scoring
gets wrong. All have been read while the rules were made; whoever changes these lets another hand write a new file.
A FILE.jsonl has an answer a line, with question, gold (a list; empty where the document does not say), all (whether all
golds are asked for), reply and right.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bookwheel.lab.scoring import official, score_answer, string_match_all, string_match_part
from bookwheel.lab.scoring.choices import is_polar
from bookwheel.text.normalization import contains_words, words

FOLDER: Final = Path(__file__).parents[2] / "tests" / "lab" / "scoring" / "data"
ABSENT: Final = ("not in the document",)


@dataclass(frozen=True)
class NaturalAnswer:
    """An answer to a question, with the judgement of a person."""

    question: str
    golds: tuple[str, ...]
    kind: str
    """G: any gold counts; A: all are asked for; N: the document does not say."""
    text: str
    is_right: bool

    @property
    def metric(self) -> str:
        """The metric that our tasks choose for such a question."""
        if self.kind != "G":
            return "unanswerable" if self.kind == "N" else "all_of"
        asked = words(self.question)
        is_inside = any(contains_words(asked, words(gold)) for gold in self.golds)
        return "choice" if is_inside or is_polar(self.golds) else "contains"

    def judge(self, judge: str = "bookwheel") -> bool:
        """Return the verdict of bookwheel, ruler or memagent."""
        golds = self.golds or ABSENT
        if judge == "bookwheel":
            return score_answer(self.metric, self.text, golds, self.question).score == 1
        published = official if judge == "memagent" else string_match_all if self.kind == "A" else string_match_part
        return published(self.text, golds).score == 1


def load_answers(path: Path) -> list[NaturalAnswer]:
    """Return the answers of a file."""
    if path.suffix == ".jsonl":
        return [_read_row(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    question, kind, answers = "", "", []
    golds: tuple[str, ...] = ()
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "Q":
            question = rest
        elif mark in {"G", "A", "N"}:
            kind, golds = mark, tuple(part.strip() for part in rest.split("|") if part.strip())
        elif mark in {"+", "-"}:
            text = rest.replace("\\n", "\n")
            answers.append(NaturalAnswer(question=question, golds=golds, kind=kind, text=text, is_right=mark == "+"))
    return answers


def _read_row(row: dict[str, Any]) -> NaturalAnswer:
    golds = tuple(row["gold"])
    kind = "N" if not golds else "A" if row["all"] else "G"
    return NaturalAnswer(question=row["question"], golds=golds, kind=kind, text=row["reply"], is_right=row["right"])


def measure(answers: list[NaturalAnswer], judge: str = "bookwheel") -> tuple[float, float]:
    """Return the accuracy of a judge, and the precision of its "right"."""
    verdicts = [(answer.is_right, answer.judge(judge)) for answer in answers]
    passed = [is_right for is_right, verdict in verdicts if verdict]
    return sum(a == b for a, b in verdicts) / len(verdicts), sum(passed) / max(1, len(passed))


def main(arguments: list[str]) -> None:
    """Print a row for each file and judge."""
    names = [Path(one) for one in arguments if not one.startswith("-")]
    for path in names or sorted(FOLDER.glob("natural_*.txt")):
        answers = load_answers(path)
        for judge in ("bookwheel", "ruler", "memagent"):
            accuracy, precision = measure(answers, judge)
            figures = f"accuracy {accuracy:.3f}, precision of right {precision:.3f}, n {len(answers)}"
            print(f"{path.stem:12} {judge:10} {figures}")
        for answer in answers if "--wrong" in arguments else ():
            if answer.judge() != answer.is_right:
                mark = "+" if answer.is_right else "-"
                print(f"{mark} {answer.metric} {' | '.join(answer.golds)}: {answer.text[:120]!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
