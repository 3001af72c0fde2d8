-- Runs with `search_path` set to the schema of the storage.
--
-- Ids, contents and other texts are kept as the inside of their JSON string literal (line breaks, NUL, quotes,
-- backslashes and halves of surrogate pairs are escaped), so that every JavaScript string survives; `message`, `meta`,
-- `node` and `value` are JSON, as `text` so that key order and number text survive.
-- An id too long for an index is kept as `\#` and its SHA-256 in hexadecimal, which no escaped text begins with;
-- whole it is in `meta` and `node`.

-- What is kept under an id. `revision` counts how often records were removed or altered. Every write of what is
-- kept under an id locks its row first, which is why turns of several processes never interleave.
CREATE TABLE sessions (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  next_seq bigint NOT NULL DEFAULT 1,
  revision bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- `place` is the order in which sessions were put first.
CREATE TABLE metas (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session bigint NOT NULL UNIQUE,
  status text NOT NULL,
  role text NOT NULL,
  meta text NOT NULL
);
CREATE INDEX metas_by_kind ON metas (status, role, place);

-- 'system_prompt', 'insight', 'memory'
CREATE TABLE slots (
  session bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (session, name)
);

CREATE TABLE records (
  session bigint NOT NULL,
  seq bigint NOT NULL,
  role text NOT NULL,
  message text NOT NULL,
  PRIMARY KEY (session, seq)
);

-- `last_seq` is the last record that is covered; NULL where that cannot be said.
CREATE TABLE caches (
  session bigint PRIMARY KEY,
  summary text NOT NULL,
  compressed_count bigint NOT NULL,
  fingerprint text NOT NULL,
  last_seq bigint
);

CREATE TABLE nodes (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  parent text COLLATE "C",
  node text NOT NULL
);
CREATE INDEX nodes_by_parent ON nodes (parent, place);

CREATE TABLE globals (
  key text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

-- Whoever removes or alters a record makes what was summarised of the history wrong.
CREATE FUNCTION records_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE sessions SET revision = revision + 1 WHERE number IN (SELECT session FROM changed);
  DELETE FROM caches WHERE session IN (SELECT session FROM changed);
  RETURN NULL;
END $$;
CREATE TRIGGER records_deleted AFTER DELETE ON records
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION records_changed();
CREATE TRIGGER records_updated_from AFTER UPDATE ON records
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION records_changed();
CREATE TRIGGER records_updated_to AFTER UPDATE ON records
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION records_changed();

CREATE FUNCTION records_truncated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE sessions SET revision = revision + 1;
  DELETE FROM caches;
  RETURN NULL;
END $$;
CREATE TRIGGER records_truncated AFTER TRUNCATE ON records
  FOR EACH STATEMENT EXECUTE FUNCTION records_truncated();

-- Applies a list of changes, in order: one statement, so one round trip, and all or nothing without more ado.
-- What `a`, `b`, `c` and `n` hold depends on the change.
CREATE FUNCTION apply(changes text[], ids text[], a text[], b text[], c text[], n bigint[], patience_ms bigint)
RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  w record;
  -- The session that is worked on, its row locked. Its sequence is counted here and written once.
  current_id text;
  history bigint;
  seq_next bigint;
  counted boolean := false;
  own text;
  mark text;
  known_count bigint;
  known_seq bigint;
BEGIN
  -- Until the end of the transaction. A caller that gives up cannot always tell the server: poolers may lose a cancellation.
  PERFORM set_config('lock_timeout', patience_ms || 'ms', true);

  -- In one order everywhere, so that two lists do not wait for each other.
  IF array_length(ids, 1) > 1 THEN
    PERFORM 1 FROM sessions WHERE id = ANY (ids) ORDER BY id FOR UPDATE;
  END IF;

  FOR w IN
    SELECT t.* FROM unnest(changes, ids, a, b, c, n) WITH ORDINALITY AS t (change, id, a, b, c, n, place)
    ORDER BY t.place
  LOOP
    CASE w.change
    WHEN 'node' THEN
      INSERT INTO nodes (id, parent, node) VALUES (w.id, w.a, w.b)
        ON CONFLICT (id) DO UPDATE SET parent = excluded.parent, node = excluded.node;
      CONTINUE;
    WHEN 'remove node' THEN
      DELETE FROM nodes WHERE id = w.id;
      CONTINUE;
    WHEN 'global' THEN
      INSERT INTO globals (key, value) VALUES (w.id, w.a)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value;
      CONTINUE;
    ELSE
      NULL;
    END CASE;

    IF w.id IS DISTINCT FROM current_id THEN
      IF counted THEN
        UPDATE sessions SET next_seq = seq_next WHERE number = history;
        counted := false;
      END IF;
      current_id := w.id;
      SELECT number, next_seq INTO history, seq_next FROM sessions WHERE id = current_id FOR UPDATE;
    END IF;
    IF history IS NULL THEN
      IF w.change IN ('clear', 'trim', 'delete') THEN
        IF w.change = 'delete' THEN
          DELETE FROM nodes WHERE id = current_id;
        END IF;
        CONTINUE;
      END IF;
      INSERT INTO sessions (id) VALUES (current_id)
        ON CONFLICT (id) DO UPDATE SET id = excluded.id
        RETURNING number, next_seq INTO history, seq_next;
    END IF;

    CASE w.change
    WHEN 'append' THEN
      INSERT INTO records (session, seq, role, message) VALUES (history, seq_next, w.a, w.b);
      seq_next := seq_next + 1;
      counted := true;
    WHEN 'session' THEN
      INSERT INTO metas (session, status, role, meta) VALUES (history, w.a, w.b, w.c)
        ON CONFLICT (session) DO UPDATE
        SET status = excluded.status, role = excluded.role, meta = excluded.meta;
    WHEN 'slot' THEN
      INSERT INTO slots (session, name, content) VALUES (history, w.a, w.b)
        ON CONFLICT (session, name) DO UPDATE SET content = excluded.content;
    WHEN 'clear' THEN
      DELETE FROM slots WHERE session = history AND name = w.a AND (w.b IS NULL OR content = w.b);
    WHEN 'trim' THEN
      DELETE FROM records WHERE session = history AND seq <= (
        SELECT r.seq FROM records r WHERE r.session = history ORDER BY r.seq DESC LIMIT 1 OFFSET w.n);
    WHEN 'cache' THEN
      SELECT history || '.' || revision INTO own FROM sessions WHERE number = history;
      mark := CASE WHEN w.b = '' THEN own ELSE w.b END;
      known_count := 0;
      known_seq := NULL;
      IF mark = own AND w.n > 0 THEN
        -- Goes on from where the previous cache ended: over the life of a history every record is stepped over once.
        SELECT compressed_count, last_seq INTO known_count, known_seq FROM caches
          WHERE session = history AND fingerprint = own AND last_seq IS NOT NULL AND compressed_count <= w.n;
        known_count := coalesce(known_count, 0);
        IF known_count < w.n THEN
          SELECT r.seq INTO known_seq FROM records r
            WHERE r.session = history AND r.seq > coalesce(known_seq, 0)
            ORDER BY r.seq LIMIT 1 OFFSET w.n - known_count - 1;
        END IF;
      END IF;
      INSERT INTO caches (session, summary, compressed_count, fingerprint, last_seq)
        VALUES (history, w.a, w.n, mark, known_seq)
        ON CONFLICT (session) DO UPDATE SET summary = excluded.summary,
        compressed_count = excluded.compressed_count,
        fingerprint = excluded.fingerprint, last_seq = excluded.last_seq;
    WHEN 'delete' THEN
      DELETE FROM nodes WHERE id = current_id;
      DELETE FROM sessions WHERE number = history;
      DELETE FROM metas WHERE session = history;
      DELETE FROM slots WHERE session = history;
      DELETE FROM caches WHERE session = history;
      DELETE FROM records WHERE session = history;
      history := NULL;
      counted := false;
    END CASE;
  END LOOP;

  IF counted THEN
    UPDATE sessions SET next_seq = seq_next WHERE number = history;
  END IF;
END $$;
