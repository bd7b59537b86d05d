"""Find the document and the question in the messages of a chat. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bookwheel.serve.engine.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bookwheel.serve.openai.schemas import ChatShape, MessageShape

_TEXTS: Final = {"text", "input_text"}
_USER: Final = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageText:
    """One text of one message; a message can have several."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContents:
    """The texts of a conversation, and the uploaded files that it names."""

    texts: tuple[MessageText, ...]
    files: tuple[str, ...]
    others: tuple[str, ...]
    """Kinds of content that are not text: pictures, sounds."""


def parse_messages(messages: Sequence[MessageShape]) -> ChatContents:
    """Return the texts, the files and the other contents of messages, in their order."""
    texts, files, others = [], [], []
    for message in messages:
        for kind, value in _split_parts(message):
            if kind == "text":
                texts.append(MessageText(role=message.role, text=value))
            elif kind == "file":
                files.append(value)
            else:
                others.append(value)
    return ChatContents(texts=tuple(texts), files=tuple(files), others=tuple(others))


def _split_parts(message: MessageShape) -> Iterator[tuple[str, str]]:
    """Yield `text` with the text, `file` with its id, or `other` with the kind of what is not text."""
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
            yield "other", kind


def split_document_and_question(contents: ChatContents, document: str | None) -> tuple[str | None, str]:
    """Return the document's text and the question. The text is None where `document` or a file gives it.

    The user's longest text is the document, and all other texts are the question. If the user sent only one text, its
    last paragraph is the question. ApiError where there is no question or something that is not text.
    """
    if contents.others:
        raise ApiError(
            400,
            f"a document must be text, and this request holds {contents.others[0]}: take its text out of it first",
            kind="unsupported_content",
            param="messages",
        )
    from_user = [at for at, text in enumerate(contents.texts) if text.role == _USER and text.text.strip()]
    if not from_user:
        raise ApiError(400, "there is no user message with text in it", kind="no_user_message", param="messages")
    if document is not None or contents.files:
        return None, _join(text.text for text in contents.texts)
    longest = max(from_user, key=lambda at: len(contents.texts[at].text))
    longest_text = contents.texts[longest].text
    rest = [text.text for at, text in enumerate(contents.texts) if at != longest]
    if len(from_user) > 1:
        return longest_text, _join(rest)
    body, question = _split_last_paragraph(longest_text)
    return body, _join([*rest, question])


def _split_last_paragraph(text: str) -> tuple[str, str]:
    text = text.rstrip()
    for boundary in ("\n\n", "\n"):
        before, separator, last = text.rpartition(boundary)
        if separator and before.strip():
            return before, last
    raise ApiError(
        400,
        "put the question in a message of its own, or in the last paragraph, after the document",
        kind="no_question",
        param="messages",
    )


def _join(texts: Iterable[str]) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())


def check_supported(chat: ChatShape) -> None:
    """Raise ApiError for settings that a reading cannot follow, instead of ignoring them."""
    more: dict[str, Any] = chat.model_extra or {}
    unsupported = {
        "n": (chat.n or 1) != 1,
        "tools": bool(more.get("tools")),
        "functions": bool(more.get("functions")),
        "response_format": more.get("response_format") not in (None, {"type": "text"}),
        "logprobs": bool(more.get("logprobs")),
    }
    for name, is_set in unsupported.items():
        if is_set:
            raise ApiError(
                400,
                f"a reading does not support {name}: leave it out, or send less than the model's window",
                kind="unsupported_parameter",
                param=name,
            )


def cut_at_stop(text: str, stop: str | list[str] | None) -> str:
    """Return the text up to the first of the stop sequences."""
    sequences = [stop] if isinstance(stop, str) else stop or []
    places = [at for sequence in sequences if sequence and (at := text.find(sequence)) >= 0]
    return text[: min(places)] if places else text
