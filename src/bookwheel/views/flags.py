"""The words for flags of steps, answers and versions: the same in the terminal, in files, over MCP and on the page.

The JSON of the command line and of HTTP has the flags themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from bookwheel.flags import Flag

# The page has the same words, and Chinese ones: serve/page/words-en.js.
FLAG_WORDS: Final[Mapping[str, str]] = {
    Flag.TRUNCATED: "reply cut at its limit",
    Flag.SKIPPED: "judged not to matter, and left out",
    Flag.UNREAD: "not read into the memory, which was enough before it",
    Flag.REFUSED: "some changes could not be made",
    Flag.REWRITTEN: "written anew, as the changes could not be used",
    Flag.UNFOUNDED: "what stands nowhere in the text was left out",
    Flag.TRIMMED: "memory cut to its limit",
    Flag.CLEANED: "reply tidied",
    Flag.UNCHANGED: "nothing new",
    Flag.REREAD: "read again after the end",
    Flag.JOINED: "a passage that answers together with the best one",
    Flag.CARRIED: "the memory of an earlier reading, where this one begins",
    Flag.KEPT_EMPTY: "empty reply, memory kept",
    Flag.KEPT_REFUSAL: "refusal, memory kept",
    Flag.KEPT_COMMENT: "only a remark, memory kept",
    Flag.FILTERED: "content filter, memory kept",
    Flag.EDITED: "edited by hand",
    Flag.CUT: "a part was left out",
    Flag.NO_ANSWER: "no answer given",
    Flag.UNSEEN: "pictures not shown, words read",
    Flag.DROPPED: "more pictures than may stay",
    Flag.UNSURE: "not sure of these words",
    Flag.LOOKED_UP: "looked up in the whole document",
}


def describe_flags(flags: Iterable[str]) -> list[str]:
    """Return flags in words; one of another version of the program as it is."""
    return [FLAG_WORDS.get(one, one) for one in flags]


def describe_version_flags(version: Mapping[str, Any]) -> list[str]:
    """Return the flags of a version of a memory in words; who wrote it by hand, its kind and source say."""
    return describe_flags(() if version["kind"] == "edit" else version["flags"])
