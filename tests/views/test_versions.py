"""What changed between two versions of a document."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.documents.opening import SourceDocument, open_document
from bookwheel.errors import InputError
from bookwheel.types import Part
from bookwheel.views import changes, versions
from bookwheel.views.changes import ChangesDocument
from bookwheel.views.versions import TextChangeKind, VersionPart, compare_texts

OLD = """# Lease

## 1. Rent

The tenant pays 40 crowns on the first day of each month.

The rent is paid in coin.

## 2. Notice

Either party may end this lease with 30 days' notice.

## 3. Animals

No goats are kept in the yard of the mill.
"""
NEW = """# Lease

## 1. Rent

The tenant pays 45 crowns on the first
day of each month.

The rent is paid in coin.

A late payment costs two crowns.

## 2. Animals

No goats are kept in the yard of the mill.

## 3. Notice

Either party may end this lease with 30 days' notice.
"""


def told(old, new):
    found = compare_texts(old, new)
    return [(str(one.kind), one.heading, one.words or (one.new or one.old).text) for one in found]


def test_programs_and_settings_are_compared_line_by_line_within_their_file():
    old = (
        "===== a.yaml =====\n# Every setting.\n\nhold:\n  hours: 36\n===== b.py =====\nimport os\n\ndef f():\n    return 1\n"
        "===== c.md =====\nOne line\nand another.\n===== d.py =====\nimport os\nx = 1\n===== e.cfg =====\nDEBUG=true\n"
    )
    new = (
        "===== a.yaml =====\n# Every setting.\n\nhold:\n  hours: 48\n===== b.py =====\nimport os\n\ndef f():\n    if x:\n"
        "        y()\n\n        return 1\n===== c.md =====\nOne line and\nanother.\n===== f.py =====\nimport os\n"
    )
    assert told(old, new) == [
        ("reworded", "a.yaml", "  hours: [-36-]{+48+}"),
        ("added", "b.py", "    if x:\n        y()"),
        ("reworded", "b.py", "[-    -]{+        +}return 1"),
        ("removed", "d.py", "import os\nx = 1"),
        ("removed", "e.cfg", "DEBUG=true"),
        ("added", "f.py", "import os"),
    ]
    assert [one.words for one in compare_texts("a: 1\nb: 2\n", "a: 1\nb: 3\n", "c.toml")] == ["b: [-2-]{+3+}"]


def test_parts_are_reworded_added_and_moved_and_numbers_of_sections_and_broken_lines_say_nothing():
    assert told(OLD, NEW) == [
        ("reworded", "Lease › 1. Rent", "The tenant pays [-40-]{+45+} crowns on the first day of each month."),
        ("added", "Lease › 1. Rent", "A late payment costs two crowns."),
        ("moved", "2. Animals", "No goats are kept in the yard of the mill."),
    ]


def test_each_change_has_its_places_in_both_versions():
    change = compare_texts(OLD, NEW)[0]
    assert "40 crowns" in OLD[change.old.start : change.old.end]
    assert "45 crowns" in NEW[change.new.start : change.new.end]


def test_a_removed_clause_and_a_changed_title_are_told():
    assert told(OLD, OLD.replace("The rent is paid in coin.\n\n", "")) == [
        ("removed", "Lease › 1. Rent", "The rent is paid in coin.")
    ]
    assert told(OLD, OLD.replace("Animals", "Beasts")) == [
        ("removed", "3. Animals", "Animals"),
        ("added", "3. Beasts", "Beasts"),
    ]


def test_rows_of_tables_and_turns_of_talks_are_parts():
    table = "| Month | Crates |\n|---|---|\n| May | 64 |\n| June | 71 |\n"
    assert told(table, table.replace("71", "72")) == [("reworded", "", "| June | [-71-]{+72+} |")]
    talk = "Ada: We deliver.\nBo: On Monday.\nAda: Agreed.\n"
    assert told(talk, talk.replace("Monday", "Friday")) == [("reworded", "", "Bo: On [-Monday-]{+Friday+}.")]


def test_the_same_text_and_chinese():
    assert compare_texts(OLD, OLD) == []
    assert told("租金为每月四千元。\n\n押金两个月。\n", "租金为每月五千元。\n\n押金两个月。\n") == [
        ("reworded", "", "租金为每月[-四千-]{+五千+}元。")
    ]


@given(
    st.lists(
        st.sampled_from(["Ada pays.", "Bo pays 4 crowns a month.", "## Rent", "- item", "| a | b |", ""]), max_size=12
    ),
    st.integers(0, 9),
)
def test_the_changes_lead_from_one_version_to_the_other(lines, seed):
    old = "\n\n".join(lines)
    shuffled = random.Random(seed).sample(lines, len(lines))
    new = "\n\n".join(shuffled[: len(lines) // 2] + ["A new one stands here now."] + shuffled[len(lines) // 2 :])
    found = compare_texts(old, new)
    assert any(one.kind is TextChangeKind.ADDED and "A new one" in one.new.text for one in found)
    assert all((one.old is None) == (one.kind is TextChangeKind.ADDED) for one in found)
    assert all((one.new is None) == (one.kind is TextChangeKind.REMOVED) for one in found)
    backward = compare_texts(new, old)
    assert any(one.kind is TextChangeKind.REMOVED and "A new one" in one.old.text for one in backward)


def test_a_change_in_a_long_document_is_found_and_too_many_changes_are_declined(monkeypatch):
    lines = [f"Clause {n} says that the party of part {n} pays." for n in range(3000)]
    old = "\n\n".join(lines)
    assert told(old, old.replace("part 1500 pays", "part 1500 never pays")) == [
        ("reworded", "", "Clause 1500 says that the party of part 1500 {+never +}pays.")
    ]
    monkeypatch.setattr(versions, "_MOST_PARTS", 100)
    with pytest.raises(InputError, match="chapter by chapter"):
        compare_texts(old, "\n\n".join(reversed(lines)))


def open_versions(folder: Path, old: str, new: str) -> tuple[SourceDocument, SourceDocument]:
    for name, text in (("old.md", old), ("new.md", new)):
        (folder / name).write_text(text)
    return open_document([folder / "old.md"]), open_document([folder / "new.md"])


def test_changes_become_a_document_that_can_be_asked_and_names_the_lines_that_they_are_from(tmp_path):
    document = ChangesDocument(compare_texts(OLD, NEW), *open_versions(tmp_path, OLD, NEW), "What changed?")
    text = document.text
    assert text.startswith(
        "These are all changes from old.md to new.md. What is not among them stands in both alike.\n"
    )
    assert "\n## Lease › 1. Rent\n\nNow: The tenant pays 45 crowns" in text
    assert "Added: A late payment costs two crowns." in text
    assert "".join(part.text for part in document.parts(9)) == text[9:]
    for words, source in (("Before: The tenant pays 40", "old.md#line-5"), ("Added: A late", "new.md#line-10")):
        start = text.index(words)
        assert document.sources(start, start + 5) == (source,)
    assert ChangesDocument([], *open_versions(tmp_path, OLD, NEW), "有什么变化？").text.startswith("以下是从")


CLAUSES = """## 3. Shelves

1.5 tonnes stand on the upper one.

## 4. Charges

4.1 The Customer pays 40 crowns a year.

4.2 Parts are charged at cost.

4.3 The rise is no more than the index.

## 5. Insurance

5.1 The Contractor holds insurance of two millions.

## 6. End

6.1 It ends in May, by notice or without.

6.2 The courts of Este decide.
"""
LATER = """## 3. Shelves

1.6 tonnes stand on the upper one.

## 4. Data

4.1 Data are kept secret.

## 5. Charges

5.1 The Customer pays 50 crowns a year.

5.2 Parts are charged at cost.

## 6. End

6.1 It ends in May, by notice or without.

6.2 The courts of Este decide.

## 7. Insurance

7.1 The Contractor holds insurance of two millions.
"""


def test_clauses_that_are_only_numbered_anew_are_no_changes_and_may_have_moved():
    assert told(CLAUSES, LATER) == [
        ("reworded", "3. Shelves", "[-1.5-]{+1.6+} tonnes stand on the upper one."),
        ("added", "4. Data", "4.1 Data are kept secret."),
        ("reworded", "5. Charges", "[-4.1-]{+5.1+} The Customer pays [-40-]{+50+} crowns a year."),
        ("removed", "5. Charges", "4.3 The rise is no more than the index."),
        ("moved", "7. Insurance", "[-5.1-]{+7.1+} The Contractor holds insurance of two millions."),
    ]


def test_chinese_clauses_stand_under_their_titles_and_numbers_that_went_on_say_nothing():
    old = (
        "租赁合同\n\n编号：7\n\n第一条 租金\n1.1 每月伍万陆仟元整。\n\n第二条 维修\n2.1 主体由甲方维修。\n"
        "2.2 灯具由乙方维修。\n\n第三条 其他\n3.1 一式三份，三方各执一份。\n\n第四条 由法院管辖。\n"
    )
    new = old.replace("伍万陆仟", "伍万玖仟").replace("2.2 灯具由乙方维修。\n", "").replace("第四条", "第五条")
    new = new.replace("第三条 其他\n3.1", "第三条 消防\n3.1 配备灭火器。\n\n第四条 其他\n4.1")
    assert [(one.kind, one.heading, one.words) for one in compare_texts(old, new)] == [
        ("reworded", "第一条 租金", "1.1 每月[-伍万陆仟-]{+伍万玖仟+}元整。"),
        ("removed", "第二条 维修", ""),
        ("added", "第三条 消防", ""),
    ]


def test_a_compound_and_an_address_are_one_word():
    old = "It runs for twenty-four months, by hand, at -18 degrees."
    assert told(old, "It runs for thirty-six months, by hand or by a@b.example, at -21 degrees.") == [
        (
            "reworded",
            "",
            "It runs for [-twenty-four-]{+thirty-six+} months, by hand{+ or by a@b.example+}, at [--18-]{+-21+} degrees.",
        )
    ]


def test_a_section_that_came_or_went_is_one_change():
    old = "## 7. Use\n\nOffices alone.\n\n## 8. Garden\n\nThe Tenant waters the plants from May to September.\n"
    new = "## 7. Use\n\nOffices alone.\n\n## 8. Charging\n\nTwo points for electric cars stand in the yard.\n"
    told = [(change.kind.value, (change.new or change.old).text) for change in compare_texts(old, new)]
    assert told == [
        ("removed", "The Tenant waters the plants from May to September."),
        ("added", "Two points for electric cars stand in the yard."),
    ]


class ManyFiles:
    """A document of as many files as it has parts."""

    def __init__(self, texts: list[str]) -> None:
        self._parts = [Part(text=text, source=f"{at}.md") for at, text in enumerate(texts)]

    def parts(self, start: int = 0) -> list[Part]:
        return self._parts


def test_each_of_many_changes_is_found_in_its_file_and_line_without_a_walk_over_all() -> None:
    texts = [f"===== {at}.md =====\n\nOne.\nTwo.\n" for at in range(100_000)]
    places = changes._Places(ManyFiles(texts))
    start, found = 0, []
    for text in texts:
        at = start + text.index("Two.")
        found.append(places.locate("", VersionPart(start=at, end=at + 4, text="Two.", heading=""), "").source)
        start += len(text)
    assert found == [f"{at}.md#line-3" for at in range(100_000)]


def test_a_file_of_one_line_that_only_one_version_has_is_told() -> None:
    kept = "===== CHANGES.md =====\n# Changes\n\nFirst release.\n\n===== {} =====\n{}\n"
    old, new = kept.format("LICENSE", "MIT License. Copyright 2019 J. Haber"), kept.format("local.cfg", "DEBUG=true")
    told = [(str(one.kind), (one.new or one.old).text, one.heading) for one in compare_texts(old, new)]
    assert told == [
        ("removed", "MIT License. Copyright 2019 J. Haber", "LICENSE"),
        ("added", "DEBUG=true", "local.cfg"),
    ]
