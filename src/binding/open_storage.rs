//! Native storages from their JavaScript options.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    error::{Error, Result},
    storage::{
        Storage,
        memory::InMemoryStorage,
        postgres::{PostgresOptions, PostgresStorage},
        sqlite::{SqliteOptions, SqliteStorage, Synchronous},
    },
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sqlite {
    path: String,
    synchronous: Option<String>,
    busy_timeout_ms: Option<u64>,
    transaction_timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Postgres {
    connection_string: String,
    schema: Option<String>,
    max_connections: Option<usize>,
    connect_timeout_ms: Option<u64>,
    statement_timeout_ms: Option<u64>,
    transaction_timeout_ms: Option<u64>,
}

pub(super) fn open(kind: &str, options: &str) -> Result<Arc<dyn Storage>> {
    match kind {
        "memory" => Ok(Arc::new(InMemoryStorage::default())),
        "sqlite" => Ok(Arc::new(SqliteStorage::open(sqlite(read(options)?)))),
        "postgres" => Ok(Arc::new(PostgresStorage::open(postgres(read(options)?))?)),
        _ => Err(Error::NotImplemented(kind.to_owned())),
    }
}

fn sqlite(given: Sqlite) -> SqliteOptions {
    // SQLite would read it as a URI, and a path is what was asked for.
    let path = if given.path.starts_with("file:") {
        format!("./{}", given.path)
    } else {
        given.path
    };
    let mut options = SqliteOptions::new(path);
    if given.synchronous.as_deref() == Some("normal") {
        options.synchronous = Synchronous::Normal;
    }
    set(&mut options.busy_timeout, given.busy_timeout_ms);
    set(
        &mut options.transaction_timeout,
        given.transaction_timeout_ms,
    );
    options
}

fn postgres(given: Postgres) -> PostgresOptions {
    let mut options = PostgresOptions::new(given.connection_string);
    options.schema = given.schema.unwrap_or(options.schema);
    options.max_connections = given.max_connections.unwrap_or(options.max_connections);
    set(&mut options.connect_timeout, given.connect_timeout_ms);
    set(&mut options.statement_timeout, given.statement_timeout_ms);
    set(
        &mut options.transaction_timeout,
        given.transaction_timeout_ms,
    );
    options
}

fn set(option: &mut Duration, given_ms: Option<u64>) {
    if let Some(given_ms) = given_ms {
        *option = Duration::from_millis(given_ms);
    }
}

fn read<T: DeserializeOwned>(options: &str) -> Result<T> {
    serde_json::from_str(options)
        .map_err(|error| Error::InvalidArgument(format!("options: {error}")))
}
