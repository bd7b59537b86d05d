"""What every fuzzed case shares: how it is bent, and what must not be said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from outsider import OBEYED, RAW

if TYPE_CHECKING:
    import random

AWKWARD = (
    *("", "\x00", "\ufeff", "\ud800", "\u202e", "\x1b[2J", "</section>", "<|im_end|>", "=1+1", "NaN", "null", "-1"),
    *("1e999", "9" * 400, "[" * 300, "{" * 300, "<a" * 300, "\n" * 300, "%s%n", "../../x", "\u0130\u0131"),
    *("\U0001f600" * 50, "'"),
)


class Broken(Exception):
    """An invariant does not hold."""


def check_message(text: str) -> None:
    """Raise Broken for words of Python and signs that a terminal obeys."""
    if found := RAW.search(text) or OBEYED.search(text):
        raise Broken(f"says {found[0]!r}: {text[:300]!r}")


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
