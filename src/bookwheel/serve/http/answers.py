"""The JSON of answers about documents and readings, as the OpenAPI document publishes it.

Pydantic reads these annotations at run time.
"""

from typing import (
    Literal,
    NotRequired,  # pydantic cannot read that of typing before Python 3.12
)

from typing_extensions import TypedDict

from bookwheel.record import PlanJson, ReadingJson
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.types import Evidence, Status


class UploadJson(TypedDict):
    """A document that was stored."""

    document: str
    """The SHA-256 of its text."""
    name: str
    length: int
    """Characters."""
    notes: list[str]
    """What was left out of it."""


class TextSpanJson(TypedDict):
    """A part of a document's text."""

    start: int
    end: int
    text: str


class ShelvedDocumentJson(TypedDict):
    """A document on the shelf."""

    document: str
    """The SHA-256 of its text."""
    name: str
    """The one that it was given, or its own."""
    starred: bool
    length: int
    """Characters."""
    kept: str
    """When it was last stored."""
    readings: int
    """How many there are of it."""
    newest: "NewestJson | None"
    """Null where nothing was asked yet."""


class NewestJson(TypedDict):
    """The newest question about a document."""

    reading: str
    question: str
    status: Status
    created: str


class PlaceJson(TypedDict):
    """A place in a document's text."""

    start: int
    end: int


class SearchHitJson(TypedDict):
    """A passage of a document, or a reading, that has all the words of a search."""

    document: str
    name: str
    snippet: str
    reading: str
    """Empty for a passage."""
    question: str
    start: int
    end: int
    pages: list[int]


class ReadingUnderWayJson(ReadingJson):
    """A whole reading, and what it waits for."""

    waiting: NotRequired[Waiting]
    """The model fails at the moment, and is tried again."""


class StartedReadingsJson(TypedDict):
    """The readings of several questions about one document, in their order."""

    readings: list[ReadingJson]


class OriginJson(TypedDict):
    """The origin of one line of the final memory."""

    line: str
    step: int
    since: int
    sources: list[str]
    pages: list[int]
    start: int
    end: int
    quote: Evidence | None
    found: bool
    missing: list[str]
    by_hand: bool


class ModelJson(TypedDict):
    """A model that reads here, with the plan it reads by."""

    name: str
    window: int | None
    plan: PlanJson
    abilities: list[str] | None
    """What it can do besides replying; null where its server does not say."""
    ways: list[str]
    """The ways of reading that it can read by as it is."""
    way: str
    """The one that is taken where a request names none."""


class LabelJson(TypedDict):
    """The name and the star that a reading has now."""

    name: str
    """Empty: its own."""
    starred: bool


class MessageJson(TypedDict):
    """One message of a prompt."""

    role: str
    content: str


class CallJson(TypedDict):
    """The call of the model behind a step, or behind the answer."""

    messages: list[MessageJson]
    """The prompt, rebuilt from the document and the memory before."""
    reply: str
    kind: Literal["reply", "judge", "likelihood"]
    """What was asked for first; a way may make more calls in one step."""
    calls: int
    """How many the step made."""
    same: bool
    """Whether the rebuilt prompt leads to the very step that is stored."""


class HealthJson(TypedDict):
    """The state of the server."""

    status: Literal["ok"]
    readings: int
    """Under way."""


class ErrorJson(TypedDict):
    """A declined or failed request."""

    error: str
    kind: str
