//! Opening the file.

use std::{
    io::Cursor,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};

use super::{SqliteOptions, Synchronous, fault, schema};
use crate::error::{Error, Result, StorageCode, StorageError};

/// How many prepared statements a connection keeps; there are about forty.
const STATEMENTS: usize = 64;

/// A log that grew during a long transaction is cut back to this many bytes.
const WAL_LIMIT: i64 = 64 * 1024 * 1024;

pub(super) fn is_memory(path: &Path) -> bool {
    path.as_os_str() == ":memory:"
}

/// Opens, and makes or migrates where that is needed.
pub(super) fn open(options: &SqliteOptions) -> Result<Connection> {
    let mut connection = connect(options)?;
    prepare(options, &mut connection).map_err(|error| name(&options.path, error))?;
    Ok(connection)
}

/// A second connection to a file that is ready.
pub(super) fn reopen(options: &SqliteOptions) -> Result<Connection> {
    connect(options)
}

/// What a `:memory:` database holds now, to be read while a transaction changes it: no second connection can see it.
pub(super) fn snapshot(memory: &mut Connection) -> Result<Connection> {
    let image = memory.serialize("main").map_err(fault::of)?;
    let mut copy = Connection::open_in_memory().map_err(fault::of)?;
    copy.deserialize_read_exact("main", Cursor::new(&*image), image.len(), true)
        .map_err(fault::of)?;
    Ok(copy)
}

fn connect(options: &SqliteOptions) -> Result<Connection> {
    let path = &options.path;
    if path.as_os_str().is_empty() {
        let error = StorageError::new(
            StorageCode::Unavailable,
            "the path of an SQLite database is empty",
        );
        return Err(Error::Storage(error));
    }
    // Without `SQLITE_OPEN_URI`: a path is a path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
        .and_then(|connection| {
            // Before anything that can meet a lock.
            connection.busy_timeout(options.busy_timeout)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            connection.pragma_update(
                None,
                "synchronous",
                match options.synchronous {
                    Synchronous::Full => "FULL",
                    Synchronous::Normal => "NORMAL",
                },
            )?;
            connection.pragma_update(None, "journal_size_limit", WAL_LIMIT)?;
            Ok(connection)
        })
        .map_err(|error| name(path, fault::of(error)))
}

fn prepare(options: &SqliteOptions, connection: &mut Connection) -> Result<()> {
    let since = Instant::now();
    loop {
        // Changing to WAL needs the file alone and does not wait for it as other statements do.
        match use_wal(&options.path, connection).and_then(|()| schema::migrate(connection)) {
            Err(Error::Storage(error))
                if error.code == StorageCode::Timeout && since.elapsed() < options.busy_timeout =>
            {
                sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

fn use_wal(path: &Path, connection: &Connection) -> Result<()> {
    if is_memory(path) {
        return Ok(());
    }
    let mode = |sql: &str| {
        connection
            .query_row(sql, (), |row| row.get::<_, String>(0))
            .map_err(fault::of)
    };
    if mode("PRAGMA journal_mode")? == "wal" {
        return Ok(());
    }
    // A database of something else is refused before anything of it is changed.
    schema::pending(connection)?;
    // Where a file system has no shared memory the mode stays as it is; only readers then wait for a writer.
    mode("PRAGMA journal_mode = WAL").map(drop)
}

fn name(path: &Path, error: Error) -> Error {
    match error {
        Error::Storage(mut error) => {
            error.message = format!("{}: {}", path.display(), error.message);
            Error::Storage(error)
        }
        other => other,
    }
}
