"""The model protocol: reply to messages, and count tokens. `ModelWrapper` is the base of everything that wraps one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.plan import Plan, Sampling
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Message, Reply


class Model(Protocol):
    """One small protocol, met by the `openai`, `local` and `scripted` models and by a policy in training."""

    @property
    def name(self) -> str:
        """The name that the user gave."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own, or an estimate that says so."""
        ...

    @property
    def window(self) -> int | None:
        """The most tokens of prompt and reply together; None if the server does not report it."""
        ...

    @property
    def plan(self) -> Plan:
        """The plan this model reads best with; users' settings go on top."""
        ...

    @property
    def template_tokens(self) -> int:
        """An upper bound of the tokens that the chat template adds around the messages."""
        ...

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Hold one independent conversation. Raise a ModelError on failure; never return an empty text for one."""
        ...

    async def aclose(self) -> None:
        """Release connections and weights."""
        ...


class ModelWrapper:
    """A model that passes everything on to another one; subclasses change what they need to."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self._model.name

    @property
    def tokenizer(self) -> Tokenizer:
        """The wrapped model's tokenizer."""
        return self._model.tokenizer

    @property
    def window(self) -> int | None:
        """The wrapped model's window."""
        return self._model.window

    @property
    def plan(self) -> Plan:
        """The wrapped model's plan."""
        return self._model.plan

    @property
    def template_tokens(self) -> int:
        """The wrapped model's template tokens."""
        return self._model.template_tokens

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        """Return the wrapped model's reply."""
        return await self._model.reply(messages, limit=limit, sampling=sampling)

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._model.aclose()
