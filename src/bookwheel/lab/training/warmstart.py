"""Supervised steps, so that a model without any reward gets its first ones: ideal traces, or choices of passages.

    ideal trace of a sample:  for every chunk  (question, ideal memory before, chunk) -> ideal memory after
                              at the end       (question, last ideal memory)          -> answer
    L = -1/T * sum_t log p(x_t)                     over the replies' T tokens

Where a chunk does not change the memory, the reply is the prompt set's word for that. Prompts and ids are those that
the policy gets when it reads: warm start, rollouts and use share one prompt object.

The way `quotes` writes nothing of its own. Its policy tells which passage answers, or that none does, copies the short
answer out of it, and tells whether a passage bears a claim out:

    z_i = log P(Yes) - log P(No)                    after passage i and the question, in the turn `answers`
    L   = -log(sum over right i of softmax(z)_i)    which passage; 0 where none answers
        + 1/2 mean over right i of -log sigmoid(z_i) + 1/2 mean over wrong i of -log sigmoid(-z_i)
        - w * sum_t log p(a_t)                      the answer's tokens and the end, in the turn `short`; w is 0.3,
                                                    and 1 for a yes or no, of which one token says all
        + mean over claims of -log sigmoid(+-z)     in the turn `supports`

The first part compares the passages of one question. The second gives 0 a meaning: without it a question that no
passage answers would get its best wrong one. The last two are of a file of lessons; a sample has no such parts. Each
line is a group of lessons that are read together, so that what their prompts begin with is read once:

    {"passages": ["The lamp was lit in 1891 by Amos Thorne.", "The lamp is green."],
     "lessons": [{"question": "Who lit the lamp?", "shown": [0, 1], "right": [0], "answer": "Amos Thorne",
                  "claims": [[0, "Who lit the lamp?", "Amos Thorne", true], [0, "", "It was lit in 1892.", false]]}]}

`shown` are the passages that the question is posed about, `right` those of them that answer it; the answer is copied
out of the first of `right`. A claim names the passage that it is held against, the question that it answers or nothing,
and whether it is borne out. benchmarks/training/reader_lessons.py writes such a file.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, Protocol

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bookwheel.lab.scoring import contains
from bookwheel.lab.tasks import Sample
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rows import Row, build_row
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.passages import overlaps, split_windows
from bookwheel.schema import parse
from bookwheel.text.chunks import split
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.tokens import Tokenizer
from bookwheel.types import Chunk, Memory, Message

# The more wrong passages, the harder the choice and the longer the step.
_WRONG: Final = 3
# The share of questions that are shown no passage with the answer.
_UNANSWERED: Final = 0.2
# Of an answer's log-probability. Its first token, which says where it begins, counts as much whatever its length.
_ANSWER_WEIGHT: Final = 0.3
_POLAR: Final = ("Yes.", "No.")
_POLAR_WEIGHT: Final = 1.0


class Oracle(Protocol):
    """Gives the ideal memory after each chunk."""

    def __call__(self, sample: Sample, chunks: Sequence[Chunk]) -> list[str]: ...


def draw_samples(samples: Sequence[Sample], count: int, seed: int, step: int) -> list[Sample]:
    """Draw the samples of a supervised step; seed and step alone decide, so a resumed run draws the same."""
    return Random(f"{seed}/warm/{step}").choices(samples, k=count)  # noqa: S311 - reproducible, no secrets


def ideal_rows(sample: Sample, model: PolicyModel, plan: Plan, oracle: Oracle) -> list[Row]:
    """Return the sample's ideal trace as rows whose replies are trained."""
    advice, what = "lower chunk_tokens or memory_tokens in [plan]", f"an ideal conversation of sample {sample.id}"
    return model.build_rows(ideal_trace(sample, model, plan, oracle), sample.id, what=what, advice=advice)


def ideal_trace(
    sample: Sample, model: PolicyModel, plan: Plan, oracle: Oracle
) -> Iterator[tuple[tuple[Message, ...], str]]:
    """Yield every conversation of an ideal reading: the prompt and the reply."""
    prompts = prompts_for(plan, sample.question)
    chunks = list(split(sample.document, model.tokenizer, plan.chunk_tokens))
    memory = Memory.blank(plan.memory_tokens)
    for chunk, ideal in zip(chunks, oracle(sample, chunks), strict=True):
        tokens = model.tokenizer.count(ideal)
        if tokens > plan.memory_tokens:
            raise ConfigError(
                f"the ideal memory of sample {sample.id} has {tokens} tokens and memory_tokens is "
                f"{plan.memory_tokens}: raise it, or choose samples with less evidence"
            )
        reply = (prompts.unchanged or ideal) if ideal == memory.text else ideal
        yield prompts.update(sample.question, memory, chunk, plan.layout), reply
        memory = Memory(text=ideal, tokens=tokens, limit=plan.memory_tokens)
    boxed = r"\boxed" in prompts.answer_template
    yield prompts.answer(sample.question, memory), rf"\boxed{{{sample.golds[0]}}}" if boxed else sample.golds[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageOption:
    """A text that may be chosen."""

    text: str
    is_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOption:
    """What may be borne out by a passage: an answer to the question, or a sentence by itself."""

    passage: str
    question: str
    """Empty for a sentence."""
    text: str
    is_right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What one question teaches."""

    question: str
    passages: tuple[PassageOption, ...] = ()
    """To choose from."""
    source: str = ""
    """The passage that the answer is copied from."""
    answer: str = ""
    """The short answer: words of its passage, or yes or no; empty where none is taught."""
    claims: tuple[ClaimOption, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _LessonRecord:
    question: str
    shown: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    answer: str = ""
    claims: tuple[tuple[int, str, str, bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupRecord:
    passages: tuple[str, ...]
    lessons: tuple[_LessonRecord, ...]


class LessonFile:
    """The groups of lessons of a file, each drawn once before any is drawn again."""

    def __init__(self, path: Path, seed: int) -> None:
        self._seed = seed
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise ConfigError(f"train.warm_start.lessons cannot be read: {error}") from error
        self._groups = [_parse_group(line, f"{path}, line {at}") for at, line in enumerate(lines, 1) if line.strip()]
        if not self._groups:
            raise ConfigError(f"{path} holds no lessons")

    def __len__(self) -> int:
        return len(self._groups)

    def draw(self, count: int, step: int) -> list[tuple[Lesson, ...]]:
        """Return the groups of a step; seed and step alone decide, so a resumed run draws the same."""
        chosen = []
        for number in range(count * step, count * (step + 1)):
            epoch, place = divmod(number, len(self))
            order = Random(f"{self._seed}/lessons/{epoch}").sample(range(len(self)), len(self))  # noqa: S311 - no secrets
            chosen.append(self._groups[order[place]])
        return chosen


def _parse_group(line: str, where: str) -> tuple[Lesson, ...]:
    try:
        content = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where} is no JSON: {error}") from error
    group = parse(_GroupRecord, content, where=where, error=ConfigError)
    try:
        return tuple(_build_lesson(one, group.passages) for one in group.lessons)
    except IndexError as error:
        raise ConfigError(f"{where}: a lesson names a passage that is not there") from error


def _build_lesson(one: _LessonRecord, texts: tuple[str, ...]) -> Lesson:
    return Lesson(
        question=one.question,
        passages=tuple(PassageOption(text=texts[at], is_right=at in one.right) for at in one.shown),
        source=texts[one.right[0]] if one.right else "",
        answer=one.answer if one.right else "",
        claims=tuple(
            ClaimOption(passage=texts[at], question=question, text=text, is_right=is_right)
            for at, question, text, is_right in one.claims
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonRows:
    """Rows of some lessons that are read together, and how many trained tokens each answer has.

    In a lesson's order: of each passage two rows, one trained on Yes, the next on No; the answer's row; of each claim
    two rows.
    """

    rows: tuple[Row, ...]
    lessons: tuple[Lesson, ...]
    answer_tokens: tuple[int, ...]


def build_rows(lessons: Sequence[Lesson], model: PolicyModel, plan: Plan, name: str) -> LessonRows:
    """Return the rows of lessons; what their prompts have in common is read once."""
    rows: list[Row] = []
    answers: list[int] = []
    for lesson in lessons:
        prompts = prompts_for(plan, lesson.question)
        for one in lesson.passages:
            asked = prompts.turn("answers", question=lesson.question, section=one.text)
            rows += model.build_judgement_rows(asked, prompts.options, name)
        answers.append(0)
        if lesson.answer:
            asked = prompts.turn("short", question=lesson.question, section=lesson.source)
            rows.append(build_row(*model.encode_exchange(asked, lesson.answer), name))
            answers[-1] = rows[-1].tokens
        for claim in lesson.claims:
            asked = prompts.turn("supports", question=claim.question, memory=claim.text, section=claim.passage)
            rows += model.build_judgement_rows(asked, prompts.options, name)
    return LessonRows(rows=tuple(rows), lessons=tuple(lessons), answer_tokens=tuple(answers))


def build_lesson(sample: Sample, tokenizer: Tokenizer, plan: Plan) -> Lesson:
    """Return the right passage and the nearest wrong ones, drawn by the sample's name: a resumed run draws the same."""
    random = Random(f"choice/{sample.id}")  # noqa: S311 - reproducible, no secrets
    chunks = [chunk.text for chunk in split(sample.document, tokenizer, plan.chunk_tokens)]
    windows = [window for chunk in chunks for window in split_windows(chunk, tokenizer, plan.memory_tokens // 2)]
    wrong = _list_wrong(windows, sample)
    is_unanswered = bool(wrong) and random.random() < _UNANSWERED
    right = [] if is_unanswered else [_draw_right(windows, sample, random)]
    passages = (
        *(PassageOption(text=text, is_right=True) for text in right),
        *(PassageOption(text=text, is_right=False) for text in wrong),
    )
    return Lesson(question=sample.question, passages=passages)


def _draw_right(texts: Sequence[str], sample: Sample, random: Random) -> str:
    """Return a text with the evidence; the evidence itself where it lies across two chunks."""
    facts = [" ".join(sample.text[one.start : one.end].split()) for one in sample.evidence if one.note]
    if not facts:
        raise ConfigError(f"sample {sample.id} does not say where its answer stands, and a warm start needs that")
    return random.choice([text for text in texts if any(fact in " ".join(text.split()) for fact in facts)] or facts)


def _list_wrong(texts: Sequence[str], sample: Sample) -> list[str]:
    """Return the texts without a gold answer that share the most words with the question, and no sentence."""
    words = QuestionWords(sample.question)
    others = [text for text in texts if not contains(text, sample.golds).score]
    chosen = words.choose(others, 4 * _WRONG)
    # A passage without any of the words would be no hard choice.
    near = [text for text in chosen if words.find(text)] or chosen
    return [text for at, text in enumerate(near) if not any(overlaps(text, one) for one in near[:at])][:_WRONG]


def compute_log_odds(logprobs: Tensor) -> Tensor:
    """Return `z` for each passage, from the log-probabilities of its two rows."""
    pairs = logprobs.reshape(-1, 2)
    return pairs[:, 0] - pairs[:, 1]


def choice_loss(log_odds: Tensor, is_right: Tensor) -> Tensor:
    right, wrong = log_odds[is_right], log_odds[~is_right]
    loss = softplus(wrong).mean() / 2 if wrong.numel() else log_odds.new_zeros(())
    if right.numel():
        loss = loss + torch.logsumexp(log_odds, 0) - torch.logsumexp(right, 0) + softplus(-right).mean() / 2
    return loss


@dataclass(slots=True)
class LessonLoss:
    """The loss of some lessons, and how many passages were chosen right."""

    loss: Tensor
    right: float = 0.0
    choices: int = 0


def lesson_loss(logprobs: Tensor, lessons: LessonRows) -> LessonLoss:
    """Return the mean loss of lessons, from the log-probabilities of all of their rows' trained tokens."""
    told = LessonLoss(logprobs.new_zeros(()))
    parts = zip(lessons.lessons, lessons.answer_tokens, strict=True)
    sizes = [size for one, answer in parts for size in (2 * len(one.passages), answer, 2 * len(one.claims))]
    pieces = iter(torch.split(logprobs, sizes))
    for lesson, choice, answer, claims in zip(lessons.lessons, pieces, pieces, pieces, strict=True):
        if lesson.passages:
            is_right = torch.tensor([one.is_right for one in lesson.passages], device=logprobs.device)
            log_odds = compute_log_odds(choice)
            told.loss = told.loss + choice_loss(log_odds, is_right)
            told.right += is_chosen_right(log_odds, is_right)
            told.choices += 1
        told.loss = told.loss - (_POLAR_WEIGHT if lesson.answer in _POLAR else _ANSWER_WEIGHT) * answer.sum()
        if lesson.claims:
            signs = logprobs.new_tensor([1.0 if one.is_right else -1.0 for one in lesson.claims])
            told.loss = told.loss + softplus(-signs * compute_log_odds(claims)).mean()
    told.loss = told.loss / len(lessons.lessons)
    return told


def is_chosen_right(log_odds: Tensor, is_right: Tensor) -> bool:
    """Return whether the best passage is a right one, or none is taken where none is right."""
    return bool(is_right[log_odds.argmax()]) if is_right.any() else bool((log_odds < 0).all())
