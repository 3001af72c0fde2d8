//! The reads: one statement each, so from one moment, and in one round trip.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use super::read::{Read, get, many, one, text};
use crate::{
    error::Result,
    message::Message,
    meta::{ChildL2Summary, Kind, SessionDigest, SessionFilter, SessionMeta, Status, TopologyNode},
    storage::{CompressionCache, ListRecords, Loaded, Slot, rows},
    text::{Json, Text},
};

/// An index holds keys of up to 2 700 bytes; longer ids are known by their digest.
const LONGEST_KEY: usize = 1_000;

/// The statements over one schema.
#[derive(Debug, Clone)]
pub(super) struct Queries {
    /// The quoted name of the schema.
    schema: String,
}

impl Queries {
    pub(super) fn new(schema: String) -> Self {
        Self { schema }
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    pub(super) fn apply(&self) -> String {
        format!("SELECT {}.apply($1, $2, $3, $4, $5, $6, $7)", self.schema)
    }

    pub(super) fn session(&self, id: &Text) -> Read<Option<SessionMeta>> {
        let s = &self.schema;
        let sql = format!(
            "SELECT meta FROM {s}.metas WHERE session = (SELECT number FROM {s}.sessions WHERE id = $1)"
        );
        Read::new(sql, |rows| one(&rows, |row| rows::meta(text(row, 0)?))).text(&key(id))
    }

    pub(super) fn sessions(&self, filter: &SessionFilter) -> Read<Vec<SessionMeta>> {
        let sql = format!(
            "SELECT meta FROM {}.metas {} ORDER BY place",
            self.schema,
            condition(filter)
        );
        let filter = filter.clone();
        Read::new(sql, move |rows| {
            let all = many(&rows, |row| rows::meta(text(row, 0)?))?;
            Ok(all
                .into_iter()
                .filter(|meta| rows::accepts(&filter, meta))
                .collect())
        })
    }

    pub(super) fn digests(&self, filter: &SessionFilter) -> Read<Vec<SessionDigest>> {
        let s = &self.schema;
        let sql = format!(
            "SELECT meta, memory.content, insight.content FROM {s}.metas m
             LEFT JOIN {s}.slots memory ON memory.session = m.session AND memory.name = 'memory'
             LEFT JOIN {s}.slots insight ON insight.session = m.session AND insight.name = 'insight'
             {} ORDER BY place",
            condition(filter)
        );
        let filter = filter.clone();
        Read::new(sql, move |rows| {
            let all = many(&rows, |row| {
                let meta = rows::meta(text(row, 0)?)?;
                rows::accepts(&filter, &meta)
                    .then(|| rows::digest(meta, get(row, 1)?, get(row, 2)?))
                    .transpose()
            })?;
            Ok(all.into_iter().flatten().collect())
        })
    }

    pub(super) fn l2s(&self) -> Read<Vec<ChildL2Summary>> {
        let s = &self.schema;
        let sql = format!(
            "SELECT meta, content FROM {s}.metas m
             JOIN {s}.slots ON slots.session = m.session AND slots.name = 'memory'
             WHERE status = 'active' AND role = 'standard' ORDER BY place"
        );
        Read::new(sql, |rows| {
            many(&rows, |row| {
                rows::l2(rows::meta(text(row, 0)?)?, text(row, 1)?)
            })
        })
    }

    pub(super) fn slot(&self, id: &Text, name: &str) -> Read<Option<Text>> {
        let s = &self.schema;
        let sql = format!(
            "SELECT content FROM {s}.slots
             WHERE session = (SELECT number FROM {s}.sessions WHERE id = $1) AND name = $2"
        );
        Read::new(sql, |rows| {
            one(&rows, |row| rows::text("slots.content", text(row, 0)?))
        })
        .text(&key(id))
        .text(name)
    }

    pub(super) fn records(&self, id: &Text, options: &ListRecords) -> Read<Arc<Vec<Message>>> {
        let s = &self.schema;
        let role = if options.role.is_some() {
            "AND role = $4"
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
            "SELECT message FROM {s}.records
             WHERE session = (SELECT number FROM {s}.sessions WHERE id = $1) {role}
             ORDER BY seq {order} LIMIT $2 OFFSET $3"
        );
        let newest_first = options.last.is_some();
        let read = Read::new(sql, move |rows| {
            let mut records = many(&rows, |row| rows::message(text(row, 0)?))?;
            if newest_first {
                records.reverse();
            }
            Ok(Arc::new(records))
        });
        let read = read.text(&key(id)).number(limit).number(offset);
        match options.role {
            Some(role) => read.text(role.as_str()),
            None => read,
        }
    }

    pub(super) fn node(&self, id: &Text) -> Read<Option<TopologyNode>> {
        let sql = format!("SELECT node FROM {}.nodes WHERE id = $1", self.schema);
        Read::new(sql, |rows| one(&rows, |row| rows::node(text(row, 0)?))).text(&key(id))
    }

    pub(super) fn children(&self, parent: Option<&Text>) -> Read<Vec<TopologyNode>> {
        // `IS NOT DISTINCT FROM` uses no index.
        let parent_is = if parent.is_some() {
            "parent = $1"
        } else {
            "parent IS NULL AND $1 IS NULL"
        };
        let sql = format!(
            "SELECT node FROM {}.nodes WHERE {parent_is} ORDER BY place",
            self.schema
        );
        Read::new(sql, |rows| many(&rows, |row| rows::node(text(row, 0)?)))
            .optional_text(parent.map(key).as_deref())
    }

    pub(super) fn global(&self, name: &Text) -> Read<Option<Json>> {
        let sql = format!("SELECT value FROM {}.globals WHERE key = $1", self.schema);
        Read::new(sql, |rows| {
            one(&rows, |row| rows::json("globals.value", text(row, 0)?))
        })
        .text(&key(name))
    }

    pub(super) fn cache(&self, id: &Text) -> Read<Option<CompressionCache>> {
        let s = &self.schema;
        let sql = format!(
            "SELECT summary, compressed_count, fingerprint FROM {s}.caches
             WHERE session = (SELECT number FROM {s}.sessions WHERE id = $1)"
        );
        Read::new(sql, |rows| {
            one(&rows, |row| {
                cache(text(row, 0)?, get(row, 1)?, text(row, 2)?)
            })
        })
        .text(&key(id))
    }

    pub(super) fn load(&self, id: &Text, slot: Slot) -> Read<Loaded> {
        let s = &self.schema;
        // Records come as the database finds them, nearly always in order; sorting here is cheaper than there.
        let sql = format!(
            "WITH h AS MATERIALIZED (
               SELECT number, number || '.' || revision AS fingerprint FROM {s}.sessions WHERE id = $1),
             c AS MATERIALIZED (
               SELECT summary, compressed_count, last_seq FROM {s}.caches
               WHERE session = (SELECT number FROM h) AND last_seq IS NOT NULL
               AND fingerprint = (SELECT fingerprint FROM h))
             SELECT 'history', fingerprint, NULL::bigint FROM h
             UNION ALL SELECT 'cache', summary, compressed_count FROM c
             UNION ALL SELECT name, content, NULL FROM {s}.slots
               WHERE session = (SELECT number FROM h) AND name IN ('system_prompt', $2)
             UNION ALL SELECT 'record', message, seq FROM {s}.records
               WHERE session = (SELECT number FROM h) AND seq > coalesce((SELECT last_seq FROM c), 0)"
        );
        let name = match slot {
            Slot::Insight => "insight",
            Slot::Memory => "memory",
        };
        Read::new(sql, |rows| loaded(&rows))
            .text(&key(id))
            .text(name)
    }
}

/// How an id stands in an index. No escaped text begins with `\#`.
pub(super) fn key(id: &Text) -> Cow<'_, str> {
    let escaped = id.escaped();
    if escaped.len() <= LONGEST_KEY {
        return Cow::Borrowed(escaped);
    }
    let mut key = "\\#".to_owned();
    for byte in Sha256::digest(escaped.as_bytes()) {
        let _ = write!(key, "{byte:02x}");
    }
    Cow::Owned(key)
}

fn loaded(rows: &[Row]) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    let mut summary = None;
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        let content = text(row, 1)?;
        match text(row, 0)? {
            "history" => loaded.fingerprint = rows::text("sessions.revision", content)?,
            "cache" => summary = Some((content, get::<i64>(row, 2)?)),
            "system_prompt" => loaded.system_prompt = Some(rows::text("slots.content", content)?),
            "record" => records.push((get::<i64>(row, 2)?, rows::message(content)?)),
            _ => loaded.slot = Some(rows::text("slots.content", content)?),
        }
    }
    if !records.is_sorted_by_key(|(seq, _)| *seq) {
        records.sort_by_key(|(seq, _)| *seq);
    }
    loaded.records = Arc::new(records.into_iter().map(|(_, record)| record).collect());
    loaded.cache = summary
        .map(|(summary, count)| cache(summary, count, loaded.fingerprint.escaped()))
        .transpose()?;
    Ok(loaded)
}

fn cache(summary: &str, count: i64, fingerprint: &str) -> Result<CompressionCache> {
    Ok(CompressionCache {
        summary: rows::text("caches.summary", summary)?,
        compressed_count: u64::try_from(count).map_err(|_| {
            rows::invalid(
                "caches.compressed_count",
                format_args!("{count} is negative"),
            )
        })?,
        fingerprint: rows::text("caches.fingerprint", fingerprint)?,
    })
}

fn condition(filter: &SessionFilter) -> String {
    let status = filter.status.map(|status| match status {
        Status::Active => "status = 'active'",
        Status::Archived => "status = 'archived'",
    });
    let role = filter.role.map(|role| match role {
        Kind::Standard => "role = 'standard'",
        Kind::Main => "role = 'main'",
    });
    let both: Vec<_> = status.into_iter().chain(role).collect();
    if both.is_empty() {
        String::new()
    } else {
        format!("WHERE {}", both.join(" AND "))
    }
}
