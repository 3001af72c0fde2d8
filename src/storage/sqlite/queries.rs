//! The reads, each from one moment.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Params, Row, types::ValueRef};

use super::fault;
use crate::{
    error::Result,
    message::Message,
    meta::{ChildL2Summary, Kind, SessionDigest, SessionFilter, SessionMeta, Status, TopologyNode},
    storage::{CompressionCache, ListRecords, Loaded, Slot, rows},
    text::{Json, Text},
};

pub(super) fn session(connection: &Connection, id: &Text) -> Result<Option<SessionMeta>> {
    let sql = "SELECT meta FROM metas WHERE session = (SELECT number FROM sessions WHERE id = ?1)";
    one(connection, sql, [id.escaped()], |row| {
        rows::meta(text(row, 0)?)
    })
}

pub(super) fn sessions(
    connection: &Connection,
    filter: &SessionFilter,
) -> Result<Vec<SessionMeta>> {
    let sql = format!(
        "SELECT meta FROM metas {} ORDER BY place",
        condition(filter)
    );
    let all = many(connection, &sql, (), |row| rows::meta(text(row, 0)?))?;
    Ok(all
        .into_iter()
        .filter(|meta| rows::accepts(filter, meta))
        .collect())
}

pub(super) fn digests(
    connection: &Connection,
    filter: &SessionFilter,
) -> Result<Vec<SessionDigest>> {
    let sql = format!(
        "SELECT meta, memory.content, insight.content FROM metas
         LEFT JOIN slots memory ON memory.session = metas.session AND memory.name = 'memory'
         LEFT JOIN slots insight ON insight.session = metas.session AND insight.name = 'insight'
         {} ORDER BY place",
        condition(filter)
    );
    let all = many(connection, &sql, (), |row| {
        let meta = rows::meta(text(row, 0)?)?;
        rows::accepts(filter, &meta)
            .then(|| rows::digest(meta, optional_text(row, 1)?, optional_text(row, 2)?))
            .transpose()
    })?;
    Ok(all.into_iter().flatten().collect())
}

pub(super) fn l2s(connection: &Connection) -> Result<Vec<ChildL2Summary>> {
    let sql = "SELECT meta, content FROM metas
               JOIN slots ON slots.session = metas.session AND slots.name = 'memory'
               WHERE status = 'active' AND role = 'standard' ORDER BY place";
    many(connection, sql, (), |row| {
        rows::l2(rows::meta(text(row, 0)?)?, text(row, 1)?)
    })
}

pub(super) fn slot(connection: &Connection, id: &Text, name: &str) -> Result<Option<Text>> {
    let sql = "SELECT content FROM slots
               WHERE session = (SELECT number FROM sessions WHERE id = ?1) AND name = ?2";
    one(connection, sql, [id.escaped(), name], |row| {
        rows::text("slots.content", text(row, 0)?)
    })
}

pub(super) fn records(
    connection: &Connection,
    id: &Text,
    options: &ListRecords,
) -> Result<Arc<Vec<Message>>> {
    let Some((number, _)) = history(connection, id)? else {
        return Ok(Arc::default());
    };
    let role = if options.role.is_some() {
        "AND role = ?5"
    } else {
        ""
    };
    let (order, limit, offset) = match options.last {
        Some(last) => ("DESC", last, 0),
        None => (
            "ASC",
            options.limit.unwrap_or(u64::MAX),
            options.offset.unwrap_or(0),
        ),
    };
    let sql = format!(
        "SELECT message FROM records WHERE key BETWEEN ?1 AND ?2 {role} ORDER BY key {order} LIMIT ?3 OFFSET ?4"
    );
    let (first, last) = keys(number);
    let (limit, offset) = (clamp(limit), clamp(offset));
    let read = |row: &Row<'_>| rows::message(text(row, 0)?);
    let mut records = match options.role {
        Some(role) => many(
            connection,
            &sql,
            (first, last, limit, offset, role.as_str()),
            read,
        )?,
        None => many(connection, &sql, (first, last, limit, offset), read)?,
    };
    if options.last.is_some() {
        records.reverse();
    }
    Ok(Arc::new(records))
}

pub(super) fn node(connection: &Connection, id: &Text) -> Result<Option<TopologyNode>> {
    let sql = "SELECT node FROM nodes WHERE id = ?1";
    one(connection, sql, [id.escaped()], |row| {
        rows::node(text(row, 0)?)
    })
}

pub(super) fn children(
    connection: &Connection,
    parent: Option<&Text>,
) -> Result<Vec<TopologyNode>> {
    let sql = "SELECT node FROM nodes WHERE parent IS ?1 ORDER BY place";
    many(connection, sql, [parent.map(Text::escaped)], |row| {
        rows::node(text(row, 0)?)
    })
}

pub(super) fn global(connection: &Connection, key: &Text) -> Result<Option<Json>> {
    let sql = "SELECT value FROM globals WHERE key = ?1";
    one(connection, sql, [key.escaped()], |row| {
        rows::json("globals.value", text(row, 0)?)
    })
}

pub(super) fn cache(connection: &Connection, id: &Text) -> Result<Option<CompressionCache>> {
    let sql = "SELECT summary, compressed_count, fingerprint FROM caches
               WHERE session = (SELECT number FROM sessions WHERE id = ?1)";
    one(connection, sql, [id.escaped()], read_cache)
}

pub(super) fn load(connection: &mut Connection, id: &Text, slot_name: Slot) -> Result<Loaded> {
    // Inside of a transaction, so that all of it is of one moment.
    let moment = connection.unchecked_transaction().map_err(fault::of)?;
    let Some((number, revision)) = history(&moment, id)? else {
        return Ok(Loaded::default());
    };
    let fingerprint = rows::fingerprint(number, revision);
    let (first, last) = keys(number);
    let sql = "SELECT summary, compressed_count, fingerprint, last_seq FROM caches
               WHERE session = ?1 AND fingerprint = ?2 AND last_seq BETWEEN 0 AND 4294967295";
    let cache = one(&moment, sql, (number, fingerprint.escaped()), |row| {
        Ok((read_cache(row)?, row.get::<_, i64>(3).map_err(fault::of)?))
    })?;
    let (cache, last_covered) = cache.unzip();
    let sql = "SELECT message FROM records WHERE key BETWEEN ?1 AND ?2 ORDER BY key";
    let from = first + last_covered.unwrap_or(0) + 1;
    let records = many(&moment, sql, (from, last), |row| {
        rows::message(text(row, 0)?)
    })?;
    let slot_name = match slot_name {
        Slot::Insight => "insight",
        Slot::Memory => "memory",
    };
    Ok(Loaded {
        system_prompt: slot(&moment, id, "system_prompt")?,
        slot: slot(&moment, id, slot_name)?,
        records: Arc::new(records),
        cache,
        fingerprint,
    })
}

/// The number of what is kept under `id`, and its revision.
pub(super) fn history(connection: &Connection, id: &Text) -> Result<Option<(i64, i64)>> {
    let sql = "SELECT number, revision FROM sessions WHERE id = ?1";
    one(connection, sql, [id.escaped()], |row| {
        Ok((history_number(row)?, row.get(1).map_err(fault::of)?))
    })
}

/// The first column, which is half of a key: other hands may have put there what no key has room for.
pub(super) fn history_number(row: &Row<'_>) -> Result<i64> {
    half_of_key("sessions.number", row.get(0).map_err(fault::of)?, 31)
}

pub(super) fn half_of_key(column: &str, number: i64, bits: u32) -> Result<i64> {
    if (0..1 << bits).contains(&number) {
        Ok(number)
    } else {
        Err(rows::invalid(
            column,
            format_args!("expected a number of {bits} bits, got {number}"),
        ))
    }
}

/// The least and the greatest key that a record of the session can have.
pub(super) fn keys(number: i64) -> (i64, i64) {
    (number << 32, (number << 32) | 0xffff_ffff)
}

/// SQLite counts with signed numbers.
pub(super) fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(fault::of)?;
    statement
        .query_row(params, |row| Ok(read(row)))
        .optional()
        .map_err(fault::of)?
        .transpose()
}

fn many<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(fault::of)?;
    let mut rows = statement.query(params).map_err(fault::of)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(fault::of)? {
        all.push(read(row)?);
    }
    Ok(all)
}

fn read_cache(row: &Row<'_>) -> Result<CompressionCache> {
    let count: i64 = row.get(1).map_err(fault::of)?;
    Ok(CompressionCache {
        summary: rows::text("caches.summary", text(row, 0)?)?,
        compressed_count: u64::try_from(count).map_err(|_| {
            rows::invalid(
                "caches.compressed_count",
                format_args!("{count} is negative"),
            )
        })?,
        fingerprint: rows::text("caches.fingerprint", text(row, 2)?)?,
    })
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    optional_text(row, column)?
        .ok_or_else(|| rows::invalid(&name(row, column), "expected text, got NULL"))
}

fn optional_text<'a>(row: &'a Row<'_>, column: usize) -> Result<Option<&'a str>> {
    match row.get_ref(column).map_err(fault::of)? {
        ValueRef::Null => Ok(None),
        // A STRICT table still takes bytes that are not UTF-8.
        ValueRef::Text(bytes) => std::str::from_utf8(bytes)
            .map(Some)
            .map_err(|problem| rows::invalid(&name(row, column), problem)),
        other => {
            let kind = other.data_type();
            Err(rows::invalid(
                &name(row, column),
                format_args!("expected text, got {kind}"),
            ))
        }
    }
}

fn name(row: &Row<'_>, column: usize) -> String {
    let name = row.as_ref().column_name(column).unwrap_or("?");
    format!("column {name}")
}

fn condition(filter: &SessionFilter) -> &'static str {
    match (filter.status, filter.role) {
        (None, None) => "",
        (Some(Status::Active), None) => "WHERE status = 'active'",
        (Some(Status::Archived), None) => "WHERE status = 'archived'",
        (None, Some(Kind::Standard)) => "WHERE role = 'standard'",
        (None, Some(Kind::Main)) => "WHERE role = 'main'",
        (Some(Status::Active), Some(Kind::Standard)) => {
            "WHERE status = 'active' AND role = 'standard'"
        }
        (Some(Status::Active), Some(Kind::Main)) => "WHERE status = 'active' AND role = 'main'",
        (Some(Status::Archived), Some(Kind::Standard)) => {
            "WHERE status = 'archived' AND role = 'standard'"
        }
        (Some(Status::Archived), Some(Kind::Main)) => "WHERE status = 'archived' AND role = 'main'",
    }
}
