"""Middle-cut: beginning and end of the document in the window, the middle left out, one turn.

Much published work cuts long inputs like this without saying so. Here it is named, marked in the prompt and flagged.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.single_turn import ask_once, count_one_call, text_budget
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.reading.ways.whole import load_if_fits
from bookwheel.text.chunks import split
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Flag

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Document, Step

_CUT: Final = "\n[…]\n"
# Only so much of the end is tokenized; no real text has more characters a token.
_CHARACTERS_PER_TOKEN: Final = 16


async def middle_cut(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from as much of beginning and end as fits; flagged CUT unless that is all of it."""
    del done
    limit = text_budget(question, model, plan, "whole", plan.answer_tokens)
    text = load_if_fits(document, model, limit)
    if text is not None:
        yield await ask_once(question, text, model, plan, "whole")
        return
    answer = await ask_once(question, join_ends(document, model, limit), model, plan, "whole")
    yield replace(answer, flags=(*answer.flags, Flag.CUT))


def join_ends(document: Document, model: Model, limit: int) -> str:
    """Return the document's first and last tokens, half of the limit each, with a mark between them."""
    half = max(1, (limit - model.tokenizer.count(_CUT)) // 2)
    head = next(split(document, model.tokenizer, half)).text
    return head + _CUT + _take_end(document, model, half)


def _take_end(document: Document, model: Model, limit: int) -> str:
    """Return the longest end of the document within the limit, starting at a word."""
    reach, held, pieces = limit * _CHARACTERS_PER_TOKEN, 0, []
    for part in document.parts():
        pieces.append(part.text)
        held += len(part.text)
        if held > 4 * reach:
            pieces = ["".join(pieces)[-reach:]]
            held = reach
    text = "".join(pieces)[-reach:]
    start = bisect_left(range(len(text)), -limit, key=lambda place: -model.tokenizer.count(escape_markup(text[place:])))
    while 0 < start < len(text) and not (text[start - 1].isspace() or text[start].isspace()):
        start += 1
    return text[start:]


MIDDLE_CUT = WaySpec(run=middle_cut, list_calls=count_one_call("whole"))
