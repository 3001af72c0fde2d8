//! The tables, and how a file gets them.

use rusqlite::{Connection, TransactionBehavior};

use super::fault;
use crate::error::{Error, Result, StorageCode, StorageError};

/// "STEL": a file that is a database of something else is left alone.
const APPLICATION_ID: i64 = 0x5354_454c;

/// One step each; a file counts in `user_version` how many it has had. A step is never changed once it was released.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/1.sql")];

/// Brings the file up to date. Processes that start together take turns; whoever comes late finds nothing to do.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    if pending(connection)?.is_empty() {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(fault::of)?;
    for step in pending(&transaction)? {
        transaction.execute_batch(step).map_err(fault::of)?;
    }
    let latest = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| transaction.pragma_update(None, "user_version", latest))
        .and_then(|()| transaction.commit())
        .map_err(fault::of)
}

/// The steps that the file has not had; an error for a file that is not ours or is too new.
pub(super) fn pending(connection: &Connection) -> Result<&'static [&'static str]> {
    let read = |sql| {
        connection
            .query_row(sql, (), |row| row.get::<_, i64>(0))
            .map_err(fault::of)
    };
    let application = read("SELECT application_id FROM pragma_application_id")?;
    let version = read("SELECT user_version FROM pragma_user_version")?;
    if application != APPLICATION_ID {
        let tables = read("SELECT count(*) FROM sqlite_schema")?;
        return if application == 0 && version == 0 && tables == 0 {
            Ok(&MIGRATIONS)
        } else {
            Err(incompatible(
                "the file is an SQLite database of another application".to_owned(),
            ))
        };
    }
    usize::try_from(version)
        .ok()
        .and_then(|version| MIGRATIONS.get(version..))
        .ok_or_else(|| {
            incompatible(format!(
                "the file has schema version {version}, this version of the package knows up to {}",
                MIGRATIONS.len()
            ))
        })
}

fn incompatible(message: String) -> Error {
    Error::Storage(StorageError::new(StorageCode::Incompatible, message))
}
