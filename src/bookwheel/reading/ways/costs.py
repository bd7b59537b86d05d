"""The calls that each way of reading takes, at least and at most, before anything of the document is known.

At most means that every gate lets every chunk through, every list of changes is refused and the memory rewritten, and
no exit is taken; at least is the opposite. A part of a way adds its own calls, so sums of parts need no table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bookwheel.plan import Layout, Rank, Scorer
from bookwheel.reading.calibration import find_known_gate
from bookwheel.reading.estimate import CallCost, DocumentSize, add_slack, count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.prompts import Prompts
    from bookwheel.types import Message

_PARTS: Final = frozenset(
    {"edits", "heads", "gated", "cascade", "parallel", "ranked", "early-exit", "look-back", "planned"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostInputs:
    """What the costs of all ways are made of."""

    size: DocumentSize
    question: str
    model: Model
    plan: Plan
    prompts: Prompts
    more_words: int = 0
    """Tokens beside the question in every prompt."""

    def count_turn(self, name: str) -> int:
        """Return the tokens of a part's prompt with the question alone."""
        return self._count(self.prompts.turn(name, question=""))

    def count_baseline(self, name: str) -> int:
        """Return the tokens of another way's prompt with the question alone."""
        return self._count(self.prompts.baseline(name, question=""))

    def count_update(self) -> int:
        """Return the tokens of the loop's update, as parts of ways lay it out, with the question alone."""
        has_layout = Layout.SECTION_FIRST in self.prompts.updates
        return self._count(self.prompts.empty(Layout.SECTION_FIRST if has_layout else self.plan.layout)[0])

    def count_answer(self) -> int:
        """Return the tokens of the answer's prompt with the question alone."""
        return self._count(self.prompts.empty(self.plan.layout)[1])

    def _count(self, turn: Sequence[Message]) -> int:
        return count_words(turn, self.question, self.model, self.prompts) + self.more_words


def list_calls(
    way: str, size: DocumentSize, question: str, model: Model, plan: Plan, prompts: Prompts
) -> list[CallCost] | None:
    """Return the calls of a way; None for one that is not ours."""
    given = CostInputs(size=size, question=question, model=model, plan=plan, prompts=prompts)
    parts = frozenset(way.split("+"))
    if parts <= _PARTS:
        more = plan.question_tokens if "planned" in parts else 0
        return add_slack(_list_composed_calls(parts, given), model, prompts, more)
    count = _OTHERS.get(way)
    return add_slack(count(given), model, prompts) if count else None


def _list_composed_calls(parts: frozenset[str], given: CostInputs) -> list[CallCost]:
    """Add up what each part takes."""
    from bookwheel.reading.ways import early_exit, look_back, parallel, planned

    calls, chunks, plan = [], given.size.chunks, given.plan
    if "planned" in parts:
        calls.append(CallCost(least=1, most=1, words=given.count_turn("plan"), reply=planned.reply_limit(plan)))
        # The smaller questions stand beside the question, as far as its budget goes.
        given = replace(given, more_words=max(0, plan.question_tokens - given.model.tokenizer.count(given.question)))
    merges = max(0, parallel.count_segments(chunks) - 1) if "parallel" in parts else 0
    most = chunks + merges  # a segment's last chunk can be short
    can_exit = bool(parts & {"ranked", "early-exit"}) and not early_exit.asks_for_all(given.question)
    first = min(1, chunks) if can_exit else chunks
    is_gated = bool(parts & {"gated", "cascade"})
    if is_gated:
        calls.append(_count_gate(given, parts, first, most))
    calls += _count_writer(given, parts, 0 if is_gated else first, most, text=given.size.tokens)
    if "ranked" in parts and can_exit and plan.rank is Rank.EMBEDDINGS:
        calls.append(_count_embeddings(given))
    if can_exit and chunks > 1:
        calls += _count_exit(given, chunks)
    if "look-back" in parts:
        again = min(chunks, look_back.count_room(chunks))
        calls += _count_writer(given, parts, 0, again, text=again * plan.chunk_tokens)
    calls += _count_writer(given, parts, 0, merges, text=merges * plan.memory_tokens) if merges else []
    return [*calls, _count_answer(given)]


def _count_answer(given: CostInputs) -> CallCost:
    plan = given.plan
    return CallCost(least=1, most=1, words=given.count_answer(), reply=plan.answer_tokens, memory=plan.memory_tokens)


def _count_gate(given: CostInputs, parts: frozenset[str], least: int, most: int) -> CallCost:
    """Return the judgements of chunks. The judge of a cascade is counted as the model itself would be."""
    gate = find_known_gate(given.model, given.plan) if "gated" in parts else None
    text, least_text = given.size.tokens, _share(given, least)
    if gate and gate.scorer is Scorer.LIKELIHOOD:
        # The question's tokens are scored as a reply, and once without any section.
        words, reply = given.count_turn("about"), given.model.tokenizer.count(given.question) + 1
        return CallCost(least=least + 1, most=most + 1, words=words, reply=reply, least_text=least_text, most_text=text)
    words, memory = given.count_turn("judge"), given.plan.memory_tokens
    return CallCost(least=least, most=most, words=words, reply=1, memory=memory, least_text=least_text, most_text=text)


def _count_writer(given: CostInputs, parts: frozenset[str], least: int, most: int, *, text: int) -> list[CallCost]:
    """Return the calls that write memories: short ones where a part can, and rewriting when those come to nothing."""
    memory, least_text = given.plan.memory_tokens, _share(given, least)
    rewrite = CallCost(
        least=least,
        most=most,
        words=given.count_update(),
        reply=memory,
        memory=memory,
        least_text=least_text,
        most_text=text,
    )
    if "edits" in parts:
        # Numbers before its lines make a memory longer, by half at most.
        short = replace(rewrite, words=given.count_turn("edits"), reply=memory // 2, memory=memory + memory // 2)
    elif "heads" in parts:
        from bookwheel.reading.ways.heads import reply_limit

        short = replace(rewrite, words=given.count_turn("heads"), reply=reply_limit(memory))
    else:
        return [rewrite]
    return [short, replace(rewrite, least=0, least_text=0)]


def _count_exit(given: CostInputs, chunks: int) -> list[CallCost]:
    """Return the judgements of the memory, and the answers that were not borne out."""
    memory = given.plan.memory_tokens
    judged = CallCost(least=1, most=chunks - 1, words=given.count_turn("suffices"), reply=1, memory=memory)
    return [judged, replace(_count_answer(given), least=0, most=chunks - 1)]


def _count_embeddings(given: CostInputs) -> CallCost:
    """Return the calls that embed the question and every passage."""
    from bookwheel.reading.ways.nearest import find_passage_tokens

    # A passage can be half as long as it may be: it ends with a sentence. Its tokens are estimates, on the high side.
    most = 3 + 4 * given.size.tokens // find_passage_tokens(given.plan)
    text = given.size.tokens + given.model.tokenizer.count(given.question)
    # Another tokenizer counts these.
    return CallCost(least=2, most=most, words=0, reply=0, least_text=given.size.tokens // 2, most_text=2 * text)


def _share(given: CostInputs, chunks: int) -> int:
    """Return the tokens of so many chunks."""
    return given.size.tokens * chunks // max(1, given.size.chunks)


def _count_quotes(given: CostInputs) -> list[CallCost]:
    """Return a likelihood for each chunk, those of its windows where it is a good one, and the answer's."""
    from bookwheel.reading.ways.quotes import WINDOWS, asks_judgements
    from bookwheel.reading.ways.second_passage import JUDGED, MEASURED
    from bookwheel.reading.ways.windows import SENTENCES

    size, plan = given.size, given.plan
    # The first passage can be enough.
    least = 1 if plan.enough_gain else size.chunks
    score = CallCost(
        least=least,
        most=size.chunks,
        words=given.count_turn("about"),
        reply=given.model.tokenizer.count(given.question) + 1,
        least_text=_share(given, least),
        most_text=size.tokens,
    )
    most = size.chunks * WINDOWS
    windows = replace(score, least=0, most=most, least_text=0, most_text=most * (plan.memory_tokens // 2))
    # Without each sentence of the best window in turn, and once without any text.
    choice = replace(windows, least=1, most=SENTENCES + 1, most_text=(SENTENCES + 1) * (plan.memory_tokens // 2))
    calls = [score, windows, choice, _count_answer(given)]
    if asks_judgements(plan, given.prompts):
        # Of each window that comes into the memory.
        judged = replace(windows, words=given.count_turn("answers"), reply=1)
        # Of a second passage together with the best one, and of both without each sentence of the second.
        both = MEASURED + SENTENCES + 1
        pairs = replace(windows, most=both, most_text=both * plan.memory_tokens)
        calls += [judged, pairs, replace(judged, most=JUDGED, most_text=JUDGED * plan.memory_tokens)]
    return calls


def _count_refine(given: CostInputs) -> list[CallCost]:
    from bookwheel.reading.ways.refine import find_first_template

    size, memory = given.size, given.plan.memory_tokens
    words = max(given.count_baseline(name) for name in ("refine", find_first_template(given.prompts), "whole"))
    most = max(1, size.chunks)
    text = size.tokens
    return [CallCost(least=most, most=most, words=words, reply=memory, memory=memory, least_text=text, most_text=text)]


def _count_map_reduce(given: CostInputs) -> list[CallCost]:
    """Return a call for each chunk, those that shorten notes together, and the answer from all of them."""
    size, plan = given.size, given.plan
    notes = CallCost(
        least=size.chunks,
        most=size.chunks,
        words=given.count_baseline("map"),
        reply=plan.memory_tokens,
        least_text=size.tokens,
        most_text=size.tokens,
    )
    # Each call that shortens notes makes one of two at least, so all together read each note twice at most.
    room = size.chunks * plan.memory_tokens
    shorten = CallCost(
        least=0,
        most=max(0, size.chunks - 1),
        words=given.count_baseline("collapse"),
        reply=plan.memory_tokens,
        most_text=2 * room,
    )
    answer = CallCost(least=1, most=1, words=given.count_baseline("combine"), reply=plan.answer_tokens, most_text=room)
    return [notes, shorten, answer]


def _count_one_call(template: str) -> Callable[[CostInputs], list[CallCost]]:
    """Return a function that counts the one call of a way whose prompt holds what fits of the document."""

    def count(given: CostInputs) -> list[CallCost]:
        from bookwheel.reading.ways.single_turn import text_budget

        reply, least, most = given.plan.answer_tokens, 0, 0
        if template != _CLOSED_BOOK:
            most = min(given.size.tokens, text_budget(given.question, given.model, given.plan, template, reply))
            # What is chosen of a longer document ends where a passage does.
            least = most if most == given.size.tokens else most // 2
        words = given.count_baseline(template)
        return [CallCost(least=1, most=1, words=words, reply=reply, least_text=least, most_text=most)]

    return count


def _count_retrieval(given: CostInputs) -> list[CallCost]:
    """Return the calls that embed question and passages, and the one that answers; each piece is in two passages."""
    from bookwheel.models.embeddings import BATCH
    from bookwheel.reading.ways.dense import find_piece_tokens

    tokens = given.size.tokens
    # A piece ends with a sentence where one ends in its second half.
    most = 1 + 2 * -(-tokens // find_piece_tokens(given.question, given.model, given.plan))
    asked = given.model.tokenizer.count(given.question)
    # A model with embeddings of its own may take all passages at once.
    embedding = CallCost(
        least=2, most=1 + -(-most // BATCH), words=asked, reply=0, least_text=tokens // 2, most_text=2 * tokens
    )
    return [embedding, *_count_one_call("passages")(given)]


_CLOSED_BOOK: Final = "closed-book"
_OTHERS: Final[Mapping[str, Callable[[CostInputs], list[CallCost]]]] = MappingProxyType(
    {
        "quotes": _count_quotes,
        "refine": _count_refine,
        "map-reduce": _count_map_reduce,
        "middle-cut": _count_one_call("whole"),
        "bm25": _count_one_call("passages"),
        "dense": _count_retrieval,
        "hybrid": _count_retrieval,
        "closed-book": _count_one_call(_CLOSED_BOOK),
    }
)
