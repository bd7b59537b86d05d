"""The tables of docs/paper.md say what the presets say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.verl.settings import ClusterSettings

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"
ROW = re.compile(
    r"^\| `(?P<theirs>[^`]+)` \| (?P<value>[^|]*) \| (?:—|`(?P<ours>[^`]+)`) \| (?P<here>[^|]*) \| ?(?P<why>.*) ?\|$"
)


TABLES = {"paper-7b": ("## Line by line", 60), "paper-14b": ("## The 14B's lines", 5)}


def rows(heading):
    section = PAGE.read_text(encoding="utf-8").partition(heading)[2].partition("\n## ")[0]
    return [match for line in section.splitlines() if (match := ROW.match(line))]


def find(settings, path):
    for name in path.split("."):
        settings = settings[name]
    return settings


@pytest.mark.parametrize("preset", TABLES)
def test_every_value_of_the_table_is_the_presets(preset):
    settings = {**TrainConfig.load(preset).to_json(), "verl": ClusterSettings.load(preset).to_json()}
    heading, least = TABLES[preset]
    assert len(rows(heading)) > least
    for row in rows(heading):
        if row["ours"] is None:
            continue
        value = find(settings, row["ours"])
        found = (
            any(row["here"] in one for one in value) if isinstance(value, list | tuple) else str(value) == row["here"]
        )
        assert found, f"{row['ours']} is {value}, and the page says {row['here']}"


def test_what_differs_or_has_no_equal_has_a_reason():
    whole = [row for heading, _ in TABLES.values() for row in rows(heading)]
    for row in whole:
        if row["ours"] is None:
            assert row["why"].strip(), row["theirs"]
    differing = [row for row in whole if row["why"].startswith("differs: ")]
    assert 5 < len(differing) < 16


def test_the_two_presets_differ_in_what_the_second_table_says_alone():
    small, large = (
        flatten({**TrainConfig.load(name).to_json(), "verl": ClusterSettings.load(name).to_json()}) for name in TABLES
    )
    told = {row["ours"] for row in rows(TABLES["paper-14b"][0])}
    assert {name for name in small if small[name] != large[name]} <= told


def flatten(settings, prefix=""):
    return {
        name: value
        for key, one in settings.items()
        for name, value in (
            flatten(one, f"{prefix}{key}.") if isinstance(one, dict) else {f"{prefix}{key}": one}
        ).items()
    }
