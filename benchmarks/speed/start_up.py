"""CPU time of starting the command, as ratios to `python -c pass`.

    python benchmarks/speed/start_up.py [ROUNDS] [OTHER/src]

Every round runs each command once, so that what else the machine does falls on all alike; the best round counts, in
user and system time. With a second source tree, both are measured in the same rounds. The journal has 50 readings.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "src"
COMMANDS = ("--help", "--version", "list", "list --limit 5", "list --json", "ask --help", "show last")
READINGS = 50
MAKE = """
import sys
from bookwheel import TextDocument, read
for n in range(int(sys.argv[1])):
    read(TextDocument(f"The wheel {n} is red. " * 40), f"Which colour has wheel {n}?", model="scripted")
"""


def measure(words: list[str], environment: dict[str, str]) -> float:
    """Return user and system seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    trees = {"here": HERE} | ({"other": Path(sys.argv[2]).resolve()} if len(sys.argv) > 2 else {})
    with tempfile.TemporaryDirectory() as folder:
        environments = {}
        for name, tree in trees.items():
            journal = str(Path(folder) / f"{name}.sqlite")
            environments[name] = {**os.environ, "PYTHONPATH": str(tree), "BOOKWHEEL_JOURNAL": journal}
            subprocess.run([sys.executable, "-c", MAKE, str(READINGS)], env=environments[name], check=True)
        best: dict[tuple[str, str], float] = {}
        for _ in range(rounds):
            for name, environment in environments.items():
                runs = {"pass": [sys.executable, "-c", "pass"]}
                runs |= {command: [sys.executable, "-m", "bookwheel", *command.split()] for command in COMMANDS}
                for command, words in runs.items():
                    key = ("here", "pass") if command == "pass" else (name, command)
                    best[key] = min(best.get(key, 99.0), measure(words, environment))
    unit = best["here", "pass"]
    print(f"`python -c pass`: {1000 * unit:.0f} ms of CPU; best of {rounds} rounds\n")
    print("| command |" + "".join(f" {name} |" for name in trees))
    print("|---|" + "---|" * len(trees))
    for command in COMMANDS:
        print(f"| `{command}` |" + "".join(f" {best[name, command] / unit:.1f} |" for name in trees))


if __name__ == "__main__":
    main()
