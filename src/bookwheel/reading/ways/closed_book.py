"""Closed-book: the question alone. Whatever a model scores this way, it did not read in the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.reading.loop import check_question
from bookwheel.reading.ways.single_turn import ask_once, count_one_call
from bookwheel.reading.ways.spec import WaySpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Document, Step


async def closed_book(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer without the document."""
    del document, done
    check_question(question, model, plan)
    yield await ask_once(question, "", model, plan, "closed-book")


CLOSED_BOOK = WaySpec(run=closed_book, list_calls=count_one_call("closed-book", has_text=False))
