"""A memory of quotes admits only lines whose words stand in what the model was shown."""

from __future__ import annotations

import pytest

from bookwheel.flags import Flag
from bookwheel.reading import guards
from bookwheel.reading.asides import Scene
from bookwheel.reading.guards import is_grounded, next_memory
from bookwheel.text.matching import Passage
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Memory, Reply

WORDS = WordTokenizer()
BEFORE = Memory(text="The lease ends in 2031.", tokens=6, limit=30)
SHOWN = "The harbour master of Skarholm is Ada Quill. She has held the office for 9 years.\nWho is the harbour master?"


def scene(section: str) -> Scene:
    return Scene(memory=BEFORE.text, section=section, quotes=True)


@pytest.mark.parametrize(
    "line",
    ["The harbour master of Skarholm is Ada Quill.", '"The harbour master is Ada Quill."', "Ada Quill, for 9 years"],
)
def test_a_quote_is_let_in(line: str) -> None:
    memory, flags = next_memory(BEFORE, Reply(text=line), WORDS, scene(SHOWN))
    assert (memory.text, flags) == (line, ())


@pytest.mark.parametrize(
    "line",
    [
        "The harbour master of Skarholm is Kanner.",
        "She has held the office for 12 years.",
        "The weather in spring is mild.",
    ],
)
def test_an_invention_is_kept_out_of_a_quoting_memory(line: str) -> None:
    memory, flags = next_memory(BEFORE, Reply(text=line), WORDS, scene(SHOWN))
    assert (memory.text, flags[-1]) == (BEFORE.text, Flag.UNFOUNDED)


def test_of_a_mixed_reply_only_the_quotes_are_let_in() -> None:
    memory, flags = next_memory(
        BEFORE, Reply(text="It is Kanner.\nThe harbour master is Ada Quill."), WORDS, scene(SHOWN)
    )
    assert (memory.text, flags) == ("The harbour master is Ada Quill.", (Flag.UNFOUNDED,))


def test_only_prompt_sets_that_ask_for_quotes_keep_inventions_out() -> None:
    memory, _ = next_memory(BEFORE, Reply(text="The total is 1,234."), WORDS, Scene(memory=BEFORE.text))
    assert memory.text == "The total is 1,234."


MILL = "the old mill by the river was sold in spring to a baker from the coast who paid in silver coins"


@pytest.mark.parametrize(
    ("line", "grounded"),
    [
        ("the old mill by the river was sold in spring to a baker", True),
        ("old mill river sold spring baker coast paid silver today", True),  # one word in ten is new
        ("old mill river sold spring baker coast today gladly", False),  # two words in nine are new
        ("old mill river gladly today cheaply", False),  # half of the words are new
        ("the old mill by the river was sold in 1875", False),  # a number that is not there
        ("the old mill by the river was sold to Anna", False),  # a name that is not there
    ],
)
def test_a_line_is_admitted_when_nearly_all_of_its_words_were_shown(line: str, grounded: bool) -> None:
    assert is_grounded(line, MILL) is grounded


def test_quotes_that_are_admitted_stay_on_lines_of_their_own() -> None:
    reply = Reply(text="the old mill by the river\nnobody ever said so gladly\nsold in spring to a baker")
    memory, flags = next_memory(BEFORE, reply, WORDS, scene(MILL))
    assert memory.text == "the old mill by the river\nsold in spring to a baker"
    assert flags == (Flag.UNFOUNDED,)


def test_what_was_shown_is_taken_apart_once_for_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    class Counted(Passage):
        def __init__(self, text: str) -> None:
            texts.append(text)
            super().__init__(text)

    monkeypatch.setattr(guards, "Passage", Counted)
    reply = Reply(text="\n".join(f"Wheel {n} is red." for n in range(9)))
    shown = "".join(f"Wheel {n} is red, they say. " for n in range(9))
    after, _ = next_memory(Memory.blank(200), reply, WordTokenizer(), Scene(section=shown, quotes=True))
    assert (after.text, texts) == (reply.text, [f"\n{shown}\n"])
