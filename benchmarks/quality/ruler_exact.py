"""Compare our construction of RULER with the files that its own scripts wrote, field by field.

Run RULER's scripts first (`prepare.py --model_template_type base --random_seed 42`), for all tasks and one length:

    python benchmarks/quality/ruler_exact.py CHECKOUT OUTPUT TOKENIZER LENGTH [--data FOLDER] [--punkt]

CHECKOUT is the checkout with its downloaded `json` files, OUTPUT the --save_dir of the scripts, TOKENIZER the
tokenizer.json that they counted with. `--punkt` splits essays with nltk's splitter, as they do, instead of ours.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

from bookwheel.lab.tasks.base import InfeasibleSample
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.needles import VARIANTS
from bookwheel.lab.tasks.ruler.resources import Resources
from bookwheel.lab.tasks.ruler.tasks import RulerRun, to_record
from bookwheel.text.tokens import FileTokenizer

TASKS = (*VARIANTS, "vt", "cwe", "fwe", "qa_1", "qa_2")


def main() -> int:
    """Print a row for each task; return 1 when a field differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("length", type=int)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--punkt", action="store_true")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    tokenizer = FileTokenizer(options.tokenizer)
    differs = False
    for task in TASKS:
        path = options.output / task / "validation.jsonl"
        if not path.is_file():
            print(f"{task:16} not there")
            continue
        theirs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        began = time.process_time()
        resources = Resources(options.checkout, DataDir.locate(options.data), "punkt" if options.punkt else "ours")
        try:
            run = RulerRun(task, tokens=options.length, seed=options.seed, tokenizer=tokenizer, resources=resources)
            ours = [
                to_record(run.make(number), number, tokenizer, is_needle=task in VARIANTS)
                for number in range(len(theirs))
            ]
        except InfeasibleSample as error:
            print(f"{task:16} {error}")
            continue
        wrong = Counter(
            name
            for mine, other in zip(ours, theirs, strict=True)
            for name in {*mine, *other}
            if mine.get(name) != other.get(name)
        )
        differs |= bool(wrong)
        alike = [
            SequenceMatcher(None, mine["input"].split(), other["input"].split(), autojunk=False).ratio()
            for mine, other in zip(ours[:1], theirs[:1], strict=True)
        ]
        told = ", ".join(f"{name} {count}" for name, count in sorted(wrong.items())) or "every field equal"
        seconds = time.process_time() - began
        print(f"{task:16} {len(theirs)} samples: {told}; words alike {alike[0]:.4f}; {seconds:.1f} CPU s", flush=True)
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
