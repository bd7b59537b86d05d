"""The prompt of a stored step, rebuilt: the way goes on from the steps before it, and its first call is caught.

The journal keeps replies and no prompts: they would be as large as the document. The caught call gets the stored reply,
so that the step the way then makes shows whether the prompt is the one that was sent.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bookwheel.errors import BookwheelError
from bookwheel.models.base import Ability, Copies, Embeddings, Judgement, JudgingModel, Likelihood, Model
from bookwheel.reading.budget import SpendingModel, SpendKind
from bookwheel.reading.structured import apply_schema
from bookwheel.reading.token_scale import ScaledModel
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import CallKind, ReadingLoop
from bookwheel.session import find_way
from bookwheel.types import Answer, Document, Finish, Message, Reading, Reply, Step

_T = TypeVar("_T", Reply, Judgement, Likelihood, Embeddings, Copies)


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltCall:
    """The call of the model behind a step, or behind the answer."""

    messages: tuple[Message, ...]
    """The prompt, rebuilt from the document and the memory before."""
    kind: CallKind
    """What was asked for first; a way may make more calls in one step."""
    reply: str
    """As it is stored."""
    calls: int
    """How many the step made."""
    same: bool
    """The rebuilt prompt leads to the very step that is stored."""


class _CaughtError(Exception):
    """Raised in place of every call but the first reply."""


class _CatchingModel(SpendingModel):
    """A model that is never asked: it keeps the first prompt, and gives the stored reply to it."""

    def __init__(self, model: Model, reply: str) -> None:
        super().__init__(model)
        self._reply = reply
        self.messages: tuple[Message, ...] = ()
        self.kind: CallKind | None = None

    async def try_abilities(self, by: JudgingModel) -> frozenset[Ability]:
        """Return all abilities: the reading had those that its way needs."""
        del by
        return frozenset(Ability)

    async def spend(
        self, messages: Sequence[Message], limit: int, call: Callable[[], Awaitable[_T]], kind: SpendKind
    ) -> _T:
        """Keep the first prompt. Vectors are not stored, and no prompt of a step is one for copies."""
        del limit, call
        if self.kind or kind == "embed":
            raise _CaughtError
        self.messages, self.kind = tuple(messages), kind
        if kind != "reply":
            raise _CaughtError
        stored: Any = Reply(text=self._reply, finish=Finish.STOP)
        result: _T = stored
        return result

    async def copy(self, messages: Sequence[Message], passage: str, gap: str = "") -> Copies:
        del messages, passage, gap
        raise _CaughtError


async def rebuild_call(
    reading: Reading, number: int, document: Document, model: Model, loop: ReadingLoop
) -> RebuiltCall:
    """Return the first call of step `number`, or of the answer where that is the number of steps."""
    if number < len(reading.steps):
        reply = reading.steps[number].conversation.reply
    elif number == len(reading.steps) and reading.answer:
        reply = reading.answer.conversation.reply
    else:
        raise ApiError(404, f"the reading has no step {number}", kind="not_found")
    caught = _CatchingModel(model, reply.text)
    same = await loop.run(_replay(reading, number, document, caught))
    if not caught.kind:
        raise ApiError(409, "the prompt of this step cannot be rebuilt", kind="not_rebuilt")
    return RebuiltCall(messages=caught.messages, kind=caught.kind, reply=reply.text, calls=reply.usage.calls, same=same)


async def _replay(reading: Reading, number: int, document: Document, caught: _CatchingModel) -> bool:
    """Let the way make one event after the steps before `number`; return whether it is the stored one."""
    done = reading.steps[:number]
    way = apply_schema(find_way(replace(reading, steps=done, answer=None)), reading.plan)
    events = way(document, reading.question, ScaledModel(caught, reading.plan), reading.plan, done)
    try:
        async with aclosing(events):
            async for event in events:
                return _is_stored(event, reading, number)
    except (_CaughtError, BookwheelError):
        return False
    return False


def _is_stored(event: Step | Answer, reading: Reading, number: int) -> bool:
    if isinstance(event, Answer):
        return number == len(reading.steps) and reading.answer is not None and event.text == reading.answer.text
    if number >= len(reading.steps):
        return False
    stored = reading.steps[number]
    here = (event.chunk.start, event.chunk.end, event.after.text)
    return here == (stored.chunk.start, stored.chunk.end, stored.after.text)
