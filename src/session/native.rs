//! Turns over native storages and native adapters: nothing of them crosses into JavaScript.

use std::{ops::Range, sync::Arc};

use async_trait::async_trait;

use super::hooks::{Extent, Model, PieceSink, Prompt, Records, Tools, TurnRead, TurnStorage};
use crate::{
    context::History,
    error::Result,
    llm::{Adapter, Completion, Request},
    message::Message,
    storage::{ListRecords, Loaded, Slot, Storage, Write},
    text::Text,
};

/// A native storage, used directly.
pub struct NativeTurnStorage(pub Arc<dyn Storage>);

struct NativeRecords {
    records: Arc<Vec<Message>>,
    version: Text,
    lasts: bool,
}

#[async_trait]
impl Records for NativeRecords {
    fn outline(&self) -> &dyn History {
        &*self.records
    }

    async fn weigh(&self) -> Result<()> {
        Ok(())
    }

    async fn messages(&self, range: Range<usize>) -> Result<(Arc<Vec<Message>>, Range<usize>)> {
        Ok((self.records.clone(), range))
    }

    fn native(&self) -> Option<&[Message]> {
        Some(&self.records)
    }

    fn lasts(&self) -> bool {
        self.lasts
    }

    async fn fingerprint(&self, _count: u64) -> Result<Text> {
        Ok(self.version.clone())
    }
}

#[async_trait]
impl TurnStorage for NativeTurnStorage {
    async fn load(&self, id: &Text, slot: Slot, extent: Extent) -> Result<TurnRead> {
        let mut loaded = self.0.load(id, slot).await?;
        let cached = |loaded: &Loaded| loaded.cache.as_ref().map(|cache| cache.compressed_count);
        let mut base = cached(&loaded).unwrap_or(0);
        if extent == Extent::Whole && base > 0 {
            let records = self.0.list_records(id, &ListRecords::default()).await?;
            let again = self.0.load(id, slot).await?;
            // Only of an unchanged history are both from one moment, but for records that were added.
            let cache = again
                .cache
                .filter(|_| again.fingerprint == loaded.fingerprint);
            loaded = Loaded {
                records,
                cache,
                ..loaded
            };
            base = 0;
        }
        let version = loaded.fingerprint;
        Ok(TurnRead {
            system_prompt: loaded.system_prompt,
            slot: loaded.slot,
            records: Arc::new(NativeRecords {
                records: loaded.records,
                version: version.clone(),
                lasts: self.0.shares_messages(),
            }),
            cache: loaded.cache,
            base,
            version: Some(version),
            intact: 0,
            keeps_cache: true,
        })
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<()> {
        self.0.apply(writes).await
    }
}

/// A native adapter.
pub struct NativeModel {
    pub adapter: Arc<dyn Adapter>,
    pub window_tokens: u64,
    pub identity: u64,
}

#[async_trait]
impl Model for NativeModel {
    fn window_tokens(&self) -> u64 {
        self.window_tokens
    }

    fn identity(&self) -> u64 {
        self.identity
    }

    async fn generate(
        &self,
        prompt: &Prompt,
        tools: &Tools,
        pieces: Option<PieceSink>,
    ) -> Result<Completion> {
        let messages = prompt.messages().await?;
        let request = Request {
            messages: &messages,
            fragments: prompt.fragments.as_ref(),
            tools: &tools.specs,
            max_tokens: None,
            temperature: None,
        };
        let Some(pieces) = pieces else {
            return Ok(self.adapter.complete(request).await?);
        };
        let mut sink = |chunk| pieces(&chunk);
        let joined = self.adapter.stream(request, &mut sink).await?.finish();
        Ok(joined.map_err(|error| self.adapter.own(error))?)
    }
}
