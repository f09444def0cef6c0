-- Messages are stored once and joined to folders by `entries` (Welsh's thesis, chapter 6.3, joins its folder table to
-- its message table on the message id). So a thousand users can share generated messages while each owns its folders:
-- delete and refile touch entries alone.

CREATE TABLE users (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL UNIQUE,
    -- A PHC string: algorithm, cost and salt travel with each hash.
    password  TEXT NOT NULL
) STRICT;

-- AUTOINCREMENT wherever an id is shown to users: a stale link must never meet a newer object.
CREATE TABLE folders (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id   INTEGER NOT NULL REFERENCES users (id),
    name      TEXT NOT NULL COLLATE NOCASE,
    inbox     INTEGER NOT NULL DEFAULT 0 CHECK (inbox IN (0, 1)),
    -- Number of entries, kept in the transaction that changes them: counting 12 794 entries on every page would
    -- cost more than the page.
    messages  INTEGER NOT NULL DEFAULT 0 CHECK (messages >= 0),
    UNIQUE (user_id, name)
) STRICT;

-- What a list shows, and nothing heavier: rows stay small, so that a page of a list touches few database pages.
CREATE TABLE messages (
    id          INTEGER PRIMARY KEY,
    digest      BLOB NOT NULL UNIQUE,
    date        INTEGER NOT NULL,
    author      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    author_key  TEXT NOT NULL,
    subject_key TEXT NOT NULL,
    size        INTEGER NOT NULL,
    attachments INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Header text for search, folded to lower case.
CREATE TABLE search_text (
    message_id INTEGER PRIMARY KEY REFERENCES messages (id),
    text       TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search_index USING fts5 (text, content = '', columnsize = 0, tokenize = 'unicode61');

CREATE TABLE bodies (
    message_id   INTEGER PRIMARY KEY REFERENCES messages (id),
    sender       TEXT NOT NULL,
    recipients   TEXT NOT NULL,
    headers      TEXT NOT NULL,
    text         TEXT NOT NULL,
    -- Cleaned when the message was stored, by this version of the cleaner.
    html         TEXT,
    html_version INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE attachments (
    message_id INTEGER NOT NULL REFERENCES messages (id),
    part       INTEGER NOT NULL,
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    size       INTEGER NOT NULL,
    content    BLOB NOT NULL,
    PRIMARY KEY (message_id, part)
) STRICT;

CREATE TABLE entries (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    folder_id  INTEGER NOT NULL REFERENCES folders (id),
    message_id INTEGER NOT NULL REFERENCES messages (id),
    date       INTEGER NOT NULL
) STRICT;

-- Covers the list in its usual order; newest first is a walk from the end.
CREATE INDEX entries_by_date ON entries (folder_id, date, id, message_id);
-- From a hit of the full-text index to the folders that hold it.
CREATE INDEX entries_by_message ON entries (message_id, folder_id);

-- What was imported into an account, and from which source folder: importing again adds nothing, even if the message
-- has since been refiled or deleted.
CREATE TABLE imported (
    user_id INTEGER NOT NULL REFERENCES users (id),
    source  TEXT NOT NULL,
    digest  BLOB NOT NULL,
    PRIMARY KEY (user_id, source, digest)
) STRICT, WITHOUT ROWID;

-- What the work knob reads: rows of one size, so that an operation costs the same wherever it starts.
CREATE TABLE work (
    id      INTEGER PRIMARY KEY,
    payload BLOB NOT NULL
) STRICT;

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8192)
INSERT INTO work SELECT i, zeroblob(64) FROM n;
