//! An open transaction: a connection that nobody else has.

use std::{
    future::{Future, poll_fn},
    mem,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use async_trait::async_trait;
use futures_util::{FutureExt as _, future::join3};
use tokio::{select, task::JoinHandle, time::sleep_until};
use tokio_util::sync::CancellationToken;

use super::{connection::Connection, impl_store, queries::Queries, read::Read, writes::Changes};
use crate::{
    error::{Error, Result, StorageCode, StorageError},
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    plant,
    storage::{
        CompressionCache, ListRecords, Store, Transaction, Write, check,
        limit::{self, Deadline},
    },
    text::{Json, Text},
};

/// The connection while the transaction is open, and why it is not any more.
enum Slot {
    Open(Arc<Connection>),
    Expired(Deadline),
    Closed,
    Ended,
}

pub(super) struct PostgresTransaction {
    queries: Queries,
    slot: Arc<Mutex<Slot>>,
    deadline: Deadline,
    closed: CancellationToken,
    watch: JoinHandle<()>,
}

impl PostgresTransaction {
    pub(super) async fn open(
        connection: Connection,
        queries: Queries,
        deadline: Deadline,
        closed: CancellationToken,
    ) -> Result<Self> {
        let slot = Arc::new(Mutex::new(Slot::Open(Arc::new(connection))));
        let watch = tokio::spawn(watch(slot.clone(), deadline, closed.clone()));
        // Dropping it rolls back, so it is made before the transaction begins.
        let transaction = Self {
            queries,
            slot,
            deadline,
            closed,
            watch,
        };
        transaction
            .execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            .await?;
        Ok(transaction)
    }

    async fn read<T>(&self, read: Read<T>) -> Result<T> {
        let connection = self.connection()?;
        let answer = self
            .guard(connection.run(read.ask(connection.client()?)))
            .await?;
        plant::panic_at("postgres.within");
        read.decode(answer)
    }

    async fn write(&self, writes: Vec<Write>) -> Result<()> {
        check::writes(&writes)?;
        let changes = Changes::of(&writes)?;
        let sql = self.queries.apply();
        let connection = self.connection()?;
        let client = connection.client()?;
        // All three are sent at once; after a failure of the second the third fails as well.
        let all = join3(
            connection.run(client.batch_execute("SAVEPOINT list")),
            connection.run(changes.apply(client, &sql, connection.statement_timeout())),
            connection.run(client.batch_execute("RELEASE SAVEPOINT list")),
        );
        let (begun, applied, released) = self.guard(all.map(Ok)).await?;
        begun?;
        if applied.is_err() {
            self.execute("ROLLBACK TO SAVEPOINT list").await?;
        }
        applied.and(released)
    }

    async fn execute(&self, sql: &str) -> Result<()> {
        let connection = self.connection()?;
        self.guard(connection.run(connection.client()?.batch_execute(sql)))
            .await
    }

    /// Runs `statement` if the transaction is open at the moment at which it is sent, its first poll. Nothing can end the
    /// transaction in between, so nothing is ever sent after its end.
    async fn guard<T>(&self, statement: impl Future<Output = Result<T>>) -> Result<T> {
        let mut statement = pin!(statement);
        let mut sent = false;
        poll_fn(|cx| {
            if sent {
                return statement.as_mut().poll(cx);
            }
            sent = true;
            if self.closed.is_cancelled() {
                end(&self.slot, Slot::Closed);
            }
            let slot = lock(&self.slot);
            match slot.connection() {
                // What was sent before may still happen, so it must not be committed.
                Ok(connection) if connection.is_broken() => {
                    Poll::Ready(Err(Error::Storage(StorageError::new(
                        StorageCode::Transaction,
                        "an earlier failure has ended the transaction",
                    ))))
                }
                Ok(_) => statement.as_mut().poll(cx),
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await
    }

    fn queries(&self) -> &Queries {
        &self.queries
    }

    fn connection(&self) -> Result<Arc<Connection>> {
        lock(&self.slot).connection().cloned()
    }
}

impl_store!(PostgresTransaction);

#[async_trait]
impl Transaction for PostgresTransaction {
    fn deadline(&self) -> Deadline {
        self.deadline
    }

    async fn commit(self: Box<Self>) -> Result<()> {
        // A `COMMIT` alone would turn a failed transaction into a silent rollback.
        self.execute("SELECT 1; COMMIT").await?;
        *lock(&self.slot) = Slot::Ended;
        Ok(())
    }

    async fn rollback(self: Box<Self>) -> Result<()> {
        self.execute("ROLLBACK").await?;
        *lock(&self.slot) = Slot::Ended;
        Ok(())
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        self.watch.abort();
        end(&self.slot, Slot::Ended);
    }
}

impl Slot {
    fn connection(&self) -> Result<&Arc<Connection>> {
        match self {
            Self::Open(connection) => Ok(connection),
            Self::Expired(deadline) => Err(deadline.error()),
            Self::Closed => Err(limit::closed()),
            Self::Ended => Err(Error::Storage(StorageError::new(
                StorageCode::Transaction,
                "the transaction has ended",
            ))),
        }
    }
}

/// Ends a transaction that stays open too long, or that the storage is closed under.
async fn watch(slot: Arc<Mutex<Slot>>, deadline: Deadline, closed: CancellationToken) {
    let why = select! {
        () = sleep_until(deadline.at()) => Slot::Expired(deadline),
        () = closed.cancelled() => Slot::Closed,
    };
    end(&slot, why);
}

/// Rolls back what is open, without waiting for the answer: whoever gets the connection next comes after it.
fn end(slot: &Mutex<Slot>, why: Slot) {
    let mut slot = lock(slot);
    if let Slot::Open(connection) = &*slot {
        if let Ok(client) = connection.client() {
            // The first poll sends it.
            let _ = client.batch_execute("ROLLBACK").now_or_never();
        }
        let connection = mem::replace(&mut *slot, why);
        drop(slot);
        drop(connection);
    }
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
