"""What a reading's Markdown file says of its steps."""

from __future__ import annotations

from bookwheel.plan import Plan
from bookwheel.types import Chunk, Conversation, DocumentInfo, Flag, Memory, Reading, Reply, Step
from bookwheel.views.markdown import render_markdown


def test_a_step_says_where_it_read_and_one_without_a_source_begins_with_its_span():
    memory = Memory(text="Ada Quill", tokens=2, limit=9)
    conversation = Conversation(messages=(), reply=Reply(text="x"))
    chunks = (
        Chunk(index=0, start=0, end=10, text="", tokens=5, sources=("ledger.pdf",), pages=(2, 3)),
        Chunk(index=1, start=10, end=90, text="", tokens=0, sources=()),
    )
    steps = tuple(
        Step(chunk=chunk, before=memory, after=memory, conversation=conversation, flags=flags)
        for chunk, flags in zip(chunks, ((), (Flag.UNREAD,)), strict=True)
    )
    info = DocumentInfo(id="0" * 64, name="ledger.pdf", length=90)
    lines = render_markdown(
        Reading(id="ab12", document=info, question="Who?", plan=Plan(), model="m", steps=steps)
    ).splitlines()
    assert "ledger.pdf, p. 2–3 · characters 0–10" in lines
    assert "characters 10–90 · unread" in lines
