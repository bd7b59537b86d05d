"""From a chat request to what is to be read and what is asked: pure, over the messages alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.serve.engine.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.serve.openai.schemas import ChatShape, MessageShape

_TEXTS: Final = {"text", "input_text"}
_USER: Final = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One text of one message; a message can have several."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContents:
    """The texts of a conversation, and the uploaded files that it names."""

    contents: tuple[Content, ...]
    files: tuple[str, ...]
    others: tuple[str, ...]
    """Kinds of content that cannot be read here: pictures, sounds."""


def parse_messages(messages: Sequence[MessageShape]) -> ChatContents:
    """What was said."""
    contents, files, others = [], [], []
    for message in messages:
        for kind, value in _parts(message):
            if kind == "text":
                contents.append(Content(role=message.role, text=value))
            elif kind == "file":
                files.append(value)
            else:
                others.append(kind)
    return ChatContents(contents=tuple(contents), files=tuple(files), others=tuple(others))


def _parts(message: MessageShape) -> Iterator[tuple[str, str]]:
    if message.content is None:
        return
    if isinstance(message.content, str):
        yield "text", message.content
        return
    for part in message.content:
        kind = str(part.get("type"))
        if kind in _TEXTS and isinstance(part.get("text"), str):
            yield "text", part["text"]
        elif kind == "file" and isinstance(file := part.get("file"), dict) and isinstance(file.get("file_id"), str):
            yield "file", file["file_id"]
        else:
            yield kind, ""


def split_document_and_question(talk: ChatContents, given: str | None) -> tuple[str | None, str]:
    """The document's text (None when it was given beside the messages, or is a file) and the question.

    The longest text of the user is the document and all the rest the question. Where the user said one thing only,
    its last paragraph is the question.
    """
    if talk.others:
        raise ApiError(
            400,
            f"a document must be text, and this request holds {talk.others[0]}: take its text out of it first",
            kind="unsupported_content",
            param="messages",
        )
    said = [at for at, content in enumerate(talk.contents) if content.role == _USER and content.text.strip()]
    if not said:
        raise ApiError(400, "there is no user message with text in it", kind="no_user_message", param="messages")
    if given is not None or talk.files:
        return None, _joined(content.text for content in talk.contents)
    longest = max(said, key=lambda at: len(talk.contents[at].text))
    document = talk.contents[longest].text
    rest = [content.text for at, content in enumerate(talk.contents) if at != longest]
    if len(said) > 1:
        return document, _joined(rest)
    document, question = _last_paragraph(document)
    return document, _joined([*rest, question])


def _last_paragraph(text: str) -> tuple[str, str]:
    text = text.rstrip()
    for boundary in ("\n\n", "\n"):
        before, found, last = text.rpartition(boundary)
        if found and before.strip():
            return before, last
    raise ApiError(
        400,
        "put the question in a message of its own, or in the last paragraph, after the document",
        kind="no_question",
        param="messages",
    )


def _joined(texts: Any) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())


def check_supported(asked: ChatShape) -> None:
    """What a reading cannot honour is an error, not left out in silence."""
    more: dict[str, Any] = asked.model_extra or {}
    plain = more.get("response_format") in (None, {"type": "text"})
    unmet = {
        "n": (asked.n or 1) != 1,
        "tools": bool(more.get("tools")),
        "functions": bool(more.get("functions")),
        "response_format": not plain,
        "logprobs": bool(more.get("logprobs")),
    }
    for name, is_unmet in unmet.items():
        if is_unmet:
            raise ApiError(
                400,
                f"{name} cannot be had from a reading: leave it out, or send less than the model's window",
                kind="unsupported_parameter",
                param=name,
            )


def cut_at_stop(text: str, stop: str | list[str] | None) -> str:
    """The text up to the first of the stop sequences."""
    marks = [stop] if isinstance(stop, str) else stop or []
    places = [at for mark in marks if mark and (at := text.find(mark)) >= 0]
    return text[: min(places)] if places else text
