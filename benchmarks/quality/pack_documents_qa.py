"""Check and pack the documents and questions of `documents-qa` into the package.

    python benchmarks/quality/pack_documents_qa.py FOLDER

FOLDER holds a folder for each writer, with `docs/` and `questions.jsonl`. A question that breaks a rule ends the run
with its place. A document's part (train, dev, test) depends on its id alone: of each kind and language a third is test.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "src" / "bookwheel" / "lab" / "data" / "documents_qa"
KINDS: Final = ("fact", "yesno", "how", "why", "list", "rows", "compare", "two-places", "absent")
POLAR: Final = (["Yes"], ["No"], ["是"], ["否"])


def main() -> None:
    """Check everything, then write both files."""
    source = Path(sys.argv[1])
    texts = {
        path.stem: path for path in sorted(source.glob("*/docs/*.*")) if path.name != "SOURCES.md" and path.is_file()
    }
    parts = split_parts(list(texts))
    documents = [
        {"id": name, "name": path.name, "part": parts[name], "text": path.read_text(encoding="utf-8")}
        for name, path in sorted(texts.items())
    ]
    by_id = {one["id"]: one["text"] for one in documents}
    lines = [json.loads(line) for path in sorted(source.glob("*/questions.jsonl")) for line in path.open()]
    questions = [check(line, by_id[line["doc"]]) for line in sorted(lines, key=lambda line: str(line["doc"]))]
    pairs = Counter((one["doc"], one["question"]) for one in questions)
    if len(pairs) < len(questions):
        raise SystemExit(f"asked twice: {pairs.most_common(1)}")
    write("documents.jsonl.gz", documents)
    write("questions.jsonl.gz", questions)
    for part in ("train", "dev", "test"):
        names = {name for name in parts if parts[name] == part}
        print(part, len(names), "documents", sum(one["doc"] in names for one in questions), "questions")


def split_parts(names: list[str]) -> dict[str, str]:
    """Return the part of each document."""
    strata: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest()):
        kind, _, language = name.split("-")
        # Chinese has one to three documents of a kind: they are one stratum.
        strata[kind if language == "en" else language].append(name)
    parts: dict[str, str] = {}
    for stratum in strata.values():
        test, dev = round(len(stratum) / 3), max(1, len(stratum) // 6)
        for at, name in enumerate(stratum):
            parts[name] = "test" if at < test else "dev" if at < test + dev else "train"
    return parts


def check(line: dict[str, Any], text: str) -> dict[str, Any]:
    """Return a question with its offsets; SystemExit names what is wrong with it."""
    kind, answers, evidence, items = line["kind"], line["answers"], line["evidence"], line["items"] or []
    stands = any(answer.casefold() in text.casefold() for answer in answers)
    faults = {
        "no such kind": kind not in KINDS,
        "evidence does not stand in the document": not all(quote in text for quote in evidence),
        "an absent one has an answer": kind == "absent" and bool(answers or evidence or items),
        "no answer or no evidence": kind != "absent" and not (answers and evidence),
        "neither yes nor no": kind == "yesno" and answers[:1] not in POLAR,
        "no items": kind in ("list", "rows") and not items,
    }
    for fault, is_there in faults.items():
        if is_there:
            raise SystemExit(f"{line['doc']}: {line['question']}: {fault}")
    is_derived = kind in ("fact", "compare", "two-places") and not stands
    return {name: line[name] for name in ("doc", "language", "kind", "style", "question", "answers", "evidence")} | {
        "items": items,
        "near": line["near"] or "",
        "derived": is_derived or bool(line.get("derived")),
    }


def write(name: str, records: list[dict[str, Any]]) -> None:
    """Write JSON Lines whose bytes depend on nothing but the records."""
    body = "".join(json.dumps(one, ensure_ascii=False, sort_keys=True) + "\n" for one in records)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_bytes(gzip.compress(body.encode(), mtime=0))


if __name__ == "__main__":
    main()
