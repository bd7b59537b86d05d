"""Lessons come out of their file as they stand there, in an order that the seed decides."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.lessons import LessonFile
from bookwheel.lab.training.warmstart import ClaimOption, Lesson, PassageOption

LAMP = "The lamp was lit in 1891 by Amos Thorne."
RECORD = {
    "passages": ["The lamp is green.", LAMP],
    "lessons": [
        {
            "question": "Who lit the lamp?",
            "shown": [1, 0],
            "right": [1],
            "answer": "Amos Thorne",
            "claims": [[1, "", "It was lit in 1892.", False]],
        },
        {"question": "Who sold the lamp?", "shown": [0, 1]},
    ],
}


def write(path, *records):
    path.write_text("\n".join(json.dumps(one) for one in records), encoding="utf-8")
    return path


def test_a_group_is_what_its_line_says(tmp_path):
    (group,) = LessonFile(write(tmp_path / "lessons.jsonl", RECORD), 0).draw(1, 0)
    assert group == (
        Lesson(
            question="Who lit the lamp?",
            passages=(
                PassageOption(text=LAMP, is_right=True),
                PassageOption(text="The lamp is green.", is_right=False),
            ),
            source=LAMP,
            answer="Amos Thorne",
            claims=(ClaimOption(passage=LAMP, question="", text="It was lit in 1892.", is_right=False),),
        ),
        Lesson(
            question="Who sold the lamp?",
            passages=(
                PassageOption(text="The lamp is green.", is_right=False),
                PassageOption(text=LAMP, is_right=False),
            ),
        ),
    )


def test_every_group_is_drawn_once_before_any_is_drawn_again(tmp_path):
    records = [RECORD | {"lessons": [{"question": str(at)}]} for at in range(7)]
    lessons = LessonFile(write(tmp_path / "lessons.jsonl", *records), 3)
    drawn = [group[0].question for step in range(7) for group in lessons.draw(3, step)]
    assert all(sorted(drawn[at : at + 7]) == sorted(map(str, range(7))) for at in (0, 7, 14))
    assert drawn[:7] != drawn[7:14]
    assert [group[0].question for group in lessons.draw(3, 2)] == drawn[6:9]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 1"),
        (json.dumps({"passages": []}), "lessons"),
        (json.dumps({"passages": ["a"], "lessons": [{"question": "b", "shown": [1]}]}), "passage that is not there"),
        ("", "no lessons"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(tmp_path, line, told):
    path = tmp_path / "lessons.jsonl"
    path.write_text(line)
    with pytest.raises(ConfigError, match=told):
        LessonFile(path, 0)
