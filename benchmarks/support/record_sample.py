"""Keep a reading of the sample document as the recording that the page plays to a newcomer.

    bookwheel ask examples/lighthouse.md "How many barrels did the customs men count?" --model local
    python benchmarks/support/record_sample.py

It writes `src/bookwheel/serve/page/sample.json`: the document, its last reading in the journal with what every step
changed, and where the lines of its memory come from. `--reading` and `--journal` name others.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from bookwheel.journal import Journal, journal_path
from bookwheel.record import reading_to_json
from bookwheel.verdict.provenance import find_origins

TARGET = Path(__file__).resolve().parents[2] / "src" / "bookwheel" / "serve" / "page" / "sample.json"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--reading", default="last")
    parser.add_argument("--journal", type=Path, default=journal_path())
    arguments = parser.parse_args()
    with Journal(arguments.journal) as journal:
        reading = journal.reading(arguments.reading)
        document = journal.document_of(reading.id)
        text = document.slice(0, document.length)
        origins = [asdict(line) for line in find_origins(reading.steps, document)]
    recorded = {"text": text, "reading": reading_to_json(reading, changes=True), "origins": origins}
    TARGET.write_text(json.dumps(recorded, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes; {len(reading.steps)} steps by {reading.model}")


if __name__ == "__main__":
    main()
