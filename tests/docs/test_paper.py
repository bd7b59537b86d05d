"""The table of docs/paper.md says what the preset says."""

from __future__ import annotations

import re
from pathlib import Path

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.verl.settings import ClusterSettings

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"
ROW = re.compile(
    r"^\| `(?P<theirs>[^`]+)` \| (?P<value>[^|]*) \| (?:—|`(?P<ours>[^`]+)`) \| (?P<here>[^|]*) \| ?(?P<why>.*) ?\|$"
)


def rows():
    lines = PAGE.read_text(encoding="utf-8").partition("## Line by line")[2].splitlines()
    return [match for line in lines if (match := ROW.match(line))]


def find(settings, path):
    for name in path.split("."):
        settings = settings[name]
    return settings


def test_every_value_of_the_table_is_the_presets():
    settings = {**TrainConfig.load("paper-7b").to_json(), "verl": ClusterSettings.load("paper-7b").to_json()}
    assert len(rows()) > 60
    for row in rows():
        if row["ours"] is None:
            continue
        value = find(settings, row["ours"])
        found = (
            any(row["here"] in one for one in value) if isinstance(value, list | tuple) else str(value) == row["here"]
        )
        assert found, f"{row['ours']} is {value}, and the page says {row['here']}"


def test_what_differs_or_has_no_equal_has_a_reason():
    for row in rows():
        if row["ours"] is None:
            assert row["why"].strip(), row["theirs"]
    differing = [row for row in rows() if row["why"].startswith("differs: ")]
    assert 5 < len(differing) < 15
