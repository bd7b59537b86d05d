"""The LangChain Runnable and tool, with the real package."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from bookwheel.errors import Refused
from bookwheel.integrations.langchain import reading_runnable, reading_tool
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.types import Reading

pytestmark = pytest.mark.slow

QUESTION = "Who is the harbour master of Skarholm?"
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. " * 12 + "\n\n"
TEXT = FILLER + "The harbour master of Skarholm is Ada Quill.\n\n" + FILLER


@pytest.fixture
def options(tmp_path: Path) -> dict:
    plan = {"chunk_tokens": 100, "memory_tokens": 40}
    return {"model": ScriptedModel(keyword_reader), "journal": tmp_path / "journal.sqlite", **plan}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(TEXT)
    return path


def test_a_runnable_reads_and_composes(book: Path, options: dict) -> None:
    chain = reading_runnable(**options) | RunnableLambda(lambda reading: reading.answer.text)
    asked = {"source": str(book), "question": QUESTION}
    assert "Ada Quill" in chain.invoke(asked)
    assert "Ada Quill" in asyncio.run(chain.ainvoke(asked))
    whom, what = chain.batch([asked, {**asked, "question": "What circles over the pier?"}])
    assert "Ada Quill" in whom
    assert "Gulls" in what


def test_a_runnable_tells_what_goes_in_and_what_comes_out() -> None:
    runnable = reading_runnable()
    assert set(runnable.get_input_jsonschema()["$defs"]["Question"]["required"]) == {"source", "question"}
    schema = runnable.get_output_schema().model_json_schema()
    assert {"answer", "claims", "evidence"} <= schema["$defs"]["Reading"]["properties"].keys()


def test_langchains_documents_are_read_as_one_text(options: dict) -> None:
    halves = [Document(TEXT[:900], metadata={"source": "harbour.md"}), Document(TEXT[900:])]
    reading = reading_runnable(**options).invoke({"source": halves, "question": QUESTION})
    assert "Ada Quill" in reading.answer.text
    assert reading.document.name == "harbour.md"
    assert reading.document.length == len(TEXT) + 2


def test_a_tool_takes_a_question_only_and_gives_answer_quotes_and_reading(book: Path, options: dict) -> None:
    tool = reading_tool(book, about="the harbour's log", **options)
    assert list(tool.args) == ["question"]
    assert "the harbour's log" in tool.description
    assert "Ada Quill" in tool.invoke({"question": QUESTION})
    call = {"name": tool.name, "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    message = asyncio.run(tool.ainvoke(call))
    assert "“The harbour master of Skarholm is Ada Quill.”" in message.content
    assert isinstance(message.artifact, Reading)


def test_what_goes_wrong_is_told_to_the_agent(book: Path, options: dict) -> None:
    failing = {**options, "model": ScriptedModel(keyword_reader, faults={1: Refused("the key was revoked")})}
    call = {"name": "read_document", "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    message = reading_tool(book, about="a log", **failing).invoke(call)
    assert (message.status, "the key was revoked" in message.content) == ("error", True)
    gone = reading_tool(str(book) + "x", about="a log", **options)
    assert "does not exist" in gone.invoke(call).content
    assert "does not exist" in asyncio.run(gone.ainvoke(call)).content
