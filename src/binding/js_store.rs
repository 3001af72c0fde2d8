//! A storage written in JavaScript, reached through the dispatcher.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    bridge::{Ask, Inner},
    text::FromJs,
};
use crate::{
    error::{Error, Result, StorageCode, StorageError},
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    storage::{CompressionCache, ListRecords, Store, Write},
    text::{Json, Text},
};

/// The storage of one operation. Methods are called on the user's object, in the async context of the caller.
pub(super) struct JsStore {
    bridge: Arc<Inner>,
    operation: u32,
}

impl JsStore {
    pub(super) fn new(bridge: Arc<Inner>, operation: u32) -> Self {
        Self { bridge, operation }
    }

    /// Calls `method` with `arguments` (JSON texts); the facade answers with its result as JSON, `null` for `undefined`.
    async fn call(&self, method: &str, arguments: &[&str]) -> Result<String> {
        let mut payload = format!("[\"{method}\"");
        for argument in arguments {
            payload.push(',');
            payload.push_str(argument);
        }
        payload.push(']');
        let answer: FromJs = self
            .bridge
            .ask(self.operation, Ask::Storage, payload)
            .await?;
        Ok(answer.into_json())
    }

    async fn read<T: DeserializeOwned>(&self, method: &str, arguments: &[&str]) -> Result<T> {
        let json = self.call(method, arguments).await?;
        serde_json::from_str(&json).map_err(|error| invalid(method, &error))
    }

    async fn text(&self, method: &str, id: &Text) -> Result<Option<Text>> {
        self.read(method, &[&json(id)]).await
    }
}

#[async_trait]
impl Store for JsStore {
    async fn get_session(&self, id: &Text) -> Result<Option<SessionMeta>> {
        self.read("getSession", &[&json(id)]).await
    }

    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>> {
        let filter = (*filter != SessionFilter::default()).then(|| json(filter));
        let arguments: Vec<&str> = filter.as_deref().into_iter().collect();
        self.read("listSessions", &arguments).await
    }

    async fn list_records(&self, id: &Text, options: &ListRecords) -> Result<Arc<Vec<Message>>> {
        let options = (*options != ListRecords::default()).then(|| json(options));
        let id = json(id);
        let arguments: Vec<&str> = std::iter::once(id.as_str())
            .chain(options.as_deref())
            .collect();
        let records: Vec<Json> = self.read("listRecords", &arguments).await?;
        let parsed: Result<Vec<_>> = records
            .iter()
            .map(|record| Message::parse(record).map_err(|error| invalid("listRecords", &error)))
            .collect();
        parsed.map(Arc::new)
    }

    async fn get_system_prompt(&self, id: &Text) -> Result<Option<Text>> {
        self.text("getSystemPrompt", id).await
    }

    async fn get_insight(&self, id: &Text) -> Result<Option<Text>> {
        self.text("getInsight", id).await
    }

    async fn get_memory(&self, id: &Text) -> Result<Option<Text>> {
        self.text("getMemory", id).await
    }

    async fn get_all_session_l2s(&self) -> Result<Vec<ChildL2Summary>> {
        self.read("getAllSessionL2s", &[]).await
    }

    async fn list_session_digests(&self, filter: &SessionFilter) -> Result<Vec<SessionDigest>> {
        let sessions = self.list_sessions(filter).await?;
        let matching = sessions
            .into_iter()
            .filter(|meta| filter.status.is_none_or(|status| meta.status == status));
        futures_util::future::try_join_all(matching.map(async |meta| {
            let (memory, insight) = futures_util::future::try_join(
                self.get_memory(&meta.id),
                self.get_insight(&meta.id),
            )
            .await?;
            Ok(SessionDigest {
                id: meta.id,
                label: meta.label,
                status: meta.status,
                memory,
                insight,
            })
        }))
        .await
    }

    /// A storage that cannot say counts as one that has no node.
    async fn get_node(&self, id: &Text) -> Result<Option<TopologyNode>> {
        self.read("getNode", &[&json(id)]).await
    }

    async fn get_children(&self, parent_id: Option<&Text>) -> Result<Vec<TopologyNode>> {
        self.read("getChildren", &[&json(&parent_id)]).await
    }

    async fn get_global(&self, key: &Text) -> Result<Option<Json>> {
        self.read("getGlobal", &[&json(key)]).await
    }

    async fn get_compression_cache(&self, id: &Text) -> Result<Option<CompressionCache>> {
        self.read("getCompressionCache", &[&json(id)]).await
    }

    async fn apply(&self, writes: Vec<Write>) -> Result<()> {
        let mut payload = String::from("[");
        for (n, write) in writes.iter().enumerate() {
            if n > 0 {
                payload.push(',');
            }
            push_write(write, &mut payload);
        }
        payload.push(']');
        let _: FromJs = self.bridge.ask(self.operation, Ask::Apply, payload).await?;
        Ok(())
    }
}

/// A write as `[method, ...arguments]`.
fn push_write(write: &Write, out: &mut String) {
    let (method, arguments) = match write {
        Write::PutSession(meta) => ("putSession", vec![json(meta)]),
        Write::PutSystemPrompt { id, content } => {
            ("putSystemPrompt", vec![json(id), json(content)])
        }
        Write::AppendRecord { id, record } => {
            ("appendRecord", vec![json(id), record.json().to_owned()])
        }
        Write::TrimRecords { id, keep_recent } => {
            ("trimRecords", vec![json(id), keep_recent.to_string()])
        }
        Write::PutInsight { id, content } => ("putInsight", vec![json(id), json(content)]),
        Write::ClearInsight { id } => ("clearInsight", vec![json(id)]),
        Write::ClearInsightIf { id, content } => ("clearInsightIf", vec![json(id), json(content)]),
        Write::PutMemory { id, content } => ("putMemory", vec![json(id), json(content)]),
        Write::PutNode(node) => ("putNode", vec![json(node)]),
        Write::RemoveNode { id } => ("removeNode", vec![json(id)]),
        Write::PutGlobal { key, value } => ("putGlobal", vec![json(key), json(value)]),
        Write::PutCompressionCache { id, cache } => {
            ("putCompressionCache", vec![json(id), json(cache)])
        }
        Write::DeleteSession { id } => ("deleteSession", vec![json(id)]),
    };
    out.push_str("[\"");
    out.push_str(method);
    out.push('"');
    for argument in arguments {
        out.push(',');
        out.push_str(&argument);
    }
    out.push(']');
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

pub(super) fn invalid(method: &str, problem: &dyn std::fmt::Display) -> Error {
    StorageError::new(
        StorageCode::InvalidShape,
        format!("storage.{method}() answered the wrong shape: {problem}"),
    )
    .into()
}
