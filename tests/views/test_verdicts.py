"""Places and verdicts in words."""

from __future__ import annotations

from pathlib import Path

import pytest

import bookwheel.serve
from bookwheel.claims import Fit, Verdict
from bookwheel.views.verdicts import VERDICT_WORDS, Caution, CautionKind, describe_pages, describe_verdict

PAGE = Path(bookwheel.serve.__file__).parent / "page"


@pytest.mark.parametrize(
    ("pages", "words"),
    [((), ""), ((4,), "p. 4"), ((4, 5), "p. 4–5"), ((9, 4, 5, 6, 6), "p. 4–6, 9"), ((1, 3, 5), "p. 1, 3, 5")],
)
def test_pages_in_a_row_are_told_by_their_ends(pages: tuple[int, ...], words: str) -> None:
    assert describe_pages(pages) == words


@pytest.mark.parametrize("verdict", Verdict)
def test_the_page_tells_a_verdict_in_the_same_words(verdict: Verdict) -> None:
    english, chinese = ((PAGE / f"words-{language}.js").read_text(encoding="utf-8") for language in ("en", "zh"))
    assert f'"verdict.{verdict}": "{VERDICT_WORDS[verdict]}"' in english
    assert f'"verdict.{verdict}": ' in chinese


@pytest.mark.parametrize(
    ("verdict", "answers", "doubt"),
    [
        (Verdict.SUPPORTED, Fit.DOUBTFUL, "see whether it answers the question"),
        (Verdict.PARTLY, Fit.DOUBTFUL, ""),
        (Verdict.PARTLY, Fit.NO, "may not answer the question"),
        (Verdict.ABSENT, Fit.NO, ""),
    ],
)
def test_a_slight_doubt_is_told_where_nothing_else_keeps_a_sentence_from_being_green(verdict, answers, doubt) -> None:
    assert describe_verdict(verdict, answers) == "; ".join(filter(None, (VERDICT_WORDS[verdict], doubt)))


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "the memory was full: it has 9 tokens; give it more (--memory-tokens)",
            "the memory was full: it has 9 tokens",
        ),
        ("2 were not checked: lost; limit reached (--max-cost); ask again", "2 were not checked: lost; limit reached"),
        ("pictures were not shown", "pictures were not shown"),
    ],
)
def test_a_caution_without_advice_for_a_command_line_has_all_of_the_fact(text: str, fact: str) -> None:
    assert Caution(kind=CautionKind.FULL, text=text).fact == fact
