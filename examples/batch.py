"""Put one question to every text file of a folder, a few files at a time.

    python examples/batch.py FOLDER "QUESTION"

Without a folder it writes three letters to read.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from bookwheel import Reading, aread

AT_ONCE = 4
LETTERS = {
    "april": "The garden is wet. Aunt Rosalind arrives on the fourth of May, with the large trunk.",
    "june": "Uncle Bertram arrives on the ninth of July. He asks for the room over the stable.",
    "july": "Nobody comes this month, and the beans are doing well.",
}


async def ask_all(files: list[Path], question: str) -> list[Reading]:
    """Read every file. What ends a reading early is its status, so one failure does not stop the others."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def ask(path: Path) -> Reading:
        async with turn:
            return await aread(path, question, model="scripted", chunk_tokens=400)

    return await asyncio.gather(*(ask(path) for path in files))


def print_answers(folder: Path, question: str) -> None:
    """Print one line a file."""
    for reading in asyncio.run(ask_all(sorted(folder.glob("*.txt")), question)):
        print(f"{reading.document.name}: {reading.answer.text if reading.answer else reading.error}")


if arguments := sys.argv[1:]:
    print_answers(Path(arguments[0]), arguments[1])
else:
    with tempfile.TemporaryDirectory() as place:
        for name, text in LETTERS.items():
            Path(place, f"{name}.txt").write_text(text, encoding="utf-8")
        print_answers(Path(place), "Who arrives, and when?")
