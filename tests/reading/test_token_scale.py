"""Estimated tokens are corrected by the endpoint's own count, once, and a resumed reading cuts the same chunks."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import ServerFault
from bookwheel.journal import Journal
from bookwheel.lab.baselines.chains import map_reduce
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading import runner
from bookwheel.text.tokens import EstimatingTokenizer, WordTokenizer
from bookwheel.types import Finish, Reply, Status, Usage

PLAN = Plan(chunk_tokens=1200, memory_tokens=200, answer_tokens=100, language="en")
TEXT = "The keeper of the light wrote a long entry about the storm and the ships that passed before dawn. " * 800
BYTES_PER_TOKEN = 4.5


def make_model(count=lambda sent: round(sent / BYTES_PER_TOKEN), **settings) -> ScriptedModel:
    """A model with an unknown tokenizer, which says how many tokens it was sent."""

    def reply(messages) -> Reply:
        sent = sum(len(message.content) for message in messages)
        usage = Usage(calls=1, prompt_tokens=count(sent), completion_tokens=5)
        return Reply(text="The keeper wrote.", finish=Finish.STOP, usage=usage)

    return ScriptedModel(reply, tokenizer=EstimatingTokenizer(), **settings)


def read(journal, model, reading=None, **settings):
    document = journal.keep(TextDocument(TEXT))
    if reading is None:
        reading = runner.new_reading(document.info, "Who wrote?", model, PLAN, settings.pop("name", "sequential"))
        journal.begin(reading)
    from bookwheel.models.patience import Patience

    settings = {"patience": Patience(seconds=0), **settings}
    return asyncio.run(runner.run_reading(reading, document, model, journal=journal, **settings))


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "journal.sqlite") as opened:
        yield opened


def spans(reading):
    return [(step.chunk.start, step.chunk.end) for step in reading.steps]


def test_chunks_after_the_first_are_as_long_as_the_endpoint_counts_them(journal) -> None:
    reading = read(journal, make_model())
    lengths = [step.chunk.end - step.chunk.start for step in reading.steps]
    assert lengths[0] <= PLAN.chunk_tokens * 3.2
    assert all(0.85 * PLAN.chunk_tokens < length / BYTES_PER_TOKEN <= PLAN.chunk_tokens for length in lengths[1:-1])
    assert "".join(TEXT[start:end] for start, end in spans(reading)) == TEXT
    assert reading.usage.calls == len(reading.steps) + 1
    assert journal.reading(reading.id).plan.token_scale == reading.plan.token_scale == pytest.approx(0.74, abs=0.02)


@pytest.mark.parametrize("stop", [1, 2, 5])
def test_a_resumed_reading_cuts_the_same_chunks(journal, stop) -> None:
    whole = read(journal, make_model())
    broken = read(journal, make_model(faults={stop: ServerFault("worker died")}))
    assert (broken.status, len(broken.steps)) == (Status.FAILED, stop)
    stored = replace(journal.reading(broken.id), status=Status.READING, error="", error_kind="")
    resumed = read(journal, make_model(), stored)
    assert resumed.status is Status.ANSWERED
    assert spans(resumed) == spans(whole)


def test_nothing_is_corrected_where_it_would_not_help_or_could_overflow(journal) -> None:
    assert read(journal, make_model(window=2000)).plan.token_scale is None
    assert read(journal, make_model(), way=map_reduce, name="map-reduce").plan.token_scale is None
    exact = make_model()
    exact.tokenizer = WordTokenizer()
    assert read(journal, exact).plan.token_scale is None


@pytest.mark.parametrize(
    "count",
    [lambda _sent: 700, lambda sent: sent, lambda sent: EstimatingTokenizer().count("a" * sent)],
    ids=["cut", "bytes", "estimate"],
)
def test_a_count_that_is_not_the_prompts_is_not_trusted(journal, count) -> None:
    assert read(journal, make_model(count)).plan.token_scale is None


def test_a_scale_that_is_in_the_plan_is_used_from_the_first_chunk_on(journal) -> None:
    model = make_model()
    document = journal.keep(TextDocument(TEXT))
    plan = replace(PLAN, token_scale=0.5)
    reading = runner.new_reading(document.info, "Who wrote?", model, plan)
    journal.begin(reading)
    reading = read(journal, model, reading)
    assert reading.plan.token_scale == 0.5
    assert reading.steps[0].chunk.end > 1.5 * PLAN.chunk_tokens * 3.2
