"""One Markdown file for one reading: the question, the answer with its evidence, the timeline.

Text from people, models and documents stands in quotes and fences, so nothing in it becomes a heading, a link or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bookwheel.claims import Evidence
from bookwheel.reading.guards import find_working
from bookwheel.text.sanitize import escape_markdown, sanitize
from bookwheel.types import Reading, Step
from bookwheel.views.diff import diff_memories, format_line
from bookwheel.views.verdicts import (
    describe_claim,
    describe_flags,
    describe_judge,
    describe_pages,
    describe_place,
    describe_verdict,
    list_cautions,
)

if TYPE_CHECKING:
    from bookwheel.verdict.provenance import LineOrigin


def render_markdown(reading: Reading, origins: Sequence[LineOrigin] = ()) -> str:
    usage = reading.usage
    cost = "" if reading.cost is None else f" · cost {reading.cost:.4g}"
    blocks = [
        f"# {_inline(reading.question)}",
        _quote(reading.answer.text) if reading.answer else f"*{reading.status}: {_inline(reading.error)}*",
        "\n\n".join(map(_inline, filter(None, find_working(reading.answer).splitlines()))) if reading.answer else "",
        (
            f"{_inline(reading.document.name)} · {_inline(reading.model)} · {reading.way} · {reading.created} · "
            f"{usage.calls} calls · {usage.tokens:,} tokens{cost} · reading `{reading.id}`"
        ),
        *(f"*{_inline(note)}*" for note in reading.document.notes),
        *(f"*{_inline(caution.text)}*" for caution in list_cautions(reading)),
        *_render_verdict(reading),
        "## Where the memory's lines come from" if origins else "",
        "\n".join(map(_render_origin, origins)),
        *(block for step in reading.steps for block in _render_step(step)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _render_verdict(reading: Reading) -> Iterator[str]:
    """Yield each sentence of the answer with its verdict and the passages that it rests on."""
    if reading.verdict is None:
        return
    yield f"## The answer: {describe_verdict(reading.verdict, reading.answers)}"
    for claim in reading.claims:
        judge = f" ({_inline(describe_judge(claim))})" if claim.judge else ""
        yield f"{_inline(claim.text)} **{_inline(describe_claim(claim))}**{judge}"
        yield from (_render_evidence(reading.evidence[at]) for at in (*claim.evidence, *claim.against))


def _render_evidence(piece: Evidence) -> str:
    return f"{_quote(piece.quote.strip())}\n>\n> — {_inline(describe_place(piece))}"


def _render_origin(origin: LineOrigin) -> str:
    missing = "" if origin.found or origin.by_hand else ", not found in the text"
    return f"- {_inline(origin.line)} (step {origin.step}{missing})"


def _render_step(step: Step) -> Iterator[str]:
    chunk = step.chunk
    # A part that went unread is of no source and of no page.
    sources = _inline(", ".join(chunk.sources))
    where = ", ".join(filter(None, (sources, describe_pages(chunk.pages))))
    yield f"## Step {chunk.index}"
    span = f"characters {chunk.start:,}–{chunk.end:,}"
    yield " · ".join(part for part in (where, span, *describe_flags(step.flags)) if part)
    lines = [sanitize(format_line(change)) for change in diff_memories(step.before.text, step.after.text)]
    yield _fence("\n".join(lines), "diff") if lines else "*(empty memory)*"


def _inline(text: str) -> str:
    """Return the text on one line, as text and nothing else, also where lists, rules and headings begin."""
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", escape_markdown(text))


def _quote(text: str) -> str:
    return "\n".join(f"> {_inline(line)}".rstrip() for line in text.splitlines() or [""])


def _fence(text: str, language: str) -> str:
    """Return the text in a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
