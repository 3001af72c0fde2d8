//! The storage that lasts as long as its process.
//!
//! - [`state`]: all of it; [`entry`]: what is kept of one session; [`nodes`]: the forest
//! - [`transaction`]: an open transaction and the way into it

mod entry;
mod nodes;
mod state;
#[cfg(test)]
mod tests;
mod transaction;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;

use self::{
    state::State,
    transaction::{Gate, MemoryTransaction},
};
use crate::{
    error::Result,
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    plant,
    storage::{
        CompressionCache, ListRecords, Loaded, Slot, Storage, Store, Transaction, Write, check,
        limit::{self, DEFAULT_TRANSACTION_TIMEOUT},
    },
    text::{Json, Text},
};

/// Keeps everything in this process.
///
/// While no transaction is open every future is ready when it is first polled. One writer at a time: an `apply` and
/// a `begin` wait, in order of arrival, for the transaction that is open.
#[derive(Debug, Clone)]
pub struct InMemoryStorage {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// `None` once the storage was closed.
    state: Mutex<Option<State>>,
    gate: Gate,
}

impl InMemoryStorage {
    #[must_use]
    pub fn new() -> Self {
        Self::with_transaction_timeout(DEFAULT_TRANSACTION_TIMEOUT)
    }

    /// A storage whose transactions may stay open for at most `timeout`, then the first who waits for one ends it.
    #[must_use]
    pub fn with_transaction_timeout(timeout: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(Some(State::default())),
                gate: Gate::new(timeout),
            }),
        }
    }
}

impl Default for InMemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        // Poisoned means that a thread panicked while it held the lock; no write stops half-way, so what is there is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, how: impl FnOnce(&State) -> T) -> Result<T> {
        let how = |state: &State| {
            plant::panic_at("memory.read");
            how(state)
        };
        self.lock().as_ref().map(how).ok_or_else(limit::closed)
    }

    fn change<T>(&self, how: impl FnOnce(&mut State) -> T) -> Result<T> {
        let how = |state: &mut State| {
            plant::panic_at("memory.change");
            how(state)
        };
        self.lock().as_mut().map(how).ok_or_else(limit::closed)
    }
}

/// [`Store`] over three methods: `read` and `change` hand out the state, `write` applies a list.
macro_rules! impl_store {
    ($of:ty) => {
        #[async_trait]
        impl Store for $of {
            async fn get_session(&self, id: &Text) -> Result<Option<SessionMeta>> {
                self.read(|state| state.session(id))
            }

            async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>> {
                self.read(|state| state.sessions(filter))
            }

            async fn list_records(
                &self,
                id: &Text,
                options: &ListRecords,
            ) -> Result<Arc<Vec<Message>>> {
                self.change(|state| {
                    state
                        .joined(id)
                        .map(|e| e.list(options))
                        .unwrap_or_default()
                })
            }

            async fn get_system_prompt(&self, id: &Text) -> Result<Option<Text>> {
                self.read(|state| state.entry(id)?.system_prompt.clone())
            }

            async fn get_insight(&self, id: &Text) -> Result<Option<Text>> {
                self.read(|state| state.entry(id)?.insight.clone())
            }

            async fn get_memory(&self, id: &Text) -> Result<Option<Text>> {
                self.read(|state| state.entry(id)?.memory.clone())
            }

            async fn get_all_session_l2s(&self) -> Result<Vec<ChildL2Summary>> {
                self.read(State::l2s)
            }

            async fn list_session_digests(
                &self,
                filter: &SessionFilter,
            ) -> Result<Vec<SessionDigest>> {
                self.read(|state| state.digests(filter))
            }

            async fn get_node(&self, id: &Text) -> Result<Option<TopologyNode>> {
                self.read(|state| state.node(id))
            }

            async fn get_children(&self, parent_id: Option<&Text>) -> Result<Vec<TopologyNode>> {
                self.read(|state| state.children(parent_id))
            }

            async fn get_global(&self, key: &Text) -> Result<Option<Json>> {
                self.read(|state| state.global(key))
            }

            async fn get_compression_cache(&self, id: &Text) -> Result<Option<CompressionCache>> {
                self.read(|state| state.entry(id)?.cache.clone())
            }

            async fn apply(&self, writes: Vec<Write>) -> Result<()> {
                self.write(writes).await
            }
        }
    };
}
use impl_store;

impl_store!(InMemoryStorage);

#[async_trait]
impl Storage for InMemoryStorage {
    async fn load(&self, id: &Text, slot: Slot) -> Result<Loaded> {
        self.change(|state| state.joined(id).map(|e| e.load(slot)).unwrap_or_default())
    }

    fn shares_messages(&self) -> bool {
        true
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>> {
        let turn = self.shared.gate.enter().await;
        let state = self.read(State::clone)?;
        Ok(Box::new(MemoryTransaction::open(
            self.shared.clone(),
            turn,
            state,
        )))
    }

    async fn close(&self) -> Result<()> {
        *self.shared.lock() = None;
        self.shared.gate.end();
        Ok(())
    }
}

impl InMemoryStorage {
    fn read<T>(&self, how: impl FnOnce(&State) -> T) -> Result<T> {
        self.shared.read(how)
    }

    fn change<T>(&self, how: impl FnOnce(&mut State) -> T) -> Result<T> {
        self.shared.change(how)
    }

    async fn write(&self, writes: Vec<Write>) -> Result<()> {
        check::writes(&writes)?;
        let _turn = self.shared.gate.enter().await;
        self.shared.change(|state| state.apply(writes))
    }
}
