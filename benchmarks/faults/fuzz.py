"""Fuzz what bookwheel reads from others: documents, replies, requests, chat bodies, journals, heads of GGUF files.

    python benchmarks/faults/fuzz.py [KIND...] [--seconds 60] [--seed 1] [--corpus FOLDER]

Each case is made by a grammar and then bent: bytes flip, pieces go, come twice or are exchanged for awkward ones. What
must hold for every case: an end within seconds, no exception but ours, no words of Python in a message or an answer, no
status 500, no growth by 300 MB, and of a document that is not bent every leaf in text or notes. `--corpus` writes
the cases that broke something, as they are: the tests play them for ever, whatever becomes of the grammars.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fuzz_cases import MOST_GROWTH, Broken, Case, measure_growth, to_json
from fuzz_documents import Documents
from fuzz_servers import Replies, Requests
from fuzz_stores import Heads, Journals

MOST_SECONDS = 20.0

KINDS = {"documents": Documents, "replies": Replies, "requests": Requests, "journals": Journals, "heads": Heads}


def play(kind: Any, case: Case) -> str:
    """Play one case; return what broke, or nothing."""
    measure_growth()
    began = time.perf_counter()
    try:
        kind.run(case)
    except Broken as broken:
        return str(broken)
    except Exception as error:  # noqa: BLE001 - what is looked for
        return f"!{type(error).__name__}: {error}"[:400]
    seconds, growth = time.perf_counter() - began, measure_growth()
    if growth > MOST_GROWTH:
        return f"took {growth >> 20} MiB"
    return f"took {seconds:.0f} s" if seconds > MOST_SECONDS else ""


def play_fairly(kind: Any, case: Case) -> str:
    """Play one case, and again where it took too long: another program may have had the processor."""
    what = play(kind, case)
    return play(kind, case) if what.startswith("took") and what.endswith(" s") else what


def main() -> int:
    """Fuzz each kind for a while."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    for name in options.kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            kind = KINDS[name](Path(folder))
            used = time.process_time()
            began, number, broken = time.monotonic(), options.seed * 1_000_000, 0
            while time.monotonic() - began < options.seconds:
                case = kind.make(random.Random(f"{name} {number}"))
                if what := play_fairly(kind, case):
                    broken += 1
                    found.append({"kind": name, "what": what, "case": to_json(case)})
                    print(f"! {name} {number}: {what}", flush=True)
                number += 1
            kind.close()
        cases, used = number - options.seed * 1_000_000, time.process_time() - used
        print(
            f"{name}: {cases} cases in {options.seconds:g} s ({used:.0f} s of this process), {broken} broken",
            flush=True,
        )
    if options.corpus and found:
        (options.corpus / f"found-{options.seed}.json").write_text(json.dumps(found, indent=1) + "\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
