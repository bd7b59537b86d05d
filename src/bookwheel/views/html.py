"""One HTML page for one reading: the question, the answer with its evidence, and how the memory grew.

The page loads nothing and runs no script. Text from people, models and documents is escaped; control characters and
characters that change the writing direction become U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bookwheel.claims import Evidence, choose_sign
from bookwheel.errors import UnfitAnswer
from bookwheel.flags import Flag
from bookwheel.packaged import PACKAGE
from bookwheel.types import Reading, Status, Step
from bookwheel.views.diff import ChangeKind, changed_share, diff_memories, mark_words
from bookwheel.views.verdicts import (
    describe_claim,
    describe_flags,
    describe_judge,
    describe_pages,
    describe_span,
    describe_verdict,
    list_cautions,
)

if TYPE_CHECKING:
    from bookwheel.verdict.provenance import LineOrigin

_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]"
)
# A longer run of kept lines is folded.
_MOST_KEPT_LINES: Final = 3
_SECURITY_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)
_MOST_FRAGMENT_STEPS: Final = 40
_NO_ANSWER: Final = {
    Status.READING: "Not read to its end yet.",
    Status.STOPPED: "Stopped before its end: a budget was reached.",
    Status.FAILED: "Not answered: the model failed.",
    Status.CANCELLED: "Interrupted before its end.",
}
_UNFIT: Final = "No answer that fits the schema."


def render_page(reading: Reading, origins: Sequence[LineOrigin] = ()) -> str:
    """Return a whole page, ready to be written to a file or sent."""
    language = reading.language if re.fullmatch(r"[A-Za-z-]{2,12}", reading.language) else "en"
    steps, lines = "".join(_list_timeline(reading.steps)), "".join(_list_origins(origins))
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_SECURITY_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{_escape(reading.question)}</title>\n<style>\n{_read_style()}</style>\n</head>\n"
        f'<body class="bookwheel">\n<main>\n{_render_head(reading)}{_render_facts(reading)}{_render_ribbon(reading)}'
        f"{_render_verdict(reading, linked=True)}{lines}{steps}</main>\n"
        "</body>\n</html>\n"
    )


def render_fragment(reading: Reading) -> str:
    """Return a short version with its own style sheet, for a notebook cell."""
    changed = [step for step in reading.steps if step.before.text != step.after.text][-_MOST_FRAGMENT_STEPS:]
    steps = "".join(_render_step(step, linked=False) for step in changed)
    folded = f'<details class="rest"><summary>How the memory grew</summary>{steps}</details>' if steps else ""
    return (
        f'<div class="bookwheel"><style>{_read_style()}</style>{_render_head(reading)}{_render_facts(reading)}'
        f"{_render_verdict(reading, linked=False)}{folded}</div>"
    )


def _read_style() -> str:
    return (PACKAGE / "views" / "reading.css").read_text(encoding="utf-8")


def _escape(text: str) -> str:
    return escape(_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text))


def _render_head(reading: Reading) -> str:
    answer = reading.answer.text if reading.answer else ""
    is_unfit = reading.error_kind == UnfitAnswer.__name__
    none = _UNFIT if is_unfit else _NO_ANSWER.get(reading.status, "The model gave no answer.")
    paragraph = (
        f'<p class="answer" dir="auto">{_escape(answer)}</p>' if answer else f'<p class="answer none">{none}</p>'
    )
    flags = _render_chips(reading.answer.flags if reading.answer else ())
    verdict = f" · {describe_verdict(reading.verdict, reading.answers)}" if reading.verdict else ""
    notes = f'<p class="told small">{flags}{_escape(reading.error)}</p>\n' if flags or reading.error else ""
    return (
        f'<p class="eyebrow"><b>bookwheel</b> · reading <span>{_escape(reading.id)}</span> · '
        f"{reading.status}{verdict}</p>\n"
        f'<h1 dir="auto">{_escape(reading.question)}</h1>\n{paragraph}\n{notes}'
    )


def _render_facts(reading: Reading) -> str:
    usage = reading.usage
    facts = {
        "Document": f"{reading.document.name} · {reading.document.length:,} characters",
        "Model": reading.model,
        "Read in": f"{len(reading.steps):,} steps of up to {reading.plan.chunk_tokens:,} tokens",
        "Memory": f"{reading.memory.tokens:,} of {reading.plan.memory_tokens:,} tokens",
        "Cost": f"{usage.calls:,} calls · {usage.prompt_tokens:,} tokens read · {usage.completion_tokens:,} written",
        "Took": _format_time(usage.seconds),
        "Began": reading.created[:16].replace("T", " "),
        "Edited from": reading.parent,
        "Notes on the document": "; ".join(reading.document.notes),
        "Before you rely on it": "; ".join(caution.text for caution in list_cautions(reading)),
    }
    rows = "".join(
        f"<div><dt>{name}</dt><dd><bdi>{_escape(fact)}</bdi></dd></div>" for name, fact in facts.items() if fact
    )
    return f"<dl>{rows}</dl>\n"


def _format_time(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest:.0f} s" if minutes else f"{rest:.1f} s"


def _render_ribbon(reading: Reading) -> str:
    """Draw the document from beginning to end, with one cell a step, filled by how much it changed the memory."""
    whole = max((step.chunk.end for step in reading.steps), default=0)
    if not whole:
        return ""
    cells = "".join(_render_cell(step, 1000 / whole) for step in reading.steps)
    proofs = "".join(
        f'<rect class="proof" x="{quote.start * 1000 / whole:.2f}" y="42" width="4" height="6"/>'
        for quote in reading.evidence
    )
    return (
        f'<div class="ribbon"><svg viewBox="0 0 1000 48" preserveAspectRatio="none" role="img" '
        f'aria-label="The steps of this reading">{cells}{proofs}</svg>'
        '<p class="small">The document from beginning to end. The fuller a step, the more it changed the memory'
        f"{'; marks below show where the evidence stands' if proofs else ''}.</p></div>\n"
    )


def _render_cell(step: Step, scale: float) -> str:
    x, width = step.chunk.start * scale, max(0.4, (step.chunk.end - step.chunk.start) * scale - 1.2)
    full = 40 * changed_share(step.before.text, step.after.text)
    return (
        f'<a href="#step-{step.chunk.index}"><title>step {step.chunk.index}</title>'
        f'<rect class="cell" x="{x:.2f}" y="0" width="{width:.2f}" height="40"/>'
        f'<rect class="change" x="{x:.2f}" y="{40 - full:.1f}" width="{width:.2f}" height="{full:.1f}"/></a>'
    )


def _render_verdict(reading: Reading, *, linked: bool) -> str:
    """Show each sentence of the answer with its verdict and the passages that it rests on."""
    if reading.verdict is None:
        return ""
    title = _escape(describe_verdict(reading.verdict, reading.answers))
    shown = [f'<h2 class="{reading.sign}">The answer: {title}</h2>\n']
    for claim in reading.claims:
        # An answer of one sentence stands above already.
        sentence = f"<bdi>{_escape(claim.text)}</bdi> " if len(reading.claims) > 1 else ""
        chip = f'<span class="chip {choose_sign(claim.verdict, claim.answers)}">{_escape(describe_claim(claim))}</span>'
        judge = f' <span class="small">{_escape(describe_judge(claim))}</span>' if claim.judge else ""
        shown.append(f'<p class="claim">{sentence}{chip}{judge}</p>\n')
        shown += (_render_quote(reading.evidence[at], linked=linked) for at in (*claim.evidence, *claim.against))
    return "".join(shown)


def _render_quote(quote: Evidence, *, linked: bool) -> str:
    step = "" if quote.step is None else f" · {_link_step(quote.step, linked=linked)}"
    return (
        f'<blockquote dir="auto">{_escape(quote.quote)}</blockquote><p class="small">'
        f"<bdi>{_escape(describe_span(quote, quote.source))}</bdi>{step}</p>\n"
    )


def _link_step(step: int, *, linked: bool) -> str:
    return f'<a href="#step-{step}">step {step}</a>' if linked else f"step {step}"


def _list_origins(origins: Sequence[LineOrigin]) -> Iterator[str]:
    if origins:
        yield '<h2>What was remembered, and from where</h2>\n<ul class="lines">'
        yield from map(_render_origin, origins)
        yield "</ul>\n"


def _render_origin(origin: LineOrigin) -> str:
    quote = f"<br>“<bdi>{_escape(origin.quote.quote)}</bdi>”" if origin.quote else ""
    if origin.quote and origin.quote.step is not None and origin.quote.step != origin.step:
        quote += f", {_link_step(origin.quote.step, linked=True)}"
    marks = '<span class="chip">written by hand</span>' if origin.by_hand else ""
    marks += "" if origin.found else '<span class="chip">not found in the text</span>'
    where = " · ".join(filter(None, (describe_pages(origin.pages), _link_step(origin.step, linked=True))))
    return (
        f'<li class="{"found" if origin.found else "lost"}"><bdi>{_escape(origin.line)}</bdi>'
        f'<p class="small">{marks}{where}{quote}</p></li>\n'
    )


def _list_timeline(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the steps. Those in a row that changed nothing are folded into one line that opens."""
    if steps:
        yield "<h2>How the memory grew</h2>\n"
    for key, run in groupby(steps, key=lambda s: s.before.text == s.after.text and set(s.flags) <= {Flag.UNCHANGED}):
        shown = list(run)
        first, last = shown[0].chunk.index, shown[-1].chunk.index
        title = f"Step {first}" if first == last else f"Steps {first}–{last}"
        if key:
            yield f'<details class="rest"><summary>{title}: nothing new for the memory</summary>'
        yield from map(_render_step, shown)
        if key:
            yield "</details>\n"


def _render_step(step: Step, *, linked: bool = True) -> str:
    """Show one step: its place in the document, the changes to the memory, the flags and the reply."""
    chunk, usage = step.chunk, step.conversation.reply.usage
    reply = step.conversation.reply.text.strip()
    anchor = f'id="step-{chunk.index}" class="step"' if linked else 'class="step"'
    number = f'href="#step-{chunk.index}" class="number"' if linked else 'class="number"'
    own_words = ""
    if reply and reply != step.after.text:
        own_words = (
            "<details><summary>the model’s own words</summary>"
            f'<p class="reply" dir="auto">{_escape(reply)}</p></details>'
        )
    return (
        f'<section {anchor}><div class="where"><a {number}>{chunk.index}</a>'
        f'<p class="small"><bdi>{_escape(", ".join(chunk.sources))}</bdi></p>'
        f'<p class="small">{describe_pages(chunk.pages)}</p>'
        f'<p class="small">{chunk.start:,}–{chunk.end:,}</p></div>'
        f'<div><div class="memory">{"".join(_render_diff(step.before.text, step.after.text))}</div>'
        f'<p class="small">{_render_chips(step.flags)}memory {step.after.tokens:,} tokens · '
        f"chunk {chunk.tokens:,} tokens · {usage.prompt_tokens:,} read, {usage.completion_tokens:,} written</p>"
        f"{own_words}</div></section>\n"
    )


def _render_chips(flags: Iterable[Flag]) -> str:
    return "".join(f'<span class="chip">{words}</span>' for words in describe_flags(flags))


def _render_diff(before: str, after: str) -> Iterator[str]:
    """Draw the memory line by line."""
    changes = diff_memories(before, after)
    if not changes:
        yield '<div class="empty">(empty)</div>'
    for kind, run in groupby(changes, key=lambda change: change.kind):
        if kind is ChangeKind.KEPT:
            lines = [f'<div dir="auto">{_escape(change.text)}</div>' for change in run]
            is_long = len(lines) > _MOST_KEPT_LINES
            yield f"<details><summary>{len(lines)} lines kept</summary>" if is_long else ""
            yield from lines
            yield "</details>" if is_long else ""
        else:
            for change in run:
                words = mark_words(change, gone="<del>{}</del>", new="<ins>{}</ins>", escape=_escape)
                yield f'<div class="{kind}" dir="auto">{words}</div>'
