"""What was said before about the same document, as prompts of a further question have it: its turns, shortened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bookwheel.types import Reading

LEFT_OUT: Final = "[…]"
# The characters that are left of a long turn: more where there is room.
_SHORT: Final = (1200, 300)
_ASKED: Final = "user: "
# Nothing that was said about the document.
_RULES: Final = ("system: ", "developer: ")


def format_turn(role: str, text: str) -> str:
    """Return a turn of a conversation under its role; no line of its text can pose as another turn."""
    return f"{role}: {text.strip()}".replace("\n", "\n  ")


def tell_before(reading: Reading, count: Callable[[str], int], room: int) -> str:
    """Return what a question about the same document follows: the reading's own and its answer, and those before.

    At most `room` tokens: the newest are kept, and of a long one its beginning and end.
    """
    return shorten_turns([*split_turns(reading.plan.earlier), *_list_turns(reading)], count, room)


def shorten_turns(turns: Sequence[str], count: Callable[[str], int], room: int) -> str:
    """Return the newest of some turns that `room` tokens hold, of a long one its beginning and end."""
    kept = list[str]()
    for turn in reversed(turns):
        short = shorten_turn(turn, count, room)
        if not short:
            break
        kept.insert(0, short)
        room -= count(f"{short}\n\n")
    return "\n\n".join(kept)


def leave_out(reading: Reading, earlier: str) -> str:
    """Return what was said before without a reading's question, what was answered to it, and its answer."""
    question, *answer = ({_cut(turn, most) for most in (len(turn), *_SHORT)} for turn in _list_turns(reading))
    kept, is_answered = list[str](), False
    for turn in split_turns(earlier):
        if turn.startswith(_ASKED):
            is_answered = turn in question
        if not is_answered and not (answer and turn in answer[0]):
            kept.append(turn)
    return "\n\n".join(kept)


def _list_turns(reading: Reading) -> list[str]:
    answer = reading.answer.text if reading.answer else ""
    return [format_turn("user", reading.question), *([format_turn("assistant", answer)] if answer else [])]


def split_turns(earlier: str) -> Sequence[str]:
    """Return the turns of what was said before; a line of a turn that is not its first one begins with a space."""
    turns = list[str]()
    for block in earlier.split("\n\n"):
        if turns and (block.startswith(" ") or not block):
            turns[-1] += f"\n\n{block}"
        elif block:
            turns.append(block)
    return turns


def part_instructions(earlier: str) -> tuple[str, str]:
    """Return the words that say how to answer, such as a system prompt, and what else was said before."""
    turns = split_turns(earlier)
    rules = [turn for turn in turns if turn.startswith(_RULES)]
    words = "\n\n".join(turn.partition(": ")[2].replace("\n  ", "\n") for turn in rules)
    return words, "\n\n".join(turn for turn in turns if turn not in rules)


def shorten_turn(line: str, count: Callable[[str], int], room: int) -> str:
    """Return the turn, its beginning and end if it is too long, or nothing if even those are."""
    if room <= 0:
        return ""
    for most in (len(line), *_SHORT):
        short = _cut(line, most)
        if count(short) <= room:
            return short
    return ""


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most // 2]} {LEFT_OUT} {line[-most // 2 :]}"
