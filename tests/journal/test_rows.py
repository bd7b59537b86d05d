"""Every value comes back from its row exactly."""

import asyncio
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from journal_readings import (
    STRANGE,
    begin_reading,
    step,
)

from bookwheel.claims import Claim, Evidence, Verdict
from bookwheel.flags import Flag
from bookwheel.journal import rows
from bookwheel.types import Answer, Conversation, Finish, Reply, ScoredLine, Status, TokenRecord, Usage, WayChoice

record = st.builds(
    lambda prompt, pairs: TokenRecord(
        prompt=tuple(prompt), reply=tuple(i for i, _ in pairs), logprobs=tuple(p for _, p in pairs)
    ),
    st.lists(st.integers(0, 2**62)),
    st.lists(st.tuples(st.integers(0, 2**62), st.floats(allow_nan=False))),
)


@given(record)
def test_token_records_are_packed_without_loss(tokens):
    assert rows.unpack_tokens(rows.pack_tokens(tokens)) == tokens


def test_memories_and_replies_hold_any_character(journal):
    reading = begin_reading(journal)
    asyncio.run(journal.add_step(reading.id, step(0, STRANGE)))
    asyncio.run(journal.add_step(reading.id, step(1, "next", before=STRANGE)))
    asyncio.run(journal.add_step(reading.id, step(2, "last", before=STRANGE + "of another way")))
    found = journal.reading(reading.id)
    assert found.steps[0].after.text == STRANGE
    assert found.steps[0].conversation.reply.text == STRANGE + "!"
    assert [done.before.text for done in found.steps] == ["", STRANGE, STRANGE + "of another way"]


def test_what_a_step_found_is_kept(journal):
    reading = begin_reading(journal)
    found = [
        replace(step(0), choice=WayChoice(way="edits", reason=STRANGE)),
        replace(step(1, before="notes"), ranking=(0.25, -1.0)),
        replace(step(2, before="notes"), lines=(ScoredLine(chunk=None, gain=0.1 + 0.2, judgement=-1.5, joins=True),)),
        step(3, before="notes"),
        replace(step(4, before="notes"), given_up=("The fee is 40.",)),
    ]
    for one in found:
        asyncio.run(journal.add_step(reading.id, one))
    assert list(journal.reading(reading.id).steps) == found


def test_an_answer_is_kept_with_its_verdict_its_evidence_and_exact_tokens(journal):
    reading = begin_reading(journal)
    tokens = TokenRecord(prompt=(1, 2**40), reply=(7,), logprobs=(-0.1,))
    reply = Reply(text=r"\boxed{" + STRANGE + "}", finish=Finish.LENGTH, tokens=tokens)
    ended = replace(
        reading,
        status=Status.STOPPED,
        answer=Answer(text=STRANGE, conversation=Conversation(messages=(), reply=reply), flags=(Flag.TRUNCATED,)),
        evidence=(Evidence(quote=STRANGE, start=3, end=9, step=0, pages=(4,)),),
        claims=(Claim(text=STRANGE, verdict=Verdict.BY_HAND, evidence=(0,), step=2, missing=(STRANGE, "7")),),
        error=STRANGE,
        usage=Usage(calls=3, seconds=1.25),
    )
    asyncio.run(journal.end(ended))
    assert journal.reading("last") == ended
