"""What a section says is never dropped from a reply for sounding like a remark on the reading."""

import pytest

from bookwheel.reading.asides import Scene

SECTION = "The pump broke on 9 May. The fee is 40 and Ada Quill paid it in Riga. No dog is allowed."


@pytest.mark.parametrize("memory", ["", "Ada paid 40.\nThe key is with Bo."])
@pytest.mark.parametrize(
    "sentence",
    [
        "No changes to the timetable are planned before 2032.",
        "No new information desk will open at the station.",
        "Nothing but the pier was tarred in May.",
        "The text of the treaty was read aloud.",
        "The memory of the device is soldered to the board.",
        "The old notes are kept in the cellar.",
        "The note was not given to the captain.",
        "The council could not find a new clerk in time.",
        "Sorry Street is closed until Monday.",
        "I cannot lift it, said the miller.",
        "The rest is paid on 4 June.",
        "The manual contains no drawings of the pump.",
        "书里没有插图。",
        "记忆馆每周一不开放。",
    ],
)
def test_a_true_sentence_of_the_section_is_kept(sentence, memory):
    scene = Scene(memory=memory, section=f"{sentence} {SECTION}", question="Who paid the fee?", unchanged="UNCHANGED")
    assert scene.read(sentence)[1].splitlines()[-1].rstrip(".") == sentence.rstrip(".")


def test_a_remark_with_a_number_that_was_asked_about_stays_one():
    scene = Scene(memory="Ada paid 40.", section=SECTION, question="What broke on 9 May?", unchanged="UNCHANGED")
    assert scene.read("No new information on 9 May.")[1] == ""
    assert scene.read("No further details on the 40.")[1] == ""
