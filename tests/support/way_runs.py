"""Run a way of reading over a document made of plain pages."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.ways.registry import load_way
from bookwheel.types import Answer, Part, Step


@dataclass(frozen=True)
class Text:
    """A document that is one string."""

    text: str
    name: str = "text"

    @property
    def length(self) -> int:
        return len(self.text)

    def parts(self, start: int = 0) -> Iterator[Part]:
        yield Part(text=self.text[start:], source=self.name)

    def slice(self, start: int, end: int) -> str:
        return self.text[start:end]


def make_pages(count: int, facts: Mapping[str, int]) -> Text:
    """Pages that say nothing, a line each, and facts between them: each stands before the page of its number."""
    lines = [
        f"Page {n} tells of harvests, tolls and rain in plain words. Nothing else is on it.\n" for n in range(count)
    ]
    for text, at in facts.items():
        lines.insert(at, text + "\n")
    return Text("".join(lines))


def run_way(
    way: str, document: Text, question: str, model: ScriptedModel, plan: Plan, done: Sequence[Step] = ()
) -> list[Step | Answer]:
    async def gather() -> list[Step | Answer]:
        return [event async for event in load_way(way)(document, question, model, plan, done)]

    return asyncio.run(gather())
