"""The public names as a program that imports the package uses them; `make check` finds no type error in it.

A line that must be an error says so: mypy calls an ignore that ignores nothing an error of its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from bookwheel import Answer, Document, Memory, Model, Plan, Reading, Step, Way, read


async def nothing(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    memory: Memory = Memory.blank(plan.memory_tokens)
    for step in done:
        memory = step.after
        yield step
    assert [document.name, question, model.name, memory.text] != []


def take(event: Step | Answer) -> None:
    assert event.conversation.reply.text or event.conversation.reply.usage.tokens


def use() -> None:
    way: Way = nothing
    reading: Reading = read("lease.txt", "When?", plan=Plan(chunk_tokens=900), way=way, watch=take)
    text: str = reading.answer.text if reading.answer else reading.error
    starts: list[int] = [chunk.start for chunk in (step.chunk for step in reading.steps)]
    assert text or starts


def misuse() -> None:
    read("lease.txt", 42)  # type: ignore[arg-type]
    read("lease.txt", "When?", way=print)  # type: ignore[arg-type]
    read("lease.txt", "When?", watch=len)  # type: ignore[arg-type]
    Plan(chunk_tokens="900")  # type: ignore[arg-type]
    text: int = read("lease.txt", "When?").error  # type: ignore[assignment]
    assert text
