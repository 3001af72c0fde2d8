//! The records of a storage written in JavaScript, as a turn sees them.
//!
//! They stay where they are. What crosses for every turn is one number per record (its role, its length) and the
//! ids of tool calls; the contents cross, as UTF-16, only when a native adapter sends them or when the
//! estimate by lengths says that compression may be due.

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
    /// `length << 3 | rich << 2 | role` of each record; see `columns` in `src/js/records.cjs`.
    pub(super) columns: Vec<u32>,
    /// JSON: the [`Link`]s.
    pub(super) links: Option<FromJs>,
    /// JSON: a [`CompressionCache`].
    pub(super) cache: Option<FromJs>,
    /// The number of this read among those of the handle.
    pub(super) number: u32,
    /// How many of the first records are the same as in the read of [`last_read_number`].
    pub(super) intact: u32,
    /// Whether the storage keeps a compression cache.
    pub(super) keeps_cache: bool,
}

/// What a record is besides a role and a content.
#[derive(Deserialize)]
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

struct Outline {
    columns: Vec<u32>,
    links: HashMap<usize, Link>,
    exact: OnceLock<Vec<u32>>,
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

/// What a handle knows of a JavaScript storage's records from the last read that reached it.
#[derive(Default)]
pub(super) struct LastRead {
    /// Its number. The facade may have read again since, for a turn that was cancelled meanwhile.
    number: u32,
    /// Exact weights, as far as they were ever needed.
    weights: Vec<u32>,
}

pub(super) type SharedLastRead = Arc<Mutex<LastRead>>;

fn lock(last: &SharedLastRead) -> MutexGuard<'_, LastRead> {
    last.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the last read that reached a turn; 0 where none did.
pub(super) fn last_read_number(last: &SharedLastRead) -> u32 {
    lock(last).number
}

struct JsRecords {
    bridge: Arc<Inner>,
    operation: u32,
    outline: Outline,
    last: SharedLastRead,
}

#[async_trait]
impl Records for JsRecords {
    fn outline(&self) -> &dyn History {
        &self.outline
    }

    async fn weigh(&self) -> Result<()> {
        let mut weights = lock(&self.last).weights.clone();
        if weights.len() < self.outline.len() {
            let rest = self.messages(weights.len()..self.outline.len()).await?;
            weights.extend(
                rest.iter()
                    .map(|message| message.weight_with(budget::weigh)),
            );
            lock(&self.last).weights.clone_from(&weights);
        }
        // Somebody else may have been first; the weights are the same.
        let _ = self.outline.exact.set(weights);
        Ok(())
    }

    async fn messages(&self, range: Range<usize>) -> Result<Vec<Message>> {
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
        let read = |(n, index): (usize, usize)| {
            let text = contents.get(n);
            if self.outline.rich(index) {
                // Written by JSON.stringify, which escapes half surrogate pairs.
                Message::parse(&String::from_utf16_lossy(text))
                    .map_err(|error| invalid("listRecords", &error))
            } else {
                Ok(MessageBuilder::new(self.outline.role(index), Text::from_utf16(text)).build())
            }
        };
        range.enumerate().map(read).collect()
    }

    fn native(&self) -> Option<&[Message]> {
        None
    }

    async fn fingerprint(&self, count: u64) -> Result<Text> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let messages = self.messages(0..count).await?;
        Ok(fingerprint(&messages))
    }
}

/// The storage of one turn.
pub(super) struct JsTurnStorage {
    bridge: Arc<Inner>,
    operation: u32,
    store: JsStore,
    last: SharedLastRead,
}

impl JsTurnStorage {
    pub(super) fn new(bridge: Arc<Inner>, operation: u32, last: SharedLastRead) -> Self {
        let store = JsStore::new(bridge.clone(), operation);
        Self {
            bridge,
            operation,
            store,
            last,
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
        let links: Vec<Link> = parse(answer.links, "listRecords")?.unwrap_or_default();
        // A cache that cannot be read never fails a turn.
        let cache = parse::<CompressionCache>(answer.cache, "getCompressionCache")
            .ok()
            .flatten();
        let outline = Outline {
            columns: answer.columns,
            links: links.into_iter().map(|link| (link.index, link)).collect(),
            exact: OnceLock::new(),
        };
        {
            let mut last = lock(&self.last);
            last.number = answer.number;
            last.weights.truncate(answer.intact as usize);
        }
        let records = JsRecords {
            bridge: self.bridge.clone(),
            operation: self.operation,
            outline,
            last: self.last.clone(),
        };
        Ok(TurnRead {
            system_prompt: answer.system_prompt.map(|text| text.to_text()),
            slot: answer.slot.map(|text| text.to_text()),
            records: Arc::new(records),
            cache,
            base: 0,
            version: None,
            intact: u64::from(answer.intact),
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
