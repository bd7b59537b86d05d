"""What every fuzzed case shares: how it is bent, and what must not be said."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from outsider import OBEYED, RAW

if TYPE_CHECKING:
    import random

AWKWARD = (
    *("", "\x00", "\ufeff", "\ud800", "\u202e", "\x1b[2J", "</section>", "<|im_end|>", "=1+1", "NaN", "null", "-1"),
    *("1e999", "9" * 400, "[" * 300, "{" * 300, "<a" * 300, "\n" * 300, "%s%n", "../../x", "\u0130\u0131"),
    *("\U0001f600" * 50, "'"),
)


Case = dict[str, Any]
"""One case: texts, numbers, truths and bytes by name."""

MOST_GROWTH: Final = 300_000_000
"""Bytes that this process may grow by in one case."""
_STATUS: Final = Path("/proc/self/status")


class Broken(Exception):
    """An invariant does not hold."""


def check_message(text: str) -> None:
    """Raise Broken for words of Python and signs that a terminal obeys."""
    if found := RAW.search(text) or OBEYED.search(text):
        raise Broken(f"says {found[0]!r}: {text[:300]!r}")


def to_json(case: Case) -> Case:
    """Return a case as the corpus keeps it."""
    return {
        name: {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for name, value in case.items()
    }


def from_json(value: Case) -> Case:
    """Return a case of the corpus."""
    return {
        name: base64.b64decode(part["base64"]) if isinstance(part, dict) and set(part) == {"base64"} else part
        for name, part in value.items()
    }


def measure_growth() -> int:
    """Return the bytes that this process grew by since the last call, at their peak; 0 where it cannot be told."""
    if not _STATUS.exists():
        return 0
    fields = dict(line.partition(":")[::2] for line in _STATUS.read_text().splitlines())
    peak, before = int(fields["VmHWM"].split()[0]) << 10, measure_growth.__dict__.get("now", 0)
    Path("/proc/self/clear_refs").write_text("5")  # The peak begins anew.
    measure_growth.__dict__["now"] = int(fields["VmRSS"].split()[0]) << 10
    return peak - before if before else 0


def bend(content: bytes, draw: random.Random) -> bytes:
    """Return the bytes with some changes."""
    for _ in range(draw.choice((0, 1, 1, 2, 5, 20))):
        at = draw.randrange(len(content) + 1)
        end = min(len(content), at + draw.choice((1, 1, 4, 30, 400)))
        kind = draw.randrange(5)
        if kind == 0 and at < len(content):
            content = content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at] + content[end:]
        elif kind == 2:
            content = content[:end] + content[at:]
        elif kind == 3:
            content = content[:at] + draw.choice(AWKWARD).encode("utf-8", "surrogatepass") + content[end:]
        else:
            content = content[:at] + draw.randbytes(end - at) + content[end:]
    return content


def make_json(draw: random.Random, depth: int = 0) -> Any:
    """Return a JSON value of any shape."""
    kind = draw.randrange(5 if depth > 3 else 8)
    if kind < 3:
        return draw.choice((*AWKWARD[:14], "words", "length", "stop"))
    if kind < 5:
        return draw.choice((0, 1, -1, 1.5, 10**30, 1e308, True, False, None, 2**53, -(2**63) - 1))
    count = draw.randrange(4)
    if kind < 7:
        names = ("choices", "message", "content", "text", "usage", "id", "role", "type", "index", "data", "0", "")
        return {draw.choice(names): make_json(draw, depth + 1) for _ in range(count)}
    return [make_json(draw, depth + 1) for _ in range(count)]


def change_json(value: Any, draw: random.Random) -> Any:
    """Return a JSON value with one of its parts exchanged."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        name = draw.choice(list(value))
        if draw.random() < 0.1:
            return {one: part for one, part in value.items() if one != name}
        return {**value, name: change_json(value[name], draw)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        at = draw.randrange(len(value))
        return [*value[:at], change_json(value[at], draw), *value[at + 1 :]]
    return make_json(draw)
