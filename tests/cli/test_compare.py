"""`bookwheel compare`: the changes of a document, and questions about them."""

import json

import pytest

SAME = "".join(f"The mill of page {n} stands by the river.\n\n" for n in range(20))
OLD = f"{SAME}## Rent\n\nThe tenant pays 40 crowns.\n\n## Notice\n\nThe colour of the wheel is vermilion.\n"
NEW = OLD.replace("40", "45").replace("vermilion", "green").replace("## Rent", "## Rent\n\nA deposit is due.")


@pytest.fixture
def run(tmp_path, command):
    (tmp_path / "old.md").write_text(OLD)
    (tmp_path / "new.md").write_text(NEW)
    journal = ("--journal", str(tmp_path / "journal.sqlite"))

    def call(*words: str) -> tuple[int, str, str]:
        names = {"OLD": str(tmp_path / "old.md"), "NEW": str(tmp_path / "new.md")}
        return command("compare", *(names.get(word, word) for word in words), *journal)

    return call


def test_changes_stand_under_their_headings(run):
    code, out, err = run("OLD", "NEW")
    assert code == 0
    assert out.splitlines() == [
        "",
        "Rent",
        "+ A deposit is due.",
        "~ The tenant pays [-40-]{+45+} crowns.",
        "",
        "Notice",
        "~ The colour of the wheel is [-vermilion-]{+green+}.",
    ]
    assert "1 added, 2 reworded" in err


def test_as_json_each_change_has_its_places(run):
    told = json.loads(run("OLD", "NEW", "--json")[1])
    assert told["counts"] == {"added": 1, "removed": 0, "reworded": 2, "moved": 0}
    changed = told["changes"][1]
    assert OLD[changed["old"]["start"] : changed["old"]["end"]] == "The tenant pays 40 crowns."
    assert changed["new"]["text"] == "The tenant pays 45 crowns."


def test_only_what_changed_is_read_for_a_question(run):
    code, out, _ = run("OLD", "NEW", "What is the colour of the wheel?", "--model", "scripted", "--json")
    reading = json.loads(out)
    assert code == 0
    assert reading["document"]["name"] == "old.md → new.md"
    assert reading["document"]["length"] < len(OLD) / 3
    assert "green" in reading["answer"]
    # What says otherwise may be of both.
    places = {place for one in reading["evidence"] for place in one["source"].split(", ")}
    assert places <= {"old.md#line-47", "new.md#line-49"}
    assert reading["plan"]["verdict"] == "model"  # by words, what was before says otherwise


def test_the_same_words_twice(run):
    code, out, err = run("OLD", "OLD")
    assert (code, out) == (0, "")
    assert "have the same words" in err
    assert run("OLD", "OLD", "What changed?", "--model", "scripted")[0] == 2


@pytest.mark.parametrize("words", [("OLD",), ("OLD", "NEW", "What?", "Why?"), ("OLD", "NEW", " "), ("OLD", "gone.md")])
def test_what_cannot_be_compared_is_said(run, words):
    assert run(*words)[0] == 2
