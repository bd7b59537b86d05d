"""The tables of a journal, its versions, and the checksums of its rows. docs/journal.md documents the tables.

SQLite checks the structure of its file, not the values in it. So each row carries a CRC-32 of its values. Triggers set
it, and refuse to change a row whose checksum is wrong already, which would hide the damage. Whoever reads a row checks
it with `IS_SOUND`. The places of a document have the SHA-256 in `documents.digest`.

A new version is one more script in `MIGRATIONS`; the file's `user_version` is that of the last script that it has run.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import sqlite3

_SQL: Final = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
_VERSION_COLUMNS: Final = (
    "memory, version, kind, text, start, stop, content, tokens, flags, reply, finish, calls, prompt_tokens, "
    "completion_tokens, seconds, scores, changes, kept"
)
# The columns that a row's checksum covers. The rest changes without meaning: when a text was stored or last used.
_COLUMNS: Final = {
    "texts": "id, sha256, characters",
    "pieces": "text, start, content",
    "documents": "id, text, name, digest, notes",
    "readings": (
        "number, id, document, question, model, way, language, plan, status, answer, answer_turn, answer_record, "
        "evidence, error, parent, created, calls, prompt_tokens, completion_tokens, seconds, claims, address"
    ),
    "steps": (
        "reading, step, start, stop, tokens, sources, pages, before, before_tokens, memory, memory_tokens, flags, "
        "reply, finish, calls, prompt_tokens, completion_tokens, seconds, record, score"
    ),
    "memories": "number, owner, name, about, model, way, plan, address, limits, created, texts, characters, newest",
    # The words have a SHA-256 of their own: a list of texts need not read them.
    "memory_texts": "memory, number, source, at, arrived, sha256, characters, position, is_late",
    "memory_versions": _VERSION_COLUMNS,
    "memory_replays": _VERSION_COLUMNS,
    "memory_answers": "memory, number, version, record, prompt_tokens, completion_tokens, asked",
    "memory_forgets": "memory, number, scope, sources, texts, masks, began, ended, replayed, lines, purged",
    "memory_follows": "memory, source, place",
    "row_edits": "reading, number, row, cells, made",
}
# Columns that few rows have: where one is NULL, the checksum is that of the others.
_LATER: Final = {"steps": "findings", "readings": "error_kind", "memory_forgets": "changed"}


def _call(table: str, prefix: str, later: str = "") -> str:
    columns = ", ".join(f"{prefix}.{column}" for column in _COLUMNS[table].split(", "))
    call = f"checksum({columns})"
    added = f"{prefix}.{later}"
    return f"CASE WHEN {added} IS NULL THEN {call} ELSE checksum({columns}, {added}) END" if later else call


IS_SOUND: Final = {table: f"({table}.checksum IS {_call(table, table, _LATER.get(table, ''))})" for table in _COLUMNS}
"""For each table, the SQL condition that a row is undamaged."""
IS_WHOLE: Final = IS_SOUND | {"memory_texts": f"({IS_SOUND['memory_texts']} AND sha256 IS digest(content))"}
"""The same, with the words of a memory's texts, which take longer to read."""


def _add_triggers(table: str) -> str:
    later = _LATER.get(table, "")
    new, old = _call(table, "new", later), _call(table, "old", later)
    columns = f"{_COLUMNS[table]}, {later}" if later else _COLUMNS[table]
    return f"""
CREATE TRIGGER {table}_seal_new AFTER INSERT ON {table} BEGIN
    UPDATE {table} SET checksum = {new} WHERE rowid = new.rowid;
END;
CREATE TRIGGER {table}_check_old BEFORE UPDATE OF {columns} ON {table} BEGIN
    SELECT raise(ABORT, 'a row of {table} is damaged') WHERE old.checksum IS NOT {old};
END;
CREATE TRIGGER {table}_seal_changed AFTER UPDATE OF {columns} ON {table} BEGIN
    UPDATE {table} SET checksum = {new} WHERE rowid = new.rowid;
END;
"""


_TYPES: Final = {type_: type_.__name__.encode() for type_ in (str, bytes, int, float, bool, type(None))}
FIRST_VERSION: Final = 19
"""Nothing was released with the versions before it."""
MIGRATIONS: list[str] = [_SQL + "".join(map(_add_triggers, _COLUMNS))]
"""The first script makes a journal of the first version, and each other one takes it to the next."""


def add_functions(connection: sqlite3.Connection) -> None:
    connection.create_function("checksum", -1, checksum, deterministic=True)
    connection.create_function("digest", 1, digest, deterministic=True)


def store_text(text: str) -> str | bytes:
    """Return the text, or its bytes if it has lone surrogates, which SQLite cannot store as TEXT."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def load_text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def to_json(values: Any) -> str | bytes:
    # Not escaped: on loading, the escapes of two lone surrogates would join to one character.
    return store_text(json.dumps(values, ensure_ascii=False))


def from_json(value: str | bytes) -> Any:
    return json.loads(load_text(value))


def digest(text: str | bytes) -> str:
    """Return the SHA-256 of a text, as SQLite stores it or as it is."""
    import hashlib  # brings OpenSSL, which a list of readings need not wait for

    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()


def checksum(*values: Any) -> int:
    """Return the CRC-32 of a row's values, each behind its type and length."""
    parts: list[bytes] = []
    for value in values:
        if isinstance(value, str):
            content = value.encode("utf-8", "surrogatepass")
        elif isinstance(value, bytes):
            content = value
        else:
            content = struct.pack("<d", value) if isinstance(value, float) else str(value).encode()
        parts += (b"%b %d " % (_TYPES[type(value)], len(content)), content)
    return zlib.crc32(b"".join(parts))
