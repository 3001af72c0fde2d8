//! The writes, inside of a transaction that the caller holds.

use std::slice;

use rusqlite::{Connection, Params};

use super::{
    fault,
    queries::{self, clamp, half_of_key, history, history_number, keys, one},
};
use crate::{
    error::Result,
    meta::{Kind, SessionMeta, Status},
    storage::{CompressionCache, Write, rows},
    text::Text,
};

pub(super) fn apply(connection: &Connection, writes: &[Write]) -> Result<()> {
    // Records that follow each other take their numbers together.
    for list in writes
        .chunk_by(|one, next| appends_to(one).is_some() && appends_to(one) == appends_to(next))
    {
        if let Some(id) = list.first().and_then(appends_to) {
            append(connection, id, list)?;
        } else {
            for write in list {
                apply_one(connection, write)?;
            }
        }
    }
    Ok(())
}

fn appends_to(write: &Write) -> Option<&Text> {
    match write {
        Write::AppendRecord { id, .. } => Some(id),
        _ => None,
    }
}

fn apply_one(connection: &Connection, write: &Write) -> Result<()> {
    match write {
        Write::PutSession(meta) => put_session(connection, meta),
        Write::PutSystemPrompt { id, content } => {
            put_slot(connection, id, "system_prompt", content)
        }
        Write::AppendRecord { id, .. } => append(connection, id, slice::from_ref(write)),
        Write::TrimRecords { id, keep_recent } => trim(connection, id, *keep_recent),
        Write::PutInsight { id, content } => put_slot(connection, id, "insight", content),
        Write::ClearInsight { id } => clear_insight(connection, id, None),
        Write::ClearInsightIf { id, content } => clear_insight(connection, id, Some(content)),
        Write::PutMemory { id, content } => put_slot(connection, id, "memory", content),
        Write::PutNode(node) => {
            let sql = "INSERT INTO nodes (id, parent, node) VALUES (?1, ?2, ?3)
                       ON CONFLICT (id) DO UPDATE SET parent = excluded.parent, node = excluded.node";
            let parent = node.parent_id.as_ref().map(Text::escaped);
            run(
                connection,
                sql,
                (node.id.escaped(), parent, rows::to_json(node)?),
            )
        }
        Write::RemoveNode { id } => run(
            connection,
            "DELETE FROM nodes WHERE id = ?1",
            [id.escaped()],
        ),
        Write::PutGlobal { key, value } => {
            let sql = "INSERT INTO globals (key, value) VALUES (?1, ?2)
                       ON CONFLICT (key) DO UPDATE SET value = excluded.value";
            run(connection, sql, (key.escaped(), &**value))
        }
        Write::PutCompressionCache { id, cache } => put_cache(connection, id, cache),
        Write::DeleteSession { id } => delete(connection, id),
    }
}

fn put_session(connection: &Connection, meta: &SessionMeta) -> Result<()> {
    let number = ensure(connection, &meta.id)?;
    let status = match meta.status {
        Status::Active => "active",
        Status::Archived => "archived",
    };
    let role = match meta.role {
        Kind::Standard => "standard",
        Kind::Main => "main",
    };
    let sql = "INSERT INTO metas (session, status, role, meta) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (session) DO UPDATE
               SET status = excluded.status, role = excluded.role, meta = excluded.meta";
    run(
        connection,
        sql,
        (number, status, role, rows::to_json(meta)?),
    )
}

fn put_slot(connection: &Connection, id: &Text, name: &str, content: &Text) -> Result<()> {
    let number = ensure(connection, id)?;
    let sql = "INSERT INTO slots (session, name, content) VALUES (?1, ?2, ?3)
               ON CONFLICT (session, name) DO UPDATE SET content = excluded.content";
    run(connection, sql, (number, name, content.escaped()))
}

fn clear_insight(connection: &Connection, id: &Text, expected: Option<&Text>) -> Result<()> {
    let sql = "DELETE FROM slots
               WHERE session = (SELECT number FROM sessions WHERE id = ?1) AND name = 'insight'
               AND (?2 IS NULL OR content = ?2)";
    run(connection, sql, (id.escaped(), expected.map(Text::escaped)))
}

/// Appends the records of `list`, all of them of one session.
fn append(connection: &Connection, id: &Text, list: &[Write]) -> Result<()> {
    let count = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let take = || {
        let sql = "UPDATE sessions SET next_seq = next_seq + ?2 WHERE id = ?1 RETURNING number, next_seq - ?2";
        one(connection, sql, (id.escaped(), count), |row| {
            let seq = row.get(1).map_err(fault::of)?;
            let seq = half_of_key("sessions.next_seq", seq, 32)?;
            Ok(keys(history_number(row)?).0 + seq)
        })
    };
    let first = match take()? {
        None => {
            ensure(connection, id)?;
            take()?
        }
        known => known,
    };
    let sql = "INSERT INTO records (key, role, message) VALUES (?1, ?2, ?3)";
    for (key, write) in (first.unwrap_or_default()..).zip(list) {
        if let Write::AppendRecord { record, .. } = write {
            run(
                connection,
                sql,
                (key, record.role().as_str(), record.json()),
            )?;
        }
    }
    Ok(())
}

fn trim(connection: &Connection, id: &Text, keep_recent: u64) -> Result<()> {
    let Some((number, _)) = history(connection, id)? else {
        return Ok(());
    };
    let (first, last) = keys(number);
    // Everything up to the newest record that does not stay.
    let sql = "DELETE FROM records WHERE key BETWEEN ?1 AND (
                 SELECT key FROM records WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC LIMIT 1 OFFSET ?3)";
    run(connection, sql, (first, last, clamp(keep_recent)))
}

fn put_cache(connection: &Connection, id: &Text, cache: &CompressionCache) -> Result<()> {
    ensure(connection, id)?;
    let Some((number, revision)) = history(connection, id)? else {
        return Ok(());
    };
    let own = rows::fingerprint(number, revision);
    let fingerprint = if cache.fingerprint.is_empty() {
        &own
    } else {
        &cache.fingerprint
    };
    let count = clamp(cache.compressed_count);
    let last_seq = if *fingerprint == own {
        last_covered(connection, number, &own, count)?
    } else {
        None
    };
    let sql = "INSERT INTO caches (session, summary, compressed_count, fingerprint, last_seq)
               VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (session) DO UPDATE SET summary = excluded.summary,
               compressed_count = excluded.compressed_count,
               fingerprint = excluded.fingerprint, last_seq = excluded.last_seq";
    let values = (
        number,
        cache.summary.escaped(),
        count,
        fingerprint.escaped(),
        last_seq,
    );
    run(connection, sql, values)
}

/// The sequence number of the record at which `count` ends. Goes on from where the previous cache ended: over the life of
/// a history every record is stepped over once.
fn last_covered(
    connection: &Connection,
    number: i64,
    fingerprint: &Text,
    count: i64,
) -> Result<Option<i64>> {
    let sql = "SELECT compressed_count, last_seq FROM caches
               WHERE session = ?1 AND fingerprint = ?2 AND last_seq BETWEEN 0 AND 4294967295 AND compressed_count BETWEEN 0 AND ?3";
    let known = one(
        connection,
        sql,
        (number, fingerprint.escaped(), count),
        |row| {
            let count: i64 = row.get(0).map_err(fault::of)?;
            let seq: i64 = row.get(1).map_err(fault::of)?;
            Ok((count, seq))
        },
    )?;
    let (known_count, known_seq) = known.unwrap_or((0, 0));
    let steps = count - known_count;
    if steps == 0 {
        return Ok((count > 0).then_some(known_seq));
    }
    let (first, last) = keys(number);
    let sql = "SELECT seq FROM records WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT 1 OFFSET ?3";
    let values = (first + known_seq + 1, last, steps - 1);
    one(connection, sql, values, |row| row.get(0).map_err(fault::of))
}

fn delete(connection: &Connection, id: &Text) -> Result<()> {
    run(
        connection,
        "DELETE FROM nodes WHERE id = ?1",
        [id.escaped()],
    )?;
    let Some((number, _)) = history(connection, id)? else {
        return Ok(());
    };
    run(
        connection,
        "DELETE FROM sessions WHERE number = ?1",
        [number],
    )?;
    run(connection, "DELETE FROM metas WHERE session = ?1", [number])?;
    run(connection, "DELETE FROM slots WHERE session = ?1", [number])?;
    run(
        connection,
        "DELETE FROM caches WHERE session = ?1",
        [number],
    )?;
    run(
        connection,
        "DELETE FROM records WHERE key BETWEEN ?1 AND ?2",
        queries::keys(number),
    )
}

/// The number of what is kept under `id`.
fn ensure(connection: &Connection, id: &Text) -> Result<i64> {
    if let Some((number, _)) = history(connection, id)? {
        return Ok(number);
    }
    run(
        connection,
        "INSERT INTO sessions (id) VALUES (?1)",
        [id.escaped()],
    )?;
    Ok(connection.last_insert_rowid())
}

fn run(connection: &Connection, sql: &str, params: impl Params) -> Result<()> {
    let mut statement = connection.prepare_cached(sql).map_err(fault::of)?;
    statement.execute(params).map(drop).map_err(fault::of)
}
