//! A list of writes as the columns of one statement.

use std::{borrow::Cow, time::Duration};

use tokio_postgres::{
    Client, Error as Driver,
    types::{ToSql, Type},
};

use super::queries::key;
use crate::{
    error::Result,
    meta::{Kind, Status},
    storage::{Write, rows},
    text::Text,
};

type Column<'a> = Vec<Option<Cow<'a, str>>>;

/// What the function `apply` of the schema takes.
#[derive(Default)]
pub(super) struct Changes<'a> {
    kinds: Vec<&'static str>,
    ids: Vec<Cow<'a, str>>,
    a: Column<'a>,
    b: Column<'a>,
    c: Column<'a>,
    n: Vec<Option<i64>>,
}

impl<'a> Changes<'a> {
    pub(super) fn of(writes: &'a [Write]) -> Result<Self> {
        let mut changes = Self::default();
        for write in writes {
            changes.push(write)?;
        }
        Ok(changes)
    }

    /// `patience` is how long to wait for a lock.
    pub(super) async fn apply(
        &self,
        client: &Client,
        sql: &str,
        patience: Duration,
    ) -> Result<(), Driver> {
        // 0 would be no limit; PostgreSQL counts with 32 bits.
        let patience = i64::from(
            i32::try_from(patience.as_millis())
                .unwrap_or(i32::MAX)
                .max(1),
        );
        let params: [(&(dyn ToSql + Sync), Type); 7] = [
            (&self.kinds, Type::TEXT_ARRAY),
            (&self.ids, Type::TEXT_ARRAY),
            (&self.a, Type::TEXT_ARRAY),
            (&self.b, Type::TEXT_ARRAY),
            (&self.c, Type::TEXT_ARRAY),
            (&self.n, Type::INT8_ARRAY),
            (&patience, Type::INT8),
        ];
        client.execute_typed(sql, &params).await.map(drop)
    }

    fn push(&mut self, write: &'a Write) -> Result<()> {
        match write {
            Write::PutSession(meta) => {
                let status = match meta.status {
                    Status::Active => "active",
                    Status::Archived => "archived",
                };
                let role = match meta.role {
                    Kind::Standard => "standard",
                    Kind::Main => "main",
                };
                let json = Cow::Owned(rows::to_json(meta)?);
                self.row(
                    "session",
                    &meta.id,
                    [Some(status.into()), Some(role.into()), Some(json)],
                    None,
                );
            }
            Write::PutSystemPrompt { id, content } => self.slot(id, "system_prompt", content),
            Write::PutInsight { id, content } => self.slot(id, "insight", content),
            Write::PutMemory { id, content } => self.slot(id, "memory", content),
            Write::AppendRecord { id, record } => {
                let role = Some(record.role().as_str().into());
                self.row("append", id, [role, Some(record.json().into()), None], None);
            }
            Write::TrimRecords { id, keep_recent } => {
                let keep = i64::try_from(*keep_recent).unwrap_or(i64::MAX);
                self.row("trim", id, [None, None, None], Some(keep));
            }
            Write::ClearInsight { id } => {
                self.row("clear", id, [Some("insight".into()), None, None], None);
            }
            Write::ClearInsightIf { id, content } => {
                self.row(
                    "clear",
                    id,
                    [Some("insight".into()), Some(borrow(content)), None],
                    None,
                );
            }
            Write::PutNode(node) => {
                let json = Cow::Owned(rows::to_json(node)?);
                self.row(
                    "node",
                    &node.id,
                    [node.parent_id.as_ref().map(key), Some(json), None],
                    None,
                );
            }
            Write::RemoveNode { id } => self.row("remove node", id, [None, None, None], None),
            Write::PutGlobal { key, value } => {
                self.row(
                    "global",
                    key,
                    [Some(Cow::Borrowed(&**value)), None, None],
                    None,
                );
            }
            Write::PutCompressionCache { id, cache } => {
                let count = i64::try_from(cache.compressed_count).unwrap_or(i64::MAX);
                let texts = [
                    Some(borrow(&cache.summary)),
                    Some(borrow(&cache.fingerprint)),
                    None,
                ];
                self.row("cache", id, texts, Some(count));
            }
            Write::DeleteSession { id } => self.row("delete", id, [None, None, None], None),
        }
        Ok(())
    }

    fn slot(&mut self, id: &'a Text, name: &'static str, content: &'a Text) {
        self.row(
            "slot",
            id,
            [Some(name.into()), Some(borrow(content)), None],
            None,
        );
    }

    fn row(
        &mut self,
        kind: &'static str,
        id: &'a Text,
        [a, b, c]: [Option<Cow<'a, str>>; 3],
        n: Option<i64>,
    ) {
        self.kinds.push(kind);
        self.ids.push(key(id));
        self.a.push(a);
        self.b.push(b);
        self.c.push(c);
        self.n.push(n);
    }
}

fn borrow(text: &Text) -> Cow<'_, str> {
    Cow::Borrowed(text.escaped())
}
