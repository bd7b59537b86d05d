"""The words for verdicts, the same in the terminal, on pages of HTML, over MCP and for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bookwheel.types import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.types import Claim, Reading

VERDICT_WORDS: Final[Mapping[Verdict, str]] = {
    Verdict.FOUND: "found in the document",
    Verdict.PARTLY: "found in part",
    Verdict.BY_HAND: "written by hand",
    Verdict.NOT_FOUND: "not found in the document",
    Verdict.ABSENT: "not in the document, the model says",
}


def describe_claim(claim: Claim) -> str:
    """Return the verdict on one sentence of an answer in words, with what is missing."""
    words = VERDICT_WORDS[claim.verdict]
    if claim.step is not None:
        words += f" at step {claim.step}"
    missing = ", ".join(claim.missing)
    return f"{words}; nowhere in it: {missing}" if missing and claim.verdict is not Verdict.BY_HAND else words


def describe_share(reading: Reading) -> str:
    """Return in words how much of the document was read, where the memory was enough before the end."""
    share = max(reading.share_read, 0.01)
    return f"read {share:.0%} of the document, the likeliest parts first, until the memory was enough"
