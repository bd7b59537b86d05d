"""The outline of a report: a title, and sections that say which rows they are written from. People edit it as Markdown.

# What the leases ask of the tenants

## Duties
every duty of a tenant: who, what, until when

## Payments
every payment: who, amount, due date
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import InputError, explain_failure
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.loop import converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.tables.columns import TableRequest, names_columns
from bookwheel.tables.rows import UnreadableRowsError, parse_object

_TURN: Final = "outline"
_MOST_SECTIONS: Final = 20
_TRIES: Final = 2
_DEFAULT_COLUMNS: Final = {"en": "what, who, when", "zh": "什么，谁，何时"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineSection:
    """A section, and the rows that it is written from."""

    title: str
    sentence: str
    """As `bookwheel collect` takes it: "every payment: who, amount"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A title and sections."""

    title: str
    sections: tuple[OutlineSection, ...]

    def to_markdown(self) -> str:
        """Return the outline as a file that `parse_outline` reads again."""
        return "\n\n".join((f"# {self.title}", *(f"## {one.title}\n{one.sentence}" for one in self.sections))) + "\n"


def parse_outline(text: str) -> Outline:
    """Return the outline that a Markdown text says; InputError names the section that asks for nothing."""
    title, sections = "", list[tuple[str, list[str]]]()
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("## "):
            sections.append((line[3:].strip(), []))
        elif line.startswith("# "):
            title = title or line[2:].strip()
        elif line and sections:
            sections[-1][1].append(line)
    if not sections:
        raise InputError("an outline has sections: a line `## TITLE` and below it `every …: column, column`")
    if len(sections) > _MOST_SECTIONS:
        raise InputError(f"an outline has {_MOST_SECTIONS} sections at most, not {len(sections)}")
    made = []
    for name, lines in sections:
        sentence = " ".join(lines)
        try:
            TableRequest.parse(sentence)
        except InputError as error:
            raise InputError(f"the section {name!r} of the outline: {error}") from error
        made.append(OutlineSection(title=name, sentence=sentence))
    return Outline(title=title or made[0].title, sections=tuple(made))


def load_outline(path: Path) -> Outline:
    with explain_failure(path, "read"):
        return parse_outline(path.read_text(encoding="utf-8-sig"))


def check_writer(brief: str, model: Model, plan: Plan) -> None:
    """Refuse a model that only quotes."""
    if prompts_for(plan, brief).quotes:
        raise InputError(
            f"{model.name} only quotes and cannot write a report: name a model that can, with --base-url URL"
        )


async def propose_outline(brief: str, model: Model, plan: Plan) -> Outline:
    """Return the outline that the model proposes for a brief."""
    check_writer(brief, model, plan)
    prompts = prompts_for(plan, brief)
    for _ in range(_TRIES):
        said = await converse(prompts.turn(_TURN, question=brief), model, plan.answer_tokens, plan.sampling)
        sections = _parse_sections(said.reply.text, prompts.language)
        if sections:
            return Outline(title=" ".join(brief.split()), sections=tuple(sections[:_MOST_SECTIONS]))
    raise InputError(f"{model.name} proposed no outline that can be read: write one and give it with --outline FILE")


def _parse_sections(text: str, language: str) -> list[OutlineSection]:
    try:
        given: Any = parse_object(text).get("sections")
    except UnreadableRowsError:
        return []
    made = []
    for one in given if isinstance(given, list) else []:
        title, sentence = (one.get("title"), one.get("rows")) if isinstance(one, dict) else (None, None)
        if not (isinstance(title, str) and isinstance(sentence, str) and title.strip() and sentence.strip()):
            continue
        sentence = " ".join(sentence.split())
        if not names_columns(sentence):
            sentence = f"{sentence.strip(' .:：')}: {_DEFAULT_COLUMNS['zh' if language == 'zh' else 'en']}"
        try:
            TableRequest.parse(sentence)
        except InputError:
            continue
        made.append(OutlineSection(title=" ".join(title.split()).lstrip("# "), sentence=sentence))
    return made
