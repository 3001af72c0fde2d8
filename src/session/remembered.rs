//! What a handle remembers from turn to turn, and as long as what it does.

use super::hooks::TurnRead;
use crate::{
    context::compress::{Conversation, Planner, Summary},
    storage::CompressionCache,
    text::Text,
};

/// The conversation as this handle knows it.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    conversation: Conversation,
    /// What the storage called the state of the records that the summary was made of.
    version: Option<Text>,
    /// Whether the storage has yet to be offered the summary.
    unsaved: bool,
}

impl Remembered {
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Forgets a summary whose records are no longer the same. [`TurnRead::intact`] compares with the read before this one, so
    /// every read has to come here before anything else can fail or be cancelled.
    pub fn check(&mut self, read: &TurnRead) {
        let holds = |summary: &Summary| match (&self.version, &read.version) {
            (Some(made_of), Some(now)) => made_of == now && summary.compressed_count >= read.base,
            (None, None) => summary.compressed_count <= read.intact,
            _ => false,
        };
        if !self.conversation.summary.as_ref().is_some_and(holds) {
            self.conversation.summary = None;
        }
    }

    /// Takes over the summary that the storage kept, where it is right and covers more.
    pub async fn adopt(&mut self, read: &TurnRead) {
        let own = self.conversation.summary.as_ref();
        let own_count = own.map_or(0, |summary| summary.compressed_count);
        let loaded = read.base + read.records.outline().len() as u64;
        let further = |cache: &&CompressionCache| {
            cache.compressed_count > own_count && cache.compressed_count <= loaded
        };
        let Some(cache) = read.cache.as_ref().filter(further) else {
            return;
        };
        let fingerprint = read.records.fingerprint(cache.compressed_count).await;
        if fingerprint.is_ok_and(|fingerprint| fingerprint == cache.fingerprint) {
            self.conversation.summary = Some(Summary {
                text: cache.summary.clone(),
                compressed_count: cache.compressed_count,
            });
            self.version.clone_from(&read.version);
            self.unsaved = false;
        }
    }

    /// Takes over what `planner` has come to.
    pub fn learn(&mut self, planner: &Planner, read: &TurnRead) {
        self.conversation.clone_from(planner.conversation());
        if planner.new_summary().is_some() {
            self.version.clone_from(&read.version);
            self.unsaved = true;
        }
    }

    /// What the handle remembers once the turn is stored, the provider having counted `prompt_tokens`.
    pub fn observe(&mut self, planner: &Planner, prompt_tokens: Option<f64>) {
        self.conversation = planner.observe(prompt_tokens);
    }

    /// The summary to be stored with the turn, where the storage would keep it and does not have it. Counts as offered then.
    pub async fn offer(&mut self, read: &TurnRead) -> Option<CompressionCache> {
        let summary = self.conversation.summary.as_ref();
        let summary = summary.filter(|_| self.unsaved && read.keeps_cache)?;
        // A cache that cannot be written never fails a turn.
        let fingerprint = read.records.fingerprint(summary.compressed_count).await;
        self.unsaved = false;
        Some(CompressionCache {
            summary: summary.text.clone(),
            compressed_count: summary.compressed_count,
            fingerprint: fingerprint.ok()?,
        })
    }
}
