-- Ids, contents and other texts are kept as the inside of their JSON string literal (line breaks, NUL, quotes,
-- backslashes and halves of surrogate pairs are escaped), so that every JavaScript string survives;
-- `message`, `meta`, `node` and `value` are JSON.

-- What is kept under an id. `revision` counts how often records were removed or altered.
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY AUTOINCREMENT CHECK (number < 2147483648),
  id TEXT NOT NULL UNIQUE,
  next_seq INTEGER NOT NULL DEFAULT 1 CHECK (next_seq < 4294967296),
  revision INTEGER NOT NULL DEFAULT 0
) STRICT;

-- `place` is the order in which sessions were put first.
CREATE TABLE metas (
  place INTEGER PRIMARY KEY,
  session INTEGER NOT NULL UNIQUE,
  status TEXT NOT NULL,
  role TEXT NOT NULL,
  meta TEXT NOT NULL
) STRICT;
CREATE INDEX metas_by_kind ON metas (status, role, place);

-- 'system_prompt', 'insight', 'memory'
CREATE TABLE slots (
  session INTEGER NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  UNIQUE (session, name)
) STRICT;

-- One B-tree, ordered by session and sequence: both are in the key.
CREATE TABLE records (
  key INTEGER PRIMARY KEY,
  role TEXT NOT NULL,
  message TEXT NOT NULL,
  session INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,
  seq INTEGER GENERATED ALWAYS AS (key & 4294967295) VIRTUAL
) STRICT;

-- `last_seq` is the last record that is covered; NULL where that cannot be said.
CREATE TABLE caches (
  session INTEGER PRIMARY KEY,
  summary TEXT NOT NULL,
  compressed_count INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  last_seq INTEGER
) STRICT;

CREATE TABLE nodes (
  place INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  parent TEXT,
  node TEXT NOT NULL
) STRICT;
CREATE INDEX nodes_by_parent ON nodes (parent, place);

CREATE TABLE globals (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Whoever removes or alters a record makes what was summarised of the history wrong.
CREATE TRIGGER records_deleted AFTER DELETE ON records BEGIN
  UPDATE sessions SET revision = revision + 1 WHERE number = old.key >> 32;
  DELETE FROM caches WHERE session = old.key >> 32;
END;
CREATE TRIGGER records_updated AFTER UPDATE ON records BEGIN
  UPDATE sessions SET revision = revision + 1 WHERE number IN (old.key >> 32, new.key >> 32);
  DELETE FROM caches WHERE session IN (old.key >> 32, new.key >> 32);
END;
