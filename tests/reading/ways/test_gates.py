"""Gates: refused for the right reason, and a chunk just under the threshold gets a second sign."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
from halcyon import PLAN, QUESTION, model, reader

from bookwheel.errors import MissingAbility
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import GatePlan
from bookwheel.reading.ways.compose import Decision
from bookwheel.reading.ways.gates import let_through
from bookwheel.reading.ways.registry import check_abilities
from bookwheel.types import Chunk, Conversation, Memory, Reply, Step, Usage


def test_missing_log_probabilities_are_complained_of_before_a_missing_threshold(monkeypatch, tmp_path):
    monkeypatch.setenv("BOOKWHEEL_CALIBRATIONS", str(tmp_path / "none.json"))
    plan = replace(PLAN, gate=None)
    with pytest.raises(MissingAbility, match="log-probabilities"):
        asyncio.run(check_abilities("gated+edits", ScriptedModel(reader), plan))
    asyncio.run(check_abilities("gated+edits", model(), plan))
    by_likelihood = replace(PLAN, gate=GatePlan(scorer="likelihood"))
    with pytest.raises(MissingAbility, match="likelihood"):
        asyncio.run(check_abilities("gated+edits", model(), by_likelihood))
    with pytest.raises(MissingAbility, match="likelihood"):
        asyncio.run(check_abilities("quotes", model(), plan))


@pytest.mark.parametrize(
    ("score", "memory", "is_read"),
    [
        (0.6, "", True),
        (0.3, "", True),
        (0.2, "", False),
        (0.3, "Nothing.", False),
        (0.3, "- It was Quill who signed.", True),
    ],
)
def test_a_chunk_just_under_the_threshold_is_read_if_it_holds_a_name_of_question_or_memory(score, memory, is_read):
    question = QUESTION if not memory else "Who owns the ship?"
    text = "The Halcyon was sold to Ada Quill."

    async def act():
        async def write(_context, before, chunk):
            return Step(
                chunk=chunk, before=before, after=before, conversation=Conversation(messages=(), reply=Reply(text=""))
            )

        class Scorer:
            async def score(self, _memory, _chunk):
                return Decision(score=score, usage=Usage())

        context = SimpleNamespace(question=question)
        chunk = Chunk(index=0, start=0, end=len(text), text=text, tokens=9)
        return await let_through(Scorer(), 0.5, write)(context, Memory(text=memory, tokens=2, limit=9), chunk)

    assert (Flag.SKIPPED not in asyncio.run(act()).flags) is is_read
