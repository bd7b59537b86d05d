"""Prompts that chat clients send about a chat, not about its document: titles, tags, follow-up questions. Pure.

They carry the whole chat, or follow it as its last message. The newest turns are enough to answer them, so they are
shortened to what fits the window and go to the model without a reading.

A model that only quotes copies the examples of such a prompt: it calls every chat "Stock Trends", and the client waits
for it. The user's question is a better title, and no suggestion is better than an invented one.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from bookwheel.reading.follow_up import find_newest_turn
from bookwheel.serve.engine.documents import shorten_name
from bookwheel.serve.openai.conversation import USER
from bookwheel.serve.openai.requests import MessageShape

# Characters at the ends of a message where its instruction can stand.
_INSTRUCTION: Final = 1500
_MAKES: Final = (
    r"(?:generate|create|write|suggest|propose|provide|give|return|come up with|think of|make|summari[sz]e|analy[sz]e|"
    r"name|生成|为|给|起|总结|建议)"
)
_THING: Final = (
    r"(?:\btitle\b|\bname (?:for|of) (?:this|the) (?:chat|conversation)|\btags?\b|\bfollow-?ups?\b|"
    r"\bsearch quer(?:y|ies)\b|\bautocomplet\w+|\bemojis?\b|标题|标签|后续问题|追问|搜索)"
)
_ABOUT: Final = re.compile(
    r"\b(?:chat|conversation|dialog(?:ue)?|discussion|messages?|user'?s? (?:query|input|message))\b"
    r"|对话|聊天|会话|消息",
    re.IGNORECASE,
)
_TASK: Final = re.compile(rf"{_MAKES}.{{0,160}}?{_THING}", re.IGNORECASE | re.DOTALL)
_HISTORY: Final = re.compile(r"<(chat_history|conversation|messages|history)>\n?(.*)</\1>", re.DOTALL | re.IGNORECASE)
# Answers of tasks are for programs; questions of people are answered in words.
_JSON: Final = re.compile(r"\bJSON\b")
_TURN: Final = re.compile(r"^(?=(?:user|assistant|system|human|ai|tool)\s*:)", re.IGNORECASE | re.MULTILINE)
# Characters of one turn that are kept: titles need no documents.
_LONGEST_TURN: Final = 1200
_LEFT_OUT: Final = " […] "
# The longest that a request without a chat inside can be: a longer one holds a document to work on.
_LONGEST_PLAIN: Final = 1000
# The key of the JSON that the prompt asks for.
_KEY: Final = re.compile(r'"(title|tags|follow_ups|queries|prompt|text)"\s*:')
_TITLE: Final = re.compile(r"\btitle\b|\bname (?:for|of)\b|标题", re.IGNORECASE)
_USER_TURN: Final = re.compile(
    r"^(?:user|human)\s*:\s*(.*?)(?=^(?:user|assistant|system|human|ai|tool)\s*:|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)


def is_chat_task(messages: Sequence[MessageShape]) -> bool:
    """Return whether the newest message asks for a title, tags or the like of the chat."""
    last = messages[-1]
    if last.role != USER or not isinstance(last.content, str):
        return False
    text = last.content
    if history := _HISTORY.search(text):
        instruction = text[: history.start(2)] + text[history.end(2) :]
        return bool(_TASK.search(instruction) or _JSON.search(instruction))
    if len(text) > _LONGEST_PLAIN:
        has_turns = len(_TURN.findall(text)) >= 2  # noqa: PLR2004  a question and its answer
        return has_turns and _asks_about_chat(text[:_INSTRUCTION])
    # Without an answer there is no chat yet: the other messages may be a document and its instructions.
    return any(message.role == "assistant" for message in messages) and _asks_about_chat(text)


def _asks_about_chat(text: str) -> bool:
    return bool(_TASK.search(text) and _ABOUT.search(text))


def shorten_chat(messages: Sequence[dict[str, Any]], count: Callable[[str], int], room: int) -> list[dict[str, Any]]:
    """Return the messages of a task with the newest turns that fit: the last message whole but for the chat in it."""
    *before, last = messages
    text = str(last["content"])
    start, end = _span_history(text)
    frame = count(text[:start]) + count(text[end:])
    kept = _keep_newest([turn for turn in _TURN.split(text[start:end]) if turn.strip()], count, room - frame)
    newest = {**last, "content": f"{text[:start]}{kept}{text[end:]}"}
    room -= count(newest["content"])
    taken: list[dict[str, Any]] = []
    for message in reversed(before):
        if not isinstance(message.get("content"), str) or message.get("role") not in {USER, "assistant", "system"}:
            continue
        short = {**message, "content": _shorten(message["content"])}
        room -= count(short["content"])
        if room < 0:
            break
        taken.append(short)
    return [*reversed(taken), newest]


def _span_history(text: str) -> tuple[int, int]:
    """Return where the turns inside a message begin and end; nothing of it where there are none."""
    if history := _HISTORY.search(text):
        return history.span(2)
    starts = [turn.start() for turn in _TURN.finditer(text)]
    return (starts[0], len(text)) if len(text) > _LONGEST_PLAIN and starts else (len(text), len(text))


def _keep_newest(turns: Sequence[str], count: Callable[[str], int], room: int) -> str:
    kept: list[str] = []
    for turn in reversed(turns):
        short = _shorten(turn.rstrip()) + "\n"
        room -= count(short)
        if room < 0:
            break
        kept.append(short)
    return "".join(reversed(kept))


def _shorten(text: str) -> str:
    half = _LONGEST_TURN // 2
    return text if len(text) <= _LONGEST_TURN else f"{text[:half]}{_LEFT_OUT}{text[-half:]}"


def answer_from_words(messages: Sequence[MessageShape]) -> str | None:
    """Return the answer to the newest message, a prompt about the chat; None where only a model can write it."""
    prompt = str(messages[-1].content)
    history = prompt[slice(*_span_history(prompt))]
    instruction = prompt.replace(history, "") if history else prompt
    asked = [turn.strip() for turn in _USER_TURN.findall(history) if turn.strip()] or [
        str(message.content) for message in messages[:-1] if message.role == USER and isinstance(message.content, str)
    ]
    question = find_newest_turn(asked[0]).strip() if asked else ""
    key = _KEY.search(instruction)
    if key is None:
        return shorten_name(question) if question and _TITLE.search(instruction) else None
    answers: dict[str, Any] = {
        "title": shorten_name(question),
        "queries": [find_newest_turn(asked[-1]).strip()] if asked else [],
        "prompt": question,
        "text": "",
    }
    return json.dumps({key[1]: answers.get(key[1], [])}, ensure_ascii=False)
