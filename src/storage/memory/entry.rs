//! What is kept under one session id.

use std::sync::Arc;

use crate::{
    message::{Message, Role},
    meta::SessionMeta,
    storage::{CompressionCache, ListRecords, Loaded, Slot},
    text::Text,
};

#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// `None` while only slots or records were put. The number is the session's place in lists.
    pub(super) meta: Option<(u64, SessionMeta)>,
    pub(super) system_prompt: Option<Text>,
    pub(super) insight: Option<Text>,
    pub(super) memory: Option<Text>,
    pub(super) cache: Option<CompressionCache>,
    records: Arc<Vec<Message>>,
    /// The newest records, until they can be put into the list without a copy or somebody reads it.
    tail: Vec<Message>,
    history: u64,
    revision: u64,
}

impl Entry {
    pub(super) fn new(history: u64) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    pub(super) fn fingerprint(&self) -> Text {
        Text::from(format!("{}.{}", self.history, self.revision))
    }

    /// While somebody holds the list (a snapshot, the state under a transaction) the record waits in `tail`.
    pub(super) fn append(&mut self, record: Message) {
        self.tail.push(record);
        self.join_in_place();
    }

    /// Puts what waits at the end of the list, where that needs no copy of it.
    pub(super) fn join_in_place(&mut self) {
        if let Some(records) = Arc::get_mut(&mut self.records) {
            // Grows by little, not twofold: a record costs hardly more than its text.
            if records.capacity() - records.len() < self.tail.len() {
                records.reserve_exact(self.tail.len().max(records.len() / 16 + 4));
            }
            records.append(&mut self.tail);
        }
    }

    pub(super) fn is_joined(&self) -> bool {
        self.tail.is_empty()
    }

    /// As [`Self::join_in_place`], with a copy where one is needed.
    pub(super) fn join(&mut self) {
        if !self.is_joined() && Arc::get_mut(&mut self.records).is_none() {
            let mut copy = Vec::with_capacity(self.records.len() + self.tail.len());
            copy.extend_from_slice(&self.records);
            self.records = Arc::new(copy);
        }
        self.join_in_place();
        self.tail.shrink_to_fit();
    }

    pub(super) fn trim(&mut self, keep_recent: u64) {
        self.join();
        let keep = clamp(keep_recent);
        let gone = self.records.len().saturating_sub(keep);
        if gone == 0 {
            return;
        }
        self.revision += 1;
        self.cache = None;
        self.records = Arc::new(self.records.iter().skip(gone).cloned().collect());
    }

    pub(super) fn put_cache(&mut self, mut cache: CompressionCache) {
        if cache.fingerprint.is_empty() {
            cache.fingerprint = self.fingerprint();
        }
        self.cache = Some(cache);
    }

    /// Of a joined entry.
    pub(super) fn list(&self, options: &ListRecords) -> Arc<Vec<Message>> {
        if *options == ListRecords::default() {
            return self.records.clone();
        }
        let passes = |message: &&Message| options.role.is_none_or(|role| role == message.role());
        let (skip, take) = match options.last {
            Some(last) => {
                let passing = self.count(options.role);
                (passing.saturating_sub(clamp(last)), usize::MAX)
            }
            None => (
                clamp(options.offset.unwrap_or(0)),
                clamp(options.limit.unwrap_or(u64::MAX)),
            ),
        };
        Arc::new(
            self.records
                .iter()
                .filter(passes)
                .skip(skip)
                .take(take)
                .cloned()
                .collect(),
        )
    }

    /// Of a joined entry.
    pub(super) fn load(&self, slot: Slot) -> Loaded {
        let fingerprint = self.fingerprint();
        let cache = self.cache.as_ref().filter(|cache| {
            cache.fingerprint == fingerprint
                && (1..=self.records.len()).contains(&clamp(cache.compressed_count))
        });
        let records = match cache {
            None => self.records.clone(),
            Some(cache) => Arc::new(
                self.records
                    .iter()
                    .skip(clamp(cache.compressed_count))
                    .cloned()
                    .collect(),
            ),
        };
        Loaded {
            system_prompt: self.system_prompt.clone(),
            slot: match slot {
                Slot::Insight => self.insight.clone(),
                Slot::Memory => self.memory.clone(),
            },
            records,
            cache: cache.cloned(),
            fingerprint,
        }
    }

    fn count(&self, role: Option<Role>) -> usize {
        role.map_or(self.records.len(), |role| {
            self.records.iter().filter(|r| r.role() == role).count()
        })
    }
}

fn clamp(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
