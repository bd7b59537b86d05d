"""Dropping what a model knows without reading."""

import asyncio

import pytest

from bookwheel.errors import InputError, Overloaded, Unreachable
from bookwheel.lab.tasks import FilterOutcome, Sample, SampleDocument, filter_samples
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Sampling


def sample(number, gold="Torvale", metric="exact", language="en"):
    return Sample(
        id=f"s{number}",
        task="own",
        question=f"Where is lamp {number}?",
        golds=(gold,),
        metric=metric,
        language=language,
        document=SampleDocument("doc", ["The lamp is at Torvale."]),
    )


def sifted(samples, model, **options):
    async def run():
        return [result async for result in filter_samples(samples, model, **options)]

    return asyncio.run(run())


def test_a_sample_is_dropped_when_any_try_answers_it():
    answers = iter(["\\boxed{Quenby}", "\\boxed{Torvale}"])
    model = ScriptedModel(lambda messages: next(answers))
    (result,) = sifted([sample(0)], model, tries=2)
    assert result.outcome is FilterOutcome.DROPPED
    assert result.answers == ("Quenby", "Torvale")
    assert "try 2" in result.reason


def test_a_sample_is_kept_when_no_try_answers_it_and_order_is_kept():
    model = ScriptedModel(lambda messages: "\\boxed{Quenby}")
    results = sifted([sample(number) for number in range(7)], model, tries=3, concurrency=3)
    assert [result.sample.id for result in results] == [f"s{number}" for number in range(7)]
    assert {result.outcome for result in results} == {FilterOutcome.KEPT}
    assert model.calls == 21


def test_the_document_is_never_shown():
    model = ScriptedModel(lambda messages: "\\boxed{Quenby}")
    sifted([sample(0)], model)
    assert "Torvale" not in model.last_messages[-1].content
    assert "Where is lamp 0?" in model.last_messages[-1].content


def test_a_failed_request_leaves_a_sample_undecided_and_counted():
    model = ScriptedModel(lambda messages: "\\boxed{Quenby}", faults={1: Overloaded("busy, try later")})
    results = sifted([sample(0), sample(1), sample(2)], model, tries=1)
    assert [result.outcome for result in results] == [FilterOutcome.KEPT, FilterOutcome.FAILED, FilterOutcome.KEPT]
    assert "busy" in results[1].reason


def test_a_model_that_cannot_be_asked_at_all_is_an_error():
    with pytest.raises(Unreachable):
        sifted([sample(0), sample(1)], ScriptedModel(lambda messages: Unreachable("no server there")))


def test_not_knowing_does_not_answer_a_question_without_an_answer():
    model = ScriptedModel(lambda messages: "\\boxed{I do not know}")
    (result,) = sifted([sample(0, "not in the document", "unanswerable")], model)
    assert result.outcome is FilterOutcome.KEPT
    assert model.calls == 0


def test_tries_draw_with_seeds_of_their_own():
    seeds = []

    class Noting(ScriptedModel):
        async def reply(self, messages, *, limit, sampling):
            seeds.append(sampling.seed)
            return await super().reply(messages, limit=limit, sampling=sampling)

    sifted([sample(0)], Noting(lambda messages: "no"), tries=3, sampling=Sampling(seed=5))
    assert seeds == [5, 6, 7]


def test_no_tries_are_an_error():
    with pytest.raises(InputError):
        sifted([sample(0)], ScriptedModel(lambda messages: "x"), tries=0)
