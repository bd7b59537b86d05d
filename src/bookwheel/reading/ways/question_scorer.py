"""How well passages answer one question, as the way `quotes` measures it.

    surprise(text) = - mean log-probability of the question's tokens after the text
    gain(text)     = 1 - surprise(text) / surprise(no text)     the share of the surprise that the text takes away
                     + WORDS * share of the question's own words that stand in the text
    worth(text)    = gain(text) + weight * log-odds, by the model's judgement, that the text answers the question

The weight is the plan's `judgement_weight`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.gates import ask_judgement, score_question
from bookwheel.text.ranking import QuestionWords
from bookwheel.types import Usage

if TYPE_CHECKING:
    from bookwheel.models.base import JudgingModel
    from bookwheel.reading.prompts import Prompts
    from bookwheel.types import Message

# The model knows what a text is about, and hardly sees whether a name or a number of the question is in it.
WORDS: Final = 0.5
# A window's own gain says more than its chunk's, which sees more text but fewer details.
_CHUNK_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True)
class ScoredQuote:
    """A passage that competes for a place in the memory."""

    text: str
    chunk: float
    """The gain of the chunk it is from; infinite for a line that the user wrote."""
    window: float
    judgement: float | None = None
    """The weighted log-odds that it answers the question; None until it is judged."""

    @property
    def worth(self) -> float:
        """What speaks for it as the answer."""
        return self.window + (self.judgement or 0.0)

    @property
    def rank(self) -> float:
        """The order in which passages take their places."""
        return self.worth + _CHUNK_SHARE * self.chunk


class QuestionScorer:
    """Measures how much of one question texts explain, and adds up what that costs."""

    def __init__(self, model: JudgingModel, prompts: Prompts, question: str, weight: float = 0.0) -> None:
        self.question = question
        self.prompts = prompts
        self.weight = weight
        """What a judgement counts beside a gain; where it is 0, none is asked for."""
        self.words = QuestionWords(question)
        self.usage = Usage()
        self._alone: float | None = None
        """The question's surprise without a text; asked for once."""
        self._model = model

    def messages(self, text: str) -> tuple[Message, ...]:
        """Return the prompt after which the question is scored."""
        return self.prompts.turn("about", question="", section=text)

    async def gain(self, text: str) -> float:
        """Return how much of the question a text explains."""
        if self._alone is None:
            self._alone = await self._measure_surprise("")
        explained = 1 - await self._measure_surprise(text) / self._alone if self._alone else 0.0
        return explained + WORDS * self.words.share(text)

    async def judge(self, text: str) -> float:
        """Return the log-odds that a text answers the question, by the model's judgement."""
        judgement = await ask_judgement(self._model, self.prompts, "answers", question=self.question, section=text)
        self.usage += judgement.usage
        yes, no = judgement.logprobs
        return yes - no

    async def _measure_surprise(self, text: str) -> float:
        likelihood = await score_question(self._model, self.prompts, self.question, text)
        self.usage += likelihood.usage
        return -likelihood.mean

    def take_usage(self) -> Usage:
        """Return the cost since the last call, and begin anew."""
        usage, self.usage = self.usage, Usage()
        return usage
