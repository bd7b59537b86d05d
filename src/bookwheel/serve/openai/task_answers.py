"""Answers to the prompts of chat clients, made of the chat's own words. Pure.

A model that only quotes copies the examples of such a prompt: it calls every chat "Stock Trends", and the client waits
for it. The user's question is a better title, and no suggestion is better than an invented one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from bookwheel.serve.engine.documents import shorten_name
from bookwheel.serve.openai.chat_tasks import find_history
from bookwheel.serve.openai.messages import USER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.serve.openai.schemas import MessageShape

# The key of the JSON that the prompt asks for.
_KEY: Final = re.compile(r'"(title|tags|follow_ups|queries|prompt|text)"\s*:')
_TITLE: Final = re.compile(r"\btitle\b|\bname (?:for|of)\b|标题", re.IGNORECASE)
_USER_TURN: Final = re.compile(
    r"^(?:user|human)\s*:\s*(.*?)(?=^(?:user|assistant|system|human|ai|tool)\s*:|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)


def answer_from_words(messages: Sequence[MessageShape]) -> str | None:
    """Return the answer to the newest message, a prompt about the chat; None where only a model can write it."""
    prompt = str(messages[-1].content)
    history = find_history(prompt)
    instruction = prompt.replace(history, "") if history else prompt
    asked = _find_questions(history) or [
        str(message.content) for message in messages[:-1] if message.role == USER and isinstance(message.content, str)
    ]
    question = _last_paragraph(asked[0]) if asked else ""
    key = _KEY.search(instruction)
    if key is None:
        return shorten_name(question) if question and _TITLE.search(instruction) else None
    answers: dict[str, Any] = {
        "title": shorten_name(question),
        "queries": [_last_paragraph(asked[-1])] if asked else [],
        "prompt": question,
        "text": "",
    }
    return json.dumps({key[1]: answers.get(key[1], [])}, ensure_ascii=False)


def _find_questions(history: str) -> list[str]:
    return [turn.strip() for turn in _USER_TURN.findall(history) if turn.strip()]


def _last_paragraph(text: str) -> str:
    """Return what was typed: the document and instructions stand before it."""
    return text.rstrip().rpartition("\n\n")[2].strip()
