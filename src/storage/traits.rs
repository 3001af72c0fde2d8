//! What a storage is to the core.
//!
//! Reading is by method, writing is by [`Write`]: whoever changes anything (a turn, a new session, a fork, one
//! `putInsight` from JavaScript) says the whole change as a list, and a storage applies a list or none of it.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::limit::Deadline;
use crate::{
    error::Result,
    message::{Message, Role},
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    text::{Json, Text},
};

/// One change. The names are those of the public storage interface.
#[derive(Debug, Clone)]
pub enum Write {
    /// A session that is there already keeps its place in lists, its records and its slots.
    PutSession(SessionMeta),
    PutSystemPrompt {
        id: Text,
        content: Text,
    },
    AppendRecord {
        id: Text,
        record: Message,
    },
    /// Keeps the newest `keep_recent` records and drops the compression cache if any record went.
    /// A list that appends and then trims counts what it has just appended.
    TrimRecords {
        id: Text,
        keep_recent: u64,
    },
    PutInsight {
        id: Text,
        content: Text,
    },
    ClearInsight {
        id: Text,
    },
    /// Clears the insight if it is still `content`.
    ClearInsightIf {
        id: Text,
        content: Text,
    },
    PutMemory {
        id: Text,
        content: Text,
    },
    /// A node that is there already keeps its place among the nodes put earlier and later. A parent need not exist.
    PutNode(TopologyNode),
    /// Removes the node alone: what was under it keeps its `parent_id`.
    RemoveNode {
        id: Text,
    },
    PutGlobal {
        key: Text,
        value: Json,
    },
    /// Keeps the cache as it is; an empty `fingerprint` stands for that of the records as they are at this write.
    PutCompressionCache {
        id: Text,
        cache: CompressionCache,
    },
    /// Removes the session and everything kept under its id: records, slots, cache, topology node (as [`Write::RemoveNode`]).
    /// What is put under the id later begins a new history.
    DeleteSession {
        id: Text,
    },
}

/// `ListRecordsOptions`: role first, then offset, then limit, from the oldest; or the newest `last`, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListRecords {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The newest `last` of those that pass `role`; with it, `offset` and `limit` do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
}

/// A summary of the oldest `compressed_count` raw records.
///
/// `fingerprint` ties it to them. A native storage names a state of a history by two numbers, `history.revision`: the
/// history (an id that was deleted and comes back begins another one) and how often records of it were removed or
/// altered. Appending changes neither, so a cache is right exactly as long as the fingerprint is still that of the
/// session. Whoever counted records of a [`Loaded`] writes the cache with [`Loaded::fingerprint`]: if records went in
/// between, the cache is kept but never used. So is one whose fingerprint was made elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompressionCache {
    pub summary: Text,
    pub compressed_count: u64,
    pub fingerprint: Text,
}

/// Which one-message slot a turn reads: a session its insight, a main session its synthesis (the memory slot).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Insight,
    Memory,
}

/// Everything that a turn reads, from one moment.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    pub system_prompt: Option<Text>,
    pub slot: Option<Text>,
    /// The records after those that `cache` covers; all of them where `cache` is `None`.
    pub records: Arc<Vec<Message>>,
    /// Only a cache that is right for the records as they now are.
    pub cache: Option<CompressionCache>,
    /// What a cache made from these records carries.
    pub fingerprint: Text,
}

/// Reads and writes of a storage or of a transaction on it.
///
/// Slots and records of an id without a session row are kept like any others. Text that was never put is `None`.
#[async_trait]
pub trait Store: Send + Sync {
    async fn get_session(&self, id: &Text) -> Result<Option<SessionMeta>>;
    /// In the order they were put first.
    async fn list_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionMeta>>;
    async fn list_records(&self, id: &Text, options: &ListRecords) -> Result<Arc<Vec<Message>>>;
    async fn get_system_prompt(&self, id: &Text) -> Result<Option<Text>>;
    async fn get_insight(&self, id: &Text) -> Result<Option<Text>>;
    async fn get_memory(&self, id: &Text) -> Result<Option<Text>>;
    /// Active standard sessions with a memory, in the order they were put first.
    async fn get_all_session_l2s(&self) -> Result<Vec<ChildL2Summary>>;
    /// Memory and insight of every session that passes, in the order they were put first; one read.
    async fn list_session_digests(&self, filter: &SessionFilter) -> Result<Vec<SessionDigest>>;
    async fn get_node(&self, id: &Text) -> Result<Option<TopologyNode>>;
    /// The nodes under `parent_id`, or the roots; in the order they were put first.
    async fn get_children(&self, parent_id: Option<&Text>) -> Result<Vec<TopologyNode>>;
    async fn get_global(&self, key: &Text) -> Result<Option<Json>>;
    /// The cache as it was put, whether or not it is still right.
    async fn get_compression_cache(&self, id: &Text) -> Result<Option<CompressionCache>>;

    /// Applies all of `writes`, in order, or none.
    async fn apply(&self, writes: Vec<Write>) -> Result<()>;
}

/// A native storage.
#[async_trait]
pub trait Storage: Store {
    /// What a turn of session `id` reads, in one go and from one moment.
    async fn load(&self, id: &Text, slot: Slot) -> Result<Loaded>;

    /// Whether two reads share the messages that both have, instead of having others that are equal.
    fn shares_messages(&self) -> bool {
        false
    }

    /// Opens a transaction; waits while another one is open that would conflict. Dropping it rolls it back.
    ///
    /// Meanwhile reads of the storage see what was committed, and its writes wait. A transaction that is open for longer
    /// than the storage's limit is rolled back; its later calls fail with `StorageCode::Transaction`.
    async fn begin(&self) -> Result<Box<dyn Transaction>>;

    /// Ends the storage's threads and connections; later calls fail with `StorageCode::Closed`. Closing twice is fine.
    async fn close(&self) -> Result<()>;
}

/// An open transaction: it reads its own writes, others see them after `commit`.
#[async_trait]
pub trait Transaction: Store {
    /// When it is rolled back if it is still open.
    fn deadline(&self) -> Deadline;
    async fn commit(self: Box<Self>) -> Result<()>;
    async fn rollback(self: Box<Self>) -> Result<()>;
}
