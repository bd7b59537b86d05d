"""Rewards without labels: what a rollout's memories are worth to the frozen reference, as `worth.py` measures it.

    recovered    R of the last memory for what the reference answers from the document's own words (targets.py)
    clozes       a share of the samples asks for words of their own text instead of what they asked; the verifier judges
    dense        g_k = R(m_K) - R(m_{k-1}) beside the advantage of step k's conversation: R at the end less R before the
                 step. Which of the steps from k on gained or lost it is not told apart

R is of probabilities here, not of their logarithms: how much oftener the reference says what it should. In logarithms a
wrong memory costs what a right one earns, and a reader that is mostly wrong earns more by silence. Here it costs
p(c) / need: nearly nothing where the control c hardly knows the answer, as much as a right one earns from p(P) / 2 on.
A run's metrics call it `recovered_probability`: the `recovered` of a reading and an evaluation is of logarithms.

No gold answer is looked at. A cloze is a sentence of the document without its last words, of a few the one whose words
there is most to know of: the reference tells them with the sentence in hand and not without. The control is a sentence
of another sample that its question points at, or none: a memory earns nothing for being one, and nothing for silence.

    text     moss has grey . elm has blue . wind blew over .
    asked    elm has                                              gold: blue, never written by anybody
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks import Sample
from bookwheel.lab.tasks.base import GoldEvidence, MemoryRule
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.targets import MARKS, expect_answers
from bookwheel.lab.training.workflows import Episode
from bookwheel.plan import Plan
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.reading.worth import MemoryScorer, Target, point_at
from bookwheel.text.sentences import list_sentences

# Samples whose scores are held: those of one step, with some room.
_SAMPLES_HELD: Final = 512
# Sentences that are compared before one is made a cloze.
_CANDIDATES: Final = 4
_LEAST_WORDS: Final = 3
_MOST_WORDS: Final = 60
# A cloze asks for a quarter of its sentence, at most for so many words.
_MOST_ASKED: Final = 4


@dataclass(slots=True)
class _SampleScorer:
    """What the rollouts of one sample are scored by, one after the other."""

    scorer: MemoryScorer
    targets: list[Target] | None = None
    """None until the first rollout needs them."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class LikelihoodCredit:
    """Asks clozes, and adds what memories are worth to the rewards of a run's rollouts."""

    def __init__(self, model: PolicyModel, samples: Sequence[Sample], config: TrainConfig) -> None:
        self._model = model.by_reference()
        self._samples, self._config = samples, config
        self._weights = config.reward
        self._held: dict[str, _SampleScorer] = {}

    async def pose(self, sample: Sample, number: int) -> Sample:
        """Return the sample that is read as the run's `number`-th: itself, or a cloze of its own text."""
        random = Random(f"{self._config.seed}/cloze/{number}")  # noqa: S311 - reproducible, no secrets
        if random.random() >= self._config.task.clozes:
            return sample
        text = sample.text
        prompts = prompts_for(self._config.plan, text)
        scorer = MemoryScorer(self._model, prompts, self._find_control(sample.id, sample.question))
        # Where nobody could judge the sample's own question, also one that needs no document.
        best, most = None, 0.0 if sample.golds or not self._weights.needs_golds else -1.0
        for candidate in find_clozes(text, random, _CANDIDATES):
            asked = _ask(candidate, prompts)
            need = await scorer.find_need(asked)
            if need > most:
                best, most = asked, need
        if best is None:
            return sample
        return _pose(sample, best)

    async def credit(self, result: RewardResult, episode: Episode, sample: Sample) -> RewardResult:
        """Return the result with what the rollout's memories are worth."""
        weights = self._weights
        if not (weights.recovered or weights.dense) or not episode.steps:
            return result
        if not (targets := await self.find_targets(sample)):
            return result
        memories = [step.after.text for step in episode.steps]
        memories = ["", *memories] if weights.dense else memories[-1:]
        one = self._open_scorer(sample)
        # The rollouts of a group write many memories alike: each is scored once.
        async with one.turn:
            scores = [await one.scorer.score_chances(memory, targets) or 0.0 for memory in memories]
        # Not R(m_k) - R(m_{k-1}): a state that a later one replaces is worth nothing when it is written, and has to be.
        gains = [scores[-1] - before for before in scores[:-1]]
        # The answer's conversation writes no memory.
        fits = weights.dense > 0 and len(gains) + 1 == len(episode.conversations)
        return replace(
            result,
            score=result.score + weights.recovered * scores[-1],
            parts={**result.parts, "recovered_probability": scores[-1]},
            gains=(*gains, 0.0) if fits else (),
        )

    async def find_targets(self, sample: Sample) -> list[Target]:
        """Return what the memories of a sample are scored by."""
        one = self._open_scorer(sample)
        async with one.turn:
            if one.targets is None:
                one.targets = await expect_answers(sample, one.scorer, self._model, self._config)
            return one.targets

    def _open_scorer(self, sample: Sample) -> _SampleScorer:
        key = f"{sample.id} {sample.question}"
        if key not in self._held:
            if len(self._held) >= _SAMPLES_HELD:
                self._held.clear()
            prompts = prompts_for(self._config.plan, sample.question)
            scorer = MemoryScorer(self._model, prompts, self._find_control(sample.id, sample.question))
            self._held[key] = _SampleScorer(scorer)
        return self._held[key]

    def _find_control(self, name: str, question: str) -> str:
        """Return a sentence that the question of another sample points at; empty takes the prompt set's own."""
        random = Random(f"{self._config.seed}/control/{name}")  # noqa: S311 - reproducible, no secrets
        for place in random.sample(range(len(self._samples)), min(_CANDIDATES, len(self._samples))):
            try:
                other = self._samples[place]
            except InputError:
                continue
            sentences = list(dict.fromkeys(list_sentences(other.text))) if other.question != question else []
            if places := point_at(other.question, sentences):
                return sentences[min(places)].rstrip(MARKS)
        return ""


def pose_own_words(sample: Sample, plan: Plan, name: str) -> Sample:
    """Return a cloze of the sample's own text, which the name decides; its evidence is the sentence it is made of."""
    random = Random(f"{name}/{sample.id}")  # noqa: S311 - reproducible, no secrets
    found = find_clozes(sample.text, random, 1)
    if not found:
        raise ConfigError(f"sample {sample.id} has no sentence to make a cloze of: set train.warm_start.clozes = false")
    return _pose(sample, _ask(found[0], prompts_for(plan, sample.text)))


def _ask(candidate: Target, prompts: Prompts) -> Target:
    return replace(candidate, cue=prompts.turn("cloze", question=candidate.cue)[-1].content.strip())


def _pose(sample: Sample, cloze: Target) -> Sample:
    start = sample.text.index(cloze.past)
    evidence = GoldEvidence(start=start, end=start + len(cloze.past), note=cloze.past)
    return replace(
        sample,
        id=f"{sample.id}/cloze",
        question=cloze.cue,
        golds=(cloze.text,),
        metric="exact",
        evidence=(evidence,),
        memory=MemoryRule.NOTES,
    )


def find_clozes(text: str, random: Random, count: int) -> list[Target]:
    """Return up to `count` sentences of a text, each without its last words, whose beginning stands there once."""
    sentences = list_sentences(text)
    random.shuffle(sentences)
    clozes = []
    for sentence in sentences:
        words = sentence.rstrip(MARKS).split()
        if not _LEAST_WORDS <= len(words) <= _MOST_WORDS:
            continue
        asked = max(1, min(_MOST_ASKED, len(words) // 4))
        cue = " ".join(words[:-asked])
        if text.count(cue) == 1:
            clozes.append(Target(text=" ".join(words[-asked:]), cue=cue, past=sentence))
        if len(clozes) == count:
            break
    return clozes
