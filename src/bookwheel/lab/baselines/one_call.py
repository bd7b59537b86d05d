"""Baselines that answer in one call: from nothing, from both ends of the document, or from passages that are searched.

    closed-book   the question alone: whatever a model scores this way, it did not read in the document
    middle-cut    beginning and end in the window, the middle left out. Much published work cuts long inputs like this
                  without saying so; here it is named, marked in the prompt and flagged
    bm25          the passages that share the rarest words with the question
    dense         cos(embedding(question), embedding(passage))
    hybrid        1 / (60 + rank by embeddings) + 1 / (60 + rank by BM25), the sum of both (reciprocal rank fusion)

Passages are taken best first, until the window is full, and shown in the document's order. Those of bm25 end at
sentences, so that none shows what is asked and not what is said of it. For embeddings a passage is two neighbouring
pieces of 80 tokens, and each piece is in two passages, so that no sentence is cut in all of them. Their similarities
are the first step of the reading: they are paid for once.
"""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

from bookwheel.flags import Flag
from bookwheel.models.base import Model, ModelWrapper
from bookwheel.models.embeddings import BATCH as TEXTS_OF_REQUEST
from bookwheel.patterns import compile_late
from bookwheel.plan import Plan
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.loop import check_question
from bookwheel.reading.ways.ranked import BATCH, build_ranking_step, compare_vectors, find_ranking
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.reading.ways.whole import ask_once, load_if_fits, text_budget
from bookwheel.text.chunks import split
from bookwheel.text.ranking import score_texts
from bookwheel.text.sanitize import escape_markup
from bookwheel.text.sentences import split_sentences
from bookwheel.types import Answer, Chunk, Document, Step

PASSAGE_TOKENS: Final = 160
_GAP: Final = "\n[…]\n"
# Only so much of the end is tokenized; no real text has more characters a token.
_CHARACTERS_PER_TOKEN: Final = 16
# The constant of reciprocal rank fusion as it was published; it keeps one list's first place from deciding alone.
_FUSION: Final = 60
_LEAST_PIECE: Final = 4
_ENDS: Final = compile_late(r"(?:[.!?…][\"'”’)\]]*|[。！？；][”’」』）]*|\n)\s*\Z")


async def closed_book(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    del document, done
    check_question(question, model, plan)
    yield await ask_once(question, "", model, plan, "closed-book")


async def middle_cut(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from as much of beginning and end as fits; flagged CUT unless that is all of it."""
    del done
    limit = text_budget(question, model, plan, "whole", plan.answer_tokens)
    text = load_if_fits(document, model, limit)
    if text is not None:
        yield await ask_once(question, text, model, plan, "whole")
        return
    half = max(1, (limit - model.tokenizer.count(_GAP)) // 2)
    text = next(split(document, model.tokenizer, half)).text + _GAP + _take_end(document, model, half)
    answer = await ask_once(question, text, model, plan, "whole")
    yield replace(answer, flags=(*answer.flags, Flag.CUT))


def _take_end(document: Document, model: Model, limit: int) -> str:
    """Return the longest end of the document within the limit, starting at a word."""
    reach, held, pieces = limit * _CHARACTERS_PER_TOKEN, 0, []
    for part in document.parts():
        pieces.append(part.text)
        held += len(part.text)
        if held > 4 * reach:
            pieces = ["".join(pieces)[-reach:]]
            held = reach
    text = "".join(pieces)[-reach:]
    start = bisect_left(range(len(text)), -limit, key=lambda place: -model.tokenizer.count(escape_markup(text[place:])))
    while 0 < start < len(text) and not (text[start - 1].isspace() or text[start].isspace()):
        start += 1
    return text[start:]


async def bm25(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from the passages that share the rarest words with the question."""
    del done
    limit = text_budget(question, model, plan, "passages", plan.answer_tokens)

    def select() -> str:
        passages = list(_split_passages(document, model, max(8, min(PASSAGE_TOKENS, limit // 4))))
        scores = score_texts([passage.text for passage in passages], question)
        order = sorted(range(len(passages)), key=lambda place: -scores[place])
        return _take_best(order, passages, model, limit, width=1)

    yield await ask_once(question, await asyncio.to_thread(select), model, plan, "passages")


def _split_passages(document: Document, model: Model, limit: int) -> Iterator[Chunk]:
    """Yield passages of about so many tokens; what a sentence's end in the second half leaves over begins the next."""
    rest = ""
    for chunk in split(document, model.tokenizer, limit):
        text = rest + chunk.text
        end = split_sentences(text, len(text))[-1][0] if not _ENDS.search(text) else len(text)
        end = end if 2 * end >= len(text) else len(text)
        yield _cut_passage(text[:end], chunk.end - len(text), model)
        rest = text[end:]
    if rest:
        yield _cut_passage(rest, chunk.end - len(rest), model)


def _cut_passage(text: str, start: int, model: Model) -> Chunk:
    tokens = model.tokenizer.count(escape_markup(text))
    return Chunk(index=0, start=start, end=start + len(text), text=text, tokens=tokens)


async def dense(
    document: Document,
    question: str,
    model: Model,
    plan: Plan,
    done: Sequence[Step] = (),
    *,
    is_hybrid: bool = False,
) -> AsyncGenerator[Step | Answer]:
    """Answer from the passages that are nearest to the question, by embeddings or by these and BM25 together."""
    limit = text_budget(question, model, plan, "passages", plan.answer_tokens)
    size = _find_piece_tokens(question, model, plan)
    pieces = await asyncio.to_thread(lambda: list(split(document, model.tokenizer, size)))
    passages = join_neighbours(pieces)
    ranking = find_ranking(done)
    if ranking is None or len(ranking) != len(passages):
        step = await _measure(question, passages, model, plan)
        yield step
        ranking = step.ranking
    order = sorted(range(len(passages)), key=lambda place: -ranking[place])
    if is_hybrid:
        matches = await asyncio.to_thread(score_texts, passages, question)
        # A passage without a word of the question has no place among those that have some.
        by_words = sorted((place for place in order if matches[place] > 0), key=lambda place: -matches[place])
        order = fuse_ranks([order, by_words])
    yield await ask_once(question, _take_best(order, pieces, model, limit, width=2), model, plan, "passages")


def _find_piece_tokens(question: str, model: Model, plan: Plan) -> int:
    """Return the tokens of a piece: half a passage, of which four at least fit the window."""
    limit = text_budget(question, model, plan, "passages", plan.answer_tokens)
    return max(_LEAST_PIECE, min(PASSAGE_TOKENS, limit // 4) // 2)


def join_neighbours(pieces: Sequence[Chunk]) -> list[str]:
    """Return the text of each piece with the one after it; a single piece is a passage by itself."""
    if len(pieces) == 1:
        return [pieces[0].text]
    return [one.text + other.text for one, other in pairwise(pieces)]


async def _measure(question: str, passages: Sequence[str], model: Model, plan: Plan) -> Step:
    """Return the step that holds the similarity of each passage to the question."""
    embedder = ModelWrapper(model)
    asked = await embedder.embed([question.strip()])
    usage, scores = asked.usage, list[float]()
    for start in range(0, len(passages), BATCH):
        found = await embedder.embed(passages[start : start + BATCH])
        usage += found.usage
        scores += compare_vectors(asked.vectors[0], found.vectors)
    return build_ranking_step(scores, usage, plan.memory_tokens)


def fuse_ranks(orders: Sequence[Sequence[int]]) -> list[int]:
    """Return the first order's places by the sum of 1 / (60 + rank) over all orders; others may name some of them."""
    scores = dict.fromkeys(orders[0], 0.0)
    for order in orders:
        for rank, place in enumerate(order, start=1):
            scores[place] += 1 / (_FUSION + rank)
    return sorted(scores, key=lambda place: -scores[place])


def _take_best(order: Iterable[int], pieces: Sequence[Chunk], model: Model, limit: int, *, width: int) -> str:
    """Return the text of the best passages of `width` pieces within the limit; pieces that two share count once."""
    taken: dict[int, Chunk] = {}
    tokens = 0
    for place in order:
        fresh = [at for at in range(place, min(place + width, len(pieces))) if at not in taken]
        tokens += sum(pieces[at].tokens for at in fresh)
        if tokens > limit:
            break
        taken |= {at: pieces[at] for at in fresh}
    chosen = list(taken.values())
    while chosen and model.tokenizer.count(escape_markup(_join(chosen))) > limit:
        chosen.pop()
    return _join(chosen)


def _join(chunks: Iterable[Chunk]) -> str:
    """Join chunks in the document's order, with a mark where text between two of them is left out."""
    text, position = "", None
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        text += chunk.text if position in {None, chunk.start} else _GAP + chunk.text
        position = chunk.end
    return text


def _count_one_call(template: str, *, has_text: bool = True) -> Callable[[CostInputs], list[CallCost]]:
    """Return a function that lists the one call of a way whose prompt holds what fits of the document."""

    def list_calls(given: CostInputs) -> list[CallCost]:
        reply, text = given.plan.answer_tokens, 0
        if has_text:
            text = min(given.size.tokens, text_budget(given.question, given.model, given.plan, template, reply))
        return [CallCost(least=1, most=1, words=given.count_turn(template), reply=reply, text=text)]

    return list_calls


def _list_embedding_calls(given: CostInputs) -> list[CallCost]:
    """Return the calls that embed question and passages, and the one that answers; each piece is in two passages."""
    tokens = given.size.tokens
    # A piece ends with a sentence where one ends in its second half.
    most = 1 + 2 * -(-tokens // _find_piece_tokens(given.question, given.model, given.plan))
    # A model with embeddings of its own may take all passages at once.
    embedding = CallCost(
        least=2,
        most=1 + -(-most // TEXTS_OF_REQUEST),
        words=given.question_tokens,
        reply=0,
        text=2 * tokens,
    )
    return [embedding, *_count_one_call("passages")(given)]


# Only the question is checked: no chunks are cut by the plan, so their size need not fit the window.
CLOSED_BOOK = WaySpec(run=closed_book, list_calls=_count_one_call("closed-book", has_text=False), check=check_question)
MIDDLE_CUT = WaySpec(run=middle_cut, list_calls=_count_one_call("whole"), check=check_question)
BM25 = WaySpec(run=bm25, list_calls=_count_one_call("passages"), check=check_question)
DENSE = WaySpec(run=dense, embeds=lambda _plan: True, list_calls=_list_embedding_calls, check=check_question)
HYBRID = replace(DENSE, run=partial(dense, is_hybrid=True))
