"""The windows of a text that the way `quotes` chooses from."""

from __future__ import annotations

from bookwheel.models.scripted import ScriptedModel
from bookwheel.reading.ways.passages import split_windows


def test_windows_are_runs_of_three_sentences_that_fit() -> None:
    words = ScriptedModel(str).tokenizer
    text = "One is here. Two is\nhere. Three is here. Four is here.\n\n***\n\n"
    assert split_windows(text, words, 100) == [
        "One is here. Two is here. Three is here.",
        "Two is here. Three is here. Four is here.",
    ]
    assert split_windows(text, words, 9)[0] == "One is here. Two is here."
    assert split_windows(text, words, 9)[-1] == "Three is here. Four is here."
    assert split_windows("One is here. Two is here. Three is here.", words, 9)[-1] == "Two is here. Three is here."
    assert split_windows("Only one.", words, 100) == ["Only one."]
    assert split_windows("*** \n\n ---", words, 100) == []
    assert split_windows("One is here.\n\n## Two\n\nThree is here. Four is here.\n", words, 100) == [
        "One is here.",
        "Two … Three is here. Four is here.",
    ]
    assert split_windows("# One\n\n## Two\n\nThree is here.\n", words, 100) == ["One … Two … Three is here."]
    code = "# Uploads end at ten megabytes\nlimit = 10\n\n# Why?\n\nDisks are small.\n"
    assert split_windows(code, words, 100) == [
        "Uploads end at ten megabytes … limit = 10",
        "Why? … Disks are small.",
    ]
