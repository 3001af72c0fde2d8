//! What SQLite reports, by what can be done about it.

use std::time::Duration;

use rusqlite::{Error as Driver, ErrorCode};

use crate::error::{Error, StorageCode, StorageError};

pub(super) fn of(error: Driver) -> Error {
    if let Driver::InvalidColumnType(_, column, kind) = error {
        return Error::Storage(StorageError::new(
            StorageCode::InvalidShape,
            format!("{column}: expected another type, got {kind}"),
        ));
    }
    let (code, message) = match error.sqlite_error_code() {
        // A quota or a limit of the file's size: SQLite tells a full disk from it, whoever waits for room does not.
        Some(ErrorCode::SystemIoFailure) if is_write(&error) => (
            StorageCode::NotWritable,
            "the database file cannot be written",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            StorageCode::Timeout,
            "the database stayed locked by another process",
        ),
        Some(ErrorCode::ReadOnly) => (StorageCode::NotWritable, "the database is read-only"),
        Some(ErrorCode::DiskFull) => (StorageCode::NotWritable, "the disk is full"),
        Some(ErrorCode::NotADatabase) => (
            StorageCode::Incompatible,
            "the file is not an SQLite database",
        ),
        Some(ErrorCode::DatabaseCorrupt) => {
            (StorageCode::Incompatible, "the database file is damaged")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => (
            StorageCode::Unavailable,
            "the database file cannot be opened",
        ),
        Some(ErrorCode::SystemIoFailure) => (
            StorageCode::Unavailable,
            "the database file cannot be read or written",
        ),
        _ if is_about_tables(&error) => (
            StorageCode::Incompatible,
            "the tables of the file are not those of this storage",
        ),
        _ => (StorageCode::Failed, "SQLite refused the operation"),
    };
    Error::Storage(StorageError::new(code, message).because(&error))
}

fn is_write(error: &Driver) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    extended == Some(rusqlite::ffi::SQLITE_IOERR_WRITE)
}

/// A table or column is missing or in the way. SQLite has one code for every statement that it cannot make sense of.
fn is_about_tables(error: &Driver) -> bool {
    let message = match error {
        Driver::SqliteFailure(_, Some(message)) => message,
        Driver::SqlInputError { msg, .. } => msg,
        _ => return false,
    };
    message.starts_with("no such ")
        || message.contains("has no column named")
        || message.ends_with("already exists")
}

/// Whether the same operation may succeed once another process is done.
pub(super) fn is_busy(error: &Driver) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// A writer gave up waiting for another process.
pub(super) fn locked(waited: Duration) -> Error {
    Error::Storage(StorageError::new(
        StorageCode::Timeout,
        format!(
            "the database stayed locked by another process for {} ms",
            waited.as_millis()
        ),
    ))
}
