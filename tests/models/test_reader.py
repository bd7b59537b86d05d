"""The adapter that comes with the local model's weights: what the package holds, and that it judges passages."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from bookwheel.environment import Environment
from bookwheel.errors import BookwheelError, NoWeights
from bookwheel.lab.training.config import TrainConfig
from bookwheel.models.gguf import ADAPTER_TYPE, TYPE_FIELD, WAY_FIELD, load_header_plan, read_header
from bookwheel.models.local import READER, LocalModel
from bookwheel.models.weights import ensure_weights, find_local_weights
from bookwheel.preset import load_preset_plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.gates import score_question
from bookwheel.reading.ways.question_scorer import QuestionScorer

CARD = Path(__file__).parents[2] / "docs" / "reader.md"


def test_the_package_holds_the_adapter_that_its_card_describes():
    raw = READER.read_bytes()
    assert hashlib.sha256(raw).hexdigest() in CARD.read_text(encoding="utf-8")
    assert len(raw) < 20_000_000


def test_a_damaged_adapter_is_refused_before_anything_reads_it(tmp_path, monkeypatch):
    damaged = tmp_path / "reader.gguf"
    raw = bytearray(READER.read_bytes())
    raw[-1] ^= 1
    damaged.write_bytes(raw)
    monkeypatch.setattr("bookwheel.models.local.READER", damaged)
    with pytest.raises(NoWeights, match="damaged"):
        asyncio.run(LocalModel.open())


def test_it_is_read_with_the_plan_of_the_laptop_and_judgements():
    header = read_header(READER)
    assert (header[TYPE_FIELD], header[WAY_FIELD]) == (ADAPTER_TYPE, "quotes")
    plan, laptop = load_header_plan(header, READER), load_preset_plan("laptop")
    assert plan.judgement_weight > 0 == laptop.judgement_weight
    assert replace(plan, judgement_weight=0.0, least_gain=0.55, verdict=laptop.verdict) == laptop
    assert TrainConfig.load("reader").plan == plan


@pytest.mark.weights
def test_it_judges_passages_and_leaves_likelihoods_alone():
    try:
        environment = Environment.load()
        if environment.weights or not find_local_weights(environment):
            pytest.skip("the local model's own weights are not at hand")
    except BookwheelError:
        pytest.skip("the local model's own weights are not at hand")
    question = "Who mended the clock of the church in Lyme?"
    right = "The clock of the church stood still for a year. In spring a smith named Orla Venn mended it for a cheese."
    wrong = "Rain fell on the mole all day. The gulls were loud."

    async def measure(weights: Path | None) -> tuple[float, float, float, float]:
        model = await LocalModel.open(weights, threads=1, environment=environment)
        prompts = prompts_for(load_preset_plan("laptop"), question)
        scorer = QuestionScorer(model, prompts, question)
        before = (await score_question(model, prompts, question, right)).mean
        yes, no = await scorer.judge(right), await scorer.judge(wrong)
        after = (await score_question(model, prompts, question, right)).mean
        await model.aclose()
        return before, after, yes, no

    before, after, yes, no = asyncio.run(measure(None))
    assert yes > 0
    assert no < -1
    plain = asyncio.run(measure(asyncio.run(ensure_weights(environment))))
    assert yes - no > 2 + plain[2] - plain[3]
    # The weights alone are scored by llama.cpp, in eight bits; the adapter touches no likelihood.
    assert before == pytest.approx(plain[0], abs=0.1)
    # What was computed with the adapter is not taken for the beginning of a prompt without it.
    assert after == pytest.approx(before, abs=1e-4)
