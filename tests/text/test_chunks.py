"""Chunks tile the text, keep to their budget and know where they come from."""

from __future__ import annotations

import asyncio
import itertools
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from bookwheel.documents.opening import TextDocument
from bookwheel.text import chunks as chunks_module
from bookwheel.text.chunks import split, split_ahead
from bookwheel.text.lines import read_lines
from bookwheel.text.sanitize import escape_markup
from bookwheel.text.tokens import EstimatingTokenizer, FileTokenizer, WordTokenizer
from bookwheel.types import Part

WORDS = WordTokenizer()
ANY_TEXT = st.text(
    alphabet=st.one_of(
        st.sampled_from("ab cd.\n\r\t 。，!?中文字😀👩\u200d💻\u200b\x00\x1b\ud800\udfff<|[]</section>"),
        st.characters(exclude_categories=()),
    ),
    max_size=400,
)


PROSE = st.lists(
    st.sampled_from(
        ["the", "keeper", "of", "灯塔看守人", "wrote", "0123", "\n\n", "a-b", "log.", "<b>", "\r\n", "e\u0301"]
    ),
    max_size=150,
).map(" ".join)


class Counting:
    """A tokenizer that notes what it is asked."""

    exact = True

    def __init__(self, tokenizer: FileTokenizer) -> None:
        self.name, self._tokenizer = tokenizer.name, tokenizer
        self.scanned: list[int] = []
        self.counted = 0

    def count(self, text: str) -> int:
        self.counted += 1
        return self._tokenizer.count(text)

    def fit(self, text: str, limit: int) -> int:
        self.counted += 1
        return self._tokenizer.fit(text, limit)

    def scan(self, text: str):
        self.scanned.append(len(text))
        return self._tokenizer.scan(text)


@dataclass
class Pieces:
    pieces: list[Part]
    name: str = "pieces"
    length: int | None = None

    def parts(self, start: int = 0):
        at = 0
        for piece in self.pieces:
            if at + len(piece.text) > start:
                yield Part(text=piece.text[max(0, start - at) :], source=piece.source, page=piece.page)
            at += len(piece.text)


def one(text: str) -> Pieces:
    return Pieces([Part(text=text, source="a.txt")])


@pytest.fixture(scope="module")
def bpe(tmp_path_factory: pytest.TempPathFactory) -> FileTokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    corpus = [
        "the keeper of the light wrote in the log every night",
        "灯塔看守人每晚都写日志",
        "a b c d e f 0123456789",
    ]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    )
    path = Path(tmp_path_factory.mktemp("bpe")) / "tokenizer.json"
    made.save(str(path))
    return FileTokenizer(path)


@given(text=ANY_TEXT, limit=st.integers(8, 40), cuts=st.lists(st.integers(0, 400), max_size=5))
def test_chunks_tile_any_text_and_keep_to_the_budget(text: str, limit: int, cuts: list[int]) -> None:
    edges = [0, *sorted(c for c in cuts if c < len(text)), len(text)]
    document = Pieces([Part(text=text[a:b], source=f"{a}.txt") for a, b in itertools.pairwise(edges)])
    chunks = list(split(document, WORDS, limit))
    assert "".join(chunk.text for chunk in chunks) == text
    assert [chunk.start for chunk in chunks] == [0, *(chunk.end for chunk in chunks[:-1])][: len(chunks)]
    assert all(chunk.text == text[chunk.start : chunk.end] for chunk in chunks)
    assert all(chunk.tokens == WORDS.count(escape_markup(chunk.text)) <= limit for chunk in chunks)
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))


@given(text=st.one_of(ANY_TEXT, PROSE), limit=st.integers(8, 40))
def test_the_budget_holds_by_a_byte_level_tokenizer(bpe: FileTokenizer, text: str, limit: int) -> None:
    chunks = list(split(one(text), bpe, limit))
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.tokens == bpe.count(escape_markup(chunk.text)) <= limit for chunk in chunks)


@given(text=st.one_of(ANY_TEXT, PROSE), limit=st.integers(8, 60), data=st.data())
def test_a_resumed_reading_cuts_the_same_chunks_by_a_byte_level_tokenizer(
    bpe: FileTokenizer, text: str, limit: int, data: st.DataObject
) -> None:
    whole = list(split(one(text), bpe, limit))
    if whole:
        done = data.draw(st.sampled_from(whole))
        assert list(split(one(text), bpe, limit, start=done.end, index=done.index + 1)) == whole[done.index + 1 :]


PARAGRAPH = "The keeper wrote in the log every night, and the boat was gone in the morning. " * 3


@pytest.mark.parametrize("heading", ["## Fees", "FEES", "7. Fees", "Fees of the lots", "# Lots\n\n## Fees", "【费用】"])
@pytest.mark.parametrize("limit", range(130, 230, 10))
def test_no_chunk_ends_right_behind_a_heading(heading: str, limit: int) -> None:
    text = "".join(f"{heading}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n" for _ in range(20))
    chunks = list(split(one(text), WORDS, limit))
    assert "".join(chunk.text for chunk in chunks) == text
    assert not any(chunk.text.rstrip().endswith(heading) for chunk in chunks)
    half = chunks[len(chunks) // 2]
    assert list(split(one(text), WORDS, limit, start=half.end, index=half.index + 1)) == chunks[half.index + 1 :]


def test_where_all_lines_are_headings_a_chunk_is_as_full_as_ever() -> None:
    text = "FEES OF THE LOTS AND OTHER COSTS\n\n" * 200
    assert len(list(split(one(text), WORDS, 100))) == -(-200 // (100 // WORDS.count(text[:34])))


@pytest.mark.parametrize("line", ["FEES OF THE LOTS\n\n", "## Lot\n\n", "Chapter 7\n\n", "one. two. Three.\n"])
def test_the_lines_of_a_text_are_looked_at_a_few_times_however_many_are_headings(line: str, monkeypatch) -> None:
    looked_at = 0

    def count(text: str):
        nonlocal looked_at
        looked_at += len(text)
        return read_lines(text)

    monkeypatch.setattr(chunks_module, "read_lines", count)
    text = line * (100_000 // len(line))
    assert len(list(split(one(text), EstimatingTokenizer(), 500))) > 20
    assert looked_at < len(text)


def test_a_tokenizer_is_given_each_text_once_and_not_much_more_than_the_text(bpe: FileTokenizer) -> None:
    text = "The keeper of the light wrote in the log every night, and the boat was gone. " * 200
    counting = Counting(bpe)
    chunks = list(split(one(text), counting, 200))
    assert len(counting.scanned) == len(chunks)
    assert counting.counted == 0
    assert sum(counting.scanned) < 1.5 * len(text)


def test_a_tokenizer_that_only_counts_and_fits_cuts_the_same_chunks(bpe: FileTokenizer) -> None:
    text = "The keeper of the light wrote in the log every night, and the boat was gone.\n" * 100

    class Plain:
        name, exact = "plain", True
        count, fit = bpe.count, bpe.fit

    assert list(split(one(text), Plain(), 100)) == list(split(one(text), bpe, 100))


@given(text=ANY_TEXT, limit=st.integers(8, 40))
def test_the_budget_holds_by_the_estimate(text: str, limit: int) -> None:
    chunks = list(split(one(text), EstimatingTokenizer(), limit))
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(EstimatingTokenizer().count(escape_markup(chunk.text)) <= limit for chunk in chunks)


@given(text=ANY_TEXT, limit=st.integers(8, 40))
def test_chunks_from_the_middle_on_are_those_of_the_whole(text: str, limit: int) -> None:
    whole = list(split(one(text), WORDS, limit))
    for done in whole:
        rest = list(split(one(text), WORDS, limit, start=done.end, index=done.index + 1))
        assert rest == whole[done.index + 1 :]


def test_paragraph_ends_are_preferred_to_line_and_word_ends() -> None:
    paragraph = "One two three four five six seven.\nEight nine ten eleven.\n\n"
    chunks = list(split(one(paragraph * 20), WORDS, 42))
    assert all(chunk.text.endswith("\n\n") for chunk in chunks)


def test_a_sentence_is_not_cut_where_its_end_is_near() -> None:
    sentence = "The keeper lit the lamp at dusk and wrote it down. "
    chunks = list(split(one(sentence * 40), WORDS, 100))
    assert all(chunk.text.endswith(". ") for chunk in chunks)


def test_full_budgets_are_used_when_paragraphs_end_on_them() -> None:
    text = ("alpha beta gamma delta epsilon zeta eta theta iota kappa\n\n") * 100
    chunks = list(split(one(text), WORDS, 100))
    assert [chunk.tokens for chunk in chunks] == [100] * 10


def test_chinese_text_ends_at_a_full_stop() -> None:
    chunks = list(split(one("灯塔看守人每天晚上都写日志。" * 50), WORDS, 60))
    assert all(chunk.text.endswith("。") for chunk in chunks)


def test_an_emoji_of_several_characters_stays_whole() -> None:
    chunks = list(split(one("👩\u200d💻" * 40), WORDS, 9))
    assert all(not chunk.text.startswith("\u200d") and not chunk.text.endswith("\u200d") for chunk in chunks)


def test_a_crlf_pair_is_never_split() -> None:
    chunks = list(split(one("ab\r\n" * 300), WORDS, 8))
    assert all(not chunk.text.startswith("\n") for chunk in chunks)


@pytest.mark.slow
def test_one_line_of_ten_megabytes_is_read_in_budget() -> None:
    text = "x" * 10_000_000
    tokens = [chunk.tokens for chunk in split(one(text), WORDS, 5000)]
    assert len(tokens) == 250
    assert max(tokens) == 5000


@pytest.mark.slow
def test_ten_megabytes_of_blanks_do_not_become_one_chunk() -> None:
    assert max(len(chunk.text) for chunk in split(one(" " * 10_000_000), WORDS, 1000)) <= 64_000 * 2


def test_chunks_carry_sources_and_pages() -> None:
    pages = [Part(text=f"Page {n} says little. " * 5 + "\n", source="a.pdf", page=n) for n in range(1, 5)]
    chunks = list(split(Pieces([*pages, Part(text="A note. " * 10, source="b.md")]), WORDS, 40))
    assert chunks[0].pages == (1, 2)
    assert chunks[0].sources == ("a.pdf",)
    assert chunks[-1].sources == ("b.md",)
    assert chunks[-1].pages == ()
    assert {source for chunk in chunks for source in chunk.sources} == {"a.pdf", "b.md"}


def test_an_empty_document_has_no_chunks() -> None:
    assert list(split(one(""), WORDS, 10)) == []


def test_splitting_is_lazy() -> None:
    drawn = []

    class Counting(Pieces):
        def parts(self, start: int = 0):
            for part in super().parts(start):
                drawn.append(part)
                yield part

    endless = Counting([Part(text="word " * 1000, source="a.txt") for _ in range(1000)])
    next(split(endless, WORDS, 100))
    assert len(drawn) <= 2


LINES = "The keeper lit the lamp at dusk and wrote it down.\n" * 300


class Watched(WordTokenizer):
    """Notes the thread of each question, and fails or waits when it is told to."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.asked = 0
        self.asked_twice = threading.Event()
        self.fails_at: int | None = None

    def fit(self, text: str, limit: int) -> int:
        self.threads.add(threading.get_ident())
        self.asked += 1
        if self.asked > 1:
            self.asked_twice.set()
        if self.asked == self.fails_at:
            raise RuntimeError("the tokenizer is gone")
        return super().fit(text, limit)


async def collect(document, tokenizer, limit, **place):
    return [chunk async for chunk in split_ahead(document, tokenizer, limit, **place)]


@pytest.mark.parametrize("tokenizer", [WordTokenizer(), EstimatingTokenizer()])
@pytest.mark.parametrize("limit", [64, 600])
@pytest.mark.parametrize("place", [{}, {"start": 102, "index": 3}])
def test_chunks_cut_ahead_are_those_of_split(tokenizer, limit, place) -> None:
    document = TextDocument(LINES)
    assert asyncio.run(collect(document, tokenizer, limit, **place)) == list(split(document, tokenizer, limit, **place))


def test_an_empty_document_has_no_chunks_ahead() -> None:
    assert asyncio.run(collect(TextDocument(""), WordTokenizer(), 600)) == []


def test_the_event_loop_never_tokenizes_a_large_chunk() -> None:
    tokenizer = Watched()
    asyncio.run(collect(TextDocument(LINES), tokenizer, 600))
    assert tokenizer.asked > 3
    assert threading.get_ident() not in tokenizer.threads


def test_one_chunk_and_no_more_is_cut_ahead() -> None:
    async def run() -> None:
        tokenizer = Watched()
        chunks = split_ahead(TextDocument(LINES), tokenizer, 600)
        await anext(chunks)
        assert await asyncio.to_thread(tokenizer.asked_twice.wait, 5)
        await asyncio.sleep(0.02)
        assert tokenizer.asked == 2

    asyncio.run(asyncio.wait_for(run(), 10))


def test_an_error_ahead_is_raised_where_its_chunk_is_due_and_not_before() -> None:
    async def run() -> None:
        tokenizer = Watched()
        tokenizer.fails_at = 2
        chunks = split_ahead(TextDocument(LINES), tokenizer, 600)
        assert (await anext(chunks)).index == 0
        with pytest.raises(RuntimeError, match="gone"):
            await anext(chunks)

    asyncio.run(run())


def test_a_reading_that_stops_leaves_no_unseen_error(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        tokenizer = Watched()
        tokenizer.fails_at = 2
        await anext(split_ahead(TextDocument(LINES), tokenizer, 600))
        assert await asyncio.to_thread(tokenizer.asked_twice.wait, 5)
        await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 10))
    assert not caplog.records
