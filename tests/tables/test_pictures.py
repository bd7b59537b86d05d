"""Rows out of pictures: from recognised words with page, box and confidence, and by a model that sees."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("PIL")

from drawn import Log, collect_colours, collect_table_rows, make_picture
from table_model import PLAN, make_model

from bookwheel import collect
from bookwheel.errors import Rejected
from bookwheel.models.scripted import ScriptedModel
from bookwheel.picture import PictureLine
from bookwheel.tables.api import load_table

SAILS = "every sail: sail"
DUES = "every payment: who, amount"


def make_seer(script=collect_colours, plan=PLAN) -> ScriptedModel:
    return ScriptedModel(script, plan=plan, window=1200, vision="qwen")


SEER_PLAN = replace(PLAN, chunk_tokens=300, memory_tokens=300)


def test_what_a_model_sees_alone_is_a_row_with_its_picture_and_is_said_to_be_seen(tmp_path: Path) -> None:
    log = Log(make_picture(1, "red"), make_picture(2, "blue"))
    journal = tmp_path / "j.sqlite"
    table = collect(log, SAILS, model=make_seer(plan=SEER_PLAN), journal=journal)
    assert [(row.cells, row.is_seen, row.is_proven) for row in table.rows] == [
        (("red",), True, False),
        (("blue",), True, False),
    ]
    places = [row.places[0] for row in table.rows]
    assert [(one.page, one.picture, one.box) for one in places] == [
        (1, "page 1, figure 1", (0.0, 0.5, 1.0, 1.0)),
        (2, "page 2, figure 2", (0.0, 0.5, 1.0, 1.0)),
    ]
    assert (table.seen, table.unproven) == (2, 0)
    assert any("2 of 2 rows are seen in pictures" in note for note in table.list_notes())
    assert load_table("last", journal=journal).to_json() == table.to_json()
    assert table.query("select sail, picture, box, seen from rows")[1][0] == ("red", "page 1, figure 1", "0 0.5 1 1", 1)
    assert "seen in a picture, not checked by words" in table.to_markdown()


def test_a_part_of_a_picture_is_the_box_of_a_row(tmp_path: Path) -> None:
    def reply(messages) -> str:
        row = {"sail": "red", "quote": "[page 1, figure 1, box 0 0.5 0.5 1]"}
        return json.dumps({"rows": [row], "memory": ""})

    table = collect(
        Log(make_picture(1, "red")), SAILS, model=make_seer(reply, SEER_PLAN), journal=tmp_path / "j.sqlite"
    )
    (row,) = table.rows
    assert (row.is_seen, row.places[0].box) == (True, (0.0, 0.75, 0.5, 1.0))


@pytest.mark.parametrize("quote", ["[page 1, figure 1]", "[page 9, figure 9]", "a red sail"])
def test_who_was_shown_no_picture_has_seen_none(quote: str, tmp_path: Path) -> None:
    def reply(messages) -> str:
        return json.dumps({"rows": [{"sail": "red", "quote": quote}], "seen": ["page 1, figure 1"], "memory": ""})

    log = Log(make_picture(1, "red"))
    table = collect(log, SAILS, model=ScriptedModel(reply, plan=PLAN, window=900), journal=tmp_path / "j.sqlite")
    assert (table.seen, table.unproven) == (0, 1)


def test_a_server_that_refuses_pictures_has_seen_none(tmp_path: Path) -> None:
    def reply(messages):
        if messages[0].pictures:
            return Rejected("this model takes no image_url")
        return json.dumps({"rows": [{"sail": "red", "quote": "[page 1, figure 1]"}], "memory": ""})

    log = Log(make_picture(1, "red"))
    table = collect(log, SAILS, model=make_seer(reply, SEER_PLAN), journal=tmp_path / "j.sqlite")
    assert (table.seen, table.unproven) == (0, 1)
    assert "unseen-pictures" in table.reading.steps[0].flags
    assert any("pictures were not shown to the model" in note for note in table.list_notes())


def test_a_row_of_recognised_words_has_page_box_and_confidence(tmp_path: Path) -> None:
    lines = (
        PictureLine(text="Tenant 1", box=(0.1, 0.1, 0.3, 0.2), confidence=0.99),
        PictureLine(text="101 crowns", box=(0.5, 0.1, 0.8, 0.2), confidence=0.91),
    )
    log = Log(make_picture(1, "red", lines), words="| who | amount |\n| --- | --- |\n| Tenant 1 | 101 crowns |")
    table = collect(log, DUES, model=make_model(collect_table_rows), journal=tmp_path / "j.sqlite")
    (row,) = table.rows
    (place,) = row.places
    assert (row.is_proven, row.is_seen) == (True, False)
    assert (place.page, place.picture, place.confidence) == (1, "page 1, figure 1", 0.91)
    assert place.box == pytest.approx((0.1, 0.55, 0.8, 0.6))


def test_a_table_without_pictures_has_no_columns_for_them(tmp_path: Path) -> None:
    log = Log(make_picture(1, "red"), words="| Tenant 1 | 101 crowns |")
    table = collect(log, DUES, model=make_model(collect_table_rows), journal=tmp_path / "j.sqlite")
    assert len(table.rows) == 1
    assert "box" not in table.fields
