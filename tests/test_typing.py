"""The package's types, as a program that imports it sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent.parent / "src"

CONSUMER = """
from collections.abc import AsyncGenerator, Sequence

from bookwheel import Answer, Document, Memory, Model, Plan, Reading, Step, Way, read


async def nothing(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    memory: Memory = Memory.blank(plan.memory_tokens)
    for step in done:
        memory = step.after
        yield step
    print(document.name, question, model.name, memory.text)


def print_event(event: Step | Answer) -> None:
    print(event.conversation.reply.text, event.conversation.reply.usage.tokens)


way: Way = nothing
reading: Reading = read("lease.txt", "When?", plan=Plan(chunk_tokens=900), way=way, watch=print_event)
text: str = reading.answer.text if reading.answer else reading.error
print(text, [chunk.start for chunk in (step.chunk for step in reading.steps)])
"""


@pytest.fixture(scope="module")
def check_types(tmp_path_factory: pytest.TempPathFactory):
    """Run `mypy --strict` on a program in a folder of its own; return its exit code and its output."""
    folder = tmp_path_factory.mktemp("consumer")

    def check(program: str) -> tuple[int, str]:
        (folder / "consumer.py").write_text(program)
        # Found through py.typed, as an installed package is, and not by MYPYPATH, which needs no marker.
        (folder / "mypy.ini").write_text("[mypy]\nstrict = true\n")
        command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "consumer.py"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
        return ran.returncode, ran.stdout + ran.stderr

    return check


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "bookwheel" / "py.typed").is_file()


def test_a_program_that_uses_the_public_names_has_no_type_errors(check_types) -> None:
    assert check_types(CONSUMER) == (0, "Success: no issues found in 1 source file\n")


@pytest.mark.parametrize(
    ("right", "wrong", "kind"),
    [
        ('"When?"', "42", "arg-type"),
        ("way=way", "way=print", "arg-type"),
        ("watch=print_event", "watch=len", "arg-type"),
        ("chunk_tokens=900", 'chunk_tokens="900"', "arg-type"),
        ("text: str = ", "text: int = ", "assignment"),
    ],
)
def test_a_wrong_argument_is_a_type_error(check_types, right: str, wrong: str, kind: str) -> None:
    assert right in CONSUMER
    code, output = check_types(CONSUMER.replace(right, wrong))
    assert code == 1
    assert f"[{kind}]" in output
