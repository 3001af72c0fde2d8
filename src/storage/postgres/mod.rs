//! The storage in a PostgreSQL database, for many machines on one history.
//!
//! - [`options`], [`target`], [`tls`]: where it is and how it is reached
//! - [`connection`]: the pool and one statement on it; [`read`]: a statement and what its rows mean
//! - [`schema`]: the tables; [`queries`], [`writes`]: what is asked; [`fault`]: what is answered when it cannot
//! - [`transaction`]: an open transaction

mod connection;
mod fault;
mod options;
mod queries;
mod read;
mod schema;
mod target;
mod tls;
mod transaction;
mod writes;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

pub use self::options::PostgresOptions;
use self::{
    connection::{Connection, Connections, Failure},
    queries::Queries,
    read::Read,
    target::Target,
    transaction::PostgresTransaction,
    writes::Changes,
};
use crate::{
    error::Result,
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    plant,
    storage::{
        CompressionCache, ListRecords, Loaded, Slot, Storage, Store, Transaction, Write, check,
        limit::{self, Deadline},
    },
    text::{Json, Text},
};

/// How often a list is given again that was undone because of others.
const CONFLICTS: usize = 5;

/// Keeps everything in one schema of a PostgreSQL database (12 or newer).
///
/// Nothing is connected before the first use, which also makes or migrates the schema. A list of writes is one statement and
/// one round trip. Every write locks the row of its session, so that writers of one session take turns wherever they
/// run, and those of different sessions do not wait for each other. Safe behind a pooler in transaction mode. Runs inside
/// of a tokio runtime.
#[derive(Clone)]
pub struct PostgresStorage {
    shared: Arc<Shared>,
}

struct Shared {
    options: PostgresOptions,
    target: Target,
    queries: Queries,
    connections: OnceCell<Connections>,
    migrated: OnceCell<()>,
    closed: CancellationToken,
}

impl PostgresStorage {
    /// Refuses a connection string or a schema name that cannot be read, as `InvalidArgument`.
    pub fn open(options: PostgresOptions) -> Result<Self> {
        let target = Target::parse(&options.connection_string)?;
        let queries = Queries::new(options::quote_schema(&options.schema)?);
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                target,
                queries,
                connections: OnceCell::new(),
                migrated: OnceCell::new(),
                closed: CancellationToken::new(),
            }),
        })
    }

    async fn connection(&self) -> Result<Connection> {
        let shared = &*self.shared;
        if shared.closed.is_cancelled() {
            return Err(limit::closed());
        }
        let connections = shared
            .connections
            .get_or_try_init(async || Connections::new(&shared.target, &shared.options))
            .await?;
        let connection = connections.get().await?;
        shared
            .migrated
            .get_or_try_init(|| schema::migrate(&connection, shared.queries.schema()))
            .await?;
        Ok(connection)
    }

    async fn read<T>(&self, read: Read<T>) -> Result<T> {
        let connection = self.connection().await?;
        let mut answer = connection.run(read.ask(connection.client()?)).await;
        // The server has closed this connection of the pool meanwhile. A read may be asked twice.
        if self.noted(&answer) {
            drop(connection);
            let another = self.connection().await?;
            answer = another.run(read.ask(another.client()?)).await;
        }
        plant::panic_at("postgres.read");
        read.decode(answer?)
    }

    async fn begin_once(&self) -> Result<PostgresTransaction> {
        let connection = self.connection().await?;
        let deadline = Deadline::after(self.shared.options.transaction_timeout);
        let (queries, closed) = (self.queries().clone(), self.shared.closed.clone());
        PostgresTransaction::open(connection, queries, deadline, closed).await
    }

    /// Whether the connection was lost, in which case the next call gets a new one.
    fn noted<T>(&self, outcome: &Result<T>) -> bool {
        let lost = outcome.as_ref().is_err_and(fault::is_lost);
        if lost && let Some(connections) = self.shared.connections.get() {
            connections.forget_idle();
        }
        lost
    }

    async fn write(&self, writes: Vec<Write>) -> Result<()> {
        check::writes(&writes)?;
        let outcome = self.apply_list(&writes).await;
        self.noted(&outcome);
        outcome
    }

    async fn apply_list(&self, writes: &[Write]) -> Result<()> {
        let changes = Changes::of(writes)?;
        plant::panic_at("postgres.write");
        let sql = self.shared.queries.apply();
        let connection = self.connection().await?;
        let client = connection.client()?;
        let mut conflicts = 0;
        loop {
            match connection
                .try_run(changes.apply(client, &sql, connection.statement_timeout()))
                .await
            {
                Ok(()) => return Ok(()),
                Err(Failure::Driver(error))
                    if fault::is_conflict(&error) && conflicts < CONFLICTS =>
                {
                    conflicts += 1;
                }
                Err(Failure::Driver(error)) => return Err(fault::of(&error)),
                Err(Failure::Other(error)) => return Err(error),
            }
        }
    }
}

impl fmt::Debug for PostgresStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStorage")
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

/// [`Store`] over two methods: `read` asks and decodes, `write` applies a list.
macro_rules! impl_store {
    ($of:ty) => {
        #[async_trait]
        impl Store for $of {
            async fn get_session(&self, id: &Text) -> Result<Option<SessionMeta>> {
                self.read(self.queries().session(id)).await
            }

            async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>> {
                self.read(self.queries().sessions(filter)).await
            }

            async fn list_records(
                &self,
                id: &Text,
                options: &ListRecords,
            ) -> Result<Arc<Vec<Message>>> {
                self.read(self.queries().records(id, options)).await
            }

            async fn get_system_prompt(&self, id: &Text) -> Result<Option<Text>> {
                self.read(self.queries().slot(id, "system_prompt")).await
            }

            async fn get_insight(&self, id: &Text) -> Result<Option<Text>> {
                self.read(self.queries().slot(id, "insight")).await
            }

            async fn get_memory(&self, id: &Text) -> Result<Option<Text>> {
                self.read(self.queries().slot(id, "memory")).await
            }

            async fn get_all_session_l2s(&self) -> Result<Vec<ChildL2Summary>> {
                self.read(self.queries().l2s()).await
            }

            async fn list_session_digests(
                &self,
                filter: &SessionFilter,
            ) -> Result<Vec<SessionDigest>> {
                self.read(self.queries().digests(filter)).await
            }

            async fn get_node(&self, id: &Text) -> Result<Option<TopologyNode>> {
                self.read(self.queries().node(id)).await
            }

            async fn get_children(&self, parent_id: Option<&Text>) -> Result<Vec<TopologyNode>> {
                self.read(self.queries().children(parent_id)).await
            }

            async fn get_global(&self, key: &Text) -> Result<Option<Json>> {
                self.read(self.queries().global(key)).await
            }

            async fn get_compression_cache(&self, id: &Text) -> Result<Option<CompressionCache>> {
                self.read(self.queries().cache(id)).await
            }

            async fn apply(&self, writes: Vec<Write>) -> Result<()> {
                self.write(writes).await
            }
        }
    };
}
use impl_store;

impl_store!(PostgresStorage);

#[async_trait]
impl Storage for PostgresStorage {
    async fn load(&self, id: &Text, slot: Slot) -> Result<Loaded> {
        self.read(self.queries().load(id, slot)).await
    }

    async fn begin(&self) -> Result<Box<dyn Transaction>> {
        let mut begun = self.begin_once().await;
        // As for a read: nothing was done yet.
        if self.noted(&begun) {
            begun = self.begin_once().await;
        }
        let transaction = begun?;
        Ok(Box::new(transaction))
    }

    async fn close(&self) -> Result<()> {
        self.shared.closed.cancel();
        if let Some(connections) = self.shared.connections.get() {
            connections.close();
        }
        Ok(())
    }
}

impl PostgresStorage {
    fn queries(&self) -> &Queries {
        &self.shared.queries
    }
}
