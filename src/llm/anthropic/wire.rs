//! The shapes of the protocol, read with patience.

use serde::Deserialize;

use crate::{
    llm::{
        Usage,
        wire::{Loose, number, text},
    },
    text::Text,
};

/// A whole message, the `message` of `message_start` too.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Loose<'a>,
    #[serde(borrow)]
    pub content: Option<Vec<Block<'a>>>,
    #[serde(borrow)]
    pub stop_reason: Loose<'a>,
    #[serde(borrow)]
    pub usage: Loose<'a>,
    #[serde(borrow)]
    pub error: Loose<'a>,
}

#[derive(Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Loose<'a>,
    #[serde(borrow)]
    pub text: Loose<'a>,
    #[serde(borrow)]
    pub thinking: Loose<'a>,
    #[serde(borrow)]
    pub id: Loose<'a>,
    #[serde(borrow)]
    pub name: Loose<'a>,
    #[serde(borrow)]
    pub input: Loose<'a>,
}

/// Any event of a stream: each has some of the fields.
#[derive(Deserialize)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Loose<'a>,
    #[serde(borrow)]
    pub index: Loose<'a>,
    #[serde(borrow)]
    pub message: Loose<'a>,
    #[serde(borrow)]
    pub content_block: Option<Block<'a>>,
    #[serde(borrow)]
    pub delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub usage: Loose<'a>,
    #[serde(borrow)]
    pub error: Loose<'a>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Loose<'a>,
    #[serde(borrow)]
    pub text: Loose<'a>,
    #[serde(borrow)]
    pub thinking: Loose<'a>,
    #[serde(borrow)]
    pub partial_json: Loose<'a>,
    #[serde(borrow)]
    pub stop_reason: Loose<'a>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the protocol's own names")]
struct Counts<'a> {
    #[serde(borrow)]
    input_tokens: Loose<'a>,
    #[serde(borrow)]
    cache_creation_input_tokens: Loose<'a>,
    #[serde(borrow)]
    cache_read_input_tokens: Loose<'a>,
    #[serde(borrow)]
    output_tokens: Loose<'a>,
}

/// Token counts as they are known so far. They are cumulative: a later one replaces an earlier one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    input: Option<f64>,
    written: Option<f64>,
    read: Option<f64>,
    output: Option<f64>,
}

impl Tally {
    pub(super) fn update(&mut self, usage: Loose<'_>) {
        let counts = usage.and_then(|usage| serde_json::from_str::<Counts<'_>>(usage.get()).ok());
        let Some(counts) = counts else {
            return;
        };
        self.input = number(counts.input_tokens).or(self.input);
        self.written = number(counts.cache_creation_input_tokens).or(self.written);
        self.read = number(counts.cache_read_input_tokens).or(self.read);
        self.output = number(counts.output_tokens).or(self.output);
    }

    /// The prompt is what was read anew, written to the cache and read from it.
    pub(super) fn usage(&self) -> Option<Usage> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let prompt = [self.input, self.written, self.read];
        Some(Usage {
            prompt_tokens: prompt.into_iter().flatten().sum(),
            completion_tokens: self.output.unwrap_or(0.0),
            cached_prompt_tokens: self.read,
        })
    }
}

pub(super) fn finish_reason(stop_reason: Loose<'_>) -> Option<Text> {
    let word = text(stop_reason).filter(|word| !word.is_empty())?;
    Some(Text::from(match word.escaped() {
        "end_turn" | "stop_sequence" => "stop",
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "tool_calls",
        "refusal" => "content_filter",
        _ => return Some(word),
    }))
}
