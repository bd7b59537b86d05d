"""What a second question on the same document costs beside the first, with the built-in reader.

    python benchmarks/speed/second_question.py --data DATA [--tokens 40000 400000 3500000] [--repeats 1]

DATA is a folder with `books` and `wiki`. For each length a process asks two questions that the text answers and one
that it does not, and another process asks the second one again, on the same journal. Seconds are of the processor, in
this process, the engine's threads included, beside those of the clock; opening model and journal is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bookwheel.documents.opening import TextDocument
from bookwheel.environment import Environment
from bookwheel.journal import Journal
from bookwheel.models.local import LocalModel
from bookwheel.session import Session

FIRST = "What was the name of the woman who had the photograph of the King of Bohemia?"
SECOND = "Who founded the Red-Headed League?"
ABSENT = "How many bicycles did the postmaster of Lisbon repair?"
BOOKS = ("sherlock_holmes_adventures_doyle", "middlemarch_eliot", "essays_emerson", "war_and_peace_tolstoy_maude")
# Of these books and articles; the tokenizer's own count is in the result.
_CHARACTERS_PER_TOKEN = 4.3


def build_text(data: Path, tokens: int) -> str:
    """Return about so many tokens of books, and of articles behind them."""
    length = int(tokens * _CHARACTERS_PER_TOKEN)
    pieces = [gzip.decompress((data / "books" / f"en_{name}.txt.gz").read_bytes()).decode() for name in BOOKS]
    with gzip.open(data / "wiki" / "wiki_paragraphs_en.jsonl.gz", "rt", encoding="utf-8") as articles:
        have = sum(map(len, pieces))
        for line in articles:
            if have >= length:
                break
            pieces.append("\n\n" + str(json.loads(line)["text"]))
            have += len(pieces[-1])
    return "".join(pieces)[:length]


async def ask(journal: Path, text: str, questions: list[str]) -> list[dict[str, Any]]:
    """Ask the questions one after the other, in one session."""
    model = await LocalModel.open(threads=1, environment=Environment.load())
    found = []
    with Journal(journal) as kept:
        session = Session(model=model, journal=kept)
        document = await session.keep(TextDocument(text, name="books"))
        for question in questions:
            wall, cpu = time.perf_counter(), time.process_time()
            (reading,) = await session.run(await session.prepare(document, [question], model.plan))
            found.append(
                {
                    "question": question,
                    "cpu": round(time.process_time() - cpu, 2),
                    "wall": round(time.perf_counter() - wall, 2),
                    "calls": reading.usage.calls,
                    "scored": reading.usage.tokens,
                    "steps": len(reading.steps),
                    "answer": reading.answer.text if reading.answer else reading.error,
                }
            )
    await model.aclose()
    return found


def run_child(journal: Path, text: Path, questions: list[str]) -> list[dict[str, Any]]:
    """Ask in a process of its own."""
    words = [sys.executable, __file__, "--journal", str(journal), "--text", str(text), "--questions", *questions]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure and print a line of JSON for each length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tokens", type=int, nargs="+", default=[40_000, 400_000, 3_500_000])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--questions", nargs="+")
    options = parser.parse_args()
    if options.questions:
        text = options.text.read_text(encoding="utf-8")
        print(json.dumps(asyncio.run(ask(options.journal, text, options.questions))))
        return
    for tokens in options.tokens:
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as folder:
                text = Path(folder) / "text.txt"
                text.write_text(build_text(options.data, tokens), encoding="utf-8")
                journal = Path(folder) / "journal.db"
                first, second, absent = run_child(journal, text, [FIRST, SECOND, ABSENT])
                (again,) = run_child(journal, text, [SECOND])
                size = sum(file.stat().st_size for file in Path(folder).glob("journal.db*"))
            shares = {
                "second_to_first": round(second["cpu"] / first["cpu"], 3),
                "other_process_to_first": round(again["cpu"] / first["cpu"], 3),
            }
            parts = {"first": first, "second": second, "absent": absent, "other_process": again}
            print(json.dumps({"tokens": tokens, **shares, "journal_bytes": size, **parts}, ensure_ascii=False))


if __name__ == "__main__":
    main()
