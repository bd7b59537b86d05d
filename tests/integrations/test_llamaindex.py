"""The LlamaIndex response synthesizer, with the real package."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import SummaryIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode

from bookwheel.errors import BudgetReached, ModelError, Refused
from bookwheel.integrations.llamaindex import ReadingSynthesizer
from bookwheel.models.scripted import ScriptedModel, keyword_reader

pytestmark = pytest.mark.slow

QUESTION = "Who is the harbour master of Skarholm?"
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. " * 12
CHUNKS = [FILLER, "The harbour master of Skarholm is Ada Quill.", FILLER]


@pytest.fixture
def options(tmp_path: Path) -> dict:
    plan = {"chunk_tokens": 100, "memory_tokens": 40}
    return {"model": ScriptedModel(keyword_reader), "journal": tmp_path / "journal.sqlite", **plan}


def test_a_query_engine_answers_by_reading_all_that_was_retrieved(options: dict) -> None:
    index = SummaryIndex([TextNode(text=chunk) for chunk in CHUNKS])
    synthesizer = ReadingSynthesizer(**options)
    engine = RetrieverQueryEngine(retriever=index.as_retriever(), response_synthesizer=synthesizer)
    answer = engine.query(QUESTION)
    assert "Ada Quill" in str(answer)
    assert len(answer.source_nodes) == len(CHUNKS)
    assert synthesizer.reading.document.length == sum(map(len, CHUNKS)) + 4
    assert "Ada Quill" in str(asyncio.run(engine.aquery(QUESTION)))


def test_messages_are_read_too(options: dict) -> None:
    synthesizer = ReadingSynthesizer(**options)
    messages = [ChatMessage(content=chunk) for chunk in CHUNKS]
    assert "Ada Quill" in synthesizer.get_response_from_messages(QUESTION, messages)
    assert "Ada Quill" in asyncio.run(synthesizer.aget_response_from_messages(QUESTION, messages))


def test_no_answer_is_an_error_and_the_reading_is_at_hand(options: dict) -> None:
    failing = ReadingSynthesizer(
        **{**options, "model": ScriptedModel(keyword_reader, faults={1: Refused("the key was revoked")})}
    )
    with pytest.raises(ModelError, match="revoked"):
        failing.get_response(QUESTION, CHUNKS)
    assert len(failing.reading.steps) == 1
    stopped = ReadingSynthesizer(**options, budget={"tokens": 300})
    with pytest.raises(BudgetReached):
        stopped.get_response(QUESTION, CHUNKS)
