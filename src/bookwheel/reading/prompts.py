"""Prompts: one object for reading, evaluation and training.

A prompt set is a TOML file with an update template for each layout and an answer template. Templates name
`{question}`, `{memory}` and `{section}`; each is filled once, from text that was shielded, so nothing inside a
document, a memory or a question is ever taken for a part of the prompt. An update may name `{room}`: how many words a
memory has room for, which a model is not told by the limit of its reply.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, Final, Self

from bookwheel.errors import PromptError
from bookwheel.packaged import PACKAGE
from bookwheel.patterns import compile_late
from bookwheel.plan import Layout, Plan
from bookwheel.reading.asides import Scene
from bookwheel.reading.earlier import part_instructions
from bookwheel.reading.inquiry import Inquiry
from bookwheel.text.lexicon import language_of
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Chunk, Memory, Message

_PLACE: Final = compile_late(r"\{(question|memory|section|room)\}")
_PROMPTS_FOLDER: Final = PACKAGE / "prompts"
# Words that a token is, or signs; on the low side, for a memory that is too long is cut.
_WORDS_A_TOKEN: Final = {"en": 0.6, "zh": 0.8}
# Where a template is only counted: as many digits as a limit has.
MANY: Final = 9999


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """A prompt set in one language."""

    name: str
    language: str
    updates: Mapping[Layout, str]
    answer_template: str
    blank: str
    """Shown in place of the memory before the first section."""
    unchanged: str
    """The word that a model replies with when its notes stay as they are; empty if the set has none."""
    quotes: bool = False
    """The set asks for quotes, so lines that stand neither in the section nor in the notes are dropped."""
    system: str = ""
    turns: Mapping[str, str] = field(default_factory=dict)
    """Templates of all other turns, by name: of other ways of reading, such as `whole` and `refine`, and of parts
    of ways, such as `judge` and `edits`."""
    options: tuple[str, str] = ("Yes", "No")
    """The words that a judgement chooses between."""
    not_found: str = ""
    """The answer where the document has none; empty if the set has none."""
    unrelated: str = ""
    """Notes of another text, beside which the worth of a memory is measured."""
    inquiry: Inquiry | None = None
    """What the reading asks for, where that is more than its question."""
    least_gain_share: float = 1.0
    """The part of the plan's `least_gain` that is enough for `quotes`: gains after other words are others."""

    def update(self, question: str, memory: Memory, chunk: Chunk, layout: Layout) -> tuple[Message, ...]:
        """Return the messages that turn a memory and a chunk into the next memory."""
        # The words of the template and the question come on top.
        tokens = memory.tokens + chunk.tokens
        return self._messages(
            self._layout(layout),
            question=question,
            memory=memory.text,
            section=chunk.shown,
            tokens=tokens,
            limit=memory.limit,
        )

    def answer(self, question: str, memory: Memory) -> tuple[Message, ...]:
        """Return the messages of the last conversation: question and memory, no document."""
        return self._messages(
            self.answer_template, question=question, memory=memory.text, section="", tokens=memory.tokens
        )

    def turn(
        self,
        name: str,
        *,
        question: str,
        memory: str = "",
        section: str = "",
        tokens: int | None = None,
        room: int = MANY,
    ) -> tuple[Message, ...]:
        """Return the messages of a turn of this name.

        `tokens` are those of memory and section, where they have been counted; `room` are those that a reply may have.
        """
        template = self._find(name)
        return self._messages(template, question=question, memory=memory, section=section, tokens=tokens, limit=room)

    def set_scene(self, question: str, memory: Memory, section: str) -> Scene:
        """Return what a reply about a section is understood by."""
        return Scene(
            memory=memory.text, section=section, question=question, unchanged=self.unchanged, quotes=self.quotes
        )

    def _find(self, name: str) -> str:
        template = self.turns.get(name)
        if template is None:
            raise PromptError(f"the prompt set {self.name} has no turn {name!r}; add it under [turns]")
        return template

    def empty(self, layout: Layout) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """Return both conversations with nothing filled in, to count what the template costs."""
        update, answer = (
            self._messages(template, question="", memory="", section="")
            for template in (self._layout(layout), self.answer_template)
        )
        return update, answer

    def _layout(self, layout: Layout) -> str:
        template = self.updates.get(layout)
        if template is None:
            raise PromptError(f"the prompt set {self.name} has no {layout} layout; use {next(iter(self.updates))}")
        return template

    def _messages(
        self, template: str, *, question: str, memory: str, section: str, tokens: int | None = None, limit: int = MANY
    ) -> tuple[Message, ...]:
        words = int(limit * _WORDS_A_TOKEN.get(self.language, _WORDS_A_TOKEN["en"]))
        parts = {
            "room": str(round(words, min(0, 2 - len(str(words))))),
            "question": escape_markup(self._complete(question.strip())),
            "memory": escape_markup(memory) or self.blank,
            "section": escape_markup(section),
        }
        text = _fill(template, parts)
        user = Message(role="user", content=text, tokens=tokens)
        return (Message(role="system", content=self.system), user) if self.system else (user,)

    def _complete(self, question: str) -> str:
        """Return the reading's question with what belongs to it; another one as it is."""
        asked = self.inquiry
        if asked is None or not asked.is_asked_by(question):
            return question
        rules, before = part_instructions(asked.earlier) if "instructions" in self.turns else ("", asked.earlier)
        for name, memory in (("instructions", rules), ("earlier", before)):
            if memory:
                question = _fill(self._find(name), {"question": question, "memory": memory})
        if asked.fields:
            question = _fill(self._find("fields"), {"question": question, "section": asked.fields})
        return question.strip()

    @classmethod
    def from_toml(cls, text: str, name: str) -> Self:
        """Parse a prompt set; PromptError says which part is missing."""
        try:
            table = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise PromptError(f"the prompt set {name} is not valid TOML: {error}") from error
        updates = {layout: table["update"][layout] for layout in Layout if layout in table.get("update", {})}
        answer = table.get("answer", "")
        _check_templates(name, updates, answer)
        share = table.get("least_gain_share", 1.0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < inf:
            raise PromptError(f"least_gain_share of the prompt set {name} must be a number from 0 on, not {share!r}")
        return cls(
            name=name,
            language=str(table.get("language", "en")),
            updates=updates,
            answer_template=answer,
            blank=str(table.get("blank", "")),
            unchanged=str(table.get("unchanged", "")),
            quotes=bool(table.get("quotes", False)),
            system=str(table.get("system", "")),
            turns={key: str(template) for key, template in table.get("turns", {}).items()},
            options=(str(table.get("yes", "")), str(table.get("no", ""))),
            not_found=str(table.get("not_found", "")),
            unrelated=str(table.get("unrelated", "")).strip(),
            least_gain_share=float(share),
        )


def _fill(template: str, parts: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: parts.get(place[1], ""), template)


def _check_templates(name: str, updates: Mapping[Layout, str], answer: Any) -> None:
    if not updates:
        raise PromptError(f'the prompt set {name} needs [update] with "memory-first" or "section-first"')
    if not isinstance(answer, str) or not {"question", "memory"} <= set(_PLACE.findall(answer)):
        raise PromptError(f"the prompt set {name} needs an answer template with {{question}} and {{memory}}")
    for layout, template in updates.items():
        missing = {"question", "memory", "section"} - set(_PLACE.findall(template))
        if missing:
            raise PromptError(f"the {layout} template of prompt set {name} does not name {{{min(missing)}}}")


def prompts_for(plan: Plan, question: str) -> Prompts:
    """Return the plan's prompt set, in the plan's language or the question's, for what the plan's reading asks."""
    prompts = _load(plan.prompts, plan.language or language_of(question))
    if prompts.quotes or not (plan.schema or plan.earlier):
        return prompts
    return replace(prompts, inquiry=Inquiry.from_plan(plan, question))


@cache
def shipped_prompt_sets() -> frozenset[str]:
    """Return the names of the prompt sets that come with bookwheel."""
    return frozenset(path.name.split(".")[0] for path in _PROMPTS_FOLDER.glob("*.toml"))


@cache
def _load(name: str, language: str) -> Prompts:
    """Load a set. What it lacks of turns and the words of a judgement comes from the standard set."""
    prompts = _read(name, language)
    if name == "standard":
        return prompts
    standard = _read("standard", language)
    return replace(
        prompts,
        turns={**standard.turns, **prompts.turns},
        options=prompts.options if all(prompts.options) else standard.options,
        not_found=prompts.not_found or standard.not_found,
        unrelated=prompts.unrelated or standard.unrelated,
    )


def _read(name: str, language: str) -> Prompts:
    if name.endswith(".toml"):
        try:
            return Prompts.from_toml(Path(name).read_text(encoding="utf-8"), name)
        except (OSError, UnicodeDecodeError) as error:
            raise PromptError(f"the prompt set {name} cannot be read: {error}") from error
    file = _PROMPTS_FOLDER / f"{name}.{language}.toml"
    if name not in shipped_prompt_sets() or not file.is_file():
        known = sorted(path.stem for path in _PROMPTS_FOLDER.glob("*.toml"))
        raise PromptError(f"no prompt set {name!r} in language {language!r}; there are: {', '.join(known)}")
    return Prompts.from_toml(file.read_text(encoding="utf-8"), name)
