//! Where conversations are kept.
//!
//! - [`traits`]: what a storage must do; [`limit`]: how long a transaction may stay open
//! - [`memory`]: as long as the process lasts
//! - [`sqlite`]: an embedded file
//! - [`postgres`]: a database, for many machines
//! - `rows`: what the databases keep as text, and back
//! - `conformance`: one suite that all of them pass

mod check;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod limit;
pub mod memory;
pub mod postgres;
mod rows;
pub mod sqlite;
pub mod traits;

pub use memory::InMemoryStorage;
pub use postgres::{PostgresOptions, PostgresStorage};
pub use sqlite::{SqliteOptions, SqliteStorage, Synchronous};
pub use traits::{CompressionCache, ListRecords, Loaded, Slot, Storage, Store, Transaction, Write};
