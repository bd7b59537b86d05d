"""Values from outside are taken strictly, and an error names the place, the key and what is allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from math import inf, nan
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from bookwheel.errors import InputError, PlanError
from bookwheel.plan import Budget, Layout, Plan, Sampling
from bookwheel.schema import Ge, Gt, Le, Lt, check_bounds, from_plain, parse, to_plain
from bookwheel.types import Finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    power: Annotated[int, Ge(1), Lt(100)] = 3
    heat: Annotated[float, Gt(0), Lt(inf)] | None = None
    share: Annotated[float, Ge(0), Le(1)] = 0.5

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    name: str
    engines: tuple[Engine, ...] = ()
    lead: Engine = field(default_factory=Engine)
    fast: bool = False
    layout: Layout = Layout.MEMORY_FIRST


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"t\.toml: train\.name is missing"),
        ([], r"train must be a table, not \[\]"),
        ({"name": 5}, r"train\.name must be text, not 5"),
        ({"name": date(2026, 1, 31)}, r"train\.name must be text, not \{'date': '2026-01-31'\}"),
        ({"name": "a", "fast": "yes"}, r"train\.fast must be true or false, not 'yes'"),
        ({"name": "a", "fast": 1}, r"train\.fast must be true or false, not 1"),
        ({"name": "a", "lead": 5}, r"train\.lead must be a table, not 5"),
        ({"name": "a", "lead": {"power": "3"}}, r"train\.lead\.power must be a whole number, not '3'"),
        ({"name": "a", "lead": {"power": 3.5}}, r"train\.lead\.power must be a whole number, not 3\.5"),
        ({"name": "a", "lead": {"power": True}}, r"train\.lead\.power must be a whole number, not True"),
        ({"name": "a", "lead": {"power": 0}}, r"train\.lead\.power must be at least 1, not 0"),
        ({"name": "a", "lead": {"power": 100}}, r"train\.lead\.power must be below 100, not 100"),
        ({"name": "a", "lead": {"heat": 0}}, r"train\.lead\.heat must be above 0"),
        ({"name": "a", "lead": {"heat": inf}}, r"train\.lead\.heat must be a finite number, not inf"),
        ({"name": "a", "lead": {"heat": "hot"}}, r"train\.lead\.heat must be a number, not 'hot'"),
        ({"name": "a", "lead": {"share": 1.5}}, r"train\.lead\.share must be at most 1"),
        ({"name": "a", "engines": {}}, r"train\.engines must be a list, not \{\}"),
        ({"name": "a", "engines": [{}, {"power": -1}]}, r"train\.engines\.1\.power must be at least 1, not -1"),
        (
            {"name": "a", "engines": [{"powr": 1}]},
            r"unknown setting 'powr' in \[train\.engines\.0\]; did you mean 'power'",
        ),
        (
            {"name": "a", "colour": 1},
            r"unknown setting 'colour' in \[train\]; known: name, engines, lead, fast, layout",
        ),
        ({"name": "a", "layout": "sideways"}, r"train\.layout must be memory-first, section-first or question-section"),
    ],
)
def test_an_error_names_place_key_and_what_is_allowed(values: object, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        parse(Train, values, where="t.toml", table="train", error=PlanError)


def test_good_values_become_the_dataclass() -> None:
    values = {"name": "a", "engines": [{"power": 7}], "lead": {"heat": 2}, "layout": "section-first"}
    train = parse(Train, values)
    assert train == Train(name="a", engines=(Engine(power=7),), lead=Engine(heat=2.0), layout=Layout.SECTION_FIRST)


def test_a_long_value_is_shortened_in_the_message() -> None:
    with pytest.raises(InputError) as caught:
        parse(Engine, {"power": "x" * 5000})
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize(
    ("name", "value"), [("power", 0), ("power", 100), ("heat", 0.0), ("heat", inf), ("share", nan)]
)
def test_bounds_hold_for_values_made_in_python_too(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} must be"):
        Engine(**{name: value})


@given(power=st.integers(-200, 200), share=st.floats(allow_nan=False))
def test_python_and_parsed_values_meet_the_same_bounds(power: int, share: float) -> None:
    def is_taken(make: object) -> bool:
        try:
            make()  # type: ignore[operator]
        except InputError:
            return False
        return True

    by_hand = is_taken(lambda: Engine(power=power, share=share))
    parsed = is_taken(lambda: parse(Engine, {"power": power, "share": share}))
    assert by_hand == parsed == (1 <= power < 100 and 0 <= share <= 1)


def test_the_json_schema_states_the_same_bounds() -> None:
    power = TypeAdapter(Engine).json_schema()["properties"]["power"]
    assert (power["minimum"], power["exclusiveMaximum"], power["default"]) == (1, 100, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sampling(temperature=-0.1),
        lambda: Sampling(top_p=7),
        lambda: Budget(tokens=0),
        lambda: Budget(seconds=-1.0),
        lambda: Budget(price_in=-2.0),
        lambda: Plan(chunk_tokens=7),
        lambda: Plan().with_values({"sampling": {"temperature": "hot"}}),
        lambda: Plan().with_values({"budget": 5}),
        lambda: Plan().with_values({"chunk_tokens": "900"}),
    ],
)
def test_plans_with_senseless_values_cannot_be_made(make: object) -> None:
    with pytest.raises(PlanError):
        make()  # type: ignore[operator]


def test_values_on_top_of_a_plan_keep_the_rest() -> None:
    plan = Plan(chunk_tokens=700, sampling=Sampling(seed=5), budget=Budget(tokens=9000))
    changed = plan.with_values({"memory_tokens": 99, "sampling": {"temperature": 0}})
    assert changed == Plan(
        chunk_tokens=700, memory_tokens=99, sampling=Sampling(seed=5, temperature=0.0), budget=Budget(tokens=9000)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    kind: Finish
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    first: Leaf | None
    leaves: tuple[Leaf, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    named: Mapping[str, int] = field(default_factory=dict)


def test_plain_values_are_a_dataclass_again_whatever_it_holds():
    leaf = Leaf(kind=Finish.LENGTH, sizes=(1, 2))
    for tree in (
        Tree(first=leaf, leaves=(leaf, Leaf(kind=Finish.STOP)), pairs=(("a", "\ud800"),), named={"a": 1}),
        Tree(first=None, leaves=()),
    ):
        assert from_plain(Tree, json.loads(json.dumps(to_plain(tree)))) == tree


def test_plain_values_of_older_and_newer_versions_are_taken():
    assert from_plain(Leaf, {"kind": "stop", "color": "red"}) == Leaf(kind=Finish.STOP)
