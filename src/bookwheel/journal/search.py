"""Full-text search over the documents and the readings of a journal.

The index is a file of its own beside the journal, `journal.sqlite.search`. It is a cache: a search first adds what is
new, so that nothing that is stored or read ever waits for it, and whatever is deleted from the journal clears it whole,
because an index cannot forget single words for good. FTS5 keeps no text; passages are read from the journal.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import JournalError
from bookwheel.journal.access import ReadPool
from bookwheel.journal.documents import StoredDocument
from bookwheel.journal.files import file_beside, make_private, translate_errors
from bookwheel.journal.tables import load_text

if TYPE_CHECKING:
    from bookwheel.journal.memories import MemoryTables

# Characters of a passage: what is searched for must stand in one.
_PASSAGE: Final = 2000
# Characters of a passage that are shown around the first word that was found.
_SHOWN: Final = 240
# A passage's row is its text's number and the character where it begins.
_SHIFT: Final = 32
_GAP: Final = re.compile(r"\s+")
# Characters within which a snippet's end is moved to the end of a word.
_LONGEST_WORD: Final = 30
# Chinese, Japanese and Korean have no blanks between words: each character is a word, and a word of a query a phrase.
_LETTER: Final = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])")
_BREAK: Final = re.compile(r"\s\S*$")
_TABLES: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts5(content, content='', tokenize='unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE IF NOT EXISTS memories USING fts5(content, content='', tokenize='unicode61 remove_diacritics 2');
CREATE TABLE IF NOT EXISTS texts (text INTEGER PRIMARY KEY, sha256 TEXT, until INTEGER);
CREATE TABLE IF NOT EXISTS readings (entry INTEGER PRIMARY KEY AUTOINCREMENT, reading INTEGER UNIQUE, state TEXT);
"""
_CLEAR: Final = """
BEGIN IMMEDIATE;
INSERT INTO passages(passages) VALUES ('delete-all');
INSERT INTO memories(memories) VALUES ('delete-all');
DELETE FROM texts;
DELETE FROM readings;
COMMIT;
"""
# A reading that has changed since it was indexed has another state. It begins with the id: numbers are used again.
_READINGS: Final = """
SELECT number, id || ' ' || status || ' ' || length(coalesce(answer, '')) || ' ' ||
coalesce((SELECT max(step) FROM steps WHERE reading = number), '') FROM readings
"""
_FIND_READINGS: Final = """
SELECT reading FROM memories JOIN readings ON entry = memories.rowid
WHERE memories MATCH ?1 AND (?3 IS NULL OR reading IN (SELECT value FROM json_each(?3))) ORDER BY rank LIMIT ?2
"""
_FIND_PASSAGES: Final = f"""
SELECT rowid FROM passages
WHERE passages MATCH ?1 AND (?3 IS NULL OR rowid >> {_SHIFT} IN (SELECT value FROM json_each(?3)))
ORDER BY rank LIMIT ?2
"""
_READING: Final = """
SELECT question, answer, (SELECT memory FROM steps WHERE reading = number ORDER BY step DESC LIMIT 1),
    readings.id, sha256, documents.name
FROM readings JOIN documents ON documents.id = document JOIN texts ON texts.id = text WHERE number = ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A passage of a document, or a reading, that has all the words."""

    document: str
    """The SHA-256 of the text."""
    name: str
    snippet: str
    """The text around the first word."""
    reading: str = ""
    """The reading whose question, answer or memory has the words; empty for a passage."""
    question: str = ""
    start: int = 0
    end: int = 0
    pages: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    """The files that the passage stands in, where the document is of several."""
    lines: tuple[int, ...] = ()
    """The line of its file that has the first word, twice, of a text that is read as it stands."""


def search_path(journal: Path) -> Path:
    return file_beside(journal, ".search")


def search(
    reader: ReadPool,
    query: str,
    *,
    limit: int,
    ids: Sequence[str] | None = None,
    documents: Sequence[str] | None = None,
) -> list[SearchHit]:
    """Return what has all the words of the query, readings first, each kind with the best first.

    With `ids` and `documents`, only these readings and texts.
    """
    words = [word for word in re.findall(r"[^\s\"]+", query) if any(letter.isalnum() for letter in word)]
    # In FTS5's language: every word must be there, or a word that begins with it.
    expression = " ".join(f'"{" ".join(_spread(word).split())}"*' for word in words)
    if not expression:
        return []
    with _open(reader.path) as index:
        _clear_deleted(index, reader)
        # What is new or has changed since the last search.
        has = dict(index.execute("SELECT text, until FROM texts"))
        for text, sha256, characters in reader.fetch_all("SELECT id, sha256, characters FROM texts"):
            if has.get(text, 0) < characters:
                _add_text(index, reader, text, sha256, has.get(text, 0))
        known = dict(index.execute("SELECT reading, state FROM readings"))
        for number, state in reader.fetch_all(_READINGS):
            if known.get(number) != state:
                _add_reading(index, reader, number, state)
        found = _load_numbers(reader, "SELECT number FROM readings WHERE id", ids)
        numbers = [row[0] for row in index.execute(_FIND_READINGS, (expression, limit, found))]
        found = _load_numbers(reader, "SELECT id FROM texts WHERE sha256", documents)
        passages = [row[0] for row in index.execute(_FIND_PASSAGES, (expression, limit, found))]
    hits = [hit for number in numbers if (hit := _load_reading(reader, number, words))]
    hits += [hit for row in passages if (hit := _load_passage(reader, row, words))]
    return hits[:limit]


def forget_deleted(reader: ReadPool) -> None:
    """Clear the index if it has anything that the journal has no more."""
    if search_path(reader.path).exists():
        with _open(reader.path) as index:
            _clear_deleted(index, reader)


def _clear_deleted(index: sqlite3.Connection, reader: ReadPool) -> None:
    has_texts = set(index.execute("SELECT text, sha256 FROM texts"))
    has_readings = {row[0].split()[0] for row in index.execute("SELECT state FROM readings")}
    texts = set(reader.fetch_all("SELECT id, sha256 FROM texts")) if has_texts else set()
    readings = {row[0] for row in reader.fetch_all("SELECT id FROM readings")} if has_readings else set()
    if has_texts - texts or has_readings - readings:
        index.executescript(_CLEAR)


@contextmanager
def _open(journal: Path) -> Iterator[sqlite3.Connection]:
    path = search_path(journal)
    with translate_errors(path, "search"):
        make_private(path)
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as index:
            index.execute("PRAGMA secure_delete = ON")
            # A cache: after a crash of the machine it is built anew.
            index.execute("PRAGMA journal_mode = WAL")
            index.execute("PRAGMA synchronous = NORMAL")
            try:
                index.executescript(_TABLES)
            except sqlite3.OperationalError as error:
                raise JournalError(f"this Python's SQLite has no full-text search ({error})") from error
            yield index


def list_holding(memories: MemoryTables, words: Sequence[str]) -> list[str]:
    """Return the names of the memories of which a text or the newest version has all the words, by reading them all."""
    wanted, names = [word.casefold() for word in words], list[str]()
    for record in memories.list_all():
        newest = memories.newest_version(record.number, record.plan.memory_tokens)
        numbers = [text.number for text in memories.list_texts(record.number)]
        texts = (text for _, text in memories.load_texts(record.number, numbers))
        held = chain([newest.memory.text] if newest else [], texts)
        if any(all(word in text for word in wanted) for text in map(str.casefold, held)):
            names.append(record.name)
    return names


def _add_text(index: sqlite3.Connection, reader: ReadPool, text: int, sha256: str, until: int) -> None:
    """Add the pieces of a text from a character on, one transaction each, so that others can search meanwhile."""
    query = "SELECT start, content FROM pieces WHERE text = ? AND start >= ? ORDER BY start LIMIT 1"
    while row := reader.fetch_one(query, (text, until)):
        start, content = row
        try:
            piece = zlib.decompress(content).decode("utf-8", "surrogatepass")
        except (zlib.error, UnicodeDecodeError):  # damaged, which the journal itself tells
            piece = " "
        rows = [((text << _SHIFT) | start + at, _spread(passage)) for at, passage in _cut_passages(piece)]
        until = start + max(1, len(piece))
        index.execute("BEGIN IMMEDIATE")
        # Another process may have added it meanwhile.
        done = index.execute("SELECT until FROM texts WHERE text = ?", (text,)).fetchone()
        if not done or done[0] < until:
            index.executemany("INSERT INTO passages (rowid, content) VALUES (?, ?)", rows)
            index.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?)", (text, sha256, until))
        index.execute("COMMIT")


def _cut_passages(piece: str) -> Iterator[tuple[int, str]]:
    at = 0
    while at < len(piece):
        passage = piece[at : at + _PASSAGE]
        if at + _PASSAGE < len(piece) and (end := _BREAK.search(passage)) and end.start():
            passage = passage[: end.start() + 1]
        yield at, passage
        at += len(passage)


def _add_reading(index: sqlite3.Connection, reader: ReadPool, number: int, state: str) -> None:
    row = reader.fetch_one(_READING, (number,))
    if row is None:
        return
    content = _spread("\n".join(load_text(value) for value in row[:3] if value is not None))
    index.execute("BEGIN IMMEDIATE")
    # The old entry stays in the index until that is cleared; nothing leads to it any more.
    index.execute("INSERT OR REPLACE INTO readings (reading, state) VALUES (?, ?)", (number, state))
    (entry,) = index.execute("SELECT entry FROM readings WHERE reading = ?", (number,)).fetchone()
    index.execute("INSERT INTO memories (rowid, content) VALUES (?, ?)", (entry, content))
    index.execute("COMMIT")


def _load_numbers(reader: ReadPool, query: str, names: Sequence[str] | None) -> str | None:
    """Return the numbers of the rows with these names as JSON; None for all."""
    if names is None:
        return None
    rows = reader.fetch_all(f"{query} IN (SELECT value FROM json_each(?))", (json.dumps(list(names)),))
    return json.dumps([number for (number,) in rows])


def _load_reading(reader: ReadPool, number: int, words: Sequence[str]) -> SearchHit | None:
    row = reader.fetch_one(_READING, (number,))
    if row is None:
        return None
    question, answer, memory, id_, sha256, name = row
    texts = [load_text(value) for value in (answer, memory, question) if value is not None]
    text = next((one for one in texts if _find_place(one, words) >= 0), texts[0])
    return SearchHit(
        document=sha256,
        name=load_text(name),
        snippet=_cut_snippet(text, words)[1],
        reading=id_,
        question=load_text(question),
    )


def _load_passage(reader: ReadPool, row: int, words: Sequence[str]) -> SearchHit | None:
    start = row & ((1 << _SHIFT) - 1)
    newest = "SELECT id FROM documents WHERE text = ? ORDER BY used DESC LIMIT 1"
    found = reader.fetch_one(newest, (row >> _SHIFT,))
    if found is None:
        return None
    document = StoredDocument(reader, found[0])
    at, snippet = _cut_snippet(document.slice(start, start + _PASSAGE), words)
    start, end = start + at, start + at + len(snippet)
    held = start + max(0, _find_place(snippet, words))
    is_of_several = len(document.sources(0, document.length)) > 1
    return SearchHit(
        document=document.id,
        name=document.name,
        snippet=snippet,
        start=start,
        end=end,
        pages=document.pages(start, end),
        lines=document.lines(held, held + 1),
        sources=document.sources(start, end) if is_of_several else (),
    )


def _cut_snippet(text: str, words: Sequence[str]) -> tuple[int, str]:
    """Return where the text around the first word begins, and that text, from a word's beginning to a word's end."""
    start = max(0, _find_place(text, words) - _SHOWN // 4)
    if start and (gap := _GAP.search(text, start - 1, start + _LONGEST_WORD)):
        start = gap.end()
    end = min(len(text), start + _SHOWN)
    if end < len(text) and (gaps := list(_GAP.finditer(text, end - _LONGEST_WORD, end + 1))):
        end = gaps[-1].start()
    return start, text[start:end]


def _find_place(text: str, words: Sequence[str]) -> int:
    folded = text.casefold()
    return min((at for word in words if (at := folded.find(word.casefold())) >= 0), default=-1)


def _spread(text: str) -> str:
    return _LETTER.sub(r" \1 ", text).encode("utf-8", "replace").decode()
