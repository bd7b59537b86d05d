"""`bookwheel data coverage`: what a search and a constant answer reach on a file of samples."""

from __future__ import annotations

import json
from typing import Annotated

from cyclopts import Parameter

from bookwheel.cli.option_types import FilePath, PositiveInt, Text
from bookwheel.errors import InputError


def show_coverage(
    *sources: Annotated[FilePath, Parameter(help="Files of samples.")],
    tokens: Annotated[PositiveInt, Parameter(help="Tokens of passages that the search may show.")] = 1024,
    tokenizer: Annotated[Text, Parameter(help="The tokenizer that counts: words, estimate, or a path.")] = "words",
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON object.")] = False,
) -> int:
    """Say for each task how much of its evidence BM25 finds, and what the best constant answer earns."""
    from dataclasses import asdict

    from bookwheel.cli.output import print_line
    from bookwheel.lab.evaluation.coverage import measure_coverage
    from bookwheel.lab.evaluation.sections import format_length
    from bookwheel.lab.tasks import load_tokenizer, read_samples

    if not sources:
        raise InputError("name one or more files of samples")
    samples = (sample for source in sources for sample in read_samples(source))
    rows = measure_coverage(samples, load_tokenizer(tokenizer), tokens)
    if as_json:
        print_line(json.dumps({"tokens": tokens, "tasks": [asdict(row) for row in rows]}, ensure_ascii=False))
        return 0
    print_line(f"BM25 may show {tokens} tokens of passages")
    print_line(f"{'task':26} {'length':>8} {'n':>5} {'found':>6} {'whole':>6}  best constant answer")
    for row in rows:
        found = "-" if row.found is None else f"{row.found:.0%}"
        complete = "-" if row.complete is None else f"{row.complete:.0%}"
        constant = f"{row.constant_score:.0%} by {row.constant[:40]!r}" if row.constant_score else "0%"
        print_line(f"{row.task:26} {format_length(row.length):>8} {row.samples:5} {found:>6} {complete:>6}  {constant}")
    return 0
