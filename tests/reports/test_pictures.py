"""Facts that pictures alone show reach reports and matrices, marked, with the values that were seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("PIL")

from drawn import Log, collect_colours, make_picture, name_colour

from bookwheel.claims import Verdict
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reports.api import matrix, report
from bookwheel.reports.matrix import list_matrix_blocks
from bookwheel.reports.output import format_markdown, list_blocks

PLAN = Plan(chunk_tokens=300, memory_tokens=300, answer_tokens=300, question_tokens=200)
OUTLINE = "# Sails\n\n## Colours\nevery sail: sail\n"


def see_and_write(messages) -> str:
    """Read the colours of pictures, and write a sentence for each source that is given."""
    text = messages[-1].content
    if "Write one section of a report" in text:
        found = re.findall(r"\[(\d+)\] (?:sail: )?(?:The sail was )?(\w+)", text.partition("<section>")[2])
        return " ".join(f"The sail was {colour} [{n}]." for n, colour in found)
    if '"rows"' in text:
        return collect_colours(messages)
    colours = [name_colour(one) for one in messages[-1].pictures]
    if "<section>" in text:
        return "\n".join(one.mark for one in messages[-1].pictures) or "UNCHANGED"
    return f"\\boxed{{The sail was {colours[0] if colours else 'unknown'}}}"


def make_documents() -> list[Log]:
    documents = [Log(make_picture(1, "red")), Log(make_picture(2, "blue"))]
    documents[1].name = "other.pdf"
    return documents


def make_model(script=see_and_write) -> ScriptedModel:
    return ScriptedModel(script, plan=PLAN, window=2400, vision="qwen")


def test_a_report_writes_what_was_seen_in_pictures_with_a_mark(tmp_path: Path) -> None:
    made = report(make_documents(), "sails", outline=OUTLINE, model=make_model(), journal=tmp_path / "j.sqlite")
    (section,) = made.sections
    assert [(one.text, one.is_marked) for one in section.sentences] == [
        ("The sail was red.", True),
        ("The sail was blue.", True),
    ]
    assert [(one.quote, one.page, one.is_seen) for one in made.sources] == [
        ("[page 1, figure 1]", 1, True),
        ("[page 2, figure 2]", 2, True),
    ]
    assert "seen in a picture, not checked by words: sail: red" in format_markdown(list(list_blocks(made)))


def test_a_sentence_that_says_otherwise_than_was_seen_is_left_out(tmp_path: Path) -> None:
    def reply(messages) -> str:
        return see_and_write(messages).replace("The sail was red [", "The sail was not red [")

    made = report(make_documents(), "sails", outline=OUTLINE, model=make_model(reply), journal=tmp_path / "j.sqlite")
    assert [one.text for one in made.sections[0].left_out] == ["The sail was not red."]


def test_a_matrix_has_what_was_seen_in_its_cells_and_in_what_they_come_to(tmp_path: Path) -> None:
    asked = ["What colour was the sail?"]
    made = matrix(make_documents(), asked, way="sequential", model=make_model(), journal=tmp_path / "j.sqlite")
    assert [row[0].verdict for row in made.rows] == [Verdict.SEEN, Verdict.SEEN]
    assert [(one.text, one.numbers, one.is_marked) for one in made.syntheses[0]] == [
        ("The sail was red.", (1,), True),
        ("The sail was blue.", (2,), True),
    ]
    text = format_markdown(list(list_matrix_blocks(made, "Sails")))
    assert text.count("seen in a picture, not checked by words") == 2
