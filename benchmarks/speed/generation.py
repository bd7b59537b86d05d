"""Samples a second and peak memory of every task at four lengths, each measured in a process of its own.

    python benchmarks/speed/generation.py --data ../shared/data > table.md

Time and memory are those of the whole way: reading the data folder, making the sample, counting its tokens and
turning it into its line of JSON. `--bpe` counts with a byte-level BPE of 32,000 entries, trained on the data folder's
English books first, in place of the scripted model's words.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bookwheel.lab.tasks import TASKS, load_tokenizer, make_samples
from bookwheel.lab.tasks.files import to_line

LENGTHS = {"8K": 8_192, "128K": 131_072, "1M": 1_000_000, "3.5M": 3_500_000}
COUNTS = {"8K": 16, "128K": 4, "1M": 1, "3.5M": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bpe", action="store_true")
    parser.add_argument("--lengths", nargs="+", default=list(LENGTHS), choices=LENGTHS)
    parser.add_argument("--one", nargs=4, metavar=("TASK", "LANGUAGE", "LENGTH", "TOKENIZER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one, given.data, given.seed)))
        return
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = trained(given.data, Path(folder)) if given.bpe else "words"
        table(given, tokenizer)


def measured(one: list[str], data: Path, seed: int) -> dict[str, float]:
    task, language, length, tokenizer = one
    counter = load_tokenizer(tokenizer)
    began, tokens, size = time.perf_counter(), 0, 0
    made = make_samples(
        task,
        tokens=LENGTHS[length],
        count=COUNTS[length],
        seed=seed,
        language=language,
        tokenizer=counter,
        data=data,
    )
    for sample in made:
        tokens = sample.tokens
        size += len(to_line(sample))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rate": COUNTS[length] / seconds, "seconds": seconds / COUNTS[length], "peak": peak, "tokens": tokens}


def table(given: argparse.Namespace, tokenizer: str) -> None:
    heads = [f"{length}: samples/s | MB | of budget" for length in given.lengths]
    print(f"| task | {' | '.join(heads)} |")
    print("|---" * (1 + 3 * len(heads)) + "|")
    for name, task in TASKS.items():
        for language in task.languages:
            cells = [cell(given, name, language, length, tokenizer) for length in given.lengths]
            print(f"| {name} {language} | {' | '.join(cells)} |", flush=True)


def cell(given: argparse.Namespace, name: str, language: str, length: str, tokenizer: str) -> str:
    one = ["--one", name, language, length, tokenizer]
    command = [sys.executable, __file__, "--data", str(given.data), "--seed", str(given.seed), *one]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    share = 100 * found["tokens"] / LENGTHS[length]
    return f"{found['rate']:.2f} | {found['peak']:.0f} | {share:.2f} %"


def trained(data: Path, folder: Path) -> str:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    from bookwheel.lab.tasks.material import load_sentences

    fast = Tokenizer(models.BPE())
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=32_000, initial_alphabet=alphabet, show_progress=False)
    books = sorted((data / "books").glob("en_*.txt.gz"))
    fast.train_from_iterator((sentence for book in books for sentence in load_sentences(book)), trainer)
    path = folder / "tokenizer.json"
    fast.save(str(path))
    return str(path)


if __name__ == "__main__":
    main()
