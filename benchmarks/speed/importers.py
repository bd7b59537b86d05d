"""Time and memory of reading other projects' files of 100 MB.

    python benchmarks/speed/importers.py [MEGABYTES]

Each file is made in a temporary folder, in the shape of its project, of made-up words, and is read by a process of its
own to its end, one sample at a time. Prints seconds of its CPU and the most memory it had.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHILD = """
import resource, sys, time
from pathlib import Path
from bookwheel.lab.tasks.files import read_entries
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.process_time()
count = sum(1 for _ in read_entries(Path(sys.argv[1])))
print(count, time.process_time() - began, base, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def draw_text(rng: random.Random, characters: int) -> str:
    """Return made-up words of about so many characters."""
    return " ".join(
        rng.choices(("harbour", "levy", "of", "the", "a", "1904", "Quill", "ship's", "naïve"), k=characters // 6)
    )


def make_longbench(rng: random.Random) -> dict[str, Any]:
    """Return a record of LongBench."""
    return {"context": draw_text(rng, 60_000), "input": "Who?", "answers": ["Quill"], "dataset": "hotpotqa"}


def make_longmemeval(rng: random.Random) -> dict[str, Any]:
    """Return a record of LongMemEval with forty sessions."""
    turns = [{"role": role, "content": draw_text(rng, 1200)} for role in ("user", "assistant") * 5]
    return {
        "question_id": str(rng.random()),
        "question_type": "multi-session",
        "question": "Who?",
        "answer": "Quill",
        "question_date": "2023/05/30",
        "haystack_sessions": [turns] * 40,
        "haystack_dates": [f"2023/05/{day % 28 + 1:02}" for day in range(40)],
    }


def make_mrcr(rng: random.Random) -> dict[str, Any]:
    """Return a record of MRCR, its messages as JSON in JSON."""
    talk = [{"role": role, "content": draw_text(rng, 2000)} for role in ("user", "assistant") * 50]
    prompt = json.dumps([*talk, {"role": "user", "content": "again"}])
    return {"prompt": prompt, "answer": "x1la", "random_string_to_prepend": "x1", "n_needles": 2}


def make_ruler(rng: random.Random) -> dict[str, Any]:
    """Return a record of RULER."""
    text = f"I will quiz you about the x afterwards.\n{draw_text(rng, 120_000)}\nWhat is the special x?"
    return {"index": 1, "input": text, "outputs": ["7"], "length": 32_000, "answer_prefix": " It is"}


def write_lines(path: Path, make: Callable[[random.Random], dict[str, Any]], size: int) -> None:
    """Write JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in _draw(make, size))


def write_array(path: Path, make: Callable[[random.Random], dict[str, Any]], size: int) -> None:
    """Write one JSON array."""
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number, line in enumerate(_draw(make, size)):
            file.write(f"{',' if number else ''}{line}\n")
        file.write("]")


def _draw(make: Callable[[random.Random], dict[str, Any]], size: int) -> Iterator[str]:
    rng, written = random.Random(5), 0
    while written < size:
        line = json.dumps(make(rng), ensure_ascii=False)
        written += len(line)
        yield line


FILES = {
    "LongBench, JSON Lines": ("longbench.jsonl", write_lines, make_longbench),
    "LongBench, JSON array": ("longbench.json", write_array, make_longbench),
    "RULER, JSON Lines": ("ruler.jsonl", write_lines, make_ruler),
    "MRCR, JSON Lines": ("mrcr.jsonl", write_lines, make_mrcr),
    "LongMemEval, JSON array": ("longmemeval.json", write_array, make_longmemeval),
}


def main() -> None:
    """Print a row for each file."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print("| file | samples | CPU seconds | memory, MB | before reading |\n|---|---|---|---|---|")
    for name, (file, write, make) in FILES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            write(path, make, size * 1_000_000)
            command = [sys.executable, "-c", _CHILD, str(path)]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        print(
            f"| {name} | {told[0]} | {float(told[1]):.1f} | {int(told[3]) // 1024} | {int(told[2]) // 1024} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
