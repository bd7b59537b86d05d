"""What does not depend on the question is computed once a document, kept beside it, and made anew where it is damaged."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from way_runs import Text

from bookwheel.journal import Journal
from bookwheel.reading.ways import document_index
from bookwheel.reading.ways.document_index import cut_chunks, index_chunks, index_passages
from bookwheel.text.chunks import split
from bookwheel.text.ranking import QuestionWords
from bookwheel.text.tokens import EstimatingTokenizer, WordTokenizer

TEXT = "# The light\n\n" + "".join(
    f"The keeper lit lamp {n} at dusk, and a ship passed. Nobody saw the gulls of day {n}.\n\n" for n in range(900)
)
QUESTION = QuestionWords("Who lit lamp 17 at dusk?")


class Counting(WordTokenizer):
    """Notes how often it is asked where a text ends."""

    def __init__(self) -> None:
        self.fits = 0

    def fit(self, text, limit):
        self.fits += 1
        return super().fit(text, limit)


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "journal.db") as opened:
        yield opened


@pytest.fixture(autouse=True)
def forget():
    """Begin as a new process does."""
    document_index._SLOTS.clear()
    yield
    document_index._SLOTS.clear()


def look(document, tokenizer):
    passages = index_passages(document).rank(QUESTION, 5)
    words = index_chunks(document, tokenizer, 300).score(["lamp", "17"])
    return cut_chunks(document, tokenizer, 300), [(one.score, one.window.shown) for one in passages], words


def test_a_second_question_cuts_and_indexes_nothing_again_in_this_process_or_another(journal, monkeypatch):
    document, tokenizer = journal.keep(Text(TEXT)), Counting()
    found = look(document, tokenizer)
    asked = tokenizer.fits
    assert asked > 20
    assert look(journal.document(document.id), tokenizer) == found
    document_index._SLOTS.clear()
    monkeypatch.setattr(document_index.PassageIndex, "build", None)
    assert look(journal.document(document.id), tokenizer) == found
    assert tokenizer.fits == asked


def test_the_chunks_are_those_of_split(journal):
    tokenizer = WordTokenizer()
    for document in (Text(TEXT), journal.keep(Text(TEXT))):
        expected = [(one.index, one.start, one.end, one.tokens, one.sources) for one in split(document, tokenizer, 300)]
        for _ in range(2):
            chunks = cut_chunks(document, tokenizer, 300)
            assert [(one.index, one.start, one.end, one.tokens, one.sources) for one in chunks] == expected
            document_index._SLOTS.clear()


def test_another_size_tokenizer_or_text_is_cut_anew():
    short, long_ = cut_chunks(Text(TEXT), WordTokenizer(), 100), cut_chunks(Text(TEXT), WordTokenizer(), 300)
    assert len(short) > len(long_)
    low, high = (cut_chunks(Text(TEXT), EstimatingTokenizer(scale), 300) for scale in (0.5, 1.0))
    assert len(low) < len(high)
    assert cut_chunks(Text(TEXT + "More."), WordTokenizer(), 300)[-1].end == len(TEXT) + 5


@pytest.mark.parametrize("content", [b"", b"nothing that zlib knows", "cut"])
def test_what_was_kept_and_is_damaged_is_made_anew(journal, content):
    document, tokenizer = journal.keep(Text(TEXT)), WordTokenizer()
    found = look(document, tokenizer)
    change = "UPDATE indexes SET content = substr(content, 1, length(content) / 2)"
    if content == "cut":
        journal._writer.execute_now(change)
    else:
        journal._writer.execute_now("UPDATE indexes SET content = ?", (content,))
    document_index._SLOTS.clear()
    assert look(document, tokenizer) == found


def test_of_a_short_document_nothing_is_kept(journal):
    document = journal.keep(Text(TEXT[:3000]))
    look(document, WordTokenizer())
    assert journal._reader.fetch_one("SELECT count(*) FROM indexes", ()) == (0,)


def test_two_who_ask_at_once_share_the_work(monkeypatch):
    built, both = [], threading.Barrier(2)
    build = document_index.PassageIndex.build
    monkeypatch.setattr(document_index.PassageIndex, "build", lambda text: built.append(1) or build(text))

    def ask(_):
        both.wait(5)
        return index_passages(Text(TEXT))

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, range(2))
    assert first is second
    assert built == [1]


SAMPLE = """# The light

The keeper wrote the log every night; she carried two lamps. Mr. Quill, who built it, was paid £1,250 on 9 March 1912!

| Plan | Minute |
|---|---|
| Yearly | 4p |

Orders:
- by post, within 3 days
- by boat

07:01 noor: any deploys?
07:02 juho: one, yesterday

灯塔看守人每晚都写日志。海关官员数出六十四桶。

===== books.py =====
def closeLedger(day):
    return day
"""


def test_an_index_that_comes_out_otherwise_has_a_new_version():
    # Change both together: what journals keep of a text is then made anew.
    index, chunks = index_passages(Text(SAMPLE)), cut_chunks(Text(SAMPLE), WordTokenizer(), 40)
    spans = [(one.start, one.end, one.tokens) for one in chunks]
    words = sorted((word, *places) for word, places in index._own.words.items())
    digest = hashlib.sha256(repr((index._windows.tolist(), words, spans)).encode()).hexdigest()[:16]
    assert (document_index.VERSION, digest) == (8, "c2b3943d31ab0462")
