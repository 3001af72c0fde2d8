//! A handle on one session: everything that is not a turn.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde::Deserialize;

use super::{registry::Shared, remembered::Remembered};
use crate::{
    clock::now_iso,
    context::compress::Known,
    error::{Error, Result},
    llm::Fragments,
    message::Message,
    meta::{Kind, SessionMeta, Status},
    storage::{ListRecords, Slot, Store, Write},
    text::{Json, Text},
};

/// One handle. Handles on the same session share [`Shared`]; each remembers its own view of the conversation.
pub struct Session {
    shared: Arc<Shared>,
    kind: Kind,
    remembered: Mutex<Remembered>,
    fragments: Arc<Fragments>,
    planned: Mutex<Option<Planned>>,
}

/// What the last stored turn found out of the history, and the version of the records that it was.
pub(super) struct Planned {
    pub(super) known: Known,
    pub(super) version: Option<Text>,
}

/// Fields to replace; those not given stay.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MetaUpdate {
    pub label: Option<Text>,
    pub tags: Option<Vec<Text>>,
    pub metadata: Option<Json>,
}

/// The application's function from history to memory.
#[async_trait]
pub trait Consolidator: Send + Sync {
    async fn consolidate(&self, memory: Option<Text>, records: &[Message]) -> Result<Text>;
}

impl Session {
    pub fn new(shared: Arc<Shared>, kind: Kind) -> Self {
        Self {
            shared,
            kind,
            remembered: Mutex::default(),
            fragments: Arc::default(),
            planned: Mutex::default(),
        }
    }

    pub fn id(&self) -> &Text {
        self.shared.id()
    }

    /// What this handle is: a standard session may be opened over a main session's id.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The slot between identity and history.
    pub fn slot(&self) -> Slot {
        match self.kind {
            Kind::Standard => Slot::Insight,
            Kind::Main => Slot::Memory,
        }
    }

    /// What this handle remembers between turns: its last summary and the provider's token counts.
    pub fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Taken by a turn, and put back by one that comes to its end.
    pub(super) fn planned(&self) -> MutexGuard<'_, Option<Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a native adapter keeps of the prompts it sent.
    pub fn fragments(&self) -> &Arc<Fragments> {
        &self.fragments
    }

    pub async fn system_prompt(&self, store: &dyn Store) -> Result<Option<Text>> {
        store.get_system_prompt(self.id()).await
    }

    pub async fn set_system_prompt(&self, store: &dyn Store, content: Text) -> Result<()> {
        let id = self.id().clone();
        self.write(store, Write::PutSystemPrompt { id, content })
            .await
    }

    pub async fn insight(&self, store: &dyn Store) -> Result<Option<Text>> {
        store.get_insight(self.id()).await
    }

    pub async fn set_insight(&self, store: &dyn Store, content: Text) -> Result<()> {
        let id = self.id().clone();
        self.write(store, Write::PutInsight { id, content }).await
    }

    /// The memory of a session, the synthesis of a main session.
    pub async fn memory(&self, store: &dyn Store) -> Result<Option<Text>> {
        store.get_memory(self.id()).await
    }

    pub async fn trim_records(&self, store: &dyn Store, keep_recent: u64) -> Result<()> {
        let id = self.id().clone();
        self.write(store, Write::TrimRecords { id, keep_recent })
            .await
    }

    pub async fn consolidate(&self, store: &dyn Store, with: &dyn Consolidator) -> Result<()> {
        self.shared.refuse_archived()?;
        let everything = ListRecords::default();
        let (memory, records) = futures_util::future::try_join(
            store.get_memory(self.id()),
            store.list_records(self.id(), &everything),
        )
        .await?;
        let content = with.consolidate(memory, &records).await?;
        store
            .apply(vec![Write::PutMemory {
                id: self.id().clone(),
                content,
            }])
            .await
    }

    pub async fn update_meta(&self, store: &dyn Store, update: MetaUpdate) -> Result<()> {
        self.change_meta(store, |meta| {
            if meta.status == Status::Archived {
                return Err(Error::Archived(meta.id.clone()));
            }
            meta.label = update.label.unwrap_or_else(|| meta.label.clone());
            meta.tags = update.tags.unwrap_or_else(|| meta.tags.clone());
            meta.metadata = update.metadata.unwrap_or_else(|| meta.metadata.clone());
            Ok(true)
        })
        .await
    }

    /// Archiving what is archived changes nothing.
    pub async fn archive(&self, store: &dyn Store) -> Result<()> {
        self.change_meta(store, |meta| {
            let changes = meta.status == Status::Active;
            meta.status = Status::Archived;
            Ok(changes)
        })
        .await
    }

    /// Stores the metadata as `change` leaves it, if it says that there is something to store. It starts
    /// from what is stored now, so that what other processes changed is kept.
    async fn change_meta(
        &self,
        store: &dyn Store,
        change: impl FnOnce(&mut SessionMeta) -> Result<bool> + Send,
    ) -> Result<()> {
        let _changing = self.shared.changing.lock().await;
        let stored = store.get_session(self.id()).await?;
        let known = self.shared.meta();
        let mut meta = stored.unwrap_or_else(|| (*known).clone());
        if known.status == Status::Archived {
            meta.status = Status::Archived;
        }
        if change(&mut meta)? {
            meta.updated_at = now_iso();
            store.apply(vec![Write::PutSession(meta.clone())]).await?;
        }
        if meta != *known {
            self.shared.set_meta(meta);
        }
        Ok(())
    }

    async fn write(&self, store: &dyn Store, write: Write) -> Result<()> {
        self.shared.refuse_archived()?;
        store.apply(vec![write]).await
    }
}
