"""The JSON values of a reply, however a model writes them.

    <think>… {"rows": []} …</think>            thoughts are no reply
    Here they are: ```json [{…}] ```            prose before and behind, and a fence
    {'a': None, "b": "two
    lines",}  // a note                         Python's words, single quotes, raw line ends, commas too many, comments

Only what stands between strings is mended, so no value becomes another.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from bookwheel.reading.guards import clean

_FENCED: Final = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_OPENING: Final = re.compile(r"[{\[]")
_BEGINNING: Final = re.compile(r"[{\[]\s*[\"'{}\[\]/]")
"""What a value begins with, unlike a bracket of prose."""
_MOST_TRIES: Final = 64
"""Braces and brackets of prose that are tried as the beginning of a value."""
_PIECE: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'(?=\s*[:：,，}\]])|//[^\n]*|/\*.*?\*/|[^"\'/]+|.', re.DOTALL
)
_WORDS: Final = {"None": "null", "True": "true", "False": "false", "NaN": "null", "undefined": "null"}
_WORD: Final = re.compile(r"\b(?:" + "|".join(_WORDS) + r")\b")
_WIDE: Final = str.maketrans("，：【】｛｝", ",:[]{}")
_COMMA: Final = re.compile(r",(?=\s*[}\]])")
_DECODER: Final = json.JSONDecoder(strict=False)


def read_values(text: str) -> tuple[list[Any], str]:
    """Return the value of any type that a reply is, else the objects and lists in it, and why there are none."""
    cleaned, _ = clean(text)
    fenced = _FENCED.search(cleaned)
    try:
        return [json.loads(fenced[1] if fenced else cleaned)], ""
    except (ValueError, RecursionError):
        return list_values(text)


def list_values(text: str) -> tuple[list[Any], str]:
    """Return the objects and lists of a reply that stand in no other one, and why there are none."""
    cleaned, _ = clean(text)
    fault = ""
    for part in (*(found[1] for found in _FENCED.finditer(cleaned)), cleaned):
        for version in (part, _mend(part)):
            values, reason = _decode_values(version)
            if values:
                return values, ""
            fault = fault or reason
    return [], f"it is no JSON ({fault})" if fault else "there is no JSON object"


def _decode_values(text: str) -> tuple[list[Any], str]:
    """Return the values from the first one on; text between them is passed over, a broken one ends them."""
    values: list[Any] = []
    at, fault, is_empty = 0, "", False
    for _ in range(_MOST_TRIES):
        found = _OPENING.search(text, at)
        if not found:
            break
        try:
            value, at = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError) as error:
            fault, at = fault or str(error), found.end()
            # What stands within a broken value is not the whole of it.
            if values or isinstance(error, RecursionError) or _BEGINNING.match(text, found.start()):
                break
        else:
            # "[see above]" of prose is none.
            if value and (isinstance(value, dict) or any(isinstance(one, dict) for one in value)):
                values.append(value)
            is_empty = is_empty or value == []
    return values or ([[]] if is_empty and not fault else []), fault


def _mend(text: str) -> str:
    """Return the text with what stands between its strings as JSON has it."""
    parts: list[str] = []
    between = ""
    for found in _PIECE.finditer(text):
        piece = found[0]
        if piece[0] in "\"'" and len(piece) > 1:
            is_json = piece[0] == '"'
            string = piece if is_json else json.dumps(piece[1:-1].replace("\\'", "'"), ensure_ascii=False)
            parts += (_mend_signs(between), string)
            between = ""
        elif not piece.startswith(("//", "/*")):
            between += piece
    return "".join((*parts, _mend_signs(between)))


def _mend_signs(text: str) -> str:
    return _COMMA.sub("", _WORD.sub(lambda word: _WORDS[word[0]], text.translate(_WIDE)))
