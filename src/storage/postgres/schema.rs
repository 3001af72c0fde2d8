//! The tables, and how a database gets them.

use tokio_postgres::types::Type;

use super::{connection::Connection, fault};
use crate::error::{Error, Result, StorageCode, StorageError};

/// One step each; the table `migrations` has a row for each that was taken. A step is never changed once it was released.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/1.sql")];

/// Brings the schema up to date. Processes that start together take turns; whoever comes late finds nothing to do.
pub(super) async fn migrate(connection: &Connection, quoted: &str) -> Result<()> {
    if pending(connection, quoted).await?.is_empty() {
        return Ok(());
    }
    // A failure and a caller that goes away leave the transaction open: the connection is then not used again.
    connection.unsettled();
    locked(connection, quoted).await?;
    connection.settled();
    Ok(())
}

async fn locked(connection: &Connection, quoted: &str) -> Result<()> {
    let execute = async |sql: &str| {
        let client = connection.client()?;
        connection.run(client.batch_execute(sql)).await
    };
    // The lock ends with the transaction, whatever becomes of this process, and a pooler keeps both together.
    execute(&format!(
        "BEGIN; SELECT pg_advisory_xact_lock({})",
        lock_number(quoted)
    ))
    .await?;
    execute(&format!(
        "CREATE SCHEMA IF NOT EXISTS {quoted};
         SET LOCAL search_path = {quoted}, pg_temp;
         CREATE TABLE IF NOT EXISTS {quoted}.migrations (version integer PRIMARY KEY)"
    ))
    .await?;
    let steps = pending(connection, quoted).await?;
    for (step, version) in steps.iter().zip(MIGRATIONS.len() - steps.len() + 1..) {
        execute(step).await?;
        execute(&format!(
            "INSERT INTO {quoted}.migrations (version) VALUES ({version})"
        ))
        .await?;
    }
    execute("COMMIT").await
}

/// The steps that the schema has not had; an error where it is too new.
async fn pending(connection: &Connection, quoted: &str) -> Result<&'static [&'static str]> {
    let client = connection.client()?;
    let table = format!("{quoted}.migrations");
    let sql = "SELECT to_regclass($1) IS NOT NULL";
    let params: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 1] = [(&table, Type::TEXT)];
    let row = connection.run(client.query_typed_one(sql, &params)).await?;
    if !row
        .try_get::<_, bool>(0)
        .map_err(|error| fault::of(&error))?
    {
        return Ok(&MIGRATIONS);
    }
    let sql = format!("SELECT coalesce(max(version), 0) FROM {table}");
    let row = connection.run(client.query_typed_one(&sql, &[])).await?;
    let version: i32 = row.try_get(0).map_err(|error| fault::of(&error))?;
    usize::try_from(version)
        .ok()
        .and_then(|version| MIGRATIONS.get(version..))
        .ok_or_else(|| {
            Error::Storage(StorageError::new(
                StorageCode::Incompatible,
                format!(
                    "schema {quoted} has version {version}, this version of the package knows up to {}",
                    MIGRATIONS.len()
                ),
            ))
        })
}

/// The number of the advisory lock: the same in every version of this package, so made by hand (FNV-1a, 64 bit).
fn lock_number(quoted: &str) -> i64 {
    let bytes = "stello-session".bytes().chain(quoted.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}
