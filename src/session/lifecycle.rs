//! Sessions are created and loaded.

use std::sync::Arc;

use serde::{Deserialize, Deserializer};

use super::{registry::Registry, session::Session};
use crate::{
    clock::now_iso,
    error::{Error, Result},
    meta::{Kind, SessionMeta, Status, TopologyNode, empty_object},
    storage::{Store, Write},
    text::{Json, Text},
};

/// Options of `createSession` and `createMainSession`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateOptions {
    pub id: Option<Text>,
    /// Absent: no topology node; `null`: a root; an id: a node under it.
    #[serde(deserialize_with = "given")]
    pub parent_id: Option<Option<Text>>,
    pub label: Option<Text>,
    pub system_prompt: Option<Text>,
    pub tags: Option<Vec<Text>>,
    pub metadata: Option<Json>,
}

/// A session that exists already gets new metadata and keeps its records.
pub async fn create(
    registry: &Arc<Registry>,
    store: &dyn Store,
    kind: Kind,
    options: CreateOptions,
) -> Result<Session> {
    if let (Some(id), Some(Some(parent_id))) = (&options.id, &options.parent_id)
        && id == parent_id
    {
        return Err(Error::InvalidArgument(format!(
            "options.parentId must be another session's id, got \"{id}\""
        )));
    }
    let label = options.label.unwrap_or_else(|| {
        Text::from(match kind {
            Kind::Standard => "New Session",
            Kind::Main => "Main Session",
        })
    });
    let meta = new_meta(options.id, label, kind, options.tags, options.metadata);
    let mut writes = Vec::with_capacity(3);
    if let Some(parent_id) = options.parent_id {
        writes.push(Write::PutNode(node(&meta, parent_id)));
    }
    writes.push(Write::PutSession(meta.clone()));
    if let Some(content) = options.system_prompt.filter(|content| !content.is_empty()) {
        writes.push(Write::PutSystemPrompt {
            id: meta.id.clone(),
            content,
        });
    }
    store.apply(writes).await?;
    Ok(Session::new(registry.share(meta), kind))
}

/// `None` where there is no such session, or where a main session was asked for and it is not one.
pub async fn load(
    registry: &Arc<Registry>,
    store: &dyn Store,
    kind: Kind,
    id: &Text,
    system_prompt: Option<Text>,
) -> Result<Option<Session>> {
    let meta = match store.get_session(id).await? {
        Some(meta) if kind == Kind::Standard || meta.role == Kind::Main => meta,
        _ => return Ok(None),
    };
    let offered =
        system_prompt.filter(|content| !content.is_empty() && meta.status == Status::Active);
    if let Some(content) = offered
        && store
            .get_system_prompt(id)
            .await?
            .is_none_or(|stored| stored.is_empty())
    {
        store
            .apply(vec![Write::PutSystemPrompt {
                id: id.clone(),
                content,
            }])
            .await?;
    }
    Ok(Some(Session::new(registry.share(meta), kind)))
}

pub(super) fn new_meta(
    id: Option<Text>,
    label: Text,
    role: Kind,
    tags: Option<Vec<Text>>,
    metadata: Option<Json>,
) -> SessionMeta {
    let now = now_iso();
    SessionMeta {
        id: id.unwrap_or_else(new_id),
        label,
        role,
        status: Status::Active,
        tags: tags.unwrap_or_default(),
        metadata: metadata.unwrap_or_else(empty_object),
        created_at: now.clone(),
        updated_at: now,
    }
}

pub(super) fn new_id() -> Text {
    Text::from(uuid::Uuid::new_v4().to_string())
}

pub(super) fn node(meta: &SessionMeta, parent_id: Option<Text>) -> TopologyNode {
    TopologyNode {
        id: meta.id.clone(),
        parent_id,
        label: meta.label.clone(),
    }
}

#[expect(
    clippy::option_option,
    reason = "absent, `null` and an id mean three things"
)]
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Text>>, D::Error> {
    Option::<Text>::deserialize(deserializer).map(Some)
}
