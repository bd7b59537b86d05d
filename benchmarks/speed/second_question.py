"""What a second question on the same document costs beside the first, with the built-in reader.

    python benchmarks/speed/second_question.py --data DATA [--tokens 40000 400000 3500000] [--repeats 1] [--against SRC]

DATA is a folder with `books` and `wiki`. For each length one process asks two questions that the text answers and one
that it does not, another process asks the two in the other order of a fresh journal, and a third asks one again on the
journal of the first. So each question is asked first and second, and `second_to_first` is a ratio of sums over both.
Seconds are of the processor, the engine's threads included, beside those of the clock; opening model and journal is not
counted. SRC is the `src` of another version, which is measured in turn.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
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


def run_child(source: Path, journal: Path, text: Path, questions: list[str]) -> list[dict[str, Any]]:
    """Ask in a process of its own, with the package of this folder."""
    words = [sys.executable, __file__, "--journal", str(journal), "--text", str(text), "--questions", *questions]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    return list(json.loads(done.stdout.splitlines()[-1]))


def measure(source: Path, text: Path, folder: Path) -> dict[str, Any]:
    """Return what the questions cost with the package of this folder."""
    journal = folder / "journal.db"
    first, second, absent = run_child(source, journal, text, [FIRST, SECOND, ABSENT])
    (again,) = run_child(source, journal, text, [SECOND])
    size = sum(file.stat().st_size for file in folder.glob("journal.db*"))
    second_first, first_second = run_child(source, folder / "other.db", text, [SECOND, FIRST])
    ratios = {
        f"second_to_first_{clock}": round(
            (second[clock] + first_second[clock]) / (first[clock] + second_first[clock]), 3
        )
        for clock in ("cpu", "wall")
    }
    parts = {"first": first, "second": second, "absent": absent, "other_process": again}
    parts |= {"other_order_first": second_first, "other_order_second": first_second}
    other = round(again["cpu"] / second_first["cpu"], 3)
    return {**ratios, "other_process_to_first_cpu": other, "journal_bytes": size, **parts}


def main() -> None:
    """Measure and print a line of JSON for each length and version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tokens", type=int, nargs="+", default=[40_000, 400_000, 3_500_000])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--questions", nargs="+")
    options = parser.parse_args()
    if options.questions:
        text = options.text.read_text(encoding="utf-8")
        print(json.dumps(asyncio.run(ask(options.journal, text, options.questions))))
        return
    sources = {"this": Path(__file__).parents[2] / "src"} | ({"other": options.against} if options.against else {})
    for tokens in options.tokens:
        for repeat in range(options.repeats):
            for name, source in sources.items():
                with tempfile.TemporaryDirectory() as folder:
                    text = Path(folder) / "text.txt"
                    text.write_text(build_text(options.data, tokens), encoding="utf-8")
                    found = measure(source, text, Path(folder))
                line = {"tokens": tokens, "version": name, "repeat": repeat, **found}
                print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
