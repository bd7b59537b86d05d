PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1112492887;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    text INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    used INTEGER NOT NULL,
    UNIQUE (text, name, digest)
);
INSERT INTO "documents" VALUES(1,1,'a.pdf','167761da72a2c5cbd5b01925d0b91d98c6546d54fe8fd7ad64126dccc53d0030',1);
CREATE TABLE pieces (
    text INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (text, start)
);
INSERT INTO "pieces" VALUES(1,0,X'78010BC94855C8CDCCC951284F2C56482ACDCC2951C8CC533034B5B0D0530819951B0D97D134319A1F28280B82127353737232158A33D3F35253144A80454A414E629E427E1A980D2A7AF414821281619C065437CA1C0D8741920800DC7346B9');
CREATE TABLE places (
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    source TEXT NOT NULL,
    page INTEGER,
    PRIMARY KEY (document, start)
) WITHOUT ROWID;
INSERT INTO "places" VALUES(1,0,'a.pdf',1);
INSERT INTO "places" VALUES(1,1120,'a.pdf',2);
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
    seconds REAL NOT NULL
);
INSERT INTO "readings" VALUES(1,'0123456789ab',1,'Who signed the plan of the mill?','scripted','sequential','en','{"question_tokens": 40, "chunk_tokens": 120, "memory_tokens": 60, "answer_tokens": 40, "layout": "memory-first", "prompts": "standard", "language": null, "sampling": {"temperature": 0.7, "top_p": 0.95, "seed": null, "repeat_penalty": null}, "budget": {"tokens": null, "seconds": null, "cost": null, "price_in": 0.0, "price_out": 0.0}}','reading',NULL,NULL,NULL,'[]','','','2026-11-21',2,544,4,3.99735999963013455271e-04);
INSERT INTO "readings" VALUES(2,'ba9876543210',1,'Who signed the plan of the mill?','scripted','sequential','en','{"question_tokens": 40, "chunk_tokens": 120, "memory_tokens": 60, "answer_tokens": 40, "layout": "memory-first", "prompts": "standard", "language": null, "sampling": {"temperature": 0.7, "top_p": 0.95, "seed": null, "repeat_penalty": null}, "budget": {"tokens": null, "seconds": null, "cost": null, "price_in": 0.0, "price_out": 0.0}}','answered','Ramelli signed the plan of the mill.','{"reply": "\\boxed{Ramelli signed the plan of the mill.}", "finish": "stop", "flags": [], "usage": [1, 72, 12, 0.00012853999942308292]}',NULL,'[]','','','2026-11-21',5,1155,32,1.20387600054527865722e-03);
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
    PRIMARY KEY (reading, step)
);
INSERT INTO "steps" VALUES(1,0,0,476,119,'["a.pdf"]','[1]',NULL,NULL,'',0,'["unchanged"]','UNCHANGED','stop',1,272,2,1.50931999996828380972e-04,NULL,'2026-11-21T23:40:06.304Z');
INSERT INTO "steps" VALUES(1,1,476,952,119,'["a.pdf"]','[1]',NULL,NULL,'',0,'["unchanged"]','UNCHANGED','stop',1,272,2,2.48803999966185074299e-04,NULL,'2026-11-21T23:40:06.308Z');
INSERT INTO "steps" VALUES(2,0,0,476,119,'["a.pdf"]','[1]',NULL,NULL,'',0,'["unchanged"]','UNCHANGED','stop',1,272,2,2.715270002227043733e-04,NULL,'2026-11-21T23:40:06.350Z');
INSERT INTO "steps" VALUES(2,1,476,952,119,'["a.pdf"]','[1]',NULL,NULL,'',0,'["unchanged"]','UNCHANGED','stop',1,272,2,2.26653000026999507099e-04,NULL,'2026-11-21T23:40:06.369Z');
INSERT INTO "steps" VALUES(2,2,952,1410,119,'["a.pdf"]','[1, 2]',NULL,NULL,'Ramelli signed the plan of the mill.',8,'[]','Ramelli signed the plan of the mill.','stop',1,272,8,0.000317201000143541,NULL,'2026-11-21T23:40:06.445Z');
INSERT INTO "steps" VALUES(2,3,1410,1817,111,'["a.pdf"]','[2]',NULL,NULL,'Ramelli signed the plan of the mill.',8,'[]','Ramelli signed the plan of the mill.','stop',1,267,8,2.59955000728950835764e-04,NULL,'2026-11-21T23:40:06.452Z');
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    characters INTEGER NOT NULL,
    kept TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
INSERT INTO "texts" VALUES(1,'47193210e3319db6f89c5cffaab78b1ad79522820eddf4a98e0869be8065d0ce',1817,'2026-11-21T23:40:06.156Z');
CREATE INDEX readings_document ON readings(document);
COMMIT;
