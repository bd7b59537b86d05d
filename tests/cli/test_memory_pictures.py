"""`bookwheel memory` and a picture: its words are recognised, remembered, quoted with their place, and forgotten."""

from __future__ import annotations

import pytest

pytest.importorskip("rapidocr")

from drawn import draw_dues

ROWS = (("Ada Quill", "101 crowns"), ("Bo Fell", "102 crowns"))


@pytest.mark.slow  # the real recogniser
@pytest.mark.usefixtures("book")
def test_a_picture_is_recognised_into_a_memory_quoted_by_its_place_and_forgotten(run, tmp_path) -> None:
    draw_dues(ROWS).save(tmp_path / "dues.png")
    run("memory", "new", "rents", "--about", "what Ada Quill and Bo Fell pay", "--model", "scripted")
    added = run("memory", "add", "rents", tmp_path / "dues.png")
    assert added.code == 0, added.err
    assert "101 crowns" in added.out
    said = run("memory", "ask", "rents", "How many crowns does Bo Fell pay?", "--json").json
    assert "102 crowns" in said["answer"]
    (quote,) = [one for one in said["evidence"] if "102 crowns" in one["quote"]]
    assert (quote["page"], quote["picture"]) == (1, "dues.png, page 1, figure 1")
    assert 0.9 < quote["confidence"] <= 1
    left, top, right, bottom = quote["box"]
    assert 0.07 < left < right < 0.75
    assert 0.63 < top < bottom < 0.95
    gone = run("memory", "forget", "rents", "--source", tmp_path / "dues.png")
    assert gone.code == 0, gone.err
    assert "101" not in run("memory", "show", "rents").out
