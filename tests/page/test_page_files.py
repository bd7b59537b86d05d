"""What can be told of the page's files without a browser."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from bookwheel import record
from bookwheel.types import Flag, Status

PAGE = Path(record.__file__).parent / "serve" / "page"


def test_both_languages_say_everything_that_is_asked_for():
    english, chinese = (
        set(re.findall(r'^  "([^"]+)":', (PAGE / f"words-{name}.js").read_text("utf-8"), re.MULTILINE))
        for name in ("en", "zh")
    )
    assert english == chinese
    code = "".join(file.read_text("utf-8") for file in PAGE.glob("*.js"))
    assert set(re.findall(r'\bt\("([^"]+)"', code)) <= english
    assert {f"status.{status}" for status in Status} | {f"flag.{flag}" for flag in Flag} <= english


def test_the_first_load_is_small():
    assert sum(len(gzip.compress(file.read_bytes())) for file in PAGE.iterdir()) < 60_000


def test_nothing_is_asked_of_other_places():
    for file in PAGE.iterdir():
        said = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://[\w.]|innerHTML|insertAdjacentHTML|document\.write|eval\(", said), file.name
