"""A reading as a page to look at: the question, the answer and what it rests on, and how the memory grew.

One file that asks for nothing from anywhere and runs no script. Everything that people, models and documents wrote is
shown as text: escaped, with control characters and those that turn text around made visible.
"""

from __future__ import annotations

import re
from html import escape
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Final, Protocol

from bookwheel.types import Flag, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bookwheel.types import Evidence, Reading, Step

_UNSHOWN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c]"
)
_PIECE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|\s+|[^\w\s]")
"""What a line is compared by: words, characters of scripts without blanks, blanks, marks."""
_ALIKE: Final = 0.45
"""How alike two lines are at least, to be shown as one that was reworded."""
_KEPT_IN_SIGHT: Final = 3
"""Kept lines that are shown; a longer run of them is folded."""
_PROMISE: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_FRAGMENT_STEPS: Final = 40


class Origin(Protocol):
    """What the page wants to know of a line of the final memory; `provenance.LineOrigin` has it."""

    @property
    def line(self) -> str:
        """As it stands in the memory."""
        ...

    @property
    def step(self) -> int:
        """Where it entered."""
        ...

    @property
    def pages(self) -> tuple[int, ...]:
        """Of the chunk that was read then."""
        ...

    @property
    def quote(self) -> Evidence | None:
        """Its words in the document."""
        ...

    @property
    def found(self) -> bool:
        """Whether it stands in the document."""
        ...

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it."""
        ...


def reading_page(reading: Reading, origins: Sequence[Origin] = ()) -> str:
    """A whole page, ready to be written to a file or sent."""
    language = reading.language if re.fullmatch(r"[A-Za-z-]{2,12}", reading.language) else "en"
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_PROMISE}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{_shown(reading.question)}</title>\n<style>\n{_style()}</style>\n</head>\n"
        f'<body class="bookwheel">\n<main>\n{_head(reading)}{_facts(reading)}{_ribbon(reading)}'
        f"{_evidence(reading, linked=True)}{_memory(origins)}{_timeline(reading.steps)}</main>\n</body>\n</html>\n"
    )


def reading_fragment(reading: Reading) -> str:
    """The same in short, to stand in a notebook; brings its style along."""
    changed = [step for step in reading.steps if step.before.text != step.after.text][-_FRAGMENT_STEPS:]
    steps = "".join(_step(step, linked=False) for step in changed)
    folded = f'<details class="rest"><summary>How the memory grew</summary>{steps}</details>' if steps else ""
    return (
        f'<div class="bookwheel"><style>{_style()}</style>{_head(reading)}{_facts(reading)}'
        f"{_evidence(reading, linked=False)}{folded}</div>"
    )


def _style() -> str:
    return (resources.files("bookwheel") / "views" / "reading.css").read_text(encoding="utf-8")


def _shown(text: str) -> str:
    """Text from anywhere, as text of a page."""
    return escape(_UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text))


def _head(reading: Reading) -> str:
    answer = reading.answer.text if reading.answer else ""
    said = (
        f'<p class="answer" dir="auto">{_shown(answer)}</p>'
        if answer
        else f'<p class="answer none">{_no_answer(reading)}</p>'
    )
    flags = _chips(reading.answer.flags if reading.answer else ())
    told = f'<p class="told small">{flags}{_shown(reading.error)}</p>\n' if flags or reading.error else ""
    return (
        f'<p class="eyebrow"><b>bookwheel</b> · reading <span>{_shown(reading.id)}</span> · {reading.status}</p>\n'
        f'<h1 dir="auto">{_shown(reading.question)}</h1>\n{said}\n{told}'
    )


def _no_answer(reading: Reading) -> str:
    reasons = {
        Status.READING: "Not read to its end yet.",
        Status.STOPPED: "Stopped before its end: a budget was reached.",
        Status.FAILED: "Not answered: the model failed.",
        Status.CANCELLED: "Interrupted before its end.",
    }
    return reasons.get(reading.status, "The model gave no answer.")


def _facts(reading: Reading) -> str:
    usage = reading.usage
    facts = {
        "Document": f"{reading.document.name} · {reading.document.length:,} characters",
        "Model": reading.model,
        "Read in": f"{len(reading.steps):,} steps of up to {reading.plan.chunk_tokens:,} tokens",
        "Memory": f"{reading.memory.tokens:,} of {reading.plan.memory_tokens:,} tokens",
        "Cost": f"{usage.calls:,} calls · {usage.prompt_tokens:,} tokens read · {usage.completion_tokens:,} written",
        "Took": _time(usage.seconds),
        "Began": reading.created[:16].replace("T", " "),
        "Edited from": reading.parent,
    }
    listed = "".join(
        f"<div><dt>{name}</dt><dd><bdi>{_shown(fact)}</bdi></dd></div>" for name, fact in facts.items() if fact
    )
    return f"<dl>{listed}</dl>\n"


def _time(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest:.0f} s" if minutes else f"{rest:.1f} s"


def _ribbon(reading: Reading) -> str:
    """The document from end to end: a cell a step, filled by how much it changed the memory."""
    whole = max((step.chunk.end for step in reading.steps), default=0)
    if not whole:
        return ""
    cells = "".join(_cell(step, 1000 / whole) for step in reading.steps)
    proofs = "".join(
        f'<rect class="proof" x="{found.start * 1000 / whole:.2f}" y="42" width="4" height="6"/>'
        for found in reading.evidence
    )
    return (
        f'<div class="ribbon"><svg viewBox="0 0 1000 48" preserveAspectRatio="none" role="img" '
        f'aria-label="The steps of this reading">{cells}{proofs}</svg>'
        '<p class="small">The document from beginning to end. The fuller a step, the more it changed the memory'
        f"{'; marks below show where the evidence stands' if proofs else ''}.</p></div>\n"
    )


def _cell(step: Step, scale: float) -> str:
    x, width = step.chunk.start * scale, max(0.4, (step.chunk.end - step.chunk.start) * scale - 1.2)
    full = 40 * (1 - _likeness(step.before.text.split(), step.after.text.split()))
    return (
        f'<a href="#step-{step.chunk.index}"><title>step {step.chunk.index}</title>'
        f'<rect class="cell" x="{x:.2f}" y="0" width="{width:.2f}" height="40"/>'
        f'<rect class="change" x="{x:.2f}" y="{40 - full:.1f}" width="{width:.2f}" height="{full:.1f}"/></a>'
    )


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _likeness(old: Sequence[str], new: Sequence[str]) -> float:
    """How much of two lists of words is the same, from 0 to 1."""
    same = sum(b - a for what, a, b, _, _ in _opcodes(old, new) if what == "equal")
    return 2 * same / (len(old) + len(new)) if old or new else 1.0


def _evidence(reading: Reading, *, linked: bool) -> str:
    if not reading.evidence:
        return ""
    quotes = "".join(
        f'<blockquote dir="auto">{_shown(found.quote)}</blockquote><p class="small">'
        f"{_pages(found.pages)}characters {found.start:,}–{found.end:,} · {_link(found.step, linked=linked)}</p>\n"
        for found in reading.evidence
    )
    return f"<h2>What the answer rests on</h2>\n{quotes}"


def _link(step: int, *, linked: bool) -> str:
    return f'<a href="#step-{step}">step {step}</a>' if linked else f"step {step}"


def _pages(pages: Sequence[int]) -> str:
    if not pages:
        return ""
    first, last = min(pages), max(pages)
    return f"page {first} · " if first == last else f"pages {first}–{last} · "


def _memory(origins: Sequence[Origin]) -> str:
    """The final memory, each line with where it is from."""
    if not origins:
        return ""
    lines = "".join(_line(origin) for origin in origins)
    return f'<h2>What was remembered, and from where</h2>\n<ul class="lines">{lines}</ul>\n'


def _line(origin: Origin) -> str:
    quote = f"<br>“<bdi>{_shown(origin.quote.quote)}</bdi>”" if origin.quote else ""
    if origin.quote and origin.quote.step != origin.step:
        quote += f", {_link(origin.quote.step, linked=True)}"
    marks = '<span class="chip">written by hand</span>' if origin.by_hand else ""
    marks += "" if origin.found else '<span class="chip">not found in the text</span>'
    return (
        f'<li class="{"found" if origin.found else "lost"}"><bdi>{_shown(origin.line)}</bdi>'
        f'<p class="small">{marks}{_pages(origin.pages)}{_link(origin.step, linked=True)}{quote}</p></li>\n'
    )


def _timeline(steps: Sequence[Step]) -> str:
    if not steps:
        return ""
    runs = [(kept, list(run)) for kept, run in groupby(steps, key=_is_quiet)]
    told = "".join(_quiet(run) if kept else "".join(map(_step, run)) for kept, run in runs)
    return f"<h2>How the memory grew</h2>\n{told}"


def _is_quiet(step: Step) -> bool:
    return step.before.text == step.after.text and set(step.flags) <= {Flag.UNCHANGED}


def _quiet(steps: Sequence[Step]) -> str:
    """Steps that changed nothing, folded."""
    first, last = steps[0].chunk.index, steps[-1].chunk.index
    named = f"Step {first}" if first == last else f"Steps {first}–{last}"
    return (
        f'<details class="rest"><summary>{named}: nothing new for the memory</summary>'
        f"{''.join(map(_step, steps))}</details>\n"
    )


def _step(step: Step, *, linked: bool = True) -> str:
    """One step: where in the document, what became of the memory, what is to be known about the reply."""
    chunk, usage = step.chunk, step.conversation.reply.usage
    said = step.conversation.reply.text.strip()
    named = f'id="step-{chunk.index}" class="step"' if linked else 'class="step"'
    number = f'href="#step-{chunk.index}" class="number"' if linked else 'class="number"'
    own = ""
    if said != step.after.text and said:
        own = (
            f'<details><summary>the model’s own words</summary><p class="reply" dir="auto">{_shown(said)}</p></details>'
        )
    return (
        f'<section {named}><div class="where"><a {number}>{chunk.index}</a>'
        f'<p class="small"><bdi>{_shown(", ".join(chunk.sources))}</bdi></p>'
        f'<p class="small">{_pages(chunk.pages).removesuffix(" · ")}</p>'
        f'<p class="small">{chunk.start:,}–{chunk.end:,}</p></div>'
        f'<div><div class="memory">{"".join(_diff(step.before.text, step.after.text))}</div>'
        f'<p class="small">{_chips(step.flags)}memory {step.after.tokens:,} tokens · chunk {chunk.tokens:,} tokens · '
        f"{usage.prompt_tokens:,} read, {usage.completion_tokens:,} written</p>{own}</div></section>\n"
    )


def _chips(flags: Iterable[Flag]) -> str:
    return "".join(f'<span class="chip">{flag}</span>' for flag in flags)


def _diff(before: str, after: str) -> Iterator[str]:
    """The memory line by line: kept, reworded, new and gone."""
    old, new = before.splitlines(), after.splitlines()
    if not new and not old:
        yield '<div class="empty">(empty)</div>'
    for what, a, b, c, d in _opcodes(old, new):
        if what == "equal":
            yield _kept(new[c:d])
        else:
            yield from _replaced(old[a:b], new[c:d])


def _kept(lines: Sequence[str]) -> str:
    shown = "".join(f'<div dir="auto">{_shown(line)}</div>' for line in lines)
    if len(lines) <= _KEPT_IN_SIGHT:
        return shown
    return f"<details><summary>{len(lines)} lines kept</summary>{shown}</details>"


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Each new line beside the old one that it rewords, if there is one; then the old ones that are gone."""
    gone = {line: _words(line) for line in old}
    for line in new:
        mine = _words(line)
        nearest = max(gone, key=lambda other: len(mine & gone[other]), default=None)
        if nearest is not None and 2 * len(mine & gone[nearest]) >= _ALIKE * (len(mine) + len(gone[nearest])) > 0:
            del gone[nearest]
            yield f'<div class="reworded" dir="auto">{_reworded(nearest, line)}</div>'
        else:
            yield f'<div class="new" dir="auto">{_shown(line)}</div>'
    yield from (f'<div class="gone" dir="auto">{_shown(line)}</div>' for line in gone)


def _words(line: str) -> set[str]:
    return {piece for piece in _PIECE.findall(line) if piece.isalnum()}


def _reworded(before: str, after: str) -> str:
    """One line, word by word."""
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    told = []
    for what, a, b, c, d in _opcodes(old, new):
        if what == "equal":
            told.append(_shown("".join(new[c:d])))
            continue
        if b > a:
            told.append(f"<del>{_shown(''.join(old[a:b]))}</del>")
        if d > c:
            told.append(f"<ins>{_shown(''.join(new[c:d]))}</ins>")
    return "".join(told)
