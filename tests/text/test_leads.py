"""A section that begins in the midst of something says of what, above its text and within its budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.documents.opening import TextDocument, open_document
from bookwheel.journal import Journal
from bookwheel.lab.tasks.base import SampleDocument
from bookwheel.text import leads
from bookwheel.text.chunks import DocumentHead, fill_in, open_leads, split
from bookwheel.text.leads import Leads
from bookwheel.text.lines import read_lines
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Part

WORDS = WordTokenizer()
CODE = '''\
class Client:
    """Takes mails to the post."""

    def push(self, subject):
        self.queue.append(subject)
        return len(self.queue)

    def send(self, subject):
        if not subject:
            raise ValueError("nothing to send")
        return self.push(subject)


def merge(below, above):
    return {**below, **above}
'''
BOOK = """\
# The lighthouse

## Oil

Eleven barrels came in spring.

They were counted twice.

## Keepers

Marta kept the lamp.
"""


MAIL = """\
From: Cy Dent <cy@x.org>
To: Ada Quill
Date: Tue, 4 May 2026 10:00
Subject: Re: The pump

Dear Ada,

I agree with all of it.

On Mon, 3 May 2026 at 9:00, Joan Fell <joan@x.org>
wrote:
> The pump costs 400 crowns.
>
> The mechanic takes 90 crowns an hour.

Yours, Cy

# Annex

The list of parts.
"""


def lead_at(text, words, **facts):
    return Leads(TextDocument(text, name="a.txt")).find(text.index(words), text[text.index(words) :], **facts)


def test_a_section_of_a_mail_says_who_wrote_it_and_whose_words_it_quotes():
    sender = "From: Cy Dent <cy@x.org>\nDate: Tue, 4 May 2026 10:00\nSubject: Re: The pump\n"
    joan = "On Mon, 3 May 2026 at 9:00, Joan Fell <joan@x.org> wrote:\n"
    assert lead_at(MAIL, "I agree", source="a.txt") == f"{sender}{leads.OMITTED}\n"
    for words in ("> The mechanic takes", "90 crowns an hour"):
        assert lead_at(MAIL, words, source="a.txt") == f"{sender}{joan}{leads.OMITTED}\n"
    assert lead_at(MAIL, "Yours, Cy", source="a.txt") == f"{sender}{leads.OMITTED}\n"
    assert lead_at(MAIL, "The list of parts", source="a.txt") == f"# Annex\n{leads.OMITTED}\n"


def test_a_section_within_a_file_names_it_and_the_definitions_around_it(tmp_path):
    (tmp_path / "client.py").write_text(CODE)
    (tmp_path / "notes.md").write_text(BOOK)
    document = open_document([tmp_path])
    text = "".join(part.text for part in document.parts())
    assert lead_at(text, "    def send", source="client.py") == (
        "===== client.py (continued) =====\nclass Client:\n[…]\n"
    )
    assert lead_at(text, "            raise", source="client.py") == (
        "===== client.py (continued) =====\nclass Client:\n    def send(self, subject):\n[…]\n"
    )
    assert lead_at(text, "def merge", source="client.py") == "===== client.py (continued) =====\n[…]\n"
    assert lead_at(text, "They were", source="notes.md") == (
        "===== notes.md (continued) =====\n# The lighthouse\n## Oil\n[…]\n"
    )
    assert lead_at(text, "===== notes.md", source="notes.md") == ""


def test_a_file_whose_beginning_is_far_above_is_named_by_its_source():
    text = "===== a.txt =====\n" + "The lamp was lit.\n\n" * 3000 + "The end."
    assert lead_at(text, "The end.", source="a.txt") == "===== a.txt (continued) =====\n[…]\n"


def test_headings_are_those_above_and_not_those_beside():
    assert lead_at(BOOK, "They were", source="") == "# The lighthouse\n## Oil\n[…]\n"
    assert lead_at(BOOK, "## Keepers", source="") == "# The lighthouse\n[…]\n"
    assert lead_at(BOOK, "Marta", source="") == "# The lighthouse\n## Keepers\n[…]\n"


@pytest.mark.parametrize("title", ["第三章 施工", "附件三:预算表", "Schedule B – Prices", "Chapter 4. The fire"])
def test_a_chapter_without_marks_is_named(title):
    assert lead_at(f"Chapter 1\n\nDawn.\n\n{title}\nIt began in May.\n\nIt ended.", "It ended.", source="") == (
        f"{title}\n[…]\n"
    )


@pytest.mark.parametrize("rows", [20, 5000])
def test_rows_of_a_table_come_below_its_header(rows):
    table = "| order | date | paid on |\n| --- | --- | --- |\n"
    table += "".join(f"| W-{at} | 2026-05-{at % 28 + 1} | 2026-06-01 |\n" for at in range(rows))
    last = f"| W-{rows - 1} |"
    assert lead_at(table, last, source="") == "| order | date | paid on |\n[…]\n"
    assert lead_at(f"Orders are below.\n\n{table}", last, source="") == "| order | date | paid on |\n[…]\n"
    assert lead_at(f"{table}\nNothing else was open.", "Nothing else", source="") == ""


def test_a_turn_that_is_cut_says_whose_it_is():
    chat = "[2026-03-19 20:35:00] Marta: Who pays?\n\n[2026-03-19 20:36:00] Li: I pay.\n\nBut only half.\n\n"
    source = "chat.txt#Li, 2026-03-19 20:36:00, message 2"
    assert lead_at(chat, "But only", source=source) == f"===== {source} (continued) =====\n[…]\n"
    assert lead_at(chat, "[2026-03-19 20:36:00]", source=source) == ""


@given(st.lists(st.sampled_from(BOOK.splitlines(keepends=True) + CODE.splitlines(keepends=True)), max_size=60))
def test_leads_are_within_the_budget_and_the_same_from_the_middle_on(lines):
    document = TextDocument("".join(lines), name="a.txt")
    chunks = list(split(document, WORDS, 60, leads=True))
    assert "".join(chunk.text for chunk in chunks) == document.slice(0, 10**6)
    assert all(chunk.tokens <= 60 for chunk in chunks)
    if len(chunks) > 2:
        again = split(document, WORDS, 60, start=chunks[1].end, index=2, leads=True)
        assert [(one.lead, one) for one in again] == [(one.lead, one) for one in chunks[2:]]


def test_a_chunk_that_was_kept_without_its_text_gets_its_lead_where_there_is_room():
    document = TextDocument(BOOK, name="a.txt")
    for chunk in split(document, WORDS, 12):
        lead = Leads(document).find(chunk.start, chunk.text, "a.txt")
        assert fill_in(chunk, document, WORDS, 10**6).shown == lead + chunk.text
        assert fill_in(chunk, document, WORDS, chunk.tokens).shown == chunk.text


def test_a_document_that_is_not_kept_is_read_once_and_has_no_leads(tmp_path):
    (tmp_path / "notes.md").write_text(BOOK)
    chunks = list(split(open_document([tmp_path / "notes.md"]), WORDS, 12, leads=True))
    assert "".join(chunk.text for chunk in chunks).startswith(BOOK)
    assert not any(chunk.lead for chunk in chunks)


def test_a_document_says_what_its_chunks_belong_to_wherever_it_comes_from(tmp_path):
    (tmp_path / "notes.md").write_text(BOOK)
    file = open_document([tmp_path / "notes.md"])
    read = "".join(part.text for part in file.parts())
    text, sample = TextDocument(BOOK, name="a.txt"), SampleDocument("sample", [BOOK])
    with Journal(tmp_path / "journal.db") as journal:
        kept = journal.keep(text)
        for one in (text, kept, sample, DocumentHead(document=text, length=len(BOOK))):
            assert open_leads(one)(BOOK.index("They"), "They", "") == "# The lighthouse\n## Oil\n[…]\n"
    assert open_leads(file)(read.index("They"), "They", "") == "# The lighthouse\n## Oil\n[…]\n"


def test_a_document_that_says_nothing_of_its_chunks_is_read_without_leads():
    text = BOOK + "Marta kept the lamp.\n\n" * 50

    class Plain:
        name, length = "plain", len(text)

        def parts(self, start=0):
            yield Part(text=text[start:], source="plain")

    assert not any(chunk.lead for chunk in split(Plain(), WORDS, 80, leads=True))
    assert any(chunk.lead for chunk in split(TextDocument(text), WORDS, 80, leads=True))


def test_a_lead_takes_no_large_part_of_a_chunk():
    assert all(not chunk.lead for chunk in split(TextDocument(BOOK, name="a.txt"), WORDS, 8, leads=True))


def test_a_chunk_keeps_the_indentation_of_its_first_line():
    chunks = split(TextDocument(CODE, name="client.py"), WORDS, 40)
    assert all(not chunk.text.endswith(" ") for chunk in chunks)


@given(
    st.lists(st.sampled_from([*BOOK.splitlines(keepends=True), "a\r", "\n", "b" * 50, "\x0b", "\r\n"]), max_size=80),
    st.data(),
)
def test_lines_that_are_known_are_those_that_would_be_read(lines, data):
    text = "".join(lines)
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=1, max_size=9)))
    document = TextDocument(text, name="a.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leads, "_FAR", 70)
        finder = Leads(document)
        for place in (*places, places[0]):
            read = read_lines(text[max(0, place - 70) : place])
            assert [line.text for line in finder._read_far(place)] == [line.text for line in read]


def test_few_lines_are_read_again_for_each_section(monkeypatch):
    read = 0

    def count(text: str, first: int = 0):
        nonlocal read
        read += len(text)
        return read_lines(text, first)

    monkeypatch.setattr(leads, "read_lines", count)
    text = "The lamp was lit.\n\n" * 20_000
    list(split(TextDocument(text, name="a.txt"), WORDS, 300, leads=True))
    assert read < 3 * len(text)
