"""What a memory is worth: how much of what should follow from it a model can tell with it, and by which of its lines.

The score needs no answer that somebody checked. For the tokens x_t of a target, with m the memory, P the words of the
document that say it, and c the control, an unrelated memory or none, whichever tells more of the token:

    need_t = max(0, log p(x_t | P) - log p(x_t | c))      what there is to know of a token
    got_t  = log p(x_t | m) - log p(x_t | c)              what the memory knows of it
    R      = sum need_t * clip(got_t, -need_t, need_t) / sum need_t^2
    bits   = sum got_t / log 2

R is 1 for a memory as good as the document's own words, at most 0 for another document's notes and for none, and below
0 for one that misleads. Against either control alone something can be earned by who knows nothing: any notes at all
make a text likelier than none, and notes of another thing mislead a model that trusts its notes, so that against them
an empty memory earns. The model that scores stays as it is: one that learns while it judges itself finds words that
only it understands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, fsum, hypot, isfinite, log
from typing import Final, Self

from bookwheel.errors import BadReply
from bookwheel.models.base import Ability, JudgingModel, Model, require_ability
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.text.ranking import score_texts
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Document, Reading, Usage

_BIT: Final = log(2)
# Tokens of the next section that are scored: enough to see what it is about, few enough to be cheap.
_AHEAD_TOKENS: Final = 96
_NEAR_BEST: Final = 0.6
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A text that a memory should make likelier."""

    text: str
    cue: str = ""
    """The question that it follows; empty where it is how the document goes on."""
    past: str = ""
    """The document's own words that say it; empty where nobody knows them, and then there is no R."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a memory saves on a target, beside an unrelated memory."""

    bits: float
    possible: float | None = None
    """The bits that the document's own words save, over the tokens on which they save any."""
    recovered: float | None = None
    """R of logarithms; None where nobody knows what could be known, or where there is nothing to know."""


def sum_up_worth(memory: Sequence[float], control: Sequence[float], past: Sequence[float] | None) -> Worth:
    """Return the worth of a memory by the log-probabilities of all tokens of one or more targets.

    >>> sum_up_worth([-1.0, -2.0], [-3.0, -2.0], [-1.0, -1.0]).recovered
    0.8
    """
    got = [after - before for after, before in zip(memory, control, strict=True)]
    bits = fsum(got) / _BIT
    if past is None:
        return Worth(bits=bits)
    possible = fsum(_find_needs(control, past)) / _BIT
    return Worth(bits=bits, possible=possible, recovered=find_share(memory, control, past))


def find_share(memory: Sequence[float], control: Sequence[float], past: Sequence[float]) -> float | None:
    """Return the share of what there is to know that a memory knows; None where there is nothing to know."""
    needs = _find_needs(control, past)
    most = fsum(one * one for one in needs)
    got = [after - before for after, before in zip(memory, control, strict=True)]
    return fsum(one * max(-one, min(one, gain)) for one, gain in zip(needs, got, strict=True)) / most if most else None


def _find_needs(control: Sequence[float], past: Sequence[float]) -> list[float]:
    return [max(0.0, after - before) for after, before in zip(past, control, strict=True)]


class MemoryScorer:
    """Scores memories by the likelihoods of one model, which is asked once for each memory and target."""

    def __init__(self, model: JudgingModel, prompts: Prompts, control: str = "") -> None:
        self.usage = Usage()
        self._model, self._prompts = model, prompts
        self._control = control or prompts.unrelated
        self._known: dict[tuple[str, str, str], tuple[float, ...]] = {}

    @classmethod
    async def open(cls, reading: Reading, model: Model) -> Self:
        """Return the scorer for a reading; MissingAbility where the model gives no likelihoods."""
        scoring = await require_ability(model, Ability.LIKELIHOOD, "of measuring a memory")
        return cls(scoring, prompts_for(replace(reading.plan, language=reading.language), reading.question))

    async def score(self, memory: str, targets: Sequence[Target]) -> Worth:
        """Return what a memory is worth for targets, all of their tokens together."""
        found = await self._score_tokens(memory, targets)
        return sum_up_worth(found["memory"], found["control"], found.get("past"))

    async def score_chances(self, memory: str, targets: Sequence[Target]) -> float | None:
        """Return R of the tokens' probabilities and not of their logarithms; the targets need a past.

        It is how much oftener the model would say them. A memory that misleads costs p(x_t | c) / need_t, at most 1: it
        pays to write for who is right more often than p(x_t | c) / p(x_t | P), a guess, or than in half of the cases.
        """
        found = await self._score_tokens(memory, targets)
        memory_chances, control, past = (list(map(exp, found[name])) for name in ("memory", "control", "past"))
        return find_share(memory_chances, control, past)

    async def find_need(self, target: Target) -> float:
        """Return how much likelier the document's own words make a target, in probabilities: the root of sum need_t^2.

        It is what `score_chances` is scaled by: of many tokens that hardly differ there is hardly anything to know.
        """
        found = await self._score_tokens("", [target])
        control, past = (list(map(exp, found[name])) for name in ("control", "past"))
        return hypot(*_find_needs(control, past))

    async def _score_tokens(self, memory: str, targets: Sequence[Target]) -> dict[str, list[float]]:
        """Return the log-probabilities of all tokens by what stands before them; no past where a target has none."""
        has_past = all(target.past for target in targets)
        scores = defaultdict[str, list[float]](list)
        for target in targets:
            given = {"memory": memory, "control": self._control, "none": ""}
            given |= {"past": target.past} if has_past else {}
            found = {name: await self._find_logprobs(text, target) for name, text in given.items()}
            if len(set(map(len, found.values()))) > 1:
                raise BadReply(f"{self._model.name} splits {target.text!r} into other tokens after other notes")
            found["control"] = tuple(map(max, found["control"], found.pop("none")))
            for name, logprobs in found.items():
                scores[name] += logprobs
        return scores

    async def score_lines(self, memory: str, targets: Sequence[Target]) -> list[tuple[str, float]]:
        """Return each line of a memory with the bits that are lost on the targets without it."""
        whole = (await self.score(memory, targets)).bits
        lines = memory.splitlines()
        return [
            (line, whole - (await self.score("\n".join(lines[:at] + lines[at + 1 :]), targets)).bits)
            for at, line in enumerate(lines)
            if line.strip()
        ]

    async def _find_logprobs(self, memory: str, target: Target) -> tuple[float, ...]:
        key = (memory, target.cue, target.text)
        if key not in self._known:
            turn = "recall" if target.cue else "follows"
            messages = self._prompts.turn(turn, question=target.cue, memory=memory)
            likelihood = await self._model.likelihood(messages, target.text)
            self.usage += likelihood.usage
            # Compared with what is no number, a memory would earn all or nothing.
            if wrong := [one for one in likelihood.logprobs if not isfinite(one)]:
                raise BadReply(
                    f"{self._model.name} gives a token of {target.text!r} the log-probability {wrong[0]}: measure "
                    f"with another model or server"
                )
            self._known[key] = likelihood.logprobs
        return self._known[key]


def find_targets(question: str, text: str, count: int = 3) -> list[Target]:
    """Return the sentences that share the most with a question, without the question's own words at their beginning.

    A text has as many as are nearly as good as the best, at most `count`.

    >>> find_targets("the lamp was lit by", "It rained. The lamp was lit by Ada. Then it burned.")[0].text
    'Ada.'
    """
    sentences = list(dict.fromkeys(list_sentences(text)))
    return [
        Target(text=rest, cue=question, past=sentences[at])
        for at in point_at(question, sentences, count)
        if (rest := _leave_out(question, sentences[at]))
    ]


def point_at(words: str, sentences: Sequence[str], count: int = 3) -> list[int]:
    """Return the places of the sentences that share the most with some words, best first, at most `count`."""
    scores = score_texts(sentences, words)
    places = choose_best(scores)
    return sorted(places, key=lambda at: -scores[at])[:count]


def choose_best(scores: Sequence[float]) -> list[int]:
    """Return the places of the scores that are nearly as good as the best; none where none is above 0.

    >>> choose_best([0.9, 0.2, 1.0])
    [0, 2]
    """
    least = _NEAR_BEST * max(scores, default=0.0)
    return [at for at, score in enumerate(scores) if score >= least > 0]


def _leave_out(question: str, sentence: str) -> str:
    said, words = question.casefold().split(), sentence.split()
    begins = [word.casefold() for word in words[: len(said)]] == said
    return " ".join(words[len(said) :]) if begins else sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWorth:
    """What the memory after a step is worth."""

    index: int
    answer: Worth | None
    """For the reading's answer; None where there is none."""
    ahead: Worth | None
    """For how the next section begins; None after the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWorth:
    """What the answer loses without one line of the last memory."""

    line: str
    bits: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingWorth:
    """What each memory of a reading is worth, as one model sees it."""

    model: str
    steps: tuple[StepWorth, ...]
    lines: tuple[LineWorth, ...]
    calls: int
    """Of the model, to measure it."""


async def measure_reading(reading: Reading, document: Document, model: Model) -> ReadingWorth:
    """Return what the memories of a reading are worth. Raise MissingAbility where the model gives no likelihoods."""
    scorer = await MemoryScorer.open(reading, model)
    answer: Target | None = None
    if reading.answer and (text := reading.answer.text.strip()):
        past = "\n".join(dict.fromkeys(piece.quote for piece in reading.evidence))
        answer = Target(text=text, cue=reading.question, past=past)
    steps = []
    for at, step in enumerate(reading.steps):
        targets = answer, _ahead_target(reading, at, document, model)
        worths = [_round(await scorer.score(step.after.text, [one])) if one else None for one in targets]
        steps.append(StepWorth(index=step.chunk.index, answer=worths[0], ahead=worths[1]))
    lines = await scorer.score_lines(reading.memory.text, [answer]) if answer else []
    return ReadingWorth(
        model=model.name,
        steps=tuple(steps),
        lines=tuple(LineWorth(line=line, bits=round(bits, _DIGITS)) for line, bits in lines),
        calls=scorer.usage.calls,
    )


def _round(worth: Worth) -> Worth:
    known = {name: value for name in ("bits", "possible", "recovered") if (value := getattr(worth, name)) is not None}
    return replace(worth, **{name: round(value, _DIGITS) for name, value in known.items()})


async def measure_recovered(reading: Reading, text: str, model: Model) -> float | None:
    """Return R of a reading's last memory for what its question points at in a text; None where that is nothing."""
    scorer, targets = await MemoryScorer.open(reading, model), find_targets(reading.question, text)
    return (await scorer.score(reading.memory.text, targets)).recovered if targets else None


def _ahead_target(reading: Reading, at: int, document: Document, model: Model) -> Target | None:
    """Return how the section after a step begins; what could be known of it is the section that was just read."""
    step = reading.steps[at]
    later = next((one.chunk for one in reading.steps[at + 1 :] if one.chunk.start >= step.chunk.end), None)
    if later is None:
        return None
    text = document.slice(later.start, later.end)
    text = text[: model.tokenizer.fit(text, _AHEAD_TOKENS)].strip()
    return Target(text=text, past=document.slice(step.chunk.start, step.chunk.end)) if text else None
