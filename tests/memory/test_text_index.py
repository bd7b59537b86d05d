"""Where the words of a memory's texts stand is kept with them, and goes with them."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bookwheel.memory import text_index
from bookwheel.memory.append import append
from bookwheel.memory.asking import ask
from bookwheel.memory.forgetting import forget
from bookwheel.memory.opened import open_memory
from bookwheel.memory.passages import format_header
from bookwheel.memory.text_index import TextIndex, _TextBlock, rank_passages
from bookwheel.text.ranking import QuestionWords

pytestmark = pytest.mark.anyio

DAYS = "\n".join(f"[2026-01-0{day} 10:00] Ada: the rent is {day}00 now." for day in range(1, 7))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(text_index, "TEXTS", 4)


def count_blocks(journal) -> int:
    return journal._reader.fetch_one("SELECT count(*) FROM memory_indexes", ())[0]


def find(opened, question: str, until: datetime | None = None):
    return [
        (one.text.source, one.words, one.text.at) for one in rank_passages(opened, question, opened.newest(), until)
    ]


async def fill(opened, count: int) -> None:
    for number in range(1, count + 1):
        at = f"2026-01-{number:02}T12:00:00+00:00"
        await append(opened, f"key{number % 3} = value{number}", source=f"mail-{number}", at=at)


async def test_a_text_is_looked_through_once_by_all_programs_together(session, begin, journal, monkeypatch):
    opened = await begin(session)
    await fill(opened, 10)
    await ask(opened, "key1 ?")
    assert count_blocks(journal) == 2
    seen, add = list[int](), _TextBlock.add

    def note(block, text, *rest, **options):
        seen.append(text.number)
        add(block, text, *rest, **options)

    monkeypatch.setattr(_TextBlock, "add", note)
    assert (await ask(opened, "key2 ?")).answer == "key2 = value8"
    assert seen == []
    assert (await ask(open_memory(session, "ada"), "key2 ?")).answer == "key2 = value8"
    assert seen == [9, 10]


async def test_blocks_change_nothing_of_what_is_found(session, begin, monkeypatch):
    opened = await begin(session)
    await fill(opened, 10)
    await append(opened, DAYS, source="chat", at="2026-01-06T10:00:00")
    until = datetime(2026, 1, 3, 12, tzinfo=UTC)
    asked = [("key1 ?", None), ("rent?", None), ("value7 or 700?", None), ("zebra?", None), ("rent key2?", until)]
    in_blocks = [find(opened, *one) for one in asked]
    monkeypatch.setattr(text_index, "TEXTS", 10_000)
    opened.tables._writer.execute_now("DELETE FROM memory_indexes")
    assert [find(open_memory(session, "ada"), *one) for one in asked] == in_blocks
    assert any("300" in words for _, words, _ in in_blocks[-1])
    assert not any("400" in words for _, words, _ in in_blocks[-1])


async def test_a_small_chunk_holds_passages_of_several_texts(session, begin):
    opened = await begin(session)
    lines = "\n\n".join(f"{name}: nothing new, the shed is dry and the path swept." for name in ("Ada", "Bo", "Cy") * 3)
    for year in range(2021, 2025):
        await append(
            opened, f"{lines}\n\nThe warden of {year} is Dee.\n\n{lines}", source=f"{year}", at=f"{year}-01-01"
        )
    opened = replace(opened, record=replace(opened.record, plan=replace(opened.record.plan, chunk_tokens=450)))
    assert len({source for source, words, _ in find(opened, "Who is warden?") if "warden" in words}) > 2


async def test_no_byte_of_a_forgotten_word_stays_in_the_index(session, begin, journal):
    opened = await begin(session)
    await fill(opened, 3)
    await append(opened, "The code is Quomvid.", source="secret", at="2026-01-04T12:00:00+00:00")
    await fill(opened, 9)
    await ask(opened, "key1 ?")
    with sqlite3.connect(journal.path) as other:
        assert any(b"quomvid" in content for (content,) in other.execute("SELECT content FROM memory_indexes"))
    await forget(opened, source="secret")
    files = [file.read_bytes().lower() for file in journal.path.parent.glob(f"{journal.path.name}*") if file.is_file()]
    assert not any(b"quomvid" in content for content in files)
    assert find(opened, "key1 ?") == find(open_memory(session, "ada"), "key1 ?")
    assert all(source != "secret" for source, *_ in find(opened, "What is the code Quomvid?"))


async def test_an_index_of_texts_that_were_forgotten_meanwhile_is_not_kept(session, begin, journal):
    opened = await begin(session)
    await fill(opened, 4)
    indexes = opened.tables.indexes(opened.record.number, "some")
    _, texts = indexes.list_all()
    await forget(opened, text="value2")
    indexes.keep(texts, b"value2")
    assert count_blocks(journal) == 0


async def test_a_damaged_index_is_made_anew(session, begin, journal):
    opened = await begin(session)
    await fill(opened, 8)
    before = find(opened, "key1 ?")
    journal._writer.execute_now("UPDATE memory_indexes SET content = substr(content, 1, length(content) / 2)")
    assert find(open_memory(session, "ada"), "key1 ?") == before
    assert count_blocks(journal) == 2


async def test_a_full_block_is_kept_by_the_append_that_fills_it(session, begin, journal):
    opened = await begin(session)
    await fill(opened, 4)
    assert count_blocks(journal) in {0, 1}
    found, total = opened.index.find(opened.tables, opened.record.number, QuestionWords("key1 ?"), None, is_short=True)
    assert ([place.text for place in found], total) == ([4, 1], 4)


async def test_those_who_share_the_newest_texts_look_through_them_once_and_never_together(session, begin, monkeypatch):
    opened = await begin(session)
    await fill(opened, 6)
    newest = list[_TextBlock]()
    first, second = (replace(opened, index=TextIndex(newest)) for _ in range(2))
    before = find(first, "key1 ?")
    assert [[text.number for text in block.texts] for block in newest] == [[5, 6]]
    monkeypatch.setattr(_TextBlock, "add", None)
    assert find(second, "key1 ?") == before
    monkeypatch.undo()
    with first.index._take_newest():
        assert find(second, "key1 ?") == before
    assert len(newest) == 1


async def test_words_that_say_little_and_the_memorys_own_name_do_not_choose_passages(session, begin):
    opened = await begin(session)  # about Ada
    await append(opened, "Amlodipine goes back to 5 mg.", source="letter", at="2026-02-06")
    await append(opened, "Ada takes the bus now. " * 3, source="log", at="2026-03-01")
    assert find(opened, "What amlodipine does Ada take now?")[0][0] == "letter"


async def test_the_name_of_a_file_and_a_month_are_words_of_a_text(session, begin):
    opened = await begin(session)
    await append(opened, "One thing weighs 61 kg.", source="notes/april.txt", at="2026-04-15")
    await append(opened, "One thing weighs 63 kg.", source="notes/later.txt", at="2026-05-15")
    await append(opened, "Nothing of that.", source="notes/list.csv", at="2026-01-15")
    assert find(opened, "What does it weigh in April?")[0][0] == "notes/april.txt"
    assert find(opened, "61 kg; list.csv has nothing of it")[0][0] == "notes/list.csv"


async def test_a_text_without_a_day_is_shown_as_added(session, begin):
    opened = await begin(session)
    undated = (await append(opened, "room = 12", source="list.csv")).text
    dated = (await append(opened, "hall = 3", source="mail", at="2026-01-01")).text
    assert format_header(undated) == f"[list.csv · added {undated.at}]\n"
    assert format_header(dated) == f"[mail · {dated.at}]\n"
