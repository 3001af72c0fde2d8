//! What no storage takes.

use super::Write;
use crate::error::{Error, Result, StorageCode, StorageError};

/// JavaScript's `Number.MAX_SAFE_INTEGER`: a greater count would not come back as it was put.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Refuses a list before any of it is applied.
pub(super) fn writes(writes: &[Write]) -> Result<()> {
    for write in writes {
        if let Write::PutCompressionCache { cache, .. } = write
            && cache.compressed_count > MAX_SAFE_INTEGER
        {
            return Err(Error::Storage(StorageError::new(
                StorageCode::InvalidShape,
                format!(
                    "putCompressionCache: compressedCount: expected an integer up to {MAX_SAFE_INTEGER}, got {}",
                    cache.compressed_count
                ),
            )));
        }
    }
    Ok(())
}
