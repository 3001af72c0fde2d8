//! How long a transaction may stay open: the one rule of all storages.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, StorageCode, StorageError};

/// Long enough for a model's answer inside a transaction, short enough that a forgotten one does not stop all writing.
pub const DEFAULT_TRANSACTION_TIMEOUT: Duration = Duration::from_mins(1);

/// The moment at which an open transaction is rolled back.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    #[must_use]
    pub fn after(limit: Duration) -> Self {
        // An `Instant` cannot hold every `Duration`; thirty years are as good as never.
        let bounded = limit.min(Duration::from_hours(24 * 365 * 30));
        Self {
            at: Instant::now() + bounded,
            limit,
        }
    }

    /// How long the transaction may stay open in all.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.limit
    }

    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }

    #[must_use]
    pub fn passed(&self) -> bool {
        Instant::now() >= self.at
    }

    /// What later calls of a transaction that stayed open too long fail with.
    #[must_use]
    pub fn error(&self) -> Error {
        Error::Storage(StorageError::new(
            StorageCode::Transaction,
            format!(
                "the transaction was open for longer than {} ms and was rolled back",
                self.limit.as_millis()
            ),
        ))
    }
}

/// What a call on a closed storage fails with.
#[must_use]
pub fn closed() -> Error {
    Error::Storage(StorageError::new(
        StorageCode::Closed,
        "the storage was closed",
    ))
}
