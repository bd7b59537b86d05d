"""Drop from the tables of memories what a forgetting reaches: texts, answers with words of them, places of sources.

All of it happens in the transaction that puts the new versions in the place of the old ones (journal/memories.py).
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from bookwheel.journal.memory_pictures import drop_unmarked
from bookwheel.journal.tables import digest, store_text

ADDED: Final = "added: "
"""Before the id of a source: how far it was read when it was added, not followed."""
# Between words: also as JSON writes the end of a line.
_GAP: Final = r"(?:\s|\\n|>)+"
_THIS: Final = "WHERE memory = ? AND number = ?"


def drop_places(connection: sqlite3.Connection, memory: int, sources: Sequence[str]) -> None:
    """Drop how far sources, and the mailboxes and folders that they are in, were read: who adds one again means it."""
    names = {one[: mark.start()] for one in sources for mark in re.finditer(r"[#/]|$", one)}
    query = "DELETE FROM memory_follows WHERE memory = ? AND source = ?"
    connection.executemany(query, [(memory, store_text(ADDED + name)) for name in names])


@lru_cache(maxsize=8)
def compile_phrase(phrase: str) -> re.Pattern[str]:
    """Return what finds words in any case, over line ends and signs of a quoted mail, however accents are written."""
    words = unicodedata.normalize("NFC", phrase).split()
    return re.compile(_GAP.join("".join(map(_spell, word)) for word in words), re.IGNORECASE)


def _spell(sign: str) -> str:
    return f"(?:{re.escape(sign)}|{re.escape(unicodedata.normalize('NFD', sign))})"


def drop_answers(connection: sqlite3.Connection, memory: int, phrase: str) -> None:
    """Drop the answers of any time that hold some words."""
    plain, quoted = compile_phrase(phrase), compile_phrase(json.dumps(phrase, ensure_ascii=False)[1:-1])
    rows = connection.execute("SELECT number, record FROM memory_answers WHERE memory = ?", (memory,)).fetchall()
    gone = [(memory, number) for number, record in rows if plain.search(str(record)) or quoted.search(str(record))]
    connection.executemany("DELETE FROM memory_answers WHERE memory = ? AND number = ?", gone)


def drop_words(connection: sqlite3.Connection, memory: int, text: int, mask: str | None) -> None:
    """Drop a text, or put what remains of it in its place."""
    if mask is not None:
        update = f"UPDATE memory_texts SET content = ?, sha256 = ? {_THIS}"
        connection.execute(update, (store_text(mask), digest(mask), memory, text))
        drop_unmarked(connection, memory, text, mask)
    elif found := connection.execute(f"SELECT characters FROM memory_texts {_THIS}", (memory, text)).fetchone():
        connection.execute(f"DELETE FROM memory_texts {_THIS}", (memory, text))
        connection.execute("UPDATE memories SET characters = characters - ? WHERE number = ?", (found[0], memory))
