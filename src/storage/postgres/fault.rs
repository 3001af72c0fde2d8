//! What PostgreSQL and the way to it report, by what can be done about it.

use std::{error::Error as _, time::Duration};

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::{Error as Driver, error::SqlState};

use crate::{
    error::{Error, StorageCode, StorageError},
    storage::limit,
};

const LOST: &str = "the connection to the database was lost";

pub(super) fn of(error: &Driver) -> Error {
    let (code, message) = match error.code() {
        None if error.is_closed() || is_io(error) => (StorageCode::Unavailable, LOST),
        None => (StorageCode::Failed, "the database was not understood"),
        Some(state) => of_state(state),
    };
    Error::Storage(StorageError::new(code, message).because(&describe(error)))
}

/// An error before a connection was made.
pub(super) fn connecting(error: &Driver) -> Error {
    let message = match error.code().map(SqlState::code) {
        Some(code) if code.starts_with("28") => "the database refused the login",
        Some("3D000") => "the database does not exist",
        Some("53300") => "the database has no connection left",
        Some(_) => "the database refused the connection",
        None => "the database cannot be reached",
    };
    Error::Storage(StorageError::new(StorageCode::Unavailable, message).because(&describe(error)))
}

pub(super) fn of_pool(error: PoolError, connections: usize, waited: Duration) -> Error {
    let waited = waited.as_millis();
    let (code, message) = match error {
        PoolError::Backend(error) => return connecting(&error),
        PoolError::Closed => return limit::closed(),
        PoolError::Timeout(TimeoutType::Wait) => (
            StorageCode::Timeout,
            format!("all {connections} connections (maxConnections) stayed in use for {waited} ms"),
        ),
        PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle) => (
            StorageCode::Unavailable,
            format!("connecting to the database took longer than {waited} ms"),
        ),
        PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
            return Error::Internal("the pool of connections was set up wrongly".to_owned());
        }
    };
    Error::Storage(StorageError::new(code, message))
}

pub(super) fn too_slow(limit: Duration) -> Error {
    Error::Storage(StorageError::new(
        StorageCode::Timeout,
        format!(
            "a statement took longer than {} ms and was given up",
            limit.as_millis()
        ),
    ))
}

/// Whether the statement was undone because of others and may be given again.
pub(super) fn is_conflict(error: &Driver) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::T_R_DEADLOCK_DETECTED | &SqlState::T_R_SERIALIZATION_FAILURE)
    )
}

pub(super) fn is_cancelled(error: &Driver) -> bool {
    matches!(
        error.code(),
        Some(&SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE)
    )
}

/// Whether the connection went away, so that another one may do.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Storage(error) if error.code == StorageCode::Unavailable && error.message == LOST)
}

fn of_state(state: &SqlState) -> (StorageCode, &'static str) {
    match state.code() {
        "25P02" => (
            StorageCode::Transaction,
            "an earlier failure has ended the transaction",
        ),
        "25006" => (StorageCode::NotWritable, "the database is read-only"),
        "42501" => (
            StorageCode::NotWritable,
            "the database user lacks a permission",
        ),
        "53100" => (StorageCode::NotWritable, "the disk of the database is full"),
        "42P01" | "42703" | "42883" | "3F000" | "42P07" | "42710" | "42723" => (
            StorageCode::Incompatible,
            "the tables of the schema are not those of this storage",
        ),
        code if code.starts_with("08") || code.starts_with("57P") => {
            (StorageCode::Unavailable, LOST)
        }
        code if code.starts_with("53") => {
            (StorageCode::Unavailable, "the database lacks resources")
        }
        _ => (StorageCode::Failed, "PostgreSQL refused the operation"),
    }
}

fn is_io(error: &Driver) -> bool {
    error
        .source()
        .is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// The database's own words with their code, or the chain of what lay beneath. The driver never shows the password.
fn describe(error: &Driver) -> String {
    if let Some(database) = error.as_db_error() {
        return format!("{} ({})", database.message(), database.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(deeper) = source {
        let deeper_text = deeper.to_string();
        if !text.contains(&deeper_text) {
            text = format!("{text}: {deeper_text}");
        }
        source = deeper.source();
    }
    text
}
