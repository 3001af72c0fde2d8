//! An open transaction.

use std::sync::{Arc, mpsc::Sender};

use async_trait::async_trait;
use rusqlite::Connection;

use super::{
    ask, fault, impl_store,
    jobs::{Job, caught},
    queries, writes,
};
use crate::{
    error::{Error, Result, StorageCode},
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    plant,
    storage::{CompressionCache, ListRecords, Store, Transaction, Write, check, limit::Deadline},
    text::{Json, Text},
};

#[derive(Debug)]
pub(super) struct SqliteTransaction {
    jobs: Sender<Job>,
    number: u64,
    deadline: Deadline,
}

impl SqliteTransaction {
    pub(super) fn new(jobs: Sender<Job>, number: u64, deadline: Deadline) -> Self {
        Self {
            jobs,
            number,
            deadline,
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        how: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let work = ask(&self.jobs, |reply| {
            Job::Within(
                self.number,
                Box::new(move |connection| {
                    drop(reply.send(caught(|| {
                        plant::panic_at("sqlite.within");
                        how(connection?)
                    })));
                }),
            )
        });
        work.await.map_err(|error| self.explain(error))
    }

    async fn write(&self, writes: Vec<Write>) -> Result<()> {
        check::writes(&writes)?;
        self.read(move |connection| {
            let savepoint = connection.savepoint().map_err(fault::of)?;
            writes::apply(&savepoint, &writes)?;
            savepoint.commit().map_err(fault::of)
        })
        .await
    }

    /// Says why the transaction is not open any more.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::Storage(error)
                if error.code == StorageCode::Transaction && self.deadline.passed() =>
            {
                self.deadline.error()
            }
            other => other,
        }
    }
}

impl_store!(SqliteTransaction);

#[async_trait]
impl Transaction for SqliteTransaction {
    fn deadline(&self) -> Deadline {
        self.deadline
    }

    async fn commit(self: Box<Self>) -> Result<()> {
        let end = ask(&self.jobs, |reply| Job::End {
            number: self.number,
            commit: true,
            reply: Some(reply),
        });
        end.await.map_err(|error| self.explain(error))
    }

    async fn rollback(self: Box<Self>) -> Result<()> {
        let end = ask(&self.jobs, |reply| Job::End {
            number: self.number,
            commit: false,
            reply: Some(reply),
        });
        end.await.map_err(|error| self.explain(error))
    }
}

impl Drop for SqliteTransaction {
    /// After a commit the number is no longer that of the open transaction, and nothing happens.
    fn drop(&mut self) {
        let _ = self.jobs.send(Job::End {
            number: self.number,
            commit: false,
            reply: None,
        });
    }
}
