"""The table of what people wait for, each figure beside its yardstick in the same rounds.

    python benchmarks/speed/all.py [--rounds 5] [--against OTHER/src] [--pdf FILE...] [--only NAME] [--readings N]
                                   [--page MEGABYTES] [--busy READINGS]
    python benchmarks/speed/all.py --only PDF --pdf a.pdf b.pdf --readings 1 --busy 0 --against OTHER/src

Every round runs each command once, the yardstick too, so that what else the machine does falls on all alike. A row
gives the least and the median of CPU and clock, their ratios to the yardstick round by round with the spread, and n.
With a second source tree its commands run in the same rounds. Bytecode is compiled before, as pip does. The second
question and the client's rate against a bare loop need data and a tokenizer: second_question.py and client_speed.py.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lists import MAKE
from serving_list import HERE, serve

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER, free_port, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

PASS = (sys.executable, "-c", "pass")
BOOKWHEEL = (sys.executable, "-m", "bookwheel")
PDFIUM = """
import sys, pypdfium2
document = pypdfium2.PdfDocument(sys.argv[1])
for page in document:
    page.get_textpage().get_text_range()
"""
OPEN = """
import sys
from bookwheel.documents.opening import open_document
open_document([sys.argv[1]])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: a command, and the one that it is held against."""

    name: str
    command: tuple[str, ...]
    yardstick: str = "python -c pass"


def run_once(command: tuple[str, ...], environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the CPU and the clock's seconds of one run, its children's included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def list_cases(base: str, book: Path, pdfs: list[Path], html: Path) -> list[Case]:
    """Return the rows; the yardsticks come first."""
    ask = ("ask", str(book), "Which colour has the wheel?", "--base-url", base, "--model", "bare", "--quiet")
    cases = [
        Case(name="python -c pass", command=PASS),
        Case(name="python -c 'import httpx2'", command=(sys.executable, "-c", "import httpx2; httpx2.AsyncClient()")),
        Case(name="bookwheel --help", command=(*BOOKWHEEL, "--help")),
        Case(name="bookwheel ask --help", command=(*BOOKWHEEL, "ask", "--help")),
        Case(name="bookwheel show last", command=(*BOOKWHEEL, "show", "last")),
        Case(name="bookwheel ask --base-url", command=(*BOOKWHEEL, *ask)),
        Case(name="bookwheel list", command=(*BOOKWHEEL, "list")),
        Case(name="a web page", command=(sys.executable, "-c", OPEN, str(html))),
    ]
    for pdf in pdfs:
        alone = f"PDFium alone, {pdf.name}"
        cases += [
            Case(name=alone, command=(sys.executable, "-c", PDFIUM, str(pdf))),
            Case(name=f"the PDF {pdf.name}", command=(sys.executable, "-c", OPEN, str(pdf)), yardstick=alone),
        ]
    return cases


def write_page(path: Path, size: int) -> None:
    """Write a web page of so many bytes."""
    paragraph = f"<p>{'The keeper wrote about the red wheel. ' * 10}<a href='#'>more</a> <b>bold</b></p>"
    section = f"<section><h2>Part</h2>{paragraph * 5}</section>\n"
    path.write_text(f"<html><body><main>{section * (size // len(section))}</main></body></html>", encoding="utf-8")


def main() -> None:
    """Measure all rows in turn, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--pdf", type=Path, nargs="+", default=[])
    parser.add_argument("--only", default="", help="rows whose name has this in it, and their yardsticks")
    parser.add_argument("--readings", type=int, default=10_000)
    parser.add_argument("--page", type=int, default=50)
    parser.add_argument("--busy", type=int, default=60)
    options = parser.parse_args()
    trees = {"this": HERE} | ({"other": options.against.resolve()} if options.against else {})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book, html, port = folder / "book.txt", folder / "page.html", free_port()
        book.write_text("The wheel of the harbour is red. " * 200, encoding="utf-8")
        write_page(html, options.page * 1_000_000)
        endpoint = subprocess.Popen([*SERVER, str(port)])
        try:
            wait_for(port)
            cases = list_cases(f"http://127.0.0.1:{port}/v1", book, options.pdf, html)
            yardsticks = {case.yardstick for case in cases if options.only in case.name}
            cases = [case for case in cases if options.only in case.name or case.name in yardsticks]
            took = measure(trees, cases, folder, options.rounds, options.readings)
        finally:
            endpoint.kill()
            endpoint.wait()
    print_table(trees, cases, took, options.rounds)
    for tree, source in trees.items() if options.busy else ():
        print(json.dumps({"GET /readings": tree, **serve(source, options.busy, 10, "1.0")}), flush=True)


def measure(
    trees: Mapping[str, Path], cases: list[Case], folder: Path, rounds: int, readings: int
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Return the runs of each row by tree; the first, which compiles, does not count."""
    took: dict[tuple[str, str], list[tuple[float, float]]] = {}
    environments = {}
    for tree, source in trees.items():
        own = {"PYTHONPATH": str(source), "BOOKWHEEL_JOURNAL": str(folder / f"{tree}.sqlite"), "OPENAI_API_KEY": ""}
        own |= {
            "PYTHONPYCACHEPREFIX": str(folder / f"bytecode-{tree}"),
            "XDG_CACHE_HOME": str(folder / f"cache-{tree}"),
        }
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environments[tree] = kept | own
        subprocess.run([sys.executable, "-c", MAKE, str(readings)], env=environments[tree], check=True)
    for number in range(rounds + 1):
        for case in cases:
            for tree, environment in environments.items():
                # A conversion is kept; what is measured is the first one.
                cache = Path(environment["XDG_CACHE_HOME"]) / "bookwheel" / "conversions"
                for file in cache.glob("*.jsonl"):
                    file.unlink()
                try:
                    run = run_once(case.command, environment)
                except subprocess.CalledProcessError:
                    run = (float("nan"), float("nan"))
                if number:
                    took.setdefault((tree, case.name), []).append(run)
    return took


def print_table(
    trees: Mapping[str, Path], cases: list[Case], took: Mapping[tuple[str, str], list[tuple[float, float]]], rounds: int
) -> None:
    """Print a row for each case and tree."""
    print(f"n = {rounds}\n\n| what | tree | CPU, ms: least, median | clock, ms | CPU to its yardstick | clock to it |")
    print("|---|---|---|---|---|---|")
    for case in cases:
        for tree in trees:
            runs = list(zip(*took[tree, case.name], strict=True))
            units = zip(*took[tree, case.yardstick], strict=True)
            figures = [f"{1000 * min(values):.0f}, {1000 * statistics.median(values):.0f}" for values in runs]
            for values, unit in zip(runs, units, strict=True):
                ratios = [one / other for one, other in zip(values, unit, strict=True)]
                figures.append(f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")
            print(f"| {case.name} | {tree} | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    main()
