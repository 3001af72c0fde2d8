//! What a turn asks of the world around it. For native storages and adapters these traits are implemented in
//! [`super::native`]; for those written in JavaScript, in `binding`.

use std::{ops::Range, sync::Arc};

use async_trait::async_trait;

use crate::{
    context::{History, assemble::Part},
    error::Result,
    llm::{Chunk, Completion, Fragments, Messages, ToolSpec},
    message::{Message, MessageBuilder, Role},
    storage::{CompressionCache, Slot, Write},
    text::{Json, Text},
};

/// The stored messages of one turn: their outline at once, their contents when somebody needs them.
#[async_trait]
pub trait Records: Send + Sync {
    fn outline(&self) -> &dyn History;

    /// Makes the outline's weights exact.
    async fn weigh(&self) -> Result<()>;

    /// The messages themselves, for a native adapter: a list, and where in it those of `range` are.
    async fn messages(&self, range: Range<usize>) -> Result<(Arc<Vec<Message>>, Range<usize>)>;

    /// The records where they live in Rust; `None` where they live in JavaScript.
    fn native(&self) -> Option<&[Message]>;

    /// Whether the next read shares these messages, instead of having others that are equal.
    fn lasts(&self) -> bool;

    /// What ties a summary to the first `count` records of all.
    async fn fingerprint(&self, count: u64) -> Result<Text>;
}

/// What a turn read.
pub struct TurnRead {
    pub system_prompt: Option<Text>,
    /// The insight of a session, the synthesis of a main session.
    pub slot: Option<Text>,
    pub records: Arc<dyn Records>,
    /// A summary that the storage kept; whether its fingerprint is right has yet to be seen.
    pub cache: Option<CompressionCache>,
    /// How many raw records `records` leaves out at its start, because `cache` covers exactly those.
    pub base: u64,
    /// What the storage calls the state of the history: the same as long as no record was removed or altered. `None` where it
    /// does not tell; then `intact` counts.
    pub version: Option<Text>,
    /// How many of the first records are known to be what they were when this handle read them last.
    pub intact: u64,
    /// Whether a summary is worth offering to the storage.
    pub keeps_cache: bool,
}

/// How much history to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What no stored summary covers, where the storage can tell.
    Needed,
    Whole,
}

#[async_trait]
pub trait TurnStorage: Send + Sync {
    async fn load(&self, id: &Text, slot: Slot, extent: Extent) -> Result<TurnRead>;

    /// Applies `writes`, all or none, as strongly as the storage's own transaction holds.
    async fn commit(&self, writes: Vec<Write>) -> Result<()>;
}

/// A prompt as parts; contents are looked up by whoever needs them.
#[derive(Clone)]
pub struct Prompt {
    pub parts: Vec<Part>,
    pub records: Arc<dyn Records>,
    /// What [`Part::New`] stands for.
    pub new: Arc<Vec<Message>>,
    /// Where a native adapter may keep what it sends, where the records will be there again.
    pub fragments: Option<Arc<Fragments>>,
}

impl Prompt {
    /// The messages, in order, for code that needs all of them in Rust.
    pub async fn messages(&self) -> Result<Messages> {
        let mut messages = Messages::default();
        for part in &self.parts {
            match part {
                Part::System(text) => {
                    let message = MessageBuilder::new(Role::System, text.clone()).build();
                    messages.push(Arc::new(vec![message]), 0..1);
                }
                Part::Records(range) => {
                    let (list, place) = self.records.messages(range.clone()).await?;
                    messages.push(list, place);
                }
                Part::New => messages.push(self.new.clone(), 0..self.new.len()),
            }
        }
        Ok(messages)
    }
}

/// Takes the pieces of a streamed answer.
pub type PieceSink = Arc<dyn Fn(&Chunk) + Send + Sync>;

/// The adapter of a turn.
#[async_trait]
pub trait Model: Send + Sync {
    /// `u64::MAX` where the adapter names no window.
    fn window_tokens(&self) -> u64;

    /// The same number for the same adapter, another for another.
    fn identity(&self) -> u64;

    /// Calls the adapter once; with `pieces`, its `stream` where it has one.
    async fn generate(
        &self,
        prompt: &Prompt,
        tools: &Tools,
        pieces: Option<PieceSink>,
    ) -> Result<Completion>;
}

/// The tools of a turn: as the model sees them, and as the JSON text that they came in (empty for none).
#[derive(Debug, Clone)]
pub struct Tools {
    pub specs: Vec<ToolSpec>,
    pub json: Json,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            specs: Vec::new(),
            json: Json::from_trusted(""),
        }
    }
}

/// The user's `compressFn`.
#[async_trait]
pub trait Compressor: Send + Sync {
    async fn compress(&self, prompt: &Prompt) -> Result<Text>;
}

/// Everything of a turn that can change while it waits for its place.
#[derive(Clone)]
pub struct TurnState {
    pub storage: Arc<dyn TurnStorage>,
    pub model: Arc<dyn Model>,
    pub tools: Tools,
    /// `None`: the adapter itself summarises.
    pub compressor: Option<Arc<dyn Compressor>>,
}

/// Whom a turn that had to wait asks for the state of the moment its place came.
#[async_trait]
pub trait TurnHost: Send + Sync {
    async fn state(&self) -> Result<TurnState>;
}
