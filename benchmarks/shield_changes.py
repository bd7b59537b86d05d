"""Count what the prompt shield changes in real code, documentation and logs.

    python benchmarks/shield_changes.py FOLDER...

For each kind of file: files, lines, lines changed, characters changed per 100,000, and the commonest changes.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path

from bookwheel.text.sanitize import escape_markup, sanitize

KINDS = {
    "Python": {".py", ".pyi"},
    "C and C++": {".c", ".h", ".cpp", ".hpp", ".cc", ".hh", ".tcc"},
    "JavaScript and TypeScript": {".js", ".ts", ".mjs", ".jsx", ".tsx"},
    "Rust, Go, Java": {".rs", ".go", ".java"},
    "HTML and XML": {".html", ".htm", ".xml", ".svg"},
    "Markdown and text": {".md", ".txt", ".rst", ".log"},
    "Shell and configuration": {".sh", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".json"},
}
MOST_BYTES = 40 << 20


def main() -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    changes: dict[str, Counter[str]] = defaultdict(Counter)
    kind_of = {suffix: kind for kind, suffixes in KINDS.items() for suffix in suffixes}
    for path in (path for folder in sys.argv[1:] for path in sorted(Path(folder).rglob("*"))):
        kind = kind_of.get(path.suffix.lower())
        if kind is None or not path.is_file() or counts[kind]["characters"] > MOST_BYTES:
            continue
        text = sanitize(path.read_text("utf-8", "replace"))
        shown = escape_markup(text)
        count = counts[kind]
        count["files"] += 1
        count["lines"] += text.count("\n") + 1
        count["characters"] += len(text)
        places = [at for at, (before, after) in enumerate(zip(text, shown, strict=True)) if before != after]
        count["changed"] += len(places)
        count["lines changed"] += len({text.count("\n", 0, at) for at in places}) if len(places) < 500 else len(places)
        changes[kind].update(text[at : at + 14].split("\n")[0] for at in places)
    print("| kind | files | lines | lines changed | characters changed per 100,000 | commonest |")
    print("|---|---|---|---|---|---|")
    for kind, count in sorted(counts.items()):
        share = 100_000 * count["changed"] / max(1, count["characters"])
        changed = f"{count['lines changed']} ({count['lines changed'] / max(1, count['lines']):.3%})"
        commonest = ", ".join(f"`{text}` {n}" for text, n in changes[kind].most_common(4))
        print(f"| {kind} | {count['files']} | {count['lines']} | {changed} | {share:.2f} | {commonest} |")


main()
