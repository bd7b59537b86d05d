"""Compare our construction of RULER with the files that its own scripts wrote, field by field.

Run RULER's scripts first (`prepare.py --model_template_type base --random_seed 42`), for all tasks and one length:

    python benchmarks/quality/ruler_exact.py CHECKOUT OUTPUT TOKENIZER LENGTH [--data FOLDER] [--punkt]

CHECKOUT is the checkout with its downloaded `json` files, OUTPUT the --save_dir of the scripts, TOKENIZER the
tokenizer.json that they counted with. `--punkt` splits essays with nltk's splitter, as they do, instead of ours.
Beside the fields, what `bookwheel eval --task ruler_… --as-published` sends is compared with input and answer prefix.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel.lab.tasks.base import InfeasibleSample
from bookwheel.lab.tasks.catalogue import sample_series
from bookwheel.lab.tasks.data_dir import DataDir
from bookwheel.lab.tasks.needles import VARIANTS
from bookwheel.lab.tasks.published import PublishedSpecs
from bookwheel.lab.tasks.ruler.resources import Resources
from bookwheel.lab.tasks.ruler.tasks import RulerRun
from bookwheel.text.tokens import FileTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks.ruler.prompts import SizedPrompt
    from bookwheel.text.tokens import Tokenizer

TASKS = (*VARIANTS, "vt", "cwe", "fwe", "qa_1", "qa_2")


def to_record(sized: SizedPrompt, index: int, tokenizer: Tokenizer, *, is_needle: bool = False) -> dict[str, Any]:
    """Return the line that RULER's scripts write for a prompt."""
    prompt = sized.prompt
    record = {
        "index": index,
        "input": prompt.input,
        "outputs": list(prompt.outputs),
        "length": sized.length,
        "length_w_model_temp": sized.length,
        "answer_prefix": prompt.answer_prefix,
    }
    if is_needle:
        # The scripts write the answer's place in characters over the number of the sample.
        place = prompt.input.find(prompt.outputs[0])
        record["index"] = place
        record["token_position_answer"] = tokenizer.count(prompt.input[:place])
    return record


def count_equal_messages(
    task: str, theirs: Sequence[dict[str, Any]], options: argparse.Namespace, tokenizer: FileTokenizer
) -> int:
    """Return in how many samples the published prompt is theirs, byte by byte."""
    series = sample_series(
        f"ruler_{task}",
        tokens=options.length,
        count=len(theirs),
        seed=options.seed,
        tokenizer=tokenizer,
        data=options.data,
        ruler=str(options.checkout),
        splitter="punkt" if options.punkt else "ours",
    )
    published = (PublishedSpecs(None).publish(sample).published for sample in series)
    return sum(
        call is not None and call.messages[0].content == other["input"] + other["answer_prefix"]
        for call, other in zip(published, theirs, strict=True)
    )


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
        sent = count_equal_messages(task, theirs, options, tokenizer)
        differs |= sent < len(theirs)
        told = ", ".join(f"{name} {count}" for name, count in sorted(wrong.items())) or "every field equal"
        seconds = time.process_time() - began
        print(
            f"{task:16} {len(theirs)} samples: {told}; {sent} messages equal; "
            f"words alike {alike[0]:.4f}; {seconds:.1f} CPU s",
            flush=True,
        )
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
