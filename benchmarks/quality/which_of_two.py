"""How often the one of two that a question names is told without a model, and how often that is right.

    python benchmarks/quality/which_of_two.py [CASES.jsonl ...] [--others 30]

HotpotQA's and 2WikiMultihopQA's development questions that name two ($BOOKWHEEL_DATA), each over its own paragraphs and
`--others` of others; and files of cases, a line a question with text, question and gold.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel.documents.opening import TextDocument
from bookwheel.reading.ways.compared_answers import find_compared
from bookwheel.text.comparatives import find_alternatives
from bookwheel.text.ranking import find_stems

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 7
FILES = ("hotpotqa_dev", "2wikimultihopqa_dev")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file of JSON Lines, packed or not."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [json.loads(line) for line in text.split("\n") if line]


def list_published(data: Path, name: str, others: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the questions that name two, each with its text and gold answer."""
    pool = read_lines(data / "wiki" / "wiki_paragraphs_en.jsonl.gz")
    shuffled = random.Random(SEED)
    for record in read_lines(data / "qa_en" / f"{name}.jsonl.gz"):
        if record["answer"].lower() in {"yes", "no"} or not find_alternatives(record["question"]):
            continue
        titles = {title for title, _ in record["context"]}
        passages = [f"{title}\n{''.join(sentences)}" for title, sentences in record["context"]]
        added = [one for one in shuffled.sample(pool, others) if one["title"] not in titles]
        passages += [f"{one['title']}\n{one['text']}" for one in added]
        shuffled.shuffle(passages)
        yield record["question"], "\n\n".join(f"Passage:\n{one}" for one in passages), [record["answer"]]


def is_right(answer: str, golds: list[str]) -> bool:
    """Return whether an answer has at least half of a gold one's words: "Jodie Foster" is "Jodie" Foster."""
    said = find_stems(answer)
    return any(len(said & find_stems(gold)) >= 0.5 * min(len(said), len(find_stems(gold))) for gold in golds)


def main() -> None:
    """Print for each file the questions, those that are told, and the right ones among these."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--others", type=int, default=30)
    options = parser.parse_args()
    data = os.environ.get("BOOKWHEEL_DATA")
    sets = {name: list_published(Path(data), name, options.others) for name in FILES if data}
    for path in options.files:
        sets[path.stem] = ((one["question"], one["text"], one["gold"]) for one in read_lines(path))
    for name, cases in sets.items():
        counts = Counter[str]()
        for question, text, golds in cases:
            two = find_alternatives(question)
            told = find_compared(two, TextDocument(text)) if two else None
            by = "figures" if two and two.order else "a sentence"
            counts["questions"] += 1
            if told:
                for kind in (f"told by {by}", *(["sure"] if told.is_sure else [])):
                    counts[kind] += 1
                    counts[f"{kind} and right"] += is_right(told.text, golds)
        print(name, dict(sorted(counts.items())))


if __name__ == "__main__":
    main()
