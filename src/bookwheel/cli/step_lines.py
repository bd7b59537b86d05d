"""One step of a reading as lines for the terminal. Nothing here draws progress, so that `bookwheel show` is quick."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Final

from rich.text import Text

from bookwheel.text.sanitize import sanitize
from bookwheel.types import Flag
from bookwheel.views.diff import ChangeKind, diff_memories, mark_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.types import Step

_QUIET_FLAGS: Final = {Flag.UNCHANGED}
# Characters of what a step of no chunk says.
_MOST_WORDS: Final = 200


def format_step_title(step: Step, of: str = "") -> Text:
    """Return a step as one line: its number, its place in the document, the memory's size, its flags.

    A step of no chunk is named by what it says: the choice of a way, the order of the chunks, the smaller questions.
    """
    if step.chunk.start == step.chunk.end:
        words = shorten(sanitize(step.conversation.reply.text), _MOST_WORDS, placeholder=" …")
        return Text(f"step {step.chunk.index} · {words}", style="bold") + format_flags(step)
    title = f"chunk {step.chunk.index}{of} · {format_place(step)} · memory {step.after.tokens} tokens"
    return Text(title, style="bold") + format_flags(step)


def format_place(step: Step) -> str:
    """Return where a step's chunk is from: its sources, pages and characters."""
    chunk = step.chunk
    source = sanitize(", ".join(chunk.sources[:2]) + (" …" if len(chunk.sources) > 2 else ""))  # noqa: PLR2004
    pages = f" p. {chunk.pages[0]}–{chunk.pages[-1]}" if chunk.pages else ""
    return f"{source}{pages} · characters {chunk.start:,}–{chunk.end:,}"


def format_flags(step: Step) -> Text:
    """Return what happened at a step, apart from what most steps have."""
    flags = [flag for flag in step.flags if flag not in _QUIET_FLAGS]
    return Text("".join(f" · {flag}" for flag in flags), style="yellow")


def memory_diff(before: str, after: str, *, unchanged: bool = True) -> Iterator[Text]:
    """Draw the memory's lines: `+` new, `-` gone, `~` reworded, the others as they are."""
    for change in diff_memories(before, after):
        if change.kind is ChangeKind.NEW:
            yield Text(f"+ {sanitize(change.text)}", style="green")
        elif change.kind is ChangeKind.GONE:
            yield Text(f"- {sanitize(change.text)}", style="red")
        elif change.kind is ChangeKind.REWORDED:
            yield Text(f"~ {sanitize(mark_words(change))}", style="yellow")
        elif unchanged:
            yield Text(f"  {sanitize(change.text)}")
