"""A chat with a lasting memory: the model `bookwheel/memory/NAME` answers from it, then reads the new turns into it.

Each turn of the user is a text of the source `chat`, read once however often a client sends the whole conversation;
one that says the same as an earlier one is of `chat#2`, and so on, as it may take back what was said between.
What the memory itself answered is not read: a memory that took its own words for evidence would believe its mistakes.
With `as_of` it answers as it was known then, and reads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from bookwheel.reading.earlier import format_turn
from bookwheel.serve.engine.access import Key
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.openai.completions import ChatResult, make_reply
from bookwheel.serve.openai.requests import ChatShape, refuse_silence
from bookwheel.text.lexicon import language_of
from bookwheel.types import Status, Usage

if TYPE_CHECKING:
    from bookwheel.serve.engine.memories import ServedMemories
    from bookwheel.serve.openai.conversation import ChatContents

PREFIX: Final = "bookwheel/memory/"
SOURCE: Final = "chat"
_SPEAKERS: Final = frozenset({"user", "assistant"})
_ASKS: Final = re.compile(r"[?？]|[吗呢]\s*[。.!！]*\s*$")
_FULL: Final = {
    "en": "(The memory is full: what it read last was not taken in whole. Begin one with more tokens.)",
    "zh": "（记忆已满：最后读到的内容没有全部记下。请开一个更大的记忆。）",
}
_NOTED: Final = {"en": "Noted.", "zh": "记下了。"}


async def answer_from_memory(
    memories: ServedMemories, chat: ChatShape, contents: ChatContents, key: Key | None
) -> ChatResult:
    """Answer the newest turn of the user; what it says is read when it has been answered."""
    name = chat.model.removeprefix(PREFIX)
    said = [text for text in contents.texts if text.text.strip() and text.role in _SPEAKERS]
    turns = [text.text.strip() for text in said if text.role == "user"]
    if not turns:
        raise refuse_silence()
    # What was said a moment ago is known before the next turn is answered.
    sources = [_name_turn(turns, at) for at in range(len(turns))]
    for turn, source in zip(turns[:-1], sources[:-1], strict=True) if chat.as_of is None else ():
        await memories.add(key, name, turn, source=source, at=None)
    newest = max(at for at, text in enumerate(said) if text.role == "user")
    before = [format_turn(text.role, text.text) for text in said[:newest]]
    # The turn is a text too: an answer kept beside it would hold words that forgetting the text does not reach.
    found = await memories.ask(key, name, turns[-1], as_of=chat.as_of, is_kept=False, turns=before)
    if found["status"] != Status.ANSWERED:
        raise ApiError(502, found["error"] or f"the memory did not answer: {found['status']}", kind="model_error")
    # What was told before has been read by now; of the newest turn the next answer tells.
    is_full = bool((await memories.show(key, name, None))["gaps"])
    if chat.as_of is None:
        await memories.add(key, name, turns[-1], source=sources[-1], at=None, waits=False)
    # Who only told something wants no "it does not say".
    is_statement = found["verdict"] == "absent" and not _ASKS.search(turns[-1])
    text = _NOTED[language_of(turns[-1])] if is_statement else found["answer"]
    if is_full:
        text = f"{text}\n\n{_FULL[language_of(turns[-1])]}"
    told: dict[str, Any] = {} if is_statement else {**found}
    judged = {name: told[name] for name in ("verdict", "answers", "sign") if name in told}
    return make_reply(chat, chat.model, text, usage=Usage(**cast("dict[str, Any]", found["usage"])), **judged)


def _name_turn(turns: Sequence[str], at: int) -> str:
    before = turns[:at].count(turns[at])
    return f"{SOURCE}#{before + 1}" if before else SOURCE
