"""Sentences in which somebody is surely named are rows, by the short answers of a model that only quotes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bookwheel import TextDocument
from bookwheel.models.base import Copies
from bookwheel.models.copying import CopiedSpan
from bookwheel.models.scripted import ScriptedModel
from bookwheel.tables.api import collect
from bookwheel.types import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bookwheel.types import Message

LEASE = (
    "The Owner must hand back the deposit within 14 days.\n\nThe cellar is not included.\n\n"
    "The Lodger pays £540 by 6 May 2026.\n"
)


class Answering(ScriptedModel):
    """Names the owner and the lodger surely; all else so that it would do as a short answer."""

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        asked = messages[-1].content
        found = re.match(r"The \w+", passage) if "Who?" in asked else re.search(r"within \d+ days", passage)
        sure = -0.5 if found and "cellar" not in found[0] else -2.5
        span = CopiedSpan(start=found.start(), end=found.end(), logprob=sure) if found else CopiedSpan(0, 3, -2.5)
        return Copies(spans=(span,), usage=Usage(calls=1, prompt_tokens=9))


def test_a_sentence_is_a_row_where_somebody_is_surely_named(tmp_path: Path) -> None:
    model = Answering(lambda _: "", window=8192)
    ask = "every obligation: who, what, until when, amount"
    table = collect(TextDocument(LEASE), ask, model=model, prompts="small", journal=tmp_path / "j.sqlite")
    assert [row.cells for row in table.rows] == [
        ("The Owner", "must hand back the deposit within 14 days.", "within 14 days", "14"),
        ("The Lodger", "pays £540 by 6 May 2026.", "6 May 2026", "£540"),
    ]
    assert table.unproven == 0
    # One more tells whether the model can, and a date that stands there is not asked for.
    assert table.reading.usage.calls == 1 + 3 + 1


def test_nobody_is_asked_who_where_nobody_is_asked_for_or_the_text_is_a_table(tmp_path: Path) -> None:
    model = Answering(lambda _: "", window=8192)
    sheet = "| who | what |\n|---|---|\n" + "".join(f"| Ada {at} | ring {at} |\n" for at in range(9))
    for text, ask, rows in ((LEASE, "every payment: amount, until when", 1), (sheet, "every task: who, what", 9)):
        table = collect(TextDocument(text), ask, model=model, prompts="small", journal=tmp_path / "j.sqlite")
        assert (len(table.rows), table.reading.usage.calls) == (rows, 0)
