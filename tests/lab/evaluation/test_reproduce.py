"""A page of numbers is run again: its commands, and its table beside what comes out."""

import re
import shlex
from pathlib import Path

import pytest

from bookwheel.cli.main import main
from bookwheel.errors import InputError
from bookwheel.lab.evaluation.reproduce import drop_options, read_page

COMMAND = (
    "bookwheel eval --task vt --length 400 --count 2 --way whole --model scripted --window 2000 --chunk-tokens 200 "
    "--memory-tokens 60 --answer-tokens 60 --question-tokens 200"
)
ROOT = Path(__file__).parents[3]
DOCUMENTED = [
    command
    for name in ("numbers", "evaluation", "tasks")
    for command in re.findall(
        r"^\$? ?bookwheel (eval (?!--compare|--report)[^|&]+?)$",
        (ROOT / f"docs/{name}.md").read_text("utf-8").replace("\\\n", ""),
        re.MULTILINE,
    )
]
PAGE = """# Numbers

```console
$ {command} --out runs/x
```

| model | way | task | length | n | score | 95 % interval |
|---|---|---|---|---|---|---|
| scripted | `whole` | `vt` | 400 | 2 | {score} | {interval} |
"""


def write(tmp_path, *, score="0.0", interval="0.0 to 65.8"):
    path = tmp_path / "numbers.md"
    path.write_text(PAGE.format(command=COMMAND, score=score, interval=interval))
    return path


def test_a_page_has_commands_with_their_numbers(tmp_path):
    (run,) = read_page(write(tmp_path))
    assert "--out" not in run.words
    assert run.words[:4] == ("--task", "vt", "--length", "400")
    (number,) = run.numbers
    assert number.place == ("scripted", "whole", "vt", "400")
    assert (number.score, number.low, number.high) == (0.0, 0.0, 65.8)


def test_what_is_given_again_takes_the_place_of_what_the_page_says():
    words = ["--task", "vt", "--count=100", "--out", "runs/x", "--count", "9", "--seed", "0"]
    assert [*drop_options(words, {"--count", "--out"})] == ["--task", "vt", "--seed", "0"]


def test_a_page_without_numbers_is_said(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# Nothing\n\n| a | b |\n|---|---|\n")
    with pytest.raises(InputError, match="followed by a table"):
        read_page(path)


def run(page, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["eval", "--reproduce", str(page), "--out", str(tmp_path / "out")])
    return ended.value.code


@pytest.mark.slow
def test_numbers_that_agree_and_that_do_not(tmp_path, capsys):
    page = write(tmp_path)
    assert run(page, tmp_path) == 0
    assert "| yes |" in capsys.readouterr().out
    page = write(tmp_path, score="99.0", interval="98.0 to 99.9")
    assert run(page, tmp_path) == 1
    assert "| no |" in capsys.readouterr().out
    for score, interval in (("90.0", "60.0 to 99.0"), ("50.0", "19.0 to 81.0")):
        assert run(write(tmp_path, score=score, interval=interval), tmp_path) == 0
        assert "| too few to tell |" in capsys.readouterr().out


class Understood(Exception):
    """The command has become an evaluation."""


def test_evaluations_are_documented():
    assert len(DOCUMENTED) > 5


@pytest.mark.parametrize("command", DOCUMENTED)
def test_every_documented_evaluation_is_understood(command, monkeypatch):
    async def stop(*_args, **_options):
        raise Understood

    monkeypatch.setattr("bookwheel.lab.commands.eval._run_evaluation", stop)
    monkeypatch.chdir(ROOT)
    with pytest.raises(Understood):
        main(shlex.split(command))
