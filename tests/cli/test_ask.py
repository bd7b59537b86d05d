"""`bookwheel ask`: what it takes, in which order things happen."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bookwheel.cli.main import main
from bookwheel.documents.opening import TextDocument
from bookwheel.flags import Flag
from bookwheel.journal import Journal, journal_path
from bookwheel.models import registry
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.types import Chunk, Conversation, Memory, Reply, Step
from bookwheel.verdict.judge import judge_answer


def test_the_answer_goes_to_stdout_and_nothing_else_does(book: Path, ask) -> None:
    ran = ask()
    assert (ran.code, ran.out) == (0, "The harbour master of Skarholm is Ada Quill.\n")
    assert "word for word in the document" in ran.err
    assert "+ The harbour master" in ran.err


def test_way_whole_needs_no_chunk_that_fits_and_refuses_a_long_document_before_it_keeps_a_reading(
    run, book: Path, tmp_path: Path, question: str, monkeypatch
) -> None:
    async def wide(*_names, **_settings):
        return ScriptedModel(keyword_reader, window=8192)

    monkeypatch.setattr(registry, "open_model", wide)
    whole = ("--way", "whole", "--chunk-tokens", "20000", "--journal", tmp_path / "j.sqlite")
    found = run("ask", book, question, *whole, "--json").json
    assert (found["way"], found["usage"]["calls"]) == ("whole", 1)
    long = tmp_path / "long.txt"
    long.write_text("Gulls circle over the pier. " * 4000)
    ran = run("ask", long, question, *whole)
    assert ran.code == 2
    assert "has more than the" in ran.err
    assert len(run("list", "--journal", tmp_path / "j.sqlite", "--json").json) == 1


def test_quiet_says_nothing_but_the_answer(book: Path, ask) -> None:
    ran = ask("--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "The harbour master of Skarholm is Ada Quill.\n", "")


def test_json_is_one_object_of_the_documented_shape(book: Path, ask) -> None:
    ran = ask("--json")
    found = ran.json
    assert ran.out.count("\n") == 1
    assert found["status"] == "answered"
    assert found["plan"]["chunk_tokens"] == 100
    assert found["steps"][0]["start"] == 0
    assert found["steps"][-1]["end"] == len(book.read_text())
    assert all(a["end"] == b["start"] for a, b in zip(found["steps"], found["steps"][1:], strict=False))
    assert {"index", "start", "end", "pages", "source", "memory", "flags"} <= set(found["steps"][0])
    assert {"calls", "prompt_tokens", "completion_tokens", "seconds"} <= set(found["usage"])
    piece = found["evidence"][0]
    assert book.read_text()[piece["start"] : piece["end"]] == piece["quote"]


@pytest.mark.slow
def test_everything_reads_what_is_left_out_otherwise(run, book: Path, tmp_path: Path, question) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<html><body><nav><a href='/'>Home harbour</a></nav><p>{'Ada Quill is harbour master. ' * 9}</p>")
    lengths = {}
    for more in ((), ("--everything",)):
        ran = run("ask", str(page), question, "--model", "scripted", "--json", *more)
        assert ran.code == 0
        lengths[more] = ran.json["steps"][-1]["end"]
        assert ("left out as boilerplate" in ran.err) is not bool(more)
    assert lengths["--everything",] > lengths[()]


def test_standard_input_is_a_source(run, book: Path, question, monkeypatch) -> None:
    for sources in (("-",), ()):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(book.read_bytes())))
        assert "Ada Quill" in run("ask", *sources, question, "--model", "scripted", "--quiet").out


@pytest.mark.slow
def test_a_pipe_is_a_source(book: Path, question) -> None:
    command = [sys.executable, "-m", "bookwheel", "ask", "-", question, "--model", "scripted", "--quiet"]
    done = subprocess.run(command, input=book.read_text(), capture_output=True, text=True, check=True)
    assert "Ada Quill" in done.stdout
    piped = subprocess.run(
        [*command[:4], *command[5:]], input=book.read_text(), capture_output=True, text=True, check=True
    )
    assert piped.stdout == done.stdout


@pytest.mark.slow
def test_an_estimate_calls_nothing_and_keeps_nothing(run, book: Path, ask) -> None:
    found = ask("--estimate", "--json").json
    assert found["cost"] is None  # without prices, as in a reading
    steps = ask("--json").json["steps"]
    assert found["chunks"] == len(steps)
    assert found["calls"] == len(steps) + 1
    assert found["exact"] is True
    assert len(json.loads(run("list", "--json").out)) == 1
    assert "calls" in ask("--estimate").out


@pytest.mark.slow
def test_a_broken_pipe_is_no_traceback(book: Path, question) -> None:
    command = f"{sys.executable} -m bookwheel ask {book} '{question}' --model scripted --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_an_interrupt_before_the_first_section_is_told_and_can_be_resumed(run, ask, monkeypatch) -> None:
    async def interrupted(*_words: object, **_named: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr("bookwheel.reading.several.run_reading", interrupted)
        ended = ask()
    assert (ended.code, ended.out) == (130, "")
    assert "cancelled: interrupted" in ended.err
    assert "Ada Quill" in run("resume", "last", "--model", "scripted").out


def test_no_secret_reaches_output_or_journal(run, book: Path, question) -> None:
    secret = "sk-very-secret-key"
    ran = run("ask", book, question, "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--api-key", secret)
    assert secret not in ran.out + ran.err
    for path in Path(os.environ["BOOKWHEEL_JOURNAL"]).parent.rglob("*"):
        if path.is_file() and stat.S_ISREG(path.stat().st_mode):
            assert secret.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--model", "gpt-none"], "--base-url"),
        (["--base-url", "http://127.0.0.1:9/v1", "--model", "m"], "127.0.0.1:9"),
        (["--model", "{dir}/none.gguf"], "none.gguf"),
    ],
)
@pytest.mark.slow
def test_a_model_that_is_not_there_is_code_3(run, book: Path, more: list[str], says: str, question) -> None:
    ran = run("ask", book, question, *(word.format(dir=book.parent) for word in more))
    assert (ran.code, ran.out) == (3, "")
    assert says in ran.err


@pytest.mark.slow
def test_a_plan_beyond_the_window_says_by_how_much(run, book: Path, question) -> None:
    weights = os.environ.get("BOOKWHEEL_WEIGHTS", Path.home() / ".cache/bookwheel/SmolLM2-135M-Instruct.Q8_0.gguf")
    if not Path(weights).is_file():
        pytest.skip("the local model's weights are not here")
    ran = run("ask", book, question, "--chunk-tokens", "9000")
    assert ran.code == 2
    assert re.search(r"window holds 8192: \d+ too many", ran.err)


def test_evidence_names_its_file_in_text_json_and_python(run, book: Path, question: str) -> None:
    folder = book.parent / "letters"
    folder.mkdir()
    (folder / "one.txt").write_text("Gulls circle over the pier.\n" * 20)
    (folder / "two.txt").write_text("The harbour master of Skarholm is Ada Quill.\n")
    words = ("ask", folder, question, "--model", "scripted")
    assert "“The harbour master of Skarholm is Ada Quill.”  two.txt:1 · step 0" in run(*words).err
    (piece,) = run(*words, "--json").json["evidence"]
    assert (piece["source"], piece["sources"], piece["page"]) == ("two.txt", ["two.txt"], None)
    with Journal(journal_path()) as journal:
        (kept,) = journal.reading("last").evidence
    assert (kept.source, kept.page) == ("two.txt", None)
    run("show", "last", "--markdown", book.parent / "out.md")
    assert "— two.txt:1 · step 0" in (book.parent / "out.md").read_text()


def test_a_further_question_is_put_to_the_memory_first(run, ask, book: Path, question: str) -> None:
    first = ask("--json").json
    more = ("--model", "scripted", "--chunk-tokens", "100", "--memory-tokens", "40")
    ran = run("ask", "last", "What is the name of the harbour master of Skarholm?", *more)
    assert f"asks the memory of {first['reading'][:8]} first" in ran.err
    assert f"from the memory of {first['reading'][:8]}; with --reread, the document is read again" in ran.err
    assert "Ada Quill" in ran.out
    second = run("show", "last", "--json").json
    assert (second["parent"], second["usage"]["calls"]) == (first["reading"], 1)
    again = run("ask", "last", question, *more, "--reread", "--json").json
    assert (again["parent"], again["usage"]["calls"]) == ("", len(again["steps"]) + 1)
    assert second["plan"]["earlier"] == f"user: {question}\n\nassistant: {first['answer']}"
    assert again["plan"]["earlier"].startswith(second["plan"]["earlier"])


def test_what_the_memory_does_not_have_is_read_in_the_document(run, ask, book: Path) -> None:
    first = ask("--json").json
    other = "Who writes down the wind over the pier?"
    found = run("ask", "last", other, "--model", "scripted", "--chunk-tokens", "100", "--json").json
    assert "keeper" in found["answer"]
    assert len(found["steps"]) > len(first["steps"])
    assert found["usage"]["calls"] > 1


TEXT = "".join(
    f"Page {n} tells of harvests, tolls and rain.\n" + ("The colour of the wheel is vermilion.\n" if n == 40 else "")
    for n in range(80)
)
QUESTION = "What is the colour of the wheel?"
ANSWER = "The colour of the wheel is vermilion."


@pytest.fixture
def read_by(tmp_path, capsys):
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
def test_a_share_is_told_with_the_order_in_which_it_was_read(read_by, way, order):
    out, err = read_by(way)
    assert out == f"{ANSWER}\n"
    assert f"% of the document, {order}, until" in err


def test_auto_says_what_it_chose_and_why(read_by):
    _, err = read_by("auto")
    assert "step 0 · ranked+edits: scripted can judge" in err
    assert "auto chose ranked+edits: scripted can judge when it has the answer" in err
    assert "of about 1 " not in err
    assert "step 0 · ranked+edits: scripted can judge" in read_by.show()[0]


def test_a_way_that_was_named_was_not_chosen(read_by):
    assert "chose" not in read_by("edits")[1]


@pytest.mark.parametrize("way", ["sequential", "ranked+edits", "parallel", "auto", "early-exit"])
def test_a_passage_names_the_step_that_read_it(read_by, way):
    found = json.loads(read_by(way, "--json")[0])
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


@pytest.mark.slow
def test_questions_may_stand_in_a_file(run, ask, book: Path, tmp_path: Path) -> None:
    file = tmp_path / "more.txt"
    file.write_text("What circles over the pier?\n\nWho writes down the wind?\n")
    readings = json.loads(ask("--questions", file, "--json").out)["readings"]
    assert [reading["question"] for reading in readings][1:] == [
        "What circles over the pier?",
        "Who writes down the wind?",
    ]
    alone = json.loads(run("ask", book, "--questions", file, "--model", "scripted", "--json").out)["readings"]
    assert [reading["question"] for reading in alone] == [reading["question"] for reading in readings][1:]
    file.write_text("\n")
    assert ask("--questions", file).code == 2


def test_an_estimate_tells_chunks_calls_and_tokens(run, ask, book: Path, question: str) -> None:
    whole = run("ask", book, question, "--model", "scripted", "--way", "whole", "--estimate")
    assert re.fullmatch(r"the whole document in one call: at most [\d,]+ prompt and [\d,]+ reply tokens\n", whole.out)
    found = ask("--estimate").out
    assert re.fullmatch(r"\d+ chunks of 100 tokens: \d+ calls, at most [\d,]+ prompt and [\d,]+ reply tokens\n", found)
    priced = ask("--estimate", "--way", "gated+edits", "--gate-threshold", "0.5", "--price-in", "2").out
    assert " by the way gated+edits: " in priced
    assert re.search(r"\d+ to \d+ calls, .*, at most [\d.]+ in cost$", priced.strip())


def test_a_file_in_the_place_of_the_question_is_no_question(run, book: Path, tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("item,price\nplait,6.20\n")
    told = run("ask", book, tmp_path / "prices.csv")
    assert told.code == 2
    assert "and what is asked comes last" in told.err
