"""LlamaIndex: a response synthesizer that reads the retrieved text, however long it is, with one small memory.

    engine = index.as_query_engine(response_synthesizer=ReadingSynthesizer(model="local"))

`options` are those of `bookwheel.aread`. LlamaIndex's own model is not called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.llms import MockLLM
from llama_index.core.response_synthesizers import BaseSynthesizer

from bookwheel.api import aread, read
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BudgetReached, ModelError
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.prompts.mixin import PromptDictType

    from bookwheel.types import Reading


class ReadingSynthesizer(BaseSynthesizer):
    """Answers from text chunks by reading them in order; `reading` is the newest reading."""

    def __init__(self, **options: Any) -> None:
        super().__init__(llm=MockLLM())
        self.options = options
        self.reading: Reading | None = None

    def get_response(self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any) -> str:
        """Return the answer. ModelError or BudgetReached where there is none."""
        del response_kwargs
        return self._get_answer(read(_join_chunks(text_chunks), query_str, **self.options))

    async def aget_response(self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any) -> str:
        del response_kwargs
        return self._get_answer(await aread(_join_chunks(text_chunks), query_str, **self.options))

    def get_response_from_messages(
        self, query_str: str, message_chunks: Sequence[ChatMessage], **response_kwargs: Any
    ) -> str:
        return self.get_response(query_str, [message.content or "" for message in message_chunks], **response_kwargs)

    async def aget_response_from_messages(
        self, query_str: str, message_chunks: Sequence[ChatMessage], **response_kwargs: Any
    ) -> str:
        chunks = [message.content or "" for message in message_chunks]
        return await self.aget_response(query_str, chunks, **response_kwargs)

    def _get_answer(self, reading: Reading) -> str:
        self.reading = reading
        if reading.answer is None:
            raise (BudgetReached if reading.status is Status.STOPPED else ModelError)(reading.error)
        return reading.answer.text

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """Do nothing: the plan chooses the prompts."""


def _join_chunks(text_chunks: Sequence[str]) -> TextDocument:
    return TextDocument("\n\n".join(text_chunks), name="retrieved text")
