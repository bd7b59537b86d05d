"""A reading says how much it read and in which order, which way was chosen, and which step read each passage."""

import json

import pytest

from bookwheel.cli.main import main
from bookwheel.documents.opening import TextDocument
from bookwheel.types import Chunk, Conversation, Flag, Memory, Reply, Step
from bookwheel.verdict.judge import judge_answer

TEXT = "".join(
    f"Page {n} tells of harvests, tolls and rain.\n" + ("The colour of the wheel is vermilion.\n" if n == 40 else "")
    for n in range(80)
)
QUESTION = "What is the colour of the wheel?"
ANSWER = "The colour of the wheel is vermilion."


@pytest.fixture
def run(tmp_path, capsys):
    book = tmp_path / "book.txt"
    book.write_text(TEXT)

    def call(command: str, *words: str) -> tuple[str, str]:
        with pytest.raises(SystemExit):
            main([command, *words, "--journal", str(tmp_path / "journal.sqlite")])
        return capsys.readouterr()

    def ask(way: str, *words: str) -> tuple[str, str]:
        plan = ("--chunk-tokens", "100", "--memory-tokens", "60", "--way", way, "--model", "scripted")
        return call("ask", str(book), QUESTION, *plan, *words)

    ask.show = lambda: call("show", "last")
    return ask


@pytest.mark.parametrize(
    ("way", "order"), [("early-exit", "from its beginning"), ("ranked+edits", "the likeliest parts first")]
)
def test_a_share_is_told_with_the_order_in_which_it_was_read(run, way, order):
    out, err = run(way)
    assert out == f"{ANSWER}\n"
    assert f"% of the document, {order}, until" in err


def test_auto_says_what_it_chose_and_why(run):
    _, err = run("auto")
    assert "step 0 · ranked+edits: scripted can judge" in err
    assert "auto chose ranked+edits: scripted can judge when it has the answer" in err
    assert "of about 1 " not in err
    assert "step 0 · ranked+edits: scripted can judge" in run.show()[0]


def test_a_way_that_was_named_was_not_chosen(run):
    assert "chose" not in run("edits")[1]


@pytest.mark.parametrize("way", ["sequential", "ranked+edits", "parallel", "auto", "early-exit"])
def test_a_passage_names_the_step_that_read_it(run, way):
    found = json.loads(run(way, "--json")[0])
    (passage,) = found["evidence"]
    (step,) = [step for step in found["steps"] if step["index"] == passage["step"]]
    assert step["start"] <= passage["start"] < passage["end"] <= step["end"]


@pytest.mark.parametrize(("flags", "named"), [((), 2), ((Flag.SKIPPED,), 2), ((Flag.UNREAD,), None)])
def test_a_passage_that_was_not_read_names_no_step(flags, named):
    place = TEXT.index(ANSWER)
    spans = [(place + 100, len(TEXT), ()), (0, place - 10, ()), (place - 10, place + 100, flags)]
    blank, said = Memory.blank(10), Conversation(messages=(), reply=Reply(text=""))
    steps = [
        Step(
            chunk=Chunk(index=at, start=start, end=end, text="", tokens=0),
            before=blank,
            after=blank,
            conversation=said,
            flags=flags,
        )
        for at, (start, end, flags) in enumerate(spans)
    ]
    evidence, _ = judge_answer(ANSWER, QUESTION, steps, TextDocument(TEXT))
    assert [piece.step for piece in evidence] == [named]
