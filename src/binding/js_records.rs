//! The records of a storage written in JavaScript, as a turn sees them.
//!
//! They stay where they are. What crosses is one number for each record that was not there in the read before (its role, its
//! length) and the ids of its tool calls. Contents cross once, as UTF-16, and only when a native adapter sends them or
//! when the estimate by lengths says that compression may be due. What has crossed is kept with the handle for as long
//! as the facade finds the same records again.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use serde::Deserialize;

use super::{
    bridge::{Ask, Inner},
    js_store::{JsStore, invalid},
    text::{Arena, FromJs},
};
use crate::{
    context::{History, budget},
    error::Result,
    message::{Message, MessageBuilder, Role},
    session::{Extent, Records, TurnRead, TurnStorage},
    storage::{CompressionCache, Slot, Store, Write},
    text::Text,
};

/// What the facade answers to [`Ask::Load`].
pub(super) struct LoadAnswer {
    pub(super) system_prompt: Option<FromJs>,
    pub(super) slot: Option<FromJs>,
    /// JSON: a [`CompressionCache`].
    pub(super) cache: Option<FromJs>,
    /// Whether the storage keeps a compression cache.
    pub(super) keeps_cache: bool,
    pub(super) read: Read,
}

/// What a record is besides a role and a content.
#[derive(Clone, Deserialize)]
struct Link {
    index: usize,
    #[serde(default)]
    answers: Option<Text>,
    #[serde(default)]
    calls: Vec<(Text, Text)>,
    /// UTF-16 units of the record's JSON beyond its content.
    #[serde(default)]
    extra: u32,
}

/// All records of one read, without their contents.
#[derive(Clone, Default)]
struct Outline {
    /// `length << 3 | rich << 2 | role` of each record; see `columns` in `src/js/records.cjs`.
    columns: Arc<Vec<u32>>,
    links: Arc<HashMap<usize, Link>>,
    exact: OnceLock<Arc<Vec<u32>>>,
}

impl Outline {
    fn column(&self, index: usize) -> u32 {
        self.columns.get(index).copied().unwrap_or_default()
    }

    /// Whether the record is more than a role and a content.
    fn rich(&self, index: usize) -> bool {
        self.column(index) & 4 != 0
    }

    fn link(&self, index: usize) -> Option<&Link> {
        // Most records have none, and looking it up would cost more than all the rest.
        if self.rich(index) {
            self.links.get(&index)
        } else {
            None
        }
    }
}

impl History for Outline {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn weights_are_exact(&self) -> bool {
        self.exact.get().is_some()
    }

    fn role(&self, index: usize) -> Role {
        match self.column(index) & 3 {
            0 => Role::System,
            1 => Role::User,
            2 => Role::Assistant,
            _ => Role::Tool,
        }
    }

    fn weight(&self, index: usize) -> u32 {
        if let Some(exact) = self.exact.get() {
            return exact.get(index).copied().unwrap_or_default();
        }
        let extra = self.link(index).map_or(0, |link| link.extra);
        budget::upper_bound((self.column(index) >> 3).saturating_add(extra))
    }

    fn call_count(&self, index: usize) -> usize {
        self.link(index).map_or(0, |link| link.calls.len())
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the contract of the trait: call < call_count(index)"
    )]
    fn call(&self, index: usize, call: usize) -> (&Text, &Text) {
        let (id, name) = &self.links[&index].calls[call];
        (id, name)
    }

    fn answers(&self, index: usize) -> Option<&Text> {
        self.link(index)?.answers.as_ref()
    }
}

/// What a handle keeps of the records of a JavaScript storage: those of the facade's last read.
#[derive(Default)]
pub(super) struct Mirror(Mutex<Mirrored>);

#[derive(Default)]
struct Mirrored {
    /// The number of the read.
    number: u64,
    outline: Outline,
    /// How many of the first records are what they were when a turn last took a read.
    intact: usize,
    /// Exact weights of the first records, as far as they were ever needed.
    weights: Arc<Vec<u32>>,
    /// The number of the first of `messages`.
    first: usize,
    /// Records whose contents have crossed.
    messages: Arc<Vec<Message>>,
}

/// A read, as it was when the facade made it.
pub(super) struct Read {
    number: u64,
    outline: Outline,
}

/// So many records that a prompt leaves out are worth their contents where the rest is kept already.
const GAP: usize = 64;

impl Mirror {
    fn lock(&self) -> MutexGuard<'_, Mirrored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what the facade has read: the first `intact` records as they were in its read before, then
    /// those of `columns` and `links`.
    pub(super) fn take(
        &self,
        intact: usize,
        columns: &[u32],
        links: Option<FromJs>,
    ) -> Result<Read> {
        let links: Vec<Link> = parse(links, "listRecords")?.unwrap_or_default();
        let mut kept = self.lock();
        let kept = &mut *kept;
        kept.number += 1;
        kept.intact = kept.intact.min(intact);
        let all = Arc::make_mut(&mut kept.outline.columns);
        all.truncate(intact);
        all.extend_from_slice(columns);
        if !links.is_empty() || !kept.outline.links.is_empty() {
            let all = Arc::make_mut(&mut kept.outline.links);
            all.retain(|&index, _| index < intact);
            all.extend(links.into_iter().map(|link| (link.index, link)));
        }
        if kept.weights.len() > intact {
            Arc::make_mut(&mut kept.weights).truncate(intact);
        }
        if kept.first + kept.messages.len() > intact {
            let still = intact.saturating_sub(kept.first);
            Arc::make_mut(&mut kept.messages).truncate(still);
        }
        Ok(Read {
            number: kept.number,
            outline: kept.outline.clone(),
        })
    }

    /// A turn begins to work on the last read. How many of its first records are what they were the last time.
    fn begin(&self) -> usize {
        let mut kept = self.lock();
        let len = kept.outline.columns.len();
        std::mem::replace(&mut kept.intact, len)
    }
}

struct JsRecords {
    bridge: Arc<Inner>,
    operation: u32,
    read: Read,
    mirror: Arc<Mirror>,
}

impl JsRecords {
    /// What the mirror keeps, where it is still of this read: the facade may have read again, for a turn that was cancelled.
    fn kept(&self) -> Option<MutexGuard<'_, Mirrored>> {
        Some(self.mirror.lock()).filter(|kept| kept.number == self.read.number)
    }

    /// Has the contents of records cross.
    async fn fetch(&self, range: Range<usize>) -> Result<Vec<Message>> {
        let payload = format!("[{},{}]", range.start, range.end);
        let contents: Arena = self
            .bridge
            .ask(self.operation, Ask::Contents, payload)
            .await?;
        if contents.len() != range.len() {
            return Err(invalid(
                "listRecords",
                &"the records changed while a turn was using them",
            ));
        }
        let outline = &self.read.outline;
        let read = |(n, index): (usize, usize)| {
            let text = contents.get(n);
            if outline.rich(index) {
                // Written by JSON.stringify, which escapes half surrogate pairs.
                Message::parse(&String::from_utf16_lossy(text))
                    .map_err(|error| invalid("listRecords", &error))
            } else {
                Ok(MessageBuilder::new(outline.role(index), Text::from_utf16(text)).build())
            }
        };
        range.enumerate().map(read).collect()
    }
}

#[async_trait]
impl Records for JsRecords {
    fn outline(&self) -> &dyn History {
        &self.read.outline
    }

    async fn weigh(&self) -> Result<()> {
        let outline = &self.read.outline;
        let kept = self.kept().map(|kept| kept.weights.clone());
        let mut weights = kept.unwrap_or_default();
        let (known, all) = (weights.len(), outline.len());
        if known < all {
            let (list, place) = self.messages(known..all).await?;
            let rest = list.get(place).unwrap_or_default().iter();
            let rest = rest.map(|message| message.weight_with(budget::weigh));
            Arc::make_mut(&mut weights).extend(rest);
            if let Some(mut kept) = self.kept() {
                kept.weights = weights.clone();
            }
        }
        // Somebody else may have been first; the weights are the same.
        let _ = outline.exact.set(weights);
        Ok(())
    }

    async fn messages(&self, range: Range<usize>) -> Result<(Arc<Vec<Message>>, Range<usize>)> {
        let kept = self.kept().map(|kept| (kept.first, kept.messages.clone()));
        let (first, mut list) = kept.unwrap_or_default();
        let end = first + list.len();
        let goes_on = !list.is_empty() && first <= range.start && range.start <= end + GAP;
        let (first, known) = if goes_on {
            (first, end)
        } else {
            list = Arc::default();
            (range.start, range.start)
        };
        if known < range.end {
            let rest = self.fetch(known..range.end).await?;
            // Nobody else holds the list then, and it needs no copy to grow.
            if let Some(mut kept) = self.kept() {
                kept.messages = Arc::default();
            }
            Arc::make_mut(&mut list).extend(rest);
            if let Some(mut kept) = self.kept() {
                (kept.first, kept.messages) = (first, list.clone());
            }
        }
        Ok((list, range.start - first..range.end - first))
    }

    fn native(&self) -> Option<&[Message]> {
        None
    }

    fn lasts(&self) -> bool {
        true
    }

    async fn fingerprint(&self, count: u64) -> Result<Text> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let messages = self.fetch(0..count).await?;
        Ok(fingerprint(&messages))
    }
}

/// The storage of one turn.
pub(super) struct JsTurnStorage {
    bridge: Arc<Inner>,
    operation: u32,
    store: JsStore,
    mirror: Arc<Mirror>,
}

impl JsTurnStorage {
    pub(super) fn new(bridge: Arc<Inner>, operation: u32, mirror: Arc<Mirror>) -> Self {
        let store = JsStore::new(bridge.clone(), operation);
        Self {
            bridge,
            operation,
            store,
            mirror,
        }
    }
}

#[async_trait]
impl TurnStorage for JsTurnStorage {
    async fn load(&self, _id: &Text, slot: Slot, _extent: Extent) -> Result<TurnRead> {
        let payload = match slot {
            Slot::Insight => "getInsight",
            Slot::Memory => "getMemory",
        };
        let answer: LoadAnswer = self.bridge.ask(self.operation, Ask::Load, payload).await?;
        // A cache that cannot be read never fails a turn.
        let cache = parse::<CompressionCache>(answer.cache, "getCompressionCache")
            .ok()
            .flatten();
        let intact = self.mirror.begin();
        let records = JsRecords {
            bridge: self.bridge.clone(),
            operation: self.operation,
            read: answer.read,
            mirror: self.mirror.clone(),
        };
        Ok(TurnRead {
            system_prompt: answer.system_prompt.map(|text| text.to_text()),
            slot: answer.slot.map(|text| text.to_text()),
            records: Arc::new(records),
            cache,
            base: 0,
            version: None,
            intact: intact as u64,
            keeps_cache: answer.keeps_cache,
        })
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<()> {
        self.store.apply(writes).await
    }
}

/// FNV-1a over roles, contents and tool calls, 64 bits: it tells edits from no edits, and is not meant to resist an attacker
/// who can write to the storage anyway.
fn fingerprint(messages: &[Message]) -> Text {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |bytes: &[u8]| {
        for &byte in bytes.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for message in messages {
        feed(message.role().as_str().as_bytes());
        feed(message.content_escaped().as_bytes());
        for call in message.tool_calls() {
            feed(call.id.escaped().as_bytes());
            feed(call.name.escaped().as_bytes());
            feed(call.input.as_bytes());
        }
        feed(
            message
                .tool_call_id()
                .map(Text::escaped)
                .unwrap_or_default()
                .as_bytes(),
        );
    }
    Text::from(format!("{}-{hash:016x}", messages.len()))
}

fn parse<T: serde::de::DeserializeOwned>(json: Option<FromJs>, method: &str) -> Result<Option<T>> {
    json.map(|json| {
        serde_json::from_str(&json.into_json()).map_err(|error| invalid(method, &error))
    })
    .transpose()
}
