"""The reward of an episode: the sample's own verifier, and optional parts beside it.

    R = answer * a + boxed * [the answer is boxed] + captured * c + kept * k
        - overlong * o - length * l - copied * p - foreign * f - shorthand * h
    o = the mean over replies of clip((length - (1 - s) L) / (s L), 0, 1)       L the reply's limit, s overlong_share
    c = the share of golds in the memory right after the chunk that their evidence ends in
    k = the share of them in the last memory
    l = the mean share of the limit that the memories take
    p = the share of the last memory's words in runs of 8 and more that stand so in the last section
    f = the share of its letters in scripts that neither section nor question has
    h = the share of its words that neither the sections that were read nor the question have, nor every English text

a is the verdict of the verifier that evaluation uses. The other parts are off by default and reported by name, so that
a curve always shows the reward of the answers alone. The last four guard a reward of likelihood (likelihood.py)
against the ends that it is known for. `Reward` is any callable of this shape.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, Protocol

from bookwheel.lab.scoring import contains
from bookwheel.lab.tasks import Sample
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.workflows import Episode
from bookwheel.text.lexicon import FUNCTION_WORDS, stem
from bookwheel.text.ranking import list_words
from bookwheel.types import Finish

_COSTS: Final = frozenset({"overlong", "length", "copied", "foreign", "shorthand"})
# Words that stand one after the other in memory and section before they count as copied.
_RUN: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardResult:
    """A reward and its named parts."""

    score: float
    """The advantage is computed from it."""
    answer: float
    """The verifier's part alone, as in evaluation."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Every part before its weight."""
    gains: tuple[float, ...] = ()
    """Of each conversation: R at the end less R before its step. Empty where that is not measured."""
    tokens: tuple[tuple[float, ...], ...] = ()
    """Of each conversation's sampled tokens: their own credit. Empty where nobody teaches."""


class Credit(Protocol):
    """Adds to a reward what a model says of the rollout: what its memories are worth, or what a teacher would write."""

    async def credit(self, result: RewardResult, episode: Episode, sample: Sample) -> RewardResult: ...


class Reward(Protocol):
    """Judges an episode. It runs in a thread, so it may be slow."""

    def __call__(self, episode: Episode, sample: Sample) -> RewardResult: ...


def score_episode(reward: Reward, episode: Episode, sample: Sample) -> RewardResult:
    """Return the episode's reward; raise ValueError where it is no number that an advantage can be computed from."""
    result = reward(episode, sample)
    if not (isfinite(result.score) and isfinite(result.answer)):
        raise ValueError(f"the reward is {result.score}, of an answer worth {result.answer}")
    return result


def build_reward(settings: RewardSettings) -> Reward:
    """Return a reward of the sample's verifier and the parts that the settings give a weight."""

    def judge(episode: Episode, sample: Sample) -> RewardResult:
        if settings.needs_golds and not sample.golds:
            raise ConfigError(f"sample {sample.id} has no gold answer to verify by: leave it out")
        answer = sample.score(episode.answer).score if sample.golds else 0.0
        parts = {"answer": answer} if sample.golds else {}
        if settings.boxed:
            parts["boxed"] = float(bool(episode.conversations) and r"\boxed{" in episode.conversations[-1].reply.text)
        if settings.overlong:
            parts["overlong"] = _mean_overlong(episode, settings.overlong_share)
        if settings.captured or settings.kept:
            parts["captured"], parts["kept"] = _score_recall(episode, sample)
        if episode.steps and (settings.length or settings.copied or settings.foreign):
            parts |= _measure_memory(episode, sample)
        if episode.steps and settings.shorthand:
            shown = (sample.question, *(step.chunk.shown for step in episode.steps))
            parts["shorthand"] = measure_shorthand(episode.steps[-1].after.text, shown)
        weights = {name: getattr(settings, name) * (-1 if name in _COSTS else 1) for name in parts}
        score = sum(weights[name] * value for name, value in parts.items())
        return RewardResult(score=score, answer=answer, parts=parts)

    return judge


def overlong(length: int, limit: int, share: float) -> float:
    """Return 0 up to the last `share` of the limit, 1 at the limit, and a straight line between.

    >>> [overlong(length, 100, 0.2) for length in (50, 80, 90, 100)]
    [0.0, 0.0, 0.5, 1.0]
    """
    soft = share * limit
    return min(1.0, max(0.0, (length - (limit - soft)) / soft)) if soft else float(length >= limit)


def _mean_overlong(episode: Episode, share: float) -> float:
    costs = [
        1.0 if reply.finish is Finish.LENGTH else overlong(reply.usage.completion_tokens, limit, share)
        for reply, limit in zip((one.reply for one in episode.conversations), episode.limits, strict=True)
    ]
    return sum(costs) / len(costs) if costs else 0.0


def _score_recall(episode: Episode, sample: Sample) -> tuple[float, float]:
    """Return the shares of the golds in the evidence that were in the memory when read, and at the end."""
    expected = [
        (gold, evidence.end)
        for evidence in sample.evidence
        for gold in sample.golds
        if contains(evidence.note, [gold]).score
    ]
    if not expected or not episode.steps:
        return 0.0, 0.0
    captured = kept = 0.0
    for gold, end in expected:
        after = next((step.after for step in episode.steps if step.chunk.end >= end), episode.steps[-1].after)
        captured += contains(after.text, [gold]).score
        kept += contains(episode.steps[-1].after.text, [gold]).score
    return captured / len(expected), kept / len(expected)


def _measure_memory(episode: Episode, sample: Sample) -> dict[str, float]:
    last = episode.steps[-1]
    taken = [step.after.tokens / step.after.limit for step in episode.steps]
    return {
        "length": sum(taken) / len(taken),
        "copied": measure_copied(last.after.text, last.chunk.text),
        "foreign": measure_foreign(last.after.text, f"{sample.question} {last.chunk.shown}"),
    }


def measure_copied(memory: str, section: str) -> float:
    """Return the share of a memory's words in runs of 8 and more that stand so in the section."""
    words, there = list_words(memory), list_words(section)
    known = {tuple(there[at : at + _RUN]) for at in range(len(there) - _RUN + 1)}
    copied: set[int] = set()
    for at in range(len(words) - _RUN + 1):
        if tuple(words[at : at + _RUN]) in known:
            copied.update(range(at, at + _RUN))
    return len(copied) / len(words) if words else 0.0


def measure_foreign(memory: str, shown: str) -> float:
    """Return the share of a memory's letters in scripts that no letter of `shown` has.

    >>> measure_foreign("lamp 灯", "Who lit the lamp?")
    0.2
    """
    scripts = set(map(_script_of, filter(str.isalpha, shown)))
    letters = [_script_of(letter) for letter in memory if letter.isalpha()]
    return sum(script not in scripts for script in letters) / len(letters) if letters else 0.0


def measure_shorthand(memory: str, shown: Iterable[str]) -> float:
    """Return the share of a memory's words whose stems stand in nothing of `shown`; words that every text has are none.

    >>> measure_shorthand("The kpr lit lmp", ["Who lit the lamp?", "The keeper lit it."])
    0.5
    """
    words = list_words(memory)
    lost = {stem(word) for word in set(words) - FUNCTION_WORDS}
    for text in shown:
        if not lost:
            break
        lost -= set(map(stem, list_words(text)))
    return sum(stem(word) in lost for word in words) / len(words) if words else 0.0


def _script_of(letter: str) -> str:
    # The first word of a letter's Unicode name: LATIN, CYRILLIC, CJK, HANGUL.
    return unicodedata.name(letter, "").partition(" ")[0]
