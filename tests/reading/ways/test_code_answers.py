"""What the names of a program tell, without a model."""

import asyncio

import pytest

from bookwheel.documents.opening import open_document
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.ways.code_answers import cite_passage, find_code_answer
from bookwheel.reading.ways.document_index import index_passages
from bookwheel.reading.ways.quotes import quotes
from bookwheel.text.structure import Shape
from bookwheel.types import Answer

BOOKS = '''"""Keep the books. close_ledger is called at night."""

import os

from .days import Day

RETRIES = 3
DSN = os.environ.get("LEDGER_DSN")


class Books:
    """All ledgers."""

    def settle(self, day: Day) -> None:
        """Settle a day: `close_ledger(day)`."""
        # close_ledger(day) was here twice
        close_ledger(day)

    def fail(self) -> None:
        raise LedgerError("no")


class LedgerError(Exception):
    """No ledger."""


def close_ledger(day: Day) -> None:
    """Close it."""
'''
MAIN = """package main

import "os"

func main() {
	dsn := os.Getenv("MAIN_DSN")
	run(dsn)
}
"""
GATE = """package gate

var errEmpty = errors.New("empty")

const Leeway = 45

func check(dsn string) error {
	return errEmpty
}
"""
NIGHT = """import gate

PAUSE = 30
gate.PAUSE = 45  # for all


def sweep_all(rows):
    gate.check(rows)


def nightly():
    print("calling sweep_all(rows)")  # sweep_all(rows) is off
    sweep_all([])
"""
BILL = """public class Bill {
    private static final int ROUNDS = 7;

    void pay(int cents) throws PayException {
        audit("pay");
    }

    private void audit(String what) { log(what); }
}
"""
SHELL = "ROUNDS=${ROUNDS:-9}\ndrain() { kill $1; }\ndrain 42\n"
POOL = "#define DEPTH 32\nint pool(int n) { return n > DEPTH; }\n"
PHP = "<?php\ndefine('DEPTH', 48);\nfunction ring($text) { echo $text; }\nring('a');\n"
RUBY = 'class Bell\n  def pay\n    ring "paid"\n  end\nend\n'
SHARP = "class Api {\n    void Pay() {\n        Sound(1);\n    }\n    void Sound(int n) => Log(n);\n}\n"
TEST = "from books import close_ledger\n\n\ndef test_it():\n    close_ledger(1)\n"


@pytest.fixture
def document(tmp_path):
    for name, text in (
        ("books.py", BOOKS),
        ("main.go", MAIN),
        ("gate.go", GATE),
        ("night.py", NIGHT),
        ("Bill.java", BILL),
        ("run.sh", SHELL),
        ("pool.c", POOL),
        ("shop.php", PHP),
        ("bell.rb", RUBY),
        ("Api.cs", SHARP),
        ("limits.yaml", "limits:\n  rounds: 3\n  ROUNDS: 11\n"),
        ("tests/test_books.py", TEST),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return open_document([tmp_path])


def ask(question, document):
    found = find_code_answer(question, document)
    return found.text.splitlines() if found else None


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("Where is close_ledger defined?", ["books.py:27: def close_ledger(day: Day) -> None:"]),
        ("Where is RETRIES set?", ["books.py:7: RETRIES = 3"]),
        ("What is RETRIES?", ["books.py:7: RETRIES = 3"]),
        (
            "What calls close_ledger?",
            ["in Books.settle, books.py:17: close_ledger(day)", "in test_it, tests/test_books.py:5: close_ledger(1)"],
        ),
        ("Who calls `run`?", ["in main, main.go:7: run(dsn)"]),
        ("Where is errEmpty returned?", ["in check, gate.go:8: return errEmpty"]),
        ("Where is PAUSE set?", ["night.py:3: PAUSE = 30", "night.py:4: gate.PAUSE = 45  # for all"]),
        (
            "Where is ROUNDS set?",
            [
                "in Bill, Bill.java:2: private static final int ROUNDS = 7;",
                "limits.yaml:3: ROUNDS: 11",
                "run.sh:1: ROUNDS=${ROUNDS:-9}",
            ],
        ),
        ("Where is DEPTH set?", ["pool.c:1: #define DEPTH 32", "shop.php:2: define('DEPTH', 48);"]),
        ("Who calls ring?", ['in Bell.pay, bell.rb:3: ring "paid"', "shop.php:4: ring('a');"]),
        ("Who calls Sound?", ["in Api.Pay, Api.cs:3: Sound(1);"]),
        ("Where is rounds set?", ["limits.yaml:2: rounds: 3"]),
        ("Who calls audit?", ['in Bill.pay, Bill.java:5: audit("pay");']),
        ("Who calls drain?", ["run.sh:3: drain 42"]),
        ("Where is PAUSE defined?", ["night.py:3: PAUSE = 30"]),
        ("Who calls sweep_all?", ["in nightly, night.py:13: sweep_all([])"]),
        ("Where is Leeway defined?", ["gate.go:5: const Leeway = 45"]),
        ("Where is LedgerError raised?", ['in Books.fail, books.py:20: raise LedgerError("no")']),
        ("Where is close_ledger imported?", ["tests/test_books.py:1: from books import close_ledger"]),
        (
            "What environment variables does the program need, and in which files are they read?",
            ['books.py:8: DSN = os.environ.get("LEDGER_DSN")', 'in main, main.go:6: dsn := os.Getenv("MAIN_DSN")'],
        ),
        (
            "Which environment variables are read?",
            ['books.py:8: DSN = os.environ.get("LEDGER_DSN")', 'in main, main.go:6: dsn := os.Getenv("MAIN_DSN")'],
        ),
    ],
)
def test_names_tell_their_places(question, lines, document):
    assert ask(question, document) == lines


@pytest.mark.parametrize(
    "question",
    [
        "How does settle work?",
        "What is close_ledger used for?",
        "Why are there three RETRIES?",
        "Where is the number of retries set?",
        "What calls open_ledger?",
        "Which environment variables name the ledger?",
        "When was close_ledger added?",
    ],
)
def test_other_questions_are_left_to_the_passages(question, document):
    assert ask(question, document) is None


def test_more_places_than_have_room_are_counted(tmp_path):
    calls = "".join(f"def f{n}():\n    pay_all()\n\n" for n in range(30))
    (tmp_path / "a.py").write_text(f"def pay_all():\n    pass\n\n{calls}")
    lines = ask("What calls pay_all?", open_document([tmp_path]))
    assert lines is not None
    assert lines[-1] == "and 10 more of 30 places"


def test_a_passage_of_code_keeps_its_lines(document):
    block = next(one for one in index_passages(document).list_windows(Shape.CODE) if "main()" in one.text)
    assert cite_passage(block.shown, document) == "main.go:5-8:\n" + MAIN[MAIN.index("func") :].rstrip()
    assert cite_passage("no such passage", document) == ""


def test_what_names_tell_is_asked_of_no_model(document):
    async def read():
        def reply(*_):
            raise AssertionError

        model = ScriptedModel(reply, likelihood=reply)
        plan = Plan(prompts="small", chunk_tokens=100, memory_tokens=100, answer_tokens=50)
        return [event async for event in quotes(document, "What calls close_ledger?", model, plan)]

    *steps, answer = asyncio.run(read())
    assert isinstance(answer, Answer)
    assert answer.flags == (Flag.LOOKED_UP,)
    assert answer.text.startswith("in Books.settle, books.py:17:")
    assert [step.flags for step in steps] == [(Flag.UNREAD,)]
    assert steps[0].chunk.end == sum(len(part.text) for part in document.parts())
