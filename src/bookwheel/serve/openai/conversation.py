"""Find the document, the question and the earlier turns in the messages of a chat. Pure.

The newest turn of the user is the question. The document is the longest text of any role, with those beside it that are
too long for questions, or the whole conversation before the question where no text is most of it. What is neither goes
along with the question, each turn with its role:

    user: Who wound the clock?
    assistant: The keeper's daughter.
    user: And who oiled it?
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from bookwheel.reading.earlier import LEFT_OUT, format_turn, shorten_turn
from bookwheel.serve.engine.documents import shorten_name
from bookwheel.serve.openai.question_split import find_source_name, split_message
from bookwheel.serve.openai.requests import MessageShape, find_kind, refuse, refuse_silence

USER: Final = "user"
_TEXTS: Final = {"text", "input_text"}

# Roles whose texts say how to answer; they end no turn of the user.
_INSTRUCTIONS: Final = frozenset({"system", "developer"})
# Characters; a longer newest turn is a document, even beside a longer history.
_LONGEST_QUESTION: Final = 4000
# Characters below which a question is not cut.
_SHORTEST_QUESTION: Final = 60
# For a message that holds a text and nothing that reads like a question.
_NO_QUESTION: Final = ("What does this text say, and what does it ask for?", "这段文字说了什么，又要求什么？")
_CHINESE: Final = re.compile(r"[\u4e00-\u9fff]")


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
    """Kinds of content that are neither text nor pictures: sounds."""
    newest_others: tuple[str, ...] = ()
    """Those of the newest message of the user."""
    pictures: tuple[str, ...] = ()
    """The addresses of pictures: `data:` or of the web."""


def parse_messages(messages: Sequence[MessageShape]) -> ChatContents:
    """Return the texts, the files and the other contents of messages, in their order."""
    texts: list[MessageText] = []
    files, others, newest, pictures = [], [], [], []
    last_user = max((at for at, message in enumerate(messages) if message.role == USER), default=-1)
    for at, message in enumerate(messages):
        for kind, value in _split_parts(message):
            if kind == "text":
                texts.append(MessageText(role=message.role, text=value, message=at))
            elif kind == "file":
                files.append(value)
            elif kind == "picture":
                pictures.append(value)
            else:
                others.append(value)
                newest += [value] if at == last_user else []
    return ChatContents(
        texts=tuple(texts),
        files=tuple(files),
        others=tuple(others),
        newest_others=tuple(newest),
        pictures=tuple(pictures),
    )


def _split_parts(message: MessageShape) -> Iterator[tuple[str, str]]:
    """Yield `text` with the text, `file` with its id, `picture` with its address, or `other` with the kind."""
    if isinstance(message.content, str):
        yield "text", message.content
    for part in message.content if isinstance(message.content, list) else ():
        kind = find_kind(part)
        if kind in _TEXTS and isinstance(part.get("text"), str):
            yield "text", part["text"]
        elif kind == "file" and isinstance(file := part.get("file"), dict) and isinstance(file.get("file_id"), str):
            yield "file", file["file_id"]
        elif kind == "image_url" and (address := _find_address(part)):
            yield "picture", address
        else:
            yield "other", kind or "a part without a type"
    calls = (message.model_extra or {}).get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        yield "text", _describe_call(call)


def _find_address(part: dict[str, Any]) -> str:
    named = part.get("image_url")
    address = named.get("url") if isinstance(named, dict) else named
    return address if isinstance(address, str) else ""


def _describe_call(call: Any) -> str:
    """Return a call of a tool as a line of the conversation: what it gave follows in the next message."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return json.dumps(call, ensure_ascii=False)
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"(called the tool {function.get('name')} with {text})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """A chat as a reading takes it."""

    question: str
    """The newest turn of the user, without the document."""
    document: str | None = None
    """None where a file or the request's own field gives it."""
    name: str | None = None
    """What the client calls the document, if it says so."""
    earlier: tuple[MessageText, ...] = field(default=())
    """The other texts before the question, in their order."""
    later: tuple[MessageText, ...] = field(default=())
    """Texts after the question: calls of tools and what they gave."""
    document_at: int = -1
    """The position of the message that has the document; -1 where it stands in none."""
    is_history: bool = False
    """The document is the conversation itself."""

    @property
    def is_follow_up(self) -> bool:
        """The document was talked about before: someone has said something after it."""
        said = (turn.message for turn in (*self.earlier, *self.later) if turn.role == "assistant")
        return not self.is_history and any(at > self.document_at for at in said)

    @property
    def has_rules(self) -> bool:
        return any(turn.role in _INSTRUCTIONS for turn in self.earlier)

    def count_question(self, count: Callable[[str], int]) -> int:
        """Return the tokens of the question as it is asked, with what was said after it."""
        return count(self._format_asked())

    def _format_asked(self) -> str:
        if not self.earlier and not self.later:
            return self.question
        return "\n\n".join([_label(MessageText(role=USER, text=self.question)), *map(_label, self.later)])

    def shorten_question(self, count: Callable[[str], int], room: int) -> tuple[ChatParts, tuple[str, ...]]:
        """Return the chat with a question of at most `room` tokens, and a note where it had more.

        What does not fit is read with the document, or left out where that is a file: first what tools gave, then what
        stands before the question itself.
        """
        if self.count_question(count) <= room:
            return self, ()
        moved: list[str] = []
        later = list(self.later)
        for at, turn in enumerate(later):
            short = shorten_turn(turn.text.strip(), count, room // (4 * len(later)))
            if short != turn.text.strip():
                moved.append(_label(turn))
                later[at] = replace(turn, text=short or LEFT_OUT)
        parts, note = replace(self, later=tuple(later)), "what came after the question"
        if parts.count_question(count) > room:
            halves = split_message(parts.question)
            moved.append(halves[0] if halves else parts.question)
            parts, note = replace(parts, question=halves[1] if halves else parts.question), "the newest message"
        while parts.count_question(count) > room and len(parts.question) > _SHORTEST_QUESTION:
            half = len(parts.question) * 2 // 5
            parts = replace(parts, question=f"{parts.question[:half]} {LEFT_OUT} {parts.question[-half:]}")
        while parts.count_question(count) > room and parts.later:
            parts = replace(parts, later=parts.later[:-1])
        if parts.document is None:
            return parts, (f"{note} did not fit beside the question: its middle was left out",)
        document = "\n\n".join((parts.document, *moved)) if parts.document != self.question else parts.document
        return replace(parts, document=document), (f"{note} did not fit beside the question: it was read as a text",)

    def format_question(self, count: Callable[[str], int], room: int) -> tuple[str, tuple[str, ...]]:
        """Return the question with the other turns before it, at most `room` tokens, and notes on what is left out."""
        earlier, asked, notes = self.format_turns(count, room)
        return "\n\n".join(filter(None, (earlier, self._format_asked() if earlier else asked))), notes

    def format_turns(self, count: Callable[[str], int], room: int) -> tuple[str, str, tuple[str, ...]]:
        """Return the turns before the question, the question, and notes on what is left out of `room` tokens.

        The newest turns are kept. The question itself is never cut; what tools gave for it comes after it.
        """
        asked = self._format_asked() if self.later else self.question
        if not self.earlier:
            return "", asked, ()
        room -= count(self._format_asked())
        # Instructions first: they hold for every answer, and are short.
        order = sorted(range(len(self.earlier)), key=lambda at: (self.earlier[at].role not in _INSTRUCTIONS, -at))
        taken: dict[int, str] = {}
        notes = list[str]()
        for at in order:
            turn = self.earlier[at]
            line = format_turn(turn.role, turn.text)
            if short := shorten_turn(line, count, room):
                taken[at], room = short, room - count(f"{short}\n\n")
            if short != line and turn.role in _INSTRUCTIONS:
                lost = "its middle was left out" if short else "it was left out"
                notes.append(f"the {turn.role} message of {len(turn.text):,} characters did not fit whole: {lost}")
        # Of a history, nothing is lost: it is the document too.
        missing = 0 if self.is_history else len(self.earlier) - len(taken)
        if missing:
            notes.append(f"{missing} earlier turns of the conversation did not fit beside the question")
        return "\n\n".join(taken[at] for at in sorted(taken)), asked, tuple(notes)


def _label(turn: MessageText) -> str:
    return f"{turn.role}: {turn.text.strip()}"


def find_conversation(contents: ChatContents, document: str | None, *, is_outgrown: bool = False) -> ChatParts:
    """Return the parts of a chat. `is_outgrown`: it does not fit the window, so its history may be the document.

    Raise ApiError where there is no question, or the newest turn holds something that is neither text nor a picture.
    """
    if contents.newest_others:
        kind = contents.newest_others[0]
        advice = f"a document must be text, and this request holds {kind}: take its text out of it first"
        raise refuse(advice, "messages", "unsupported_content")
    texts = [text for text in contents.texts if text.text.strip()]
    turn = _find_newest_turn(texts)
    if not turn:
        raise refuse_silence()
    if document is not None or contents.files:
        return _arrange(texts, turn, question=_join(texts[at].text for at in turn))
    alone, texts = texts, _join_documents(texts)
    turn = _find_newest_turn(texts)
    longest = max(range(len(texts)), key=lambda at: len(texts[at].text))
    length = len(texts[longest].text)
    if contents.pictures and not is_outgrown and length <= _LONGEST_QUESTION:
        return _arrange(texts, turn, question=_join(texts[at].text for at in turn))
    is_question = longest not in turn or length <= _LONGEST_QUESTION
    if is_outgrown and is_question and 2 * length < sum(len(text.text) for text in texts):
        return _read_history(texts, turn)
    parts = replace(_split_longest(texts, turn, longest), document_at=texts[longest].message)
    joined = [one.text for one in alone if one.text != texts[longest].text and one.text in texts[longest].text]
    # No words stand in the first of several texts alone.
    return replace(parts, name=" + ".join(map(shorten_name, joined))) if len(joined) > 1 else parts


def _join_documents(texts: Sequence[MessageText]) -> list[MessageText]:
    """Return the texts with documents that stand beside each other as one, as two contracts, pasted one by one."""
    most = max(len(text.text) for text in texts)
    joined: list[MessageText] = []
    for text in texts:
        before = joined[-1] if joined else None
        # A system prompt is rules, unless it is the longest text of all.
        is_beside = before and (
            text.role == before.role not in _INSTRUCTIONS or (text.role == USER and len(before.text) == most)
        )
        if before and is_beside and min(len(before.text), len(text.text)) > _LONGEST_QUESTION:
            joined[-1] = replace(text, text=f"{before.text}\n\n{text.text}")
        else:
            joined.append(text)
    return joined


def _find_newest_turn(texts: Sequence[MessageText]) -> list[int]:
    """Return the positions of the last run of texts of the user."""
    users = [at for at, text in enumerate(texts) if text.role == USER]
    if not users:
        return []
    first = users[-1]
    for at, before in pairwise(reversed([-1, *users])):
        if before < 0 or any(text.role not in _INSTRUCTIONS for text in texts[before + 1 : at]):
            first = at
            break
    return [at for at in users if at >= first]


def _split_longest(texts: Sequence[MessageText], turn: Sequence[int], longest: int) -> ChatParts:
    """Take the longest text for the document; find the question in it where it stands nowhere else."""
    asked = [at for at in turn if at != longest]
    if longest in turn and not asked:
        before = [at for at, text in enumerate(texts) if text.role == USER and at < longest]
        halves = split_message(texts[longest].text, must=not before)
        if halves:
            parts = _arrange(texts, turn, question=halves[1], document=halves[0])
            return replace(parts, name=find_source_name(texts[longest].text))
        if not before:
            is_chinese = bool(_CHINESE.search(texts[longest].text[:_LONGEST_QUESTION]))
            return _arrange(texts, turn, question=_NO_QUESTION[is_chinese], document=texts[longest].text)
        if 2 * len(texts[longest].text) < sum(len(text.text) for text in texts):
            return _read_history(texts, turn)
        # The question came first: "Which text shall I read?" was answered with the text.
        return _arrange(texts, [before[-1], longest], question=texts[before[-1]].text, document=texts[longest].text)
    question = _join(texts[at].text for at in asked)
    halves = None
    if longest not in turn and texts[longest].role == USER and _stands_alone(texts, longest):
        # As when it was asked, so that the document is the same one in every turn.
        halves = split_message(texts[longest].text)
    rest = list(texts)
    skipped = [*turn, longest]
    if halves:
        rest[longest] = replace(texts[longest], text=halves[1])
        skipped = list(turn)
    parts = _arrange(rest, skipped, question=question, document=halves[0] if halves else texts[longest].text)
    return replace(parts, name=find_source_name(texts[longest].text)) if halves else parts


def _stands_alone(texts: Sequence[MessageText], at: int) -> bool:
    """Return whether a text of the user was a whole turn: nothing else was said in it."""
    beside = [text.role for text in (*texts[max(0, at - 1) : at], *texts[at + 1 : at + 2])]
    return USER not in beside


def _read_history(texts: Sequence[MessageText], turn: Sequence[int]) -> ChatParts:
    """Take the conversation before the question for the document. Its newest turns stay with the question too."""
    document = "\n\n".join(_label(text) for text in texts[: turn[0]] if text.role not in _INSTRUCTIONS)
    question = _join(texts[at].text for at in turn)
    return replace(_arrange(texts, turn, question=question, document=document), is_history=True)


def _arrange(
    texts: Sequence[MessageText], skipped: Sequence[int], *, question: str, document: str | None = None
) -> ChatParts:
    """Return the conversation with every text that is not skipped before or after the question."""
    last = max(at for at in skipped if texts[at].role == USER)
    rest = [(at, text) for at, text in enumerate(texts) if at not in skipped]
    return ChatParts(
        question=question,
        document=document,
        earlier=tuple(text for at, text in rest if at < last),
        later=tuple(text for at, text in rest if at > last and text.role not in _INSTRUCTIONS),
    )


def _join(texts: Iterable[str]) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())
