"""A plan says what it needs, and refuses what it does not know."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from bookwheel.errors import PlanError
from bookwheel.plan import Budget, Layout, Plan, describe_setting, merge_tables, nest_settings, renew_budget
from bookwheel.preset import find_family_preset, list_presets, load_family, load_preset_plan


def test_the_defaults_are_the_papers() -> None:
    plan = Plan()
    assert (plan.question_tokens, plan.chunk_tokens, plan.memory_tokens, plan.answer_tokens) == (1024, 5000, 1024, 1024)
    assert load_preset_plan("paper-7b") == plan


def test_plans_survive_json() -> None:
    plan = Plan(chunk_tokens=900, layout=Layout.SECTION_FIRST, budget=Budget(tokens=5000, seconds=3.5))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    ("model", "preset"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5"),
        ("BytedTsinghua-SIA/RL-MemoryAgent-14B", "qwen2.5"),
        ("qwen3:8b", "qwen3"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral"),
        ("google/gemma-3-12b-it", "gemma"),
        ("gpt-4o", None),
        ("local", None),
    ],
)
def test_a_models_name_leads_to_the_preset_of_its_family(model: str, preset: str | None) -> None:
    assert find_family_preset(model) == preset


def test_a_preset_for_a_family_says_what_was_measured() -> None:
    families = {name: family for name in list_presets() if (family := load_family(name))}
    assert set(families) == {"qwen2.5", "qwen3", "llama-3", "mistral", "gemma"}
    assert all(family.measured.startswith("nothing") for family in families.values())
    assert load_preset_plan("qwen3").sampling.thinking is False


@pytest.mark.parametrize("name", list_presets())
def test_every_preset_is_a_plan(name: str) -> None:
    assert load_preset_plan(name).chunk_tokens > 0


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(PlanError, match="'chunk_tokens'"):
        Plan.from_json({"chunk_token": 5})
    with pytest.raises(PlanError, match=r"plan\.sampling.*'temperature'"):
        Plan.from_json({"sampling": {"temprature": 5}})


@pytest.mark.parametrize(
    "values", [{"chunk_tokens": 0}, {"memory_tokens": -5}, {"layout": "sideways"}, {"budget": {"tokens": 0}}]
)
def test_senseless_values_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(PlanError):
        Plan.from_json(values)


def test_a_cost_budget_needs_prices() -> None:
    with pytest.raises(PlanError, match="price"):
        Budget(cost=1.0)
    assert Budget(cost=1.0, price_in=2.0, price_out=8.0).price(1_000_000, 500_000) == 6.0


def test_check_says_by_how_many_tokens_a_plan_misses_the_window() -> None:
    with pytest.raises(PlanError, match="24 too many"):
        Plan().check(7222 - 24, question=24, template=150)
    Plan().check(7222, question=24, template=150)
    Plan().check(None, question=24, template=150)


@pytest.mark.parametrize("window", [1024, 2048, 4096, 8192, 131072, None])
def test_a_plan_within_a_window_fits_it(window: int | None) -> None:
    plan = Plan().within(window)
    plan.check(window, question=plan.question_tokens // 4, template=(window or 8192) // 45)
    assert plan.chunk_tokens <= 5000


def test_every_setting_has_one_flat_name_and_the_schema_has_its_sentence():
    given = {"chunk_tokens": 900, "lang": "zh", "temperature": 0.0, "max_cost": 2.0, "gate_threshold": 0.25}
    nested = nest_settings(given)
    assert nested["budget"] == {"cost": 2.0}
    assert nested["gate"] == {"threshold": 0.25}
    plan = Plan().with_values(merge_tables(nested, {"budget": {"price_in": 1.0}}))
    assert (plan.language, plan.sampling.temperature) == ("zh", 0.0)
    fields = TypeAdapter(Plan).json_schema()["properties"]
    assert fields["chunk_tokens"]["description"] == describe_setting("chunk_tokens").about


def test_a_renewed_budget_keeps_its_prices_and_forgets_its_limits():
    old = Budget(tokens=9, seconds=1.0, price_in=2.0)
    assert renew_budget(old, {}) == Budget(price_in=2.0)
    assert renew_budget(old, {"max_tokens_total": 5, "price_in": 3.0}) == Budget(tokens=5, price_in=3.0)


@given(
    window=st.integers(80, 9000),
    question=st.integers(1, 1024),
    chunk=st.integers(8, 20000),
    memory=st.integers(8, 9000),
    answer=st.integers(8, 9000),
)
def test_the_advice_of_a_plan_that_is_too_large_can_be_followed(window, question, chunk, memory, answer):
    plan = Plan(chunk_tokens=chunk, memory_tokens=memory, answer_tokens=answer)
    try:
        plan.check(window, question=question, template=40)
    except PlanError as error:
        advice = str(error).partition("reply). ")[2]
        if advice.startswith("Ask a shorter question"):
            assert window - question - 40 < 32
            return
        options = {
            name.replace("-", "_"): int(value) for name, value in re.findall(r"--([a-z-]+) (?:to )?(\d+)", advice)
        }
        assert options
        assert options["chunk_tokens"] < chunk or len(options) > 1
        replace(plan, **options).check(window, question=question, template=40)
