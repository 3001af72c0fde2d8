//! A session is forked: the child starts from what its parent had and is independent from then on.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;

use super::{
    lifecycle::{new_meta, node},
    registry::{Making, Registry},
    session::Session,
};
use crate::{
    clock::now_iso,
    context::tool_groups,
    error::{Error, Result},
    message::{Message, MessageBuilder, Role},
    meta::{Kind, TopologyNode},
    storage::{ListRecords, Store, Write},
    text::{Json, Text},
};

/// Options of `fork`, without what the facade keeps (adapter, tools, functions).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkOptions {
    #[serde(default)]
    pub id: Option<Text>,
    pub label: Text,
    #[serde(default)]
    pub system_prompt: Option<Text>,
    #[serde(default)]
    pub prompt: Option<Text>,
    #[serde(default)]
    pub tags: Option<Vec<Text>>,
    #[serde(default)]
    pub metadata: Option<Json>,
}

/// Which of the parent's records the child starts with.
pub enum Inheritance<'a> {
    None,
    All,
    Chosen(&'a dyn ForkContext),
}

/// The application's choice of records.
#[async_trait]
pub trait ForkContext: Send + Sync {
    async fn choose(&self, records: &[Message]) -> Result<Vec<Message>>;
}

/// Whether the child gets a place in the forest of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// `session.fork()`: whoever keeps the topology writes the node.
    Unlisted,
    /// `forkSession()`: a node under the parent, which becomes a root if it has no node.
    UnderParent,
}

/// Everything is read, and the context function has returned, before the one write that makes the child.
pub async fn fork(
    parent: &Session,
    registry: &Arc<Registry>,
    store: &dyn Store,
    options: ForkOptions,
    inheritance: Inheritance<'_>,
    topology: Topology,
) -> Result<Session> {
    let _making = match &options.id {
        Some(id) => Some(claim(id, registry, store).await?),
        None => None,
    };
    let meta = new_meta(
        options.id,
        options.label,
        Kind::Standard,
        options.tags,
        options.metadata,
    );
    let system_prompt = match options.system_prompt {
        Some(given) => Some(given),
        None => store.get_system_prompt(parent.id()).await?,
    };
    let mut records = inherited(parent, store, inheritance).await?;
    if let Some(prompt) = options.prompt.filter(|prompt| !prompt.is_empty()) {
        records.push(
            MessageBuilder::new(Role::Assistant, prompt)
                .timestamp(now_iso())
                .build(),
        );
    }

    let mut writes = Vec::with_capacity(records.len() + 4);
    if topology == Topology::UnderParent {
        if store.get_node(parent.id()).await?.is_none() {
            let label = parent.shared().meta().label.clone();
            writes.push(Write::PutNode(TopologyNode {
                id: parent.id().clone(),
                parent_id: None,
                label,
            }));
        }
        writes.push(Write::PutNode(node(&meta, Some(parent.id().clone()))));
    }
    writes.push(Write::PutSession(meta.clone()));
    if let Some(content) = system_prompt.filter(|content| !content.is_empty()) {
        writes.push(Write::PutSystemPrompt {
            id: meta.id.clone(),
            content,
        });
    }
    writes.extend(records.into_iter().map(|record| Write::AppendRecord {
        id: meta.id.clone(),
        record,
    }));
    store.apply(writes).await?;
    Ok(Session::new(registry.share(meta), Kind::Standard))
}

/// The right to make a session of this id: none has it, and nobody else is making one.
async fn claim<'r>(id: &Text, registry: &'r Registry, store: &dyn Store) -> Result<Making<'r>> {
    let taken = || {
        Error::InvalidArgument(format!(
            "options.id must be one that no session has, got \"{id}\""
        ))
    };
    let making = registry.make(id).ok_or_else(taken)?;
    match store.get_session(id).await? {
        Some(_) => Err(taken()),
        None => Ok(making),
    }
}

async fn inherited(
    parent: &Session,
    store: &dyn Store,
    inheritance: Inheritance<'_>,
) -> Result<Vec<Message>> {
    let everything = ListRecords::default();
    let records = match inheritance {
        Inheritance::None => return Ok(Vec::new()),
        Inheritance::All => store.list_records(parent.id(), &everything).await?,
        Inheritance::Chosen(context) => {
            let records = store.list_records(parent.id(), &everything).await?;
            Arc::new(context.choose(&records).await?)
        }
    };
    let valid = tool_groups::clean(records.as_slice()).ranges();
    Ok(valid
        .into_iter()
        .filter_map(|range| records.get(range))
        .flatten()
        .cloned()
        .collect())
}
