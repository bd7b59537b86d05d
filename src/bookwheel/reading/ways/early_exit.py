"""Early exit: stop reading when the memory is enough.

After a step that changed the memory, one token says whether the memory answers the question. If it does, the answer is
asked for, and stands only when its numbers and names are borne out by the chunks that were read. The rest of the
document is then one step with the flag `unread`. Otherwise reading goes on.

A question about the whole document ("how many", "list all") never stops early: no part of a document can show that
nothing more follows.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.models.base import Ability, require_ability
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.loop import answer
from bookwheel.reading.ways.compose import ComposedWay, Decision, Exit, ReadingContext
from bookwheel.reading.ways.judging import judge_memory
from bookwheel.text.remarks import is_absence
from bookwheel.types import Flag, Part, Verdict
from bookwheel.verdict.judge import judge_answer
from bookwheel.verdict.statements import parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.types import Answer, Claim, Document, Memory, Step

# To stop one chunk too late costs a chunk, to stop too early costs the answer.
_SURE: Final = 0.8
_BORNE_OUT: Final = frozenset({Verdict.FOUND, Verdict.PARTLY})
_NOT_READ: Final = frozenset({Flag.UNREAD, Flag.SKIPPED})
_ASKS_FOR_ALL: Final = re.compile(
    r"\b(?:all|every|each|both|list|enumerate|count|how (?:many|much|often|frequently)|number of|total|overall|most|"
    r"least|longest|first|last|latest|final(?:ly)?|summar\w+|throughout|never|any(?:one|thing)? else|which .* are)\b|"
    r"所有|全部|每[个一]|列出|多少|几[次个处人]|总[共计]|最|概括|总结|分别|哪些",
    re.IGNORECASE,
)


def asks_for_all(question: str) -> bool:
    """Return whether only the whole document can answer the question.

    >>> asks_for_all("How many barrels were counted?"), asks_for_all("Who wound the clock?")
    (True, False)
    """
    return _ASKS_FOR_ALL.search(question) is not None


async def leave_early(context: ReadingContext, memory: Memory, steps: Sequence[Step]) -> Decision | None:
    """Return whether the memory suffices, with its answer; None where there is nothing new to judge."""
    if not steps or steps[-1].after.text == steps[-1].before.text or asks_for_all(context.question):
        return None
    model = await require_ability(context.model, Ability.JUDGE, way="early-exit")
    verdict = await judge_memory(model, context.prompts, context.question, memory)
    if verdict.score < _SURE:
        return verdict
    final = await answer(context.question, memory, context.model, context.plan, context.prompts)
    if await asyncio.to_thread(is_borne_out, final, steps, context):
        return replace(verdict, answer=final)
    return replace(verdict, usage=verdict.usage + final.conversation.reply.usage)


def is_borne_out(final: Answer, steps: Sequence[Step], context: ReadingContext) -> bool:
    """Return whether the chunks that were read bear the answer out."""
    # Words of absence anywhere: only the whole document can show that something is not there.
    if Flag.NO_ANSWER in final.flags or is_absence(final.text.casefold()):
        return False
    _, claims = judge_answer(final.text, context.question, steps, _ReadText(context.document, steps))
    return bool(claims) and all(map(_has_its_words, claims))


class _ReadText:
    """The chunks of a document that were read, in its order; no other text may bear an answer out."""

    def __init__(self, document: Document, steps: Sequence[Step]) -> None:
        self._document = document
        spans = {(step.chunk.start, step.chunk.end) for step in steps if not _NOT_READ & set(step.flags)}
        self._spans = sorted(span for span in spans if span[0] < span[1])

    def parts(self) -> Iterator[Part]:
        """Yield each chunk, with a break where text between two of them was not read."""
        position = 0
        for start, end in self._spans:
            gap = "" if start == position else "\n\n"
            yield Part(text=gap + self._document.slice(start, end), source=self._document.name)
            position = end


def _has_its_words(claim: Claim) -> bool:
    """Return whether the names and numbers of a sentence were read; one without any must be said by the document.

    An answer that follows from two places is not found in one, so the verdict alone would never let it stand.
    """
    if claim.verdict in _BORNE_OUT or claim.missing:
        return not claim.missing
    return claim.verdict is Verdict.NOT_FOUND and bool(parse_statement(claim.text).exact_keys)


def _list_calls(given: CostInputs) -> list[CallCost]:
    """Return the judgements of the memory, and the answers that were not borne out."""
    most = given.size.chunks - 1
    if most < 1 or asks_for_all(given.question):
        return []
    words, memory = given.count_turn("suffices"), given.plan.memory_tokens
    judging = CallCost(least=1, most=most, words=words, reply=1, memory=memory)
    return [judging, replace(given.answering(), least=0, most=most)]


EXIT: Final = Exit(leave=leave_early, list_calls=_list_calls)
EARLY_EXIT = ComposedWay(name="early-exit", exit=EXIT, turns=("suffices",), needs=frozenset({Ability.JUDGE}))
