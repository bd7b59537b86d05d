"""LangChain: a Runnable that reads a document, and a tool that an agent can read one document with.

    reader = reading_runnable(model="local")
    reader.invoke({"source": "contract.pdf", "question": "When does the lease end?"}).answer.text

`options` are those of `bookwheel.aread`: model, base_url, journal, budget and any value of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, cast

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool, ToolException

from bookwheel.api import aread, read
from bookwheel.errors import BookwheelError
from bookwheel.text.documents import TextDocument
from bookwheel.types import Reading  # noqa: TC001 - LangChain evaluates the annotations of a tool's function

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

    from bookwheel.api import Source


class Question(TypedDict):
    """What the Runnable takes."""

    source: Any
    """A path, a URL, a folder, a document of ours, or LangChain documents, such as a loader or a retriever gives."""
    question: str


def reading_runnable(**options: Any) -> Runnable[Question, Reading]:
    """A Runnable from {"source", "question"} to a Reading; it batches, runs async and composes like any other."""

    def reads(asked: Question) -> Reading:
        return read(_source(asked["source"]), asked["question"], **options)

    async def areads(asked: Question) -> Reading:
        return await aread(_source(asked["source"]), asked["question"], **options)

    return RunnableLambda(reads, areads, name="bookwheel")


def reading_tool(source: Any, *, about: str, name: str = "read_document", **options: Any) -> StructuredTool:
    """A tool that reads this source with a question; `about` tells the agent what the document is.

    The agent chooses the question only, so it cannot make the tool open anything else.
    """
    document = _source(source)

    def reads(question: str) -> tuple[str, Reading]:
        try:
            return _told(read(document, question, **options))
        except BookwheelError as error:
            raise ToolException(str(error)) from error

    async def areads(question: str) -> tuple[str, Reading]:
        try:
            return _told(await aread(document, question, **options))
        except BookwheelError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        reads,
        coroutine=areads,
        name=name,
        description=f"Read {about} from beginning to end with a question in mind; takes time. Gives the answer.",
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _told(reading: Reading) -> tuple[str, Reading]:
    """The answer with the words that it rests on, for the agent; the whole reading as the artifact."""
    if reading.answer is None:
        raise ToolException(f"no answer, the reading is {reading.status}: {reading.error}")
    quotes = [f"“{found.quote}”" for found in reading.evidence]
    return "\n".join((reading.answer.text, *quotes)), reading


def _source(given: Any) -> Source:
    """LangChain's documents become one text; whatever else is given goes to bookwheel as it is."""
    documents = given if isinstance(given, (list, tuple)) else [given]
    texts = [one.page_content for one in documents if isinstance(one, Document)]
    if not texts or len(texts) < len(documents):
        return cast("Source", given)
    return TextDocument("\n\n".join(texts), name=str(documents[0].metadata.get("source", "documents")))
