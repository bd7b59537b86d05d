"""How a reading's end and an error are printed, and which exit code they have."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import replace

import pytest

from bookwheel import errors
from bookwheel.claims import Claim, Evidence, Fit, Verdict
from bookwheel.cli.options import OutputOptions
from bookwheel.cli.output import EXIT_CODES, format_step_title, print_answer, print_error, print_line, stderr, stdout
from bookwheel.cli.runner import join_codes
from bookwheel.flags import Flag
from bookwheel.plan import Budget, Plan
from bookwheel.types import (
    Answer,
    Chunk,
    Conversation,
    DocumentInfo,
    Finish,
    Memory,
    Reading,
    Reply,
    Status,
    Step,
    Usage,
)

USAGE = Usage(calls=3, prompt_tokens=12345, completion_tokens=67, seconds=1.25)
REPLY = Reply(text="The lease ends in May.", finish=Finish.STOP, usage=USAGE)
ANSWER = Answer(text=REPLY.text, conversation=Conversation(messages=(), reply=REPLY))
QUOTE = Evidence(quote="The lease ends in May.", start=1000, end=1022, step=2, pages=(4, 5), sources=("lease.pdf",))
READING = Reading(
    id="0123456789ab",
    document=DocumentInfo(id="0" * 64, name="lease.txt", length=2000),
    question="When does the lease end?",
    plan=Plan(),
    model="scripted",
    status=Status.ANSWERED,
    answer=ANSWER,
    evidence=(QUOTE,),
    claims=(Claim(text=REPLY.text, verdict=Verdict.QUOTED, evidence=(0,), answers=Fit.YES),),
    usage=USAGE,
)


@pytest.mark.parametrize(
    ("status", "code"), [(Status.ANSWERED, 0), (Status.FAILED, 3), (Status.STOPPED, 4), (Status.CANCELLED, 130)]
)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_exit_code_is_the_status(capsys, status: Status, code: int, as_json: bool) -> None:
    assert print_answer(replace(READING, status=status), OutputOptions(as_json=as_json)) == code
    output = capsys.readouterr()
    if as_json:
        assert json.loads(output.out)["status"] == status
        assert output.err == ""
    else:
        assert output.out == ("The lease ends in May.\n" if status is Status.ANSWERED else "")


def test_every_end_has_an_exit_code() -> None:
    assert set(EXIT_CODES) == set(Status) - {Status.READING}


def test_an_answer_comes_with_its_verdict_its_evidence_and_its_cost(capsys) -> None:
    print_answer(READING, OutputOptions())
    assert capsys.readouterr().err == (
        "\nanswer\nword for word in the document\n"
        "    “The lease ends in May.”  lease.pdf · p. 4–5 · characters 1,000–1,022 · step 2\n"
        "3 calls · 12,345 + 67 tokens · 1.2 s · bookwheel show 01234567\n"
    )


def test_evidence_without_pages_has_a_place_all_the_same(capsys) -> None:
    print_answer(replace(READING, evidence=(replace(QUOTE, pages=()),)), OutputOptions())
    assert "”  lease.pdf · characters 1,000–1,022 · step 2" in capsys.readouterr().err


def test_quiet_prints_the_answer_alone(capsys) -> None:
    print_answer(READING, OutputOptions(quiet=True))
    assert capsys.readouterr() == ("The lease ends in May.\n", "")


def test_an_answer_that_is_not_in_the_document_comes_with_the_passage_nearest_to_it(capsys) -> None:
    absent = Claim(text="The document does not say.", verdict=Verdict.ABSENT)
    memory = Memory(text="The lease began in May.\nRent is due.", tokens=9, limit=60)
    chunk = Chunk(index=0, start=0, end=2000, text="", tokens=60)
    step = Step(chunk=chunk, before=Memory.blank(60), after=memory, conversation=ANSWER.conversation)
    print_answer(replace(READING, claims=(absent,), steps=(step,), way="quotes"), OutputOptions())
    assert capsys.readouterr().err.splitlines()[2:4] == [
        "not in the document, the model says",
        "    nearest to it: “The lease began in May.”",
    ]
    # Notes are the model's words.
    print_answer(replace(READING, claims=(absent,), steps=(step,), way="sequential"), OutputOptions())
    assert "nearest" not in capsys.readouterr().err


def test_each_sentence_of_an_answer_has_its_verdict(capsys) -> None:
    claims = (
        *READING.claims,
        Claim(text="It costs 12 crowns.", verdict=Verdict.NOT_FOUND, missing=("12",), judge="words"),
        Claim(text="Odo signed it.", verdict=Verdict.BY_HAND, step=3, missing=("Odo",), judge="qwen"),
        Claim(text="Nobody says why.", verdict=Verdict.ABSENT),
    )
    print_answer(replace(READING, claims=claims), OutputOptions())
    assert capsys.readouterr().err.splitlines()[2:-1] == [
        "borne out in part",
        "  The lease ends in May. word for word in the document",
        "    “The lease ends in May.”  lease.pdf · p. 4–5 · characters 1,000–1,022 · step 2",
        "  It costs 12 crowns. not found in the document; nowhere in it: 12 · judged by words alone",
        "  Odo signed it. written by hand at step 3 · judged by qwen",
        "  Nobody says why. not in the document, the model says",
        f"a model judges it with: bookwheel show {READING.id[:8]} --judge",
    ]


@pytest.mark.parametrize(
    ("prompts", "verdict", "is_told"),
    [
        ("standard", Verdict.NOT_FOUND, True),
        ("standard", Verdict.PARTLY, True),
        ("standard", Verdict.QUOTED, False),
        ("small", Verdict.PARTLY, False),
    ],
)
def test_what_words_alone_do_not_prove_a_model_may_judge(prompts, verdict, is_told, capsys) -> None:
    claim, plan = Claim(text="It costs 12 crowns.", verdict=verdict), replace(READING.plan, prompts=prompts)
    print_answer(replace(READING, plan=plan, claims=(claim,)), OutputOptions())
    assert ("--judge" in capsys.readouterr().err) is is_told
    print_answer(replace(READING, plan=plan, claims=(replace(claim, judge="qwen"),)), OutputOptions())
    assert "--judge" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "note"),
    [
        (Flag.TRUNCATED, "raise --answer-tokens"),
        (Flag.FILTERED, "content filter"),
        (Flag.NO_ANSWER, "no answer"),
        (Flag.CLEANED, "special tokens"),
        (Flag.EDITED, "note: edited"),
    ],
)
def test_each_flag_of_an_answer_is_a_note_even_if_quiet(capsys, flag: Flag, note: str) -> None:
    print_answer(replace(READING, answer=replace(ANSWER, flags=(flag,))), OutputOptions(quiet=True))
    assert note in capsys.readouterr().err


def test_an_empty_answer_says_so(capsys) -> None:
    print_answer(replace(READING, answer=replace(ANSWER, text="")), OutputOptions(quiet=True))
    assert capsys.readouterr().out == "(the model gave no answer)\n"


def test_a_stopped_reading_says_why_and_how_to_continue(capsys) -> None:
    stopped = replace(READING, status=Status.STOPPED, answer=None, evidence=(), error="stopped after 5 seconds")
    print_answer(stopped, OutputOptions(quiet=True))
    error = "stopped: stopped after 5 seconds\n0 steps are kept; continue with: bookwheel resume 01234567\n"
    assert capsys.readouterr() == ("", error)
    print_answer(stopped, OutputOptions())
    output = capsys.readouterr().err
    assert output == error + "3 calls · 12,345 + 67 tokens · 1.2 s · bookwheel show 01234567\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InputError("bad"), 2),
        (errors.PlanError("bad"), 2),
        (errors.JournalError("bad"), 2),
        (errors.TimedOut("bad"), 3),
        (errors.BudgetReached("bad"), 4),
        (ValueError("bad"), 2),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_an_error_has_the_exit_code_of_its_kind(capsys, error: Exception, code: int, as_json: bool) -> None:
    assert print_error(error, as_json=as_json, command="bookwheel ask") == code
    output = capsys.readouterr()
    is_ours = isinstance(error, errors.BookwheelError)
    assert output.err == "error: bad\n" + ("" if is_ours else "See bookwheel ask --help.\n")
    kind = type(error).__name__ if is_ours else "UsageError"
    assert output.out == (json.dumps({"error": "bad", "kind": kind}) + "\n" if as_json else "")


def test_the_cost_is_printed_where_prices_are_known(capsys) -> None:
    priced = replace(READING, plan=Plan(budget=Budget(price_in=2.0, price_out=10.0)))
    print_answer(priced, OutputOptions())
    assert "1.2 s · cost 0.02536 · bookwheel show" in capsys.readouterr().err
    assert priced.cost == pytest.approx(12345 * 2e-6 + 67 * 10e-6)
    assert READING.cost is None


def test_the_command_that_continues_names_a_journal_of_its_own(capsys, tmp_path) -> None:
    stopped = replace(READING, status=Status.STOPPED, answer=None)
    print_answer(stopped, OutputOptions(journal=tmp_path / "my journal"))
    assert f"bookwheel resume 01234567 --journal '{tmp_path}/my journal'\n" in capsys.readouterr().err


def test_events_end_with_the_whole_result(capsys) -> None:
    assert print_answer(READING, OutputOptions(json_events=True)) == 0
    (line,) = capsys.readouterr().out.splitlines()
    event = json.loads(line)
    assert (event["event"], event["answer"], event["evidence"][0]["start"]) == ("end", READING.answer.text, 1000)


@pytest.mark.slow
def test_control_characters_reach_no_terminal(capsys) -> None:
    evil = "The lease \x1b[2J\u202eends in May."
    print_answer(replace(READING, answer=replace(ANSWER, text=evil)), OutputOptions())
    print_error(errors.InputError(evil), as_json=False)
    output = "".join(capsys.readouterr())
    assert "\x1b[2J" not in output
    assert "\u202e" not in output


def test_a_line_in_a_pipe_is_not_folded(capsys) -> None:
    stderr().print("word " * 500)
    print_line("word " * 500)
    output = capsys.readouterr()
    assert output.err.count("\n") == output.out.count("\n") == 1


def test_a_closed_pipe_is_left_to_the_end_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    file = os.fdopen(writer, "w", buffering=1)
    monkeypatch.setattr(sys, "stdout", file)
    with pytest.raises(BrokenPipeError):
        stdout().print("a line")
    with suppress(BrokenPipeError):
        file.close()


def test_a_step_is_told_with_its_flags_but_not_that_it_changed_nothing() -> None:
    blank = Memory.blank(10)
    chunk = Chunk(index=3, start=0, end=9, text="", tokens=2, sources=("a.txt", "b.txt", "c.txt"), pages=(1, 2))
    step = Step(chunk=chunk, before=blank, after=blank, conversation=ANSWER.conversation)
    place = "chunk 3 · a.txt, b.txt … p. 1–2 · characters 0–9 · memory 0 tokens"
    assert str(format_step_title(replace(step, flags=(Flag.UNCHANGED,)))) == place
    assert (
        str(format_step_title(replace(step, flags=(Flag.TRIMMED, Flag.UNCHANGED))))
        == f"{place} · memory cut to its limit"
    )
    idle = replace(step, chunk=replace(chunk, end=0))
    assert str(format_step_title(idle)) == "step 3 · The lease ends in May."


@pytest.mark.parametrize(
    ("codes", "code"),
    [([0, 0], 0), ([0, 3, 0], 5), ([3, 3], 3), ([5, 3], 5), ([0, 4], 4), ([3, 4], 4), ([0, 130], 130)],
)
def test_several_questions_failed_only_where_all_did(codes: list[int], code: int) -> None:
    assert join_codes(codes) == code
