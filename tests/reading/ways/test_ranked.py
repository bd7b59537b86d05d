"""Ranking by embeddings: an order that is kept in the journal, paid for once, and joined with what the memory names."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from zlib import crc32

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import BudgetReached, InputError, MissingAbility
from bookwheel.flags import Flag
from bookwheel.models.base import Embeddings
from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_likelihood, keyword_reader
from bookwheel.plan import Budget, Plan, Rank
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.ways import document_index
from bookwheel.reading.ways.ranked import find_ranking
from bookwheel.reading.ways.registry import check_abilities, estimate_cost, load_way
from bookwheel.types import Answer, Usage

PLAN = Plan(
    question_tokens=60, chunk_tokens=100, memory_tokens=60, answer_tokens=60, language="en", rank=Rank.EMBEDDINGS
)
# The passage that answers shares no word with the question but those that every page has.
SAME = {"vermilion": "colour", "painted": "colour", "hue": "colour"}
TEXT = "".join(
    f"Page {n} of the book of the wheel tells of harvests and rain.\n"
    + ("It is painted vermilion and its hue is vermilion.\n" if n == 60 else "")
    for n in range(110)
)
QUESTION = "What is the colour of the wheel?"


class Embedding(ScriptedModel):
    """A model whose embeddings know a few words that mean the same."""

    def __init__(self, **settings) -> None:
        super().__init__(keyword_reader, judge=keyword_judge, window=900, **settings)
        self.embedded: list[str] = []

    async def embed(self, texts) -> Embeddings:
        self.embedded += texts
        usage = Usage(calls=1, prompt_tokens=sum(map(self.tokenizer.count, texts)))
        return Embeddings(vectors=tuple(map(vector_of, texts)), usage=usage)


def vector_of(text: str) -> tuple[float, ...]:
    words = Counter(SAME.get(word, word) for word in re.findall("[a-z]+", text.lower()))
    values = [0.01] * 64
    for word, count in words.items():
        values[crc32(word.encode()) % 64] += count
    length = sum(value * value for value in values) ** 0.5
    return tuple(value / length for value in values)


def read(way="ranked+edits", model=None, plan=PLAN, done=(), text=TEXT, question=QUESTION):
    async def gather():
        return [event async for event in load_way(way)(TextDocument(text), question, model or Embedding(), plan, done)]

    return asyncio.run(gather())


def test_the_nearest_chunk_is_read_first_though_it_shares_no_rare_word():
    _, first, *_ = read()
    assert "vermilion" in TEXT[first.chunk.start : first.chunk.end]
    first, *_ = read(plan=replace(PLAN, rank=Rank.WORDS))
    assert "vermilion" not in TEXT[first.chunk.start : first.chunk.end]


def test_the_order_is_the_first_step_and_a_resumed_reading_pays_for_it_once():
    model = Embedding()
    *steps, answer = read(model=model)
    assert isinstance(answer, Answer)
    assert (steps[0].chunk.start, steps[0].chunk.end) == (0, 0)
    scores = find_ranking(steps)
    assert scores
    assert max(scores) <= 1
    assert steps[0].conversation.reply.usage.calls >= 2
    again = Embedding()
    *rest, _ = read(model=again, done=steps[:2])
    assert again.embedded == []
    assert [step.chunk for step in rest] == [step.chunk for step in steps[2:]]


def test_an_order_of_other_chunks_is_not_followed_and_all_are_read_once():
    older = read(plan=replace(PLAN, chunk_tokens=250))[:2]
    model = Embedding()
    *rest, answer = read(model=model, done=older)
    assert isinstance(answer, Answer)
    assert model.embedded == []
    spans = sorted((step.chunk.start, step.chunk.end) for step in (*older, *rest) if step.chunk.end)
    assert "".join(TEXT[start:end] for start, end in spans) == TEXT


def test_every_passage_is_embedded_whole_and_once():
    model = Embedding()
    read(model=model)
    question, *passages = model.embedded
    assert question == QUESTION
    assert "".join(passages) == TEXT


def test_the_spans_cover_the_document_once():
    *steps, _ = read(question="What is the price of oats?")
    spans = sorted((step.chunk.start, step.chunk.end) for step in steps if step.chunk.end > step.chunk.start)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(TEXT)
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert [step.chunk.index for step in steps] == list(range(len(steps)))


def test_a_question_about_the_whole_document_is_read_in_order_and_embeds_nothing():
    model = Embedding()
    *steps, _ = read(model=model, question="How many wheels are there?")
    assert model.embedded == []
    assert [step.chunk.start for step in steps] == sorted(step.chunk.start for step in steps)


@pytest.mark.parametrize("way", ["ranked+gated+edits", "planned+ranked+edits", "ranked+edits+look-back"])
def test_it_goes_together_with_the_other_parts(way):
    text = TEXT.replace("It is painted", "The colour of the wheel is painted")
    *steps, answer = read(way, plan=PLAN.with_values({"gate": {"threshold": 0.5}}), text=text)
    assert "vermilion" in answer.text
    assert any(Flag.UNREAD in step.flags for step in steps)


def test_a_budget_holds_for_embeddings_too():
    model = BudgetedModel(Embedding(), Budget(tokens=300))
    with pytest.raises(BudgetReached):
        read(model=model)
    assert model.spent.tokens <= 300


def test_a_model_without_embeddings_is_refused_before_anything_is_kept(monkeypatch):
    monkeypatch.delenv("BOOKWHEEL_EMBEDDINGS", raising=False)
    model = ScriptedModel(keyword_reader, judge=keyword_judge)
    with pytest.raises(MissingAbility, match="BOOKWHEEL_EMBEDDINGS"):
        asyncio.run(check_abilities("ranked+edits", model, PLAN))
    asyncio.run(check_abilities("ranked+edits", Embedding(), PLAN))
    with pytest.raises(InputError, match="ranked"):
        asyncio.run(check_abilities("edits", Embedding(), PLAN))


def test_the_estimate_counts_embeddings():
    model = Embedding()
    cost = estimate_cost(TextDocument(TEXT), QUESTION, model, PLAN, "ranked+edits")
    spent = sum((event.conversation.reply.usage for event in read(model=model)), Usage())
    assert cost.least_calls <= spent.calls <= cost.calls
    assert spent.prompt_tokens <= cost.prompt_tokens


HEADED = "".join(f"## Page {n}\n\nThe wheel of page {n} was green. {'It turned. ' * 8}\n\n" for n in range(60))


@pytest.mark.parametrize("way", ["ranked+edits", "quotes", "parallel+edits"])
@pytest.mark.parametrize("steps", [3, 9])
def test_a_reading_that_another_tokenizer_cut_otherwise_goes_on_and_reads_all_once(way, steps, monkeypatch):
    plan = replace(PLAN, rank=Rank.WORDS, chunk_tokens=80)
    model = partial(ScriptedModel, keyword_reader, judge=keyword_judge, likelihood=keyword_likelihood, window=900)
    document_index._SLOTS.clear()
    with monkeypatch.context() as patch:
        patch.setattr("bookwheel.text.chunks._HeadingEnds.is_behind", lambda *_: False)
        before = [one for one in read(way, model(), plan, text=HEADED) if not isinstance(one, Answer)]
    document_index._SLOTS.clear()  # as in another process
    after = [one for one in read(way, model(), plan, before[:steps], HEADED) if not isinstance(one, Answer)]
    spans = sorted({(step.chunk.start, step.chunk.end) for step in (*before[:steps], *after)})
    spans = [span for span in spans if span[0] < span[1]]
    assert spans[0][0] == 0
    assert spans[-1][1] == len(HEADED)
    assert all(one[1] == two[0] for one, two in pairwise(spans))
    whole = [one.chunk for one in read(way, model(), plan, text=HEADED) if not isinstance(one, Answer)]
    assert [chunk.end for chunk in whole] != [step.chunk.end for step in before]  # they are cut otherwise
