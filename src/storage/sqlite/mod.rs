//! The storage in an embedded file.
//!
//! - [`file`]: opening it; [`schema`]: its tables
//! - [`worker`]: the thread that owns the connections; [`jobs`]: what it is given to do; [`transaction`]: an open transaction
//! - [`queries`], [`writes`]: what is asked of SQLite; [`fault`]: what it answers when it cannot

mod fault;
mod file;
mod jobs;
#[cfg(any(test, feature = "properties"))]
pub mod properties;
mod queries;
mod schema;
#[cfg(test)]
mod tests;
mod transaction;
mod worker;
mod writes;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::oneshot;

use self::{
    jobs::{Job, Reply, caught},
    transaction::SqliteTransaction,
    worker::Worker,
};
use crate::{
    error::{Result, StorageCode, StorageError},
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    plant,
    storage::{
        CompressionCache, ListRecords, Loaded, Slot, Storage, Store, Transaction, Write, check,
        limit::{self, DEFAULT_TRANSACTION_TIMEOUT},
    },
    text::{Json, Text},
};

#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The file, or `:memory:`. It is made where there is none; its folder is not.
    pub path: PathBuf,
    pub synchronous: Synchronous,
    /// How long to wait for another process that writes. Default 30 s.
    pub busy_timeout: Duration,
    /// How long a transaction may stay open. Default 60 s.
    pub transaction_timeout: Duration,
}

/// When a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// When it is acknowledged.
    #[default]
    Full,
    /// Soon after: a power failure may take the newest commits, never half of one; a crash of the process takes none.
    Normal,
}

impl SqliteOptions {
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(30),
            transaction_timeout: DEFAULT_TRANSACTION_TIMEOUT,
        }
    }
}

/// Keeps everything in one SQLite file, in WAL mode, safe under several processes.
///
/// Nothing is opened and no thread runs before the first use; a failed opening fails that call, and the next one tries
/// again. One writer at a time: an `apply` and a `begin` wait, in order of arrival, for the transaction that is open.
/// The thread ends when the storage is closed, or dropped together with its transactions.
#[derive(Debug, Clone)]
pub struct SqliteStorage {
    options: SqliteOptions,
    jobs: Arc<Mutex<Jobs>>,
}

#[derive(Debug)]
enum Jobs {
    Idle,
    Running(Sender<Job>),
    Closed,
}

impl SqliteStorage {
    #[must_use]
    pub fn open(options: SqliteOptions) -> Self {
        Self {
            options,
            jobs: Arc::new(Mutex::new(Jobs::Idle)),
        }
    }

    fn jobs(&self) -> Result<Sender<Job>> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        match &*jobs {
            Jobs::Running(sender) => Ok(sender.clone()),
            Jobs::Closed => Err(limit::closed()),
            Jobs::Idle => {
                let (sender, receiver) = mpsc::channel();
                let worker = Worker::new(self.options.clone());
                thread::Builder::new()
                    .name("stello-sqlite".to_owned())
                    .spawn(move || worker.run(&receiver))
                    .map_err(|error| {
                        let message = "the thread of the storage cannot be started";
                        StorageError::new(StorageCode::Unavailable, message).because(&error)
                    })?;
                *jobs = Jobs::Running(sender.clone());
                Ok(sender)
            }
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        how: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        ask(&self.jobs()?, |reply| {
            Job::Read(Box::new(move |connection| {
                drop(reply.send(caught(|| {
                    plant::panic_at("sqlite.read");
                    how(connection?)
                })));
            }))
        })
        .await
    }

    async fn write(&self, writes: Vec<Write>) -> Result<()> {
        check::writes(&writes)?;
        ask(&self.jobs()?, |reply| Job::Write(writes, reply)).await
    }
}

/// Gives the thread something to do and waits for the answer.
async fn ask<T>(jobs: &Sender<Job>, job: impl FnOnce(Reply<T>) -> Job) -> Result<T> {
    let (reply, answer) = oneshot::channel();
    // The thread takes jobs until it was told to close.
    jobs.send(job(reply)).map_err(|_| limit::closed())?;
    answer.await.map_err(|_| limit::closed())?
}

/// [`Store`] over two methods: `read` runs on the connection, `write` applies a list.
macro_rules! impl_store {
    ($of:ty) => {
        #[async_trait]
        impl Store for $of {
            async fn get_session(&self, id: &Text) -> Result<Option<SessionMeta>> {
                let id = id.clone();
                self.read(move |c| queries::session(c, &id)).await
            }

            async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>> {
                let filter = filter.clone();
                self.read(move |c| queries::sessions(c, &filter)).await
            }

            async fn list_records(
                &self,
                id: &Text,
                options: &ListRecords,
            ) -> Result<Arc<Vec<Message>>> {
                let (id, options) = (id.clone(), options.clone());
                self.read(move |c| queries::records(c, &id, &options)).await
            }

            async fn get_system_prompt(&self, id: &Text) -> Result<Option<Text>> {
                let id = id.clone();
                self.read(move |c| queries::slot(c, &id, "system_prompt"))
                    .await
            }

            async fn get_insight(&self, id: &Text) -> Result<Option<Text>> {
                let id = id.clone();
                self.read(move |c| queries::slot(c, &id, "insight")).await
            }

            async fn get_memory(&self, id: &Text) -> Result<Option<Text>> {
                let id = id.clone();
                self.read(move |c| queries::slot(c, &id, "memory")).await
            }

            async fn get_all_session_l2s(&self) -> Result<Vec<ChildL2Summary>> {
                self.read(|c| queries::l2s(c)).await
            }

            async fn list_session_digests(
                &self,
                filter: &SessionFilter,
            ) -> Result<Vec<SessionDigest>> {
                let filter = filter.clone();
                self.read(move |c| queries::digests(c, &filter)).await
            }

            async fn get_node(&self, id: &Text) -> Result<Option<TopologyNode>> {
                let id = id.clone();
                self.read(move |c| queries::node(c, &id)).await
            }

            async fn get_children(&self, parent_id: Option<&Text>) -> Result<Vec<TopologyNode>> {
                let parent_id = parent_id.cloned();
                self.read(move |c| queries::children(c, parent_id.as_ref()))
                    .await
            }

            async fn get_global(&self, key: &Text) -> Result<Option<Json>> {
                let key = key.clone();
                self.read(move |c| queries::global(c, &key)).await
            }

            async fn get_compression_cache(&self, id: &Text) -> Result<Option<CompressionCache>> {
                let id = id.clone();
                self.read(move |c| queries::cache(c, &id)).await
            }

            async fn apply(&self, writes: Vec<Write>) -> Result<()> {
                self.write(writes).await
            }
        }
    };
}
use impl_store;

impl_store!(SqliteStorage);

#[async_trait]
impl Storage for SqliteStorage {
    async fn load(&self, id: &Text, slot: Slot) -> Result<Loaded> {
        let id = id.clone();
        self.read(move |c| queries::load(c, &id, slot)).await
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>> {
        let jobs = self.jobs()?;
        let (number, deadline) = ask(&jobs, Job::Begin).await?;
        Ok(Box::new(SqliteTransaction::new(jobs, number, deadline)))
    }

    async fn close(&self) -> Result<()> {
        let jobs = {
            let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *jobs, Jobs::Closed)
        };
        match jobs {
            Jobs::Running(jobs) => ask(&jobs, Job::Close).await,
            Jobs::Idle | Jobs::Closed => Ok(()),
        }
    }
}
