"""What a reading's Markdown file says of its steps, and in words how much of the document was read."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bookwheel.claims import Claim, Evidence, Fit, Verdict
from bookwheel.flags import Flag
from bookwheel.plan import Plan
from bookwheel.types import Answer, Chunk, Conversation, DocumentInfo, Memory, Reading, Reply, Step
from bookwheel.views.markdown import render_markdown
from bookwheel.views.verdicts import describe_share, list_cautions


def read_part(score=None) -> Reading:
    """A reading whose first step read the second part of a document, and whose second left the first."""
    memory = Memory(text="Ada Quill", tokens=2, limit=9)
    conversation = Conversation(messages=(), reply=Reply(text="x"))
    spans = ((60, 90), ()), ((0, 60), (Flag.UNREAD,))
    steps = tuple(
        Step(
            chunk=Chunk(index=at, start=start, end=end, text="", tokens=5),
            before=memory,
            after=memory,
            conversation=conversation,
            flags=flags,
            score=score,
        )
        for at, ((start, end), flags) in enumerate(spans)
    )
    info = DocumentInfo(id="0" * 64, name="ledger.pdf", length=90)
    return Reading(id="ab12", document=info, question="Who?", plan=Plan(), model="m", steps=steps)


def test_what_was_left_unread_is_told_with_the_reason():
    found, vain = describe_share(read_part(0.9)), describe_share(read_part(0.0))
    assert found == "read 33% of the document, the likeliest parts first, until the memory was enough"
    assert vain.endswith("the likeliest parts first, and the rest has less of what the question names")


def test_a_count_that_the_document_tells_of_is_not_sent_to_a_table():
    said = Answer(text="64 barrels", conversation=read_part().steps[0].conversation)
    asked = replace(read_part(), question="How many barrels were counted?", way="sequential", answer=said)
    claim = Claim(text="sixty-four", verdict=Verdict.SUPPORTED, answers=Fit.DOUBTFUL, evidence=(0,))
    quote = Evidence(quote="They found sixty-four barrels.", start=0, end=30, step=0)
    told = replace(asked, claims=(claim,), evidence=(quote,))
    # A number of something else, and words without a number, tell of no count.
    other = replace(told, evidence=(replace(quote, quote="Sixty-four men came."),))
    wordy = replace(told, claims=(replace(claim, text="They found the barrels"),))
    full = replace(told, steps=(replace(told.steps[0], flags=(Flag.TRIMMED,)), told.steps[1]))
    cautioned = [bool(list_cautions(one)) for one in (asked, told, other, wordy, full)]
    assert cautioned == [True, False, True, True, True]
    (caution,) = list_cautions(replace(told, question="List all barrels"))
    assert "was filled to 22%; every item" in caution.text


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
    assert "characters 10–90 · not read into the memory, which was enough before it" in lines


PIECES = (
    "http://a.b",
    "HTTPS://a.b",
    "www.a.b",
    "a@b.c",
    "mailto:a@b.c",
    "<b>",
    "[a](http://b)",
    "![](x)",
    "# a",
    "- a",
    "1. a",
)
MORE = (
    "1) a",
    "+ a",
    "===",
    "---",
    "* * *",
    "| a | b |",
    "~~a~~",
    "&lt;b&gt;",
    "`a`",
    "a\n===",
    "\\",
    "    a",
    "> a",
    "a  \nb",
)


@given(st.lists(st.sampled_from(PIECES + MORE) | st.text(max_size=4), max_size=4).map("\n".join))
def test_nothing_that_was_said_becomes_markup_or_a_link(text):
    reading = read_part()
    answer = Answer(text=text, conversation=reading.steps[0].conversation)
    said = render_markdown(replace(reading, question="Who?", answer=answer, steps=()))
    quoted = said.partition("\n\n")[2]
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(quoted)
    assert set(re.findall(r"</?(\w+)", shown.partition("</blockquote>")[0])) <= {"blockquote", "p", "br"}
    # The bare addresses that GitHub makes links of.
    assert not re.search(r"(?i)(?<!\\)://|\bwww\.", quoted)
