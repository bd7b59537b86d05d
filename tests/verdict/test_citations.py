"""What an answer says of its place is looked up there."""

import pytest

from bookwheel.claims import Fit, Verdict
from bookwheel.documents.opening import TextDocument, open_document
from bookwheel.verdict.citations import assure
from bookwheel.verdict.judge import examine, judge_answer, weigh
from bookwheel.verdict.sources import PlacedParts

NET = """import os

RETRIES = 3


def fetch(url):
    if url:
        return get(url)


def load(url):
    return get(url)
"""


@pytest.fixture
def document(tmp_path):
    (tmp_path / "a.md").write_text("# Net\n\nRETRIES = 3 is what we chose.\n")
    (tmp_path / "net.py").write_text(NET)
    return open_document([tmp_path])


def judge(answer, document):
    return judge_answer(answer, "What calls get?", [], document)


@pytest.mark.parametrize(
    "answer",
    [
        "net.py:3: RETRIES = 3",
        "in load, net.py:12: return get(url)",
        "net.py:6: def fe…",
        "net.py:6-8:\ndef fetch(url):\n    if url:\n        return get(url)",
        "net.py:7: if url:",
        "- `net.py:3`: `RETRIES = 3`",
    ],
)
def test_words_that_stand_where_it_is_said_are_quoted_from_there(answer, document):
    evidence, claims = judge(answer, document)
    assert [claim.verdict for claim in claims] == [Verdict.QUOTED]
    assert (evidence[0].source, evidence[0].line) == ("net.py", int(answer.split(":")[1].split("-")[0].strip("`")))
    assert [claim.answers for claim in assure(claims)] == [Fit.YES]


@pytest.mark.parametrize(
    "answer",
    [
        "net.py:4: RETRIES = 3",
        "net.py:99: RETRIES = 3",
        "other.py:3: RETRIES = 3",
        "in fetch_all, net.py:12: return get(url)",
        "net.py:6-8:\ndef fetch(url):\n    return 1",
    ],
)
def test_a_wrong_place_is_never_quoted(answer, document):
    _, claims = judge(answer, document)
    assert all(claim.verdict is not Verdict.QUOTED for claim in claims)


@pytest.mark.parametrize(
    ("answer", "is_misplaced"),
    [
        ("net.py:4: RETRIES = 3", True),
        ("a.md:1: return get(url)", True),  # which another file has
        ("lib/net.py:3: RETRIES = 3", False),
        ("net.py:3: three tries", False),
    ],
)
def test_a_model_is_asked_of_places_that_cannot_be_looked_up(answer, is_misplaced, document):
    (finding,) = examine(answer, "What calls get?", PlacedParts(document))
    assert finding.is_misplaced == is_misplaced
    assert not (finding.is_misplaced and weigh(finding).is_supported)


def test_a_file_goes_by_its_name_without_the_folders_above_it(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").write_text(NET if folder == "a" else "import os\n")
    _, claims = judge("net.py:3: RETRIES = 3\nnet.py:4: RETRIES = 3", open_document([tmp_path]))
    assert [claim.verdict is Verdict.QUOTED for claim in claims] == [True, False]


def test_each_place_of_an_answer_is_judged_by_itself(document):
    answer = "in fetch, net.py:8: return get(url)\nin load, net.py:12: return get(url)"
    evidence, claims = judge(answer, document)
    assert [claim.verdict for claim in claims] == [Verdict.QUOTED] * 2
    assert [piece.line for piece in evidence] == [8, 12]
    assert [evidence[one.evidence[0]].line for one in claims] == [8, 12]


def test_evidence_of_prose_has_lines_too(document):
    evidence, _ = judge("RETRIES = 3 is what we chose.", document)
    assert (evidence[0].source, evidence[0].lines) == ("a.md", (3, 3))


@pytest.mark.parametrize(
    ("answer", "is_misplaced"),
    [
        ("It is called in `net.py:7`: `return get(url)`.", True),
        ("It is called in `net.py:8`: `return get(url)`.", False),
        ("It is called by `fetch` in net.py:7 (`return get(url)`).", True),
        ("It is called by `fetch` in net.py:8 (`return get(url)`).", False),
        ("RETRIES is set at net.py:4.", True),
        ("RETRIES is set at net.py:3.", False),
        ("`RETRIES = 3` (net.py, line 7)", True),
        ("`RETRIES = 3` (`net.py`, line 3)", False),
        ("`RETRIES` 设在 net.py 第 4 行。", True),
        ("`RETRIES` 设在 net.py 第 3 行。", False),
        ("| net.py:7 | RETRIES = 3 |", True),
        ("| net.py:3 | RETRIES = 3 |", False),
        ("net.py#L4: RETRIES = 3", True),
        ("`RETRIES = 3` is in net.py:3, and `import os` in net.py:2.", True),
        ("`load` asks `get(url)` for the page (net.py:11-12).", False),
        ("In `load()` the page is asked for (net.py:12).", False),  # it stands in load
        ("In `fetch()` the page is asked for (net.py:12).", True),
        ("RETRIES of a.md:3 is set in net.py:3 to `3`, see http://host:99 at 12:30.", False),
        ("Three tries are made (net.py:7).", False),
    ],
)
def test_a_place_in_the_midst_of_a_sentence_is_looked_up_too(answer, is_misplaced, document):
    (finding,) = examine(answer, "What calls get?", PlacedParts(document))
    assert finding.is_misplaced == is_misplaced
    assert not (finding.is_misplaced and weigh(finding).is_supported)


def test_an_address_of_a_web_page_names_a_line_too(document):
    evidence, claims = judge("net.py#L3: RETRIES = 3", document)
    assert [(claim.verdict, evidence[0].line) for claim in claims] == [(Verdict.QUOTED, 3)]


def test_the_number_of_a_line_that_a_sentence_names_is_no_value_of_it():
    text = "===== note.txt =====\nBoats are washed.\nThe fee is 31 crowns.\n"
    document = TextDocument(text)
    named, other = "The fee is 31 crowns (note.txt, line 2).", "The fee is 31 crowns (32 for guests)."
    assert examine(named, "", PlacedParts(document))[0].missing == ()
    assert examine(other, "", PlacedParts(document))[0].missing == ("32",)
