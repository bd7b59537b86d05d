"""The texts, files and calls of a chat's messages, in their order. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.serve.openai.schemas import MessageShape

_TEXTS: Final = {"text", "input_text"}
USER: Final = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageText:
    """One text of one message; a message can have several."""

    role: str
    text: str
    message: int = 0
    """The position of its message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContents:
    """The texts of a conversation, and the uploaded files that it names."""

    texts: tuple[MessageText, ...]
    files: tuple[str, ...]
    others: tuple[str, ...]
    """Kinds of content that are not text: pictures, sounds."""
    newest_others: tuple[str, ...] = ()
    """Those of the newest message of the user."""


def parse_messages(messages: Sequence[MessageShape]) -> ChatContents:
    """Return the texts, the files and the other contents of messages, in their order."""
    texts: list[MessageText] = []
    files, others, newest = [], [], []
    last_user = max((at for at, message in enumerate(messages) if message.role == USER), default=-1)
    for at, message in enumerate(messages):
        for kind, value in _split_parts(message):
            if kind == "text":
                texts.append(MessageText(role=message.role, text=value, message=at))
            elif kind == "file":
                files.append(value)
            else:
                others.append(value)
                newest += [value] if at == last_user else []
    return ChatContents(texts=tuple(texts), files=tuple(files), others=tuple(others), newest_others=tuple(newest))


def _split_parts(message: MessageShape) -> Iterator[tuple[str, str]]:
    """Yield `text` with the text, `file` with its id, or `other` with the kind of what is not text."""
    if isinstance(message.content, str):
        yield "text", message.content
    for part in message.content if isinstance(message.content, list) else ():
        kind = str(part.get("type"))
        if kind in _TEXTS and isinstance(part.get("text"), str):
            yield "text", part["text"]
        elif kind == "file" and isinstance(file := part.get("file"), dict) and isinstance(file.get("file_id"), str):
            yield "file", file["file_id"]
        else:
            yield "other", kind
    calls = (message.model_extra or {}).get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        yield "text", _describe_call(call)


def _describe_call(call: Any) -> str:
    """Return a call of a tool as a line of the conversation: what it gave follows in the next message."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return json.dumps(call, ensure_ascii=False)
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"(called the tool {function.get('name')} with {text})"


def cut_at_stop(text: str, stop: str | list[str] | None) -> str:
    """Return the text up to the first of the stop sequences."""
    sequences = [stop] if isinstance(stop, str) else stop or []
    places = [at for sequence in sequences if sequence and (at := text.find(sequence)) >= 0]
    return text[: min(places)] if places else text
