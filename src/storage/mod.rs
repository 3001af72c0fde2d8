//! Where conversations are kept.

pub mod traits;

pub use traits::{CompressionCache, ListRecords, Loaded, Slot, Storage, Store, Transaction, Write};
