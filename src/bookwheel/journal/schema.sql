-- The tables of a journal; the triggers that seal their rows are added by tables.py. docs/journal.md documents the tables.

CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    characters INTEGER NOT NULL,
    kept TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    checksum INTEGER
);
CREATE TABLE pieces (
    text INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    content BLOB NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (text, start)
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    text INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    used INTEGER NOT NULL,
    notes TEXT NOT NULL DEFAULT '[]',
    checksum INTEGER,
    UNIQUE (text, name, digest)
);
CREATE TABLE places (
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    source TEXT NOT NULL,
    page INTEGER,
    PRIMARY KEY (document, start)
) WITHOUT ROWID;
CREATE TABLE readings (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES documents(id),
    question TEXT NOT NULL,
    model TEXT NOT NULL,
    way TEXT NOT NULL,
    language TEXT NOT NULL,
    plan TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT,
    answer_turn TEXT,
    answer_record BLOB,
    evidence TEXT NOT NULL,
    error TEXT NOT NULL,
    parent TEXT NOT NULL,
    created TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    claims TEXT NOT NULL DEFAULT '[]',
    -- the way back to the reading's model, as JSON; NULL where only its name is known
    address TEXT,
    error_kind TEXT,
    checksum INTEGER
);
CREATE INDEX readings_document ON readings(document);
CREATE TABLE steps (
    reading INTEGER NOT NULL REFERENCES readings(number) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    sources TEXT NOT NULL,
    pages TEXT NOT NULL,
    before TEXT,
    before_tokens INTEGER,
    memory TEXT NOT NULL,
    memory_tokens INTEGER NOT NULL,
    flags TEXT NOT NULL,
    reply TEXT NOT NULL,
    finish TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    record BLOB,
    kept TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    score REAL,
    findings TEXT,
    checksum INTEGER,
    PRIMARY KEY (reading, step)
);

-- names and stars that people give; `owner` is the key of a server, or empty. They go with what they stand on
CREATE TABLE labels (
    owner TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('document', 'reading')),
    id TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    starred INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, kind, id)
) WITHOUT ROWID;
CREATE TRIGGER labels_of_readings AFTER DELETE ON readings BEGIN
    DELETE FROM labels WHERE kind = 'reading' AND id = old.id;
END;
CREATE TRIGGER labels_of_texts AFTER DELETE ON texts BEGIN
    DELETE FROM labels WHERE kind = 'document' AND id = old.sha256;
END;

-- memories that outlive a question; `memory_replays` holds what a forgetting under way has read again
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    owner TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL,
    about TEXT NOT NULL,
    model TEXT NOT NULL,
    way TEXT NOT NULL,
    plan TEXT NOT NULL,
    address TEXT,
    limits TEXT NOT NULL,
    created TEXT NOT NULL,
    texts INTEGER NOT NULL DEFAULT 0,
    characters INTEGER NOT NULL DEFAULT 0,
    newest TEXT NOT NULL DEFAULT '',
    checksum INTEGER,
    UNIQUE (owner, name)
);
CREATE TABLE memory_texts (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    source TEXT NOT NULL,
    at TEXT NOT NULL,
    arrived TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    characters INTEGER NOT NULL,
    position INTEGER NOT NULL,
    is_late INTEGER NOT NULL,
    content TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (memory, number)
);
CREATE INDEX memory_texts_known ON memory_texts(memory, source, sha256);
CREATE INDEX memory_texts_waiting ON memory_texts(memory, number) WHERE position < characters;
CREATE TABLE memory_versions (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text INTEGER,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    content TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    flags TEXT NOT NULL,
    reply TEXT NOT NULL,
    finish TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    scores TEXT NOT NULL,
    changes TEXT NOT NULL,
    kept TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (memory, version)
);
CREATE INDEX memory_versions_kept ON memory_versions(memory, kept);
CREATE TABLE memory_replays (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text INTEGER,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    content TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    flags TEXT NOT NULL,
    reply TEXT NOT NULL,
    finish TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    scores TEXT NOT NULL,
    changes TEXT NOT NULL,
    kept TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (memory, version)
);
CREATE TABLE memory_answers (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    record TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    asked TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (memory, number)
);
CREATE TABLE memory_forgets (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    scope TEXT NOT NULL,
    sources TEXT NOT NULL,
    texts TEXT NOT NULL,
    masks TEXT NOT NULL,
    began TEXT NOT NULL,
    ended TEXT NOT NULL DEFAULT '',
    replayed INTEGER NOT NULL DEFAULT 0,
    lines INTEGER NOT NULL DEFAULT 0,
    purged INTEGER NOT NULL DEFAULT 0,
    changed TEXT,
    checksum INTEGER,
    PRIMARY KEY (memory, number)
);
CREATE TABLE memory_follows (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    source TEXT NOT NULL,
    place TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (memory, source)
);

-- the number of transactions, which is also noted beside the file once each is on disk (see access.py)
CREATE TABLE commits (count INTEGER NOT NULL);
INSERT INTO commits VALUES (0);

-- what was computed of a text for one question and serves the next; zlib's own checksum is in `content`
CREATE TABLE indexes (
    text INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (text, name)
);

-- the files that documents were read from, where they look like more than their text; sha256 is of the bytes
CREATE TABLE originals (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    source TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    UNIQUE (document, source)
);
CREATE TABLE original_pieces (
    original INTEGER NOT NULL REFERENCES originals(id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (original, number)
);

-- rows of a table that a person changed or removed; the replies keep what was found
CREATE TABLE row_edits (
    reading INTEGER NOT NULL REFERENCES readings(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    row TEXT NOT NULL,
    cells TEXT,
    made TEXT NOT NULL,
    checksum INTEGER,
    PRIMARY KEY (reading, number)
);

-- documents that somebody put together under a name; `owner` as in labels
CREATE TABLE collections (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (owner, name, sha256)
) WITHOUT ROWID;
CREATE INDEX collections_of ON collections(sha256);
CREATE TRIGGER collections_of_texts AFTER DELETE ON texts BEGIN
    DELETE FROM collections WHERE sha256 = old.sha256;
END;

-- long tables as they are shown, made of the replies and of what people changed
CREATE TABLE kept_tables (
    reading INTEGER PRIMARY KEY REFERENCES readings(number) ON DELETE CASCADE,
    made_of TEXT NOT NULL,
    facts TEXT NOT NULL
);
CREATE TABLE kept_rows (
    reading INTEGER NOT NULL REFERENCES readings(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (reading, number)
) WITHOUT ROWID;

-- the pictures of documents, once each, and where they stand; sha256 is of the bytes
CREATE TABLE pictures (
    sha256 TEXT PRIMARY KEY,
    content BLOB NOT NULL
);
CREATE TABLE document_pictures (
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    label TEXT NOT NULL,
    source TEXT NOT NULL,
    page INTEGER,
    box TEXT NOT NULL,
    picture TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (document, number)
);
CREATE INDEX document_pictures_picture ON document_pictures(picture);

-- the pictures of lasting memories, their bytes beside those of documents, and where pages of a text begin
CREATE TABLE memory_pictures (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    text INTEGER NOT NULL,
    label TEXT NOT NULL,
    source TEXT NOT NULL,
    page INTEGER,
    box TEXT NOT NULL,
    picture TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (memory, text, label)
);
CREATE INDEX memory_pictures_label ON memory_pictures(memory, label);
CREATE INDEX memory_pictures_picture ON memory_pictures(picture);
CREATE TABLE memory_pages (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    text INTEGER NOT NULL,
    start INTEGER NOT NULL,
    page INTEGER,
    PRIMARY KEY (memory, text, start)
) WITHOUT ROWID;
CREATE TRIGGER memory_texts_drop_pictures AFTER DELETE ON memory_texts BEGIN
    DELETE FROM memory_pictures WHERE memory = old.memory AND text = old.number;
    DELETE FROM memory_pages WHERE memory = old.memory AND text = old.number;
END;
CREATE TRIGGER pictures_drop_unused AFTER DELETE ON document_pictures BEGIN
    DELETE FROM pictures WHERE sha256 = old.picture
        AND NOT EXISTS (SELECT 1 FROM document_pictures WHERE picture = old.picture)
        AND NOT EXISTS (SELECT 1 FROM memory_pictures WHERE picture = old.picture);
END;
CREATE TRIGGER memory_pictures_drop_unused AFTER DELETE ON memory_pictures BEGIN
    DELETE FROM pictures WHERE sha256 = old.picture
        AND NOT EXISTS (SELECT 1 FROM document_pictures WHERE picture = old.picture)
        AND NOT EXISTS (SELECT 1 FROM memory_pictures WHERE picture = old.picture);
END;

-- the words of the texts of lasting memories, which go with any change of one of these texts
CREATE TABLE memory_indexes (
    id INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    UNIQUE (memory, first)
);
CREATE TRIGGER memory_texts_drop_indexes AFTER DELETE ON memory_texts BEGIN
    DELETE FROM memory_indexes WHERE memory = old.memory AND old.number BETWEEN first AND last;
END;
CREATE TRIGGER memory_texts_change_indexes AFTER UPDATE OF content ON memory_texts BEGIN
    DELETE FROM memory_indexes WHERE memory = old.memory AND old.number BETWEEN first AND last;
END;
