"""A scripted reader with the habits of a model, and documents for it: what the ways are timed and compared on.

A document is filler, some lines that mention what the question is about, and two facts that only together answer it.
The reader notes every such line; a memory that it rewrites always has the length of the plan's limit, as trained
memories do; changes and parts are as long as what they say. Its judgements are a normal score, set apart by `spread`
standard deviations between chunks that matter and chunks that do not (2.48 gives an AUC of 0.96, 3.29 one of 0.99).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from math import exp, log
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from bookwheel.documents.opening import TextDocument
from bookwheel.reading.ways.writers import PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Message

_MARK: Final = "Halcyon"
_PAD: Final = "and"
_PART: Final = re.compile(r"Part (\d):")


class SpaceTokenizer:
    """A word is a token. Fast, and the same for prompts and replies."""

    name: Final = "spaces"
    exact: Final = True

    def count(self, text: str) -> int:
        """Return the number of words."""
        return len(text.split())

    def fit(self, text: str, limit: int) -> int:
        """Return the character where word number `limit` ends."""
        parts = text.split(" ", limit)
        if len(parts) <= limit and len(text.split()) <= limit:
            return len(text)
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(text[:middle].split()) <= limit else (low, middle - 1)
        return low


@dataclass(frozen=True, kw_only=True)
class Case:
    """A document, its question and the answer."""

    document: TextDocument
    question: str
    gold: str


def make_case(seed: int, *, tokens: int, mentions: int) -> Case:
    """Return a document of about so many words in which so many lines mention the question's subject."""
    rng = Random(seed)
    owner, home = f"Ada{seed} Quill{seed}", f"Tern{seed} Point{seed}"
    ship = f"{_MARK}{seed}"
    size = 20
    lines = [
        " ".join((f"L{seed}x{n}", *(f"w{rng.randrange(5000)}" for _ in range(size - 2)), "end."))
        for n in range(tokens // size)
    ]
    facts = [f"{owner} owns the ship {ship}.", f"{owner} lives at {home}."]
    # Half of the lines that say nothing new name the ship, and half its owner.
    subjects = [f"The {ship}", owner]
    extra = [
        f"{subjects[n % 2]} was seen by keeper{rng.randrange(900)} in year{n} with cargo{rng.randrange(900)}, and no "
        f"more than that was ever said of it."
        for n in range(mentions)
    ]
    for line in (*facts, *extra):
        lines.insert(rng.randrange(len(lines) + 1), line)
    return Case(
        document=TextDocument("\n".join(lines) + "\n", name=f"case-{seed}"),
        question=f"Where does the owner of the ship {ship} live?",
        gold=home,
    )


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The reader."""

    limit: int
    """Tokens of a rewritten memory."""
    spread: float = 2.48
    seed: int = 0
    hoards: bool = False
    """Its changes add lines and drop none, as those of most models do."""

    def reply(self, messages: Sequence[Message]) -> str:
        """Write what the prompt asks for."""
        prompt = messages[-1].content
        if "<memory>" not in prompt:
            return "Who owns the ship?\nWhere does this person live?"
        subjects = _find_subjects(prompt)
        memory = _read_tag(prompt, "memory").splitlines()
        notes = [re.sub(r"^\d+\. ", "", line) for line in memory if subjects.search(line)]
        if prompt.endswith("Lines to give up:"):
            return "\n".join([f"DROP {n}" for n, line in enumerate(notes, start=1) if not _is_fact(line)][:5])
        if "<section>" not in prompt:
            return self._answer(notes)
        section = _read_tag(prompt, "section").splitlines()
        new = [line for line in section if subjects.search(line) and line not in notes]
        if prompt.endswith("Changes:"):
            return self._edit(notes, new)
        if prompt.endswith("New part:"):
            return self._write_part(memory, subjects, new)
        return _pad(self._choose([*notes, *new], self.limit), self.limit)

    def judge(self, messages: Sequence[Message], options: Sequence[str]) -> list[float]:
        """Return log-probabilities of yes and no."""
        del options
        prompt = messages[-1].content
        if "<section>" in prompt:
            section = _read_tag(prompt, "section")
            score = self._draw(section, matters=bool(_find_subjects(prompt).search(section)))
        else:
            memory = _read_tag(prompt, "memory")
            score = 2 * self._draw(memory, matters=_knows_both(memory.splitlines())) + 1.4
        yes = 1 / (1 + exp(-score))
        return [log(max(yes, 1e-9)), log(max(1 - yes, 1e-9))]

    def _draw(self, text: str, *, matters: bool) -> float:
        digest = hashlib.sha256(f"{self.seed} {text}".encode()).digest()
        uniform = (int.from_bytes(digest[:8], "big") + 1) / (2**64 + 2)
        return NormalDist().inv_cdf(uniform) + self.spread * (0.5 if matters else -0.5)

    def _answer(self, memory: Sequence[str]) -> str:
        home = next((line.rpartition("lives at ")[2].rstrip(".") for line in memory if "lives at" in line), "")
        return f"\\boxed{{{home}}}" if home and _knows_both(memory) else "\\boxed{not said}"

    def _edit(self, notes: list[str], new: list[str]) -> str:
        kept = [*notes, *new] if self.hoards else self._choose([*notes, *new], self.limit - 8)
        changes = [f"DROP {n}" for n, line in enumerate(notes, start=1) if line not in kept]
        changes += [f"ADD: {line}" for line in new if line in kept]
        return "\n".join(changes) or "UNCHANGED"

    def _write_part(self, memory: Sequence[str], subjects: re.Pattern[str], new: list[str]) -> str:
        if not new:
            return "UNCHANGED"
        parts: dict[int, list[str]] = {number: [] for number in range(1, PARTS + 1)}
        current = 1
        for line in memory:
            if heading := _PART.fullmatch(line):
                current = int(heading[1])
            elif subjects.search(line):
                parts[current].append(line)
        number = min(parts, key=lambda part: (_count(parts[part]), part))
        room = self.limit // PARTS - 8
        return f"Part {number}:\n" + _pad(self._choose([*parts[number], *new], room), room)

    def _choose(self, lines: Sequence[str], room: int) -> list[str]:
        """Return the facts and the newest of the other lines, as many as there is room for."""
        chosen = [line for line in lines if _is_fact(line)]
        for line in reversed([line for line in lines if not _is_fact(line)]):
            if _count([*chosen, line]) > room - 2:
                break
            chosen.append(line)
        return [line for line in lines if line in chosen]


def _is_fact(line: str) -> bool:
    return " owns the ship " in line or " lives at " in line


def _knows_both(memory: Sequence[str]) -> bool:
    return any(" owns the ship " in line for line in memory) and any(" lives at " in line for line in memory)


def _count(lines: Sequence[str]) -> int:
    return sum(len(line.split()) for line in lines)


def _pad(lines: Sequence[str], tokens: int) -> str:
    left = tokens - _count(lines)
    return "\n".join((*lines, *([" ".join(["Also", *[_PAD] * (left - 1)])] if left > 1 else [])))


def _find_subjects(prompt: str) -> re.Pattern[str]:
    """Return a pattern for the ship and its owner, who have the question's number."""
    found = re.search(rf"{_MARK}(\d+)", _read_tag(prompt, "question"))
    number = found[1] if found else ""
    return re.compile(rf"\b(?:{_MARK}|Quill){number}\b")


def _read_tag(prompt: str, tag: str) -> str:
    return prompt.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip() if f"<{tag}>" in prompt else ""
