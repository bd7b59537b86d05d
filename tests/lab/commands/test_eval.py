"""`bookwheel eval` from its words to its files."""

import asyncio
import json
import signal
from types import SimpleNamespace

import pytest

from bookwheel.cli.main import main
from bookwheel.lab.commands.eval import _choose_exit_code
from bookwheel.lab.commands.options import EvalModelOptions, EvalOptions, GridOptions, merge_settings
from bookwheel.lab.evaluation.records import SampleOutcome

PLAN = ["--chunk-tokens=200", "--memory-tokens=80", "--answer-tokens=60", "--question-tokens=200"]
GRID = ["--task=niah_single_1", "--length=400", "--length=1600", "--count=3"]
WORDS = ["eval", *GRID, "--model=scripted", "--window=900", *PLAN]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "BOOKWHEEL_JOURNAL"):
        monkeypatch.delenv(name, raising=False)


def bookwheel(*words: str) -> int:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.argv", ["bookwheel", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code


@pytest.mark.slow
def test_an_evaluation_leaves_results_report_page_and_journal(tmp_path, capsys):
    assert bookwheel(*WORDS, "--way", "sequential", "--way", "whole", "--out", "here") == 0
    printed = capsys.readouterr()
    assert "| scripted | sequential | 100.0 [43.9, 100.0] | 100.0 [43.9, 100.0] |" in printed.out
    assert "| scripted | whole | 100.0 [43.9, 100.0] | does not fit |" in printed.out
    assert "12 of 12 samples" in printed.err
    assert {path.name for path in (tmp_path / "here").iterdir()} >= {
        "results.jsonl",
        "report.md",
        "report.html",
        "journal.sqlite",
    }
    run = json.loads((tmp_path / "here" / "results.jsonl").read_text().splitlines()[0])
    assert run["command"].startswith("bookwheel eval --task=niah_single_1 ")
    assert run["settings"]["lengths"] == [400, 1600]


@pytest.mark.slow
def test_json_is_one_object_and_nothing_else(capsys):
    assert bookwheel(*WORDS, "--way", "whole", "--json", "--out", "here") == 0
    printed = capsys.readouterr()
    values = json.loads(printed.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (values["samples"], values["without_answer"], len(values["cells"])) == (6, 3, 2)
    assert values["cells"][1]["official"]["mean"] is None
    assert not printed.err


@pytest.mark.slow
def test_an_estimate_says_the_most_that_is_left_and_reads_nothing(tmp_path, capsys):
    words = ["--task", "niah_single_1", "--length", "400", "--way", "sequential", "--way", "whole"]
    words += ["--model", "scripted", "--chunk-tokens", "150", "--memory-tokens", "60", "--answer-tokens", "60"]
    words += ["--question-tokens", "200", "--price-in", "3", "--out", "here", "--json"]
    assert bookwheel("eval", *words, "--count", "2", "--estimate") == 0
    most = {one["way"]: one for one in json.loads(capsys.readouterr().out)["estimates"]}
    assert not (tmp_path / "here").exists()
    assert bookwheel("eval", *words, "--count", "2") == 0
    used = {cell["way"]: cell for cell in json.loads(capsys.readouterr().out)["cells"]}
    for way, calls in (("sequential", 2 * 4), ("whole", 2)):
        assert (most[way]["readings"], most[way]["calls"]) == (2, calls)
        assert 2 * used[way]["prompt_tokens"] <= most[way]["prompt_tokens"]
        assert most[way]["cost"] > 0
    assert bookwheel("eval", *words, "--estimate", "--count", "3") == 0
    assert {one["readings"] for one in json.loads(capsys.readouterr().out)["estimates"]} == {1}


def test_a_served_model_waits_as_long_as_it_is_told_to():
    models = EvalModelOptions(models=("served", "scripted"), base_url="http://host/v1", timeout=7)
    grid = GridOptions(tasks=("vt",), lengths=(400,))
    given = merge_settings(None, EvalOptions(grid=grid, models=models))
    assert [spec.timeout for spec in given.models] == [7, None]


@pytest.mark.slow
def test_flags_go_on_top_of_a_settings_file(tmp_path, capsys):
    (tmp_path / "run.toml").write_text(
        '[eval]\ntasks = ["niah_single_1"]\nlengths = [400]\nways = ["whole"]\ncount = 9\n'
        '[[eval.models]]\nname = "scripted"\nwindow = 900\n[plan]\nanswer_tokens = 60\nquestion_tokens = 200\n',
        encoding="utf-8",
    )
    words = ["run.toml", "--count", "2", "--chunk-tokens", "150", "--price-in", "3", "--seed", "5", "--json"]
    assert bookwheel("eval", *words, "--out", "here") == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 2
    run = json.loads((tmp_path / "here" / "results.jsonl").read_text().splitlines()[0])
    plan = run["models"]["scripted"]["plan"]
    assert (plan["chunk_tokens"], plan["answer_tokens"]) == (150, 60)
    assert (plan["budget"]["price_in"], plan["sampling"]["seed"], run["fixed"]["seed"]) == (3, 5, 5)


@pytest.mark.slow
def test_it_goes_on_where_it_was_and_refuses_another_configuration(tmp_path, capsys):
    words = [*WORDS, "--way", "sequential", "--out", "here", "--quiet"]
    assert bookwheel(*words) == 0
    before = (tmp_path / "here" / "results.jsonl").read_bytes()
    assert bookwheel(*words, "--seed", "3") == 2
    assert "seed is 0 there and 3 here" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "here" / "results.jsonl").read_bytes() == before
    assert bookwheel(*words, "--way", "closed-book") == 0
    assert (tmp_path / "here" / "results.jsonl").read_bytes().startswith(before)


@pytest.mark.slow
def test_an_interrupt_says_how_to_go_on(monkeypatch, capsys):
    from bookwheel.models.scripted import ScriptedModel

    async def terminated(self, messages, *, limit, sampling):
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(5)

    with monkeypatch.context() as patched:
        patched.setattr(ScriptedModel, "reply", terminated)
        assert bookwheel(*WORDS, "--way", "sequential", "--out", "here", "--quiet") == 130
    assert "the same command goes on" in " ".join(capsys.readouterr().err.split())
    assert bookwheel(*WORDS, "--way", "sequential", "--out", "here", "--json") == 0
    assert json.loads(capsys.readouterr().out)["without_answer"] == 0


@pytest.mark.slow
def test_a_report_can_be_laid_out_anew_and_two_be_compared(tmp_path, capsys):
    assert bookwheel(*WORDS, "--way", "sequential", "--out", "a", "--quiet") == 0
    assert bookwheel(*WORDS, "--way", "closed-book", "--out", "b", "--quiet") == 0
    (tmp_path / "a" / "report.md").unlink()
    assert bookwheel("eval", "--report", "a", "--also-official") == 0
    assert "official judge" in (tmp_path / "a" / "report.md").read_text()
    capsys.readouterr()
    assert bookwheel("eval", "--compare", "a", "b") == 0
    assert "a: scripted · sequential" in capsys.readouterr().out
    assert bookwheel("eval", "--compare", "a/results.jsonl", "b", "--json") == 0
    differences = json.loads(capsys.readouterr().out)["differences"]
    assert [found["difference"]["mean"] for found in differences] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval"], "nothing to measure"),
        (["eval", "--task", "niah", "--length", "400", "--model", "scripted"], "niah_single_1"),
        (["eval", "--task", "vt", "--length", "400", "--way", "wholly", "--model", "scripted"], "'whole'"),
        (["eval", "--task", "vt", "--length", "3", "--model", "scripted"], "3"),
        (["eval", "none.toml"], "cannot be read"),
        (["eval", "--samples", "none.jsonl", "--model", "scripted"], "none.jsonl"),
        (["eval", "--samples", "none.jsonl", "--count", "2"], "of a file all samples are read"),
        (["eval", "--samples", "none.jsonl", "--official", "x"], "is for --as-published"),
        (["eval", "--report", "none"], "none"),
        (["eval", "--compare", "none", "nothing"], "none"),
    ],
)
def test_bad_input_is_named_and_leaves_no_results(tmp_path, capsys, words, message):
    assert bookwheel(*words) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.glob("**/results.jsonl"))


def test_a_malformed_line_of_samples_is_named_where_no_line_can_be_used(tmp_path, capsys):
    (tmp_path / "mine.jsonl").write_text('\n{"a": 1}\n')
    assert bookwheel("eval", "--samples", "mine.jsonl", "--model", "scripted") == 2
    assert "mine.jsonl, line 2" in " ".join(capsys.readouterr().err.split())


def test_an_odd_line_of_samples_is_listed_with_its_reason_and_the_others_are_read(tmp_path, capsys):
    (tmp_path / "mine.jsonl").write_text('{"question": "Who?", "document": "Ada.", "answers": ["Ada"]}\n{"a": 1}\n')
    assert bookwheel("eval", "--samples", "mine.jsonl", "--model", "scripted") == 0
    report = (tmp_path / "runs/eval/report.md").read_text()
    assert "mine-2" in report
    assert "question" in report


def test_a_key_given_on_the_quote_command_line_is_not_in_the_report():
    from bookwheel.lab.commands.eval import _quote_command

    assert "sk-1" not in _quote_command(["a.toml", "--api-key", "sk-1", "--api-key=sk-1", "--count", "2"])
    assert _quote_command(["eval", "a b.toml"]) == "bookwheel eval 'a b.toml'"


@pytest.mark.parametrize(
    ("outcomes", "code", "allowed"),
    [
        (["scored"], 0, 0),
        (["scored", "refused", "infeasible"], 0, 0),
        (["scored", "failed", "stopped"], 3, 0),
        (["scored", "stopped"], 4, 0),
        (["stopped"], 4, 4),
        (["failed"], 3, 3),
        (["refused"], 3, 3),
    ],
)
def test_the_exit_code_says_what_the_samples_without_an_answer_came_to(outcomes, code, allowed):
    results = SimpleNamespace(records=[SimpleNamespace(outcome=SampleOutcome(outcome)) for outcome in outcomes])
    assert _choose_exit_code(results, allow_failures=False) == code
    assert _choose_exit_code(results, allow_failures=True) == allowed
