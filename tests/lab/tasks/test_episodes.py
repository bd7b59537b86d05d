"""Episodes over many sessions: a perfect reader answers them, and only a memory that replays can forget."""

from __future__ import annotations

import pytest
from perfect_reader import read_perfectly

from bookwheel.errors import InputError
from bookwheel.lab.tasks import make_samples, sample_series
from bookwheel.lab.tasks.episodes import KINDS
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Message


def draw(kind: str, **settings):
    given = {"tokens": 1600, "count": 1, "seed": 3, "tokenizer": WordTokenizer(), **settings}
    return next(make_samples(f"episode_{kind}", **given))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_value_is_right_before_and_another_or_none_after(kind, language) -> None:
    before, after = (draw(kind, language=language, probe=probe) for probe in ("before", "after"))
    assert before.question == after.question
    assert (before.golds != after.golds) is (kind in {"track", "deletion", "cascade", "absence"})
    assert after.metric == ("unanswerable" if kind in {"deletion", "absence"} else after.metric)
    assert before.metric in {"contains", "share_of"}
    if before.metric == "contains":
        assert before.golds[0] in before.text


@pytest.mark.parametrize(("tokens", "sessions"), [(1600, 10), (8000, 50), (64_000, 200)])
def test_there_are_ten_to_two_hundred_sessions(tokens, sessions) -> None:
    sample = draw("track", tokens=tokens)
    assert sample.metadata["sessions"] == sessions
    assert sample.text.count("== Session ") == sessions
    assert 0.98 * tokens <= sample.tokens <= tokens


def test_too_few_sessions_are_an_error() -> None:
    with pytest.raises(InputError, match="sessions"):
        sample_series("episode_track", tokens=900, count=1, seed=1, tokenizer=WordTokenizer(), sessions=3)


def test_the_perfect_reader_keeps_the_newest_and_follows_links() -> None:
    section = "[session 2 · 2019-03-05T00:00+00:00]\nBo: My boat is called Tre now.\n"
    memory = "Bo | boat | Old | 2019-03-01\nAda | password of gate | = Bo, boat | 2019-03-02"
    prompt = f"<question>x</question><memory>{memory}</memory><section>{section}</section>"
    notes = read_perfectly([Message(role="user", content=prompt)])
    assert set(notes.splitlines()) == {
        "Ada | password of gate | = Bo, boat | 2019-03-02",
        "Bo | boat | Tre | 2019-03-05",
    }
    asked = f"<question>What is the password of Ada's gate?</question><memory>{notes}</memory>"
    assert read_perfectly([Message(role="user", content=asked)]) == "\\boxed{Tre}"
