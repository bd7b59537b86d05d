"""What a model is to bookwheel: something that replies to messages, and counts tokens its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.plan import Plan, Sampling
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Message, Reply


class Model(Protocol):
    """One small protocol; `openai`, `local` and `scripted` keep it, and so does a policy in training."""

    @property
    def name(self) -> str:
        """As the user named it."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own, or an estimate that says so."""
        ...

    @property
    def window(self) -> int | None:
        """How many tokens prompt and reply may have together; None where the server does not say."""
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
        """One independent conversation. Raises a ModelError; never gives an empty text for a failure."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and weights."""
        ...
