"""Retrieval by embeddings, alone and together with BM25: what is shown, what it costs, and what is kept."""

import re
from collections import Counter
from zlib import crc32

import pytest
from way_runs import Text, run_way

from bookwheel.errors import InputError, MissingAbility
from bookwheel.lab.baselines.one_call import fuse_ranks, join_neighbours
from bookwheel.models.base import Embeddings
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.types import Chunk, Step, Usage

PLAN = Plan(question_tokens=60, chunk_tokens=120, memory_tokens=60, answer_tokens=40)
SAME = {"hue": "colour", "painted": "colour"}
FACT = "Its hue: it is painted vermilion all over.\n"
TEXT = "".join(
    (FACT if n == 70 else "") + f"Page {n} of the book of mills tells of harvests and rain.\n" for n in range(110)
)
QUESTION = "Which colour?"


class Embedding(ScriptedModel):
    """Knows that hue, painted and colour mean one thing; answers with what it is shown."""

    def __init__(self, lengths=64) -> None:
        super().__init__(lambda messages: messages[-1].content[:4000], window=600)
        self.embedded: list[str] = []
        self.lengths = lengths

    async def embed(self, texts) -> Embeddings:
        self.embedded += texts
        vectors = tuple(self._vector(text) for text in texts)
        return Embeddings(vectors=vectors, usage=Usage(calls=1, prompt_tokens=10 * len(texts)))

    def _vector(self, text):
        words = Counter(SAME.get(word, word) for word in re.findall("[a-z]+", text.lower()))
        values = [0.001] * self.lengths
        for word in set(words) & {"colour", "which"}:
            values[crc32(word.encode()) % self.lengths] += 1
        length = sum(value * value for value in values) ** 0.5
        return tuple(value / length for value in values)


def read(way, model, *, text=TEXT, question=QUESTION, done=()):
    return run_way(way, Text(text), question, model, PLAN, done)


def test_embeddings_find_what_shares_no_word_with_the_question():
    shown = {way: read(way, Embedding())[-1].conversation.messages[-1].content for way in ("dense", "hybrid", "bm25")}
    assert FACT.strip() in shown["dense"]
    assert FACT.strip() in shown["hybrid"]
    assert FACT.strip() not in shown["bm25"]


def test_the_similarities_are_a_step_and_paid_for_once():
    model = Embedding()
    step, answer = read("dense", model)
    assert isinstance(step, Step)
    assert (step.chunk.start, step.chunk.end) == (0, 0)
    passages = len(model.embedded) - 1
    assert step.conversation.reply.usage.prompt_tokens == 10 * len(model.embedded)
    assert passages > 20
    again = Embedding()
    (second,) = read("dense", again, done=[step])
    assert again.embedded == []
    assert second.text == answer.text


def test_passages_overlap_and_no_text_is_shown_twice():
    pieces = [Chunk(index=n, start=n, end=n + 1, text=letter, tokens=1) for n, letter in enumerate("abc")]
    assert join_neighbours(pieces) == ["ab", "bc"]
    assert join_neighbours(pieces[:1]) == ["a"]
    assert join_neighbours([]) == []
    shown = read("dense", Embedding())[-1].conversation.messages[-1].content
    pages = re.findall(r"Page (\d+) of", shown)
    assert len(pages) == len(set(pages)) > 5
    assert pages == sorted(pages, key=int)


def test_two_orders_are_fused_by_their_ranks():
    assert fuse_ranks([[0, 1, 2], [0, 1, 2]]) == [0, 1, 2]
    assert fuse_ranks([[0, 1, 2, 3], [3, 1, 2, 0]]) == [1, 0, 3, 2]
    assert fuse_ranks([[0, 1, 2], [2]]) == [2, 0, 1]


@pytest.mark.parametrize("way", ["dense", "hybrid"])
def test_an_empty_document_and_a_short_one_are_answered(way):
    for text in ("", "One line only."):
        assert text in read(way, Embedding(), text=text)[-1].conversation.messages[-1].content


def test_vectors_of_two_lengths_are_refused_and_so_is_a_model_without_any():
    class Changed(Embedding):
        async def embed(self, texts):
            self.lengths += 1
            return await super().embed(texts)

    with pytest.raises(InputError, match="different lengths"):
        read("dense", Changed())
    with pytest.raises(MissingAbility, match="BOOKWHEEL_EMBEDDINGS"):
        read("dense", ScriptedModel(lambda _: "x", window=600))
