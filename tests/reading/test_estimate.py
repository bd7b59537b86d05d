"""The estimate of each way bounds what the way takes, from below and from above."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.models.base import Embeddings
from bookwheel.models.embeddings import BATCH
from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_likelihood, keyword_reader
from bookwheel.plan import Budget, GatePlan, Plan, Scorer
from bookwheel.reading.ways.registry import estimate_cost, list_ways, load_way
from bookwheel.types import Answer, Usage

PLAN = Plan(question_tokens=60, chunk_tokens=100, memory_tokens=60, answer_tokens=60, gate=GatePlan(), language="en")
TEXT = "".join(
    f"Page {n} tells of harvests, tolls and rain, and of the wheel that turns.\n"
    + ("The colour of the wheel is vermilion.\n" if n == 40 else "")
    for n in range(90)
)
QUESTION = "What is the colour of the wheel?"
# Memories that go on ask, append and replay, each by the way that suits the model: they have no estimate of their own.
LASTING = {"memory", "memory-edits", "memory-heads", "notes"}
WAYS = [name for name in list_ways() if name not in {"auto", "cascade", "whole", "collect", *LASTING}]
SUMS = [
    "gated+edits",
    "gated+heads+look-back",
    "ranked+gated+edits",
    "planned+edits+early-exit",
    "parallel+gated+edits",
    "planned+parallel+heads+look-back",
]


class Embedding(ScriptedModel):
    """Embeds as a server does: so many texts a request."""

    async def embed(self, texts) -> Embeddings:
        tokens = sum(map(self.tokenizer.count, texts))
        usage = Usage(calls=-(-len(texts) // BATCH), prompt_tokens=tokens)
        return Embeddings(vectors=((1.0, 0.0),) * len(texts), usage=usage)


def model() -> ScriptedModel:
    return Embedding(keyword_reader, judge=keyword_judge, likelihood=keyword_likelihood, window=1200)


def read(way: str, plan: Plan, question: str) -> Usage:
    async def gather() -> Usage:
        usage = Usage()
        async for event in load_way(way)(TextDocument(TEXT), question, model(), plan):
            usage += event.conversation.reply.usage
            if isinstance(event, Answer):
                return usage
        raise AssertionError("no answer")

    return asyncio.run(gather())


@pytest.mark.parametrize("question", [QUESTION, "How many wheels of any colour are there?"])
@pytest.mark.parametrize(
    ("way", "scorer"), [*((way, Scorer.JUDGE) for way in (*WAYS, *SUMS)), ("gated+edits", Scorer.LIKELIHOOD)]
)
def test_a_reading_takes_no_less_and_no_more_than_was_estimated(way, question, scorer):
    plan = replace(PLAN, gate=GatePlan(scorer=scorer, threshold=0.1))
    cost = estimate_cost(TextDocument(TEXT), question, model(), plan, way)
    spent = read(way, plan, question)
    assert cost.of_way == way
    assert cost.least_calls <= spent.calls <= cost.calls
    assert spent.prompt_tokens <= cost.prompt_tokens
    assert spent.completion_tokens <= cost.completion_tokens


def test_judgements_of_passages_are_estimated():
    plan = replace(PLAN, prompts="small", enough_gain=0.5)
    plain, judged = (
        estimate_cost(TextDocument(TEXT), QUESTION, model(), replace(plan, judgement_weight=weight), "quotes")
        for weight in (0.0, 0.1)
    )
    # Seven windows have a word of the question at most where others are looked for too: four of each of four more chunks.
    # A second passage is one of four, two of which are judged with the best one.
    assert judged.calls == plain.calls + 7 + 4 * 4 + 4 + 2
    assert judged.chunks > 5
    spent = read("quotes", replace(plan, judgement_weight=0.1), QUESTION)
    assert read("quotes", plan, QUESTION).calls < spent.calls <= judged.calls
    assert spent.prompt_tokens <= judged.prompt_tokens


def test_the_loop_takes_as_many_calls_as_was_estimated():
    cost = estimate_cost(TextDocument(TEXT), QUESTION, model(), PLAN)
    assert cost.calls == cost.least_calls == cost.chunks + 1 == read("sequential", PLAN, QUESTION).calls


def test_a_way_that_stops_early_can_be_cheap_and_one_that_reads_all_cannot():
    costs = {way: estimate_cost(TextDocument(TEXT), QUESTION, model(), PLAN, way) for way in ("ranked", "gated")}
    assert costs["ranked"].least_calls <= 3
    assert costs["gated"].least_calls == costs["gated"].chunks + 1


def test_a_way_of_another_package_is_estimated_as_the_loop():
    cost = estimate_cost(TextDocument(TEXT), QUESTION, model(), PLAN, "somebodys")
    assert cost == estimate_cost(TextDocument(TEXT), QUESTION, model(), PLAN)
    assert cost.of_way == "sequential"


def test_several_questions_multiply_the_cost_and_not_the_document():
    plan = replace(PLAN, budget=Budget(price_in=1.0, price_out=2.0))
    one = estimate_cost(TextDocument(TEXT), QUESTION, model(), plan, "edits")
    three = one.multiply(3)
    assert (three.chunks, three.calls, three.cost) == (one.chunks, 3 * one.calls, pytest.approx(3 * one.cost))
