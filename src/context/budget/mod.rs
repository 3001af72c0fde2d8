//! How many tokens a text will be: an estimate that knows scripts, and its correction by the provider's own counts.
//!
//! The estimate errs upwards: a prompt that is smaller than thought costs an earlier summary, one that is larger is
//! refused by the provider. It is never under one token for four UTF-16 units, whatever the text.

mod calibration;
mod script;

pub use calibration::Calibration;
pub(super) use calibration::{PromptKey, PromptSize, Ratio, float};

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::{message::Message, text::Text};

/// What a message costs besides its content: its role and the marks around it.
pub const MESSAGE_TOKENS: u32 = 4;

/// What a tool call or its answer costs besides names, arguments and content: ids and the marks around them.
pub const CALL_TOKENS: u32 = 12;

/// The estimated tokens of one message as it is sent: content, tool calls and what surrounds them.
///
/// Linear in the message; keep it with [`Message::weight_with`].
#[must_use]
pub fn weigh(message: &Message) -> u32 {
    let calls = message.tool_calls().iter().map(|call| {
        CALL_TOKENS
            .saturating_add(weigh_text(&call.name))
            .saturating_add(weigh_json(&call.input))
    });
    let answer = message.tool_call_id().map_or(0, |_| CALL_TOKENS);
    calls.fold(
        script::escaped(message.content_escaped())
            .saturating_add(MESSAGE_TOKENS)
            .saturating_add(answer),
        u32::saturating_add,
    )
}

/// The estimated tokens of a text alone.
#[must_use]
pub fn weigh_text(text: &Text) -> u32 {
    script::escaped(text.escaped())
}

/// The same number as [`weigh_text`] for a string in JavaScript's own form.
#[must_use]
pub fn weigh_units(units: &[u16]) -> u32 {
    script::utf16(units)
}

/// The estimated tokens of JSON text that is sent as it stands, escapes and all: the arguments of a call.
#[must_use]
pub fn weigh_json(json: &str) -> u32 {
    script::plain(json)
}

/// Never less than [`weigh`] gives for any message of so many UTF-16 units without tool calls.
#[must_use]
pub fn upper_bound(utf16_len: u32) -> u32 {
    utf16_len.saturating_add(MESSAGE_TOKENS)
}

/// The tool definitions of a request: their estimated tokens, and a key that tells one set from another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolsWeight {
    pub tokens: u32,
    pub key: u64,
}

/// Weighs the JSON text of the tool definitions; no tools are `""` or `"[]"`.
#[must_use]
pub fn weigh_tools(json: &str) -> ToolsWeight {
    if json.is_empty() || json == "[]" {
        return ToolsWeight::default();
    }
    ToolsWeight {
        tokens: weigh_json(json),
        key: key_of(json),
    }
}

/// Tells one value from another within this process; never stored.
pub(super) fn key_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
