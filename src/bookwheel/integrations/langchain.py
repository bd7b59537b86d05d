"""LangChain: a Runnable that reads documents, and a tool with which an agent reads one document.

    reader = reading_runnable(model="local")
    reader.invoke({"source": "contract.pdf", "question": "When does the lease end?"}).answer.text

`options` are those of `bookwheel.aread`: model, base_url, journal, budget and any value of the plan.
"""

from __future__ import annotations

from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import StructuredTool, ToolException
from typing_extensions import TypedDict

from bookwheel.api import aread, read
from bookwheel.arguments import Source
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BookwheelError
from bookwheel.types import Reading
from bookwheel.views.verdicts import describe_claim, list_cautions


class Question(TypedDict):
    """The input of the Runnable."""

    source: Any
    """A path, URL, folder or document as in `bookwheel.read`, or the LangChain documents of a loader or retriever."""
    question: str


def reading_runnable(**options: Any) -> Runnable[Question, Reading]:
    """Return a Runnable from {"source", "question"} to a Reading."""

    def run(inputs: Question) -> Reading:
        reading: Reading = read(_convert_source(inputs["source"]), inputs["question"], **options)
        return reading

    async def arun(inputs: Question) -> Reading:
        reading: Reading = await aread(_convert_source(inputs["source"]), inputs["question"], **options)
        return reading

    # By these, and not by annotations, which are text here, LangChain makes its schemas.
    return RunnableLambda(run, arun, name="bookwheel").with_types(input_type=Question, output_type=Reading)


def reading_tool(source: Any, *, about: str, name: str = "read_document", **options: Any) -> StructuredTool:
    """Return a tool that reads this source with a question; `about` describes the document to the agent.

    The agent chooses only the question, so it cannot make the tool open anything else.
    """
    document = _convert_source(source)

    def run(question: str) -> tuple[str, Reading]:
        try:
            return _split_result(read(document, question, **options))
        except BookwheelError as error:
            raise ToolException(str(error)) from error

    async def arun(question: str) -> tuple[str, Reading]:
        try:
            return _split_result(await aread(document, question, **options))
        except BookwheelError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        run,
        coroutine=arun,
        name=name,
        description=f"Read {about} from beginning to end with a question in mind; takes time. Gives the answer.",
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _split_result(reading: Reading) -> tuple[str, Reading]:
    """Return the answer with its verdict for the agent, and the whole reading as the artifact."""
    if reading.answer is None:
        raise ToolException(f"no answer, the reading is {reading.status}: {reading.error}")
    lines = [reading.answer.text]
    for claim in reading.claims:
        lines.append(f"{claim.text} ({describe_claim(claim)})")
        lines += [f"“{reading.evidence[number].quote}”" for number in (*claim.evidence, *claim.against)]
    notes = (*reading.document.notes, *(caution.text for caution in list_cautions(reading)))
    return "\n".join((*lines, *(f"note: {note}" for note in notes))), reading


def _convert_source(source: Any) -> Source:
    """Join LangChain's documents into one text; return any other source unchanged."""
    documents = source if isinstance(source, (list, tuple)) else [source]
    texts = [document.page_content for document in documents if isinstance(document, Document)]
    if not texts or len(texts) < len(documents):
        return cast("Source", source)
    return TextDocument("\n\n".join(texts), name=str(documents[0].metadata.get("source", "documents")))
