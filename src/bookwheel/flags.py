"""What can be said of a step or an answer: a fact about the reply, and which of them mean a gap."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Flag(StrEnum):
    """A fact about the reply of a step or an answer."""

    TRUNCATED = "truncated"
    """The reply ran into its token limit."""
    TRIMMED = "trimmed"
    """The memory was over its limit and was cut at a line boundary."""
    CLEANED = "cleaned"
    """Special tokens, prompt tags or a reasoning block were taken out of the reply."""
    UNCHANGED = "unchanged"
    """The model said that its notes stay as they are."""
    KEPT_EMPTY = "kept-empty"
    """The reply was empty; the previous memory was kept."""
    KEPT_REFUSAL = "kept-refusal"
    """The reply was a refusal; the previous memory was kept."""
    KEPT_COMMENT = "kept-comment"
    """The reply only remarked that there was nothing new; the previous memory was kept."""
    ADDED = "added"
    """The reply spoke of the memory or section and told something new: lines said anew were replaced, others added."""
    UNFOUNDED = "unfounded"
    """Lines that stand neither in the section nor in the notes were dropped; if none was left, the memory was kept."""
    FILTERED = "filtered"
    """The server's content filter ended the reply; the previous memory was kept."""
    EDITED = "edited"
    """The memory after this step was changed by hand."""
    CUT = "cut"
    """Part of the document was left out to fit the window; only the way `middle-cut` does this."""
    SKIPPED = "skipped"
    """A judgement said that the section does not matter, so it was not read into the memory; the step has its score."""
    UNREAD = "unread"
    """The section was not read at all: the memory was enough before it."""
    REFUSED = "refused-edits"
    """Some of the changes that the reply asked for could not be made; the others were."""
    REWRITTEN = "rewritten"
    """The reply could not be used as changes to the memory, so a second one wrote the memory anew."""
    GAVE_UP = "gave-up"
    """The memory was full, so the lines that serve the question least, as the model named them, were given up."""
    REREAD = "reread"
    """The section was read again after the end, because it was not taken in the first time."""
    JOINED = "joined"
    """A passage of the section answers together with the best one; the section may have been read before."""
    CARRIED = "carried"
    """The last step of an earlier reading of the document, whose memory this reading begins with."""
    UNSEEN = "unseen-pictures"
    """Pictures were not shown to a model that can see: the server refused them, or they are gone. It read words."""
    DROPPED = "dropped-pictures"
    """The reply pointed at more pictures than may stay; the marks of those beyond were taken off."""
    UNSURE = "unsure"
    """Of an answer: the model that copied it, or found no words to copy, is not sure that it answers."""
    LOOKED_UP = "looked-up"
    """Of an answer: told by the structure of the whole document, its tables or its code, and not by the memory."""
    NO_ANSWER = "no-answer"
    """The answer turn gave no text, or a refusal."""


NOT_TAKEN_IN: Final = frozenset({Flag.KEPT_EMPTY, Flag.KEPT_REFUSAL, Flag.FILTERED})
"""The flags of a step whose section the memory knows nothing of."""
OVERFULL: Final = frozenset({Flag.TRIMMED, Flag.TRUNCATED, Flag.GAVE_UP})
"""The flags of a step after which the memory was full: some of what it said was cut off, or given up."""
GAPS: Final = NOT_TAKEN_IN | OVERFULL
"""All flags of a step whose section the memory does not have whole."""
