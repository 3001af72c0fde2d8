//! A whole answer.

use super::wire::{Message, Tally, finish_reason};
use crate::{
    llm::{
        Chunk, ToolCallDelta,
        http::Fault,
        reading::Document,
        wire::{arguments, label, text},
    },
    text::TextBuilder,
};

pub(super) fn read(json: &str) -> Result<Document, Fault> {
    let message: Message<'_> = serde_json::from_str(json)
        .map_err(|error| Fault::invalid(format!("the response cannot be read: {error}")))?;
    let kind = text(message.kind);
    if message.error.is_some() || kind.is_some_and(|kind| kind.escaped() == "error") {
        return Err(Fault::reported(json));
    }
    let Some(blocks) = &message.content else {
        return Err(Fault::invalid(
            "the response is no message: it has no content",
        ));
    };
    let mut content: Option<TextBuilder> = None;
    let mut reasoning: Option<TextBuilder> = None;
    let mut calls = Vec::new();
    for block in blocks {
        match text(block.kind).as_ref().map(crate::text::Text::escaped) {
            Some("text") => {
                if let Some(text) = text(block.text) {
                    content.get_or_insert_default().push(&text);
                }
            }
            Some("thinking") => {
                if let Some(text) = text(block.thinking) {
                    reasoning.get_or_insert_default().push(&text);
                }
            }
            Some("tool_use") => calls.push(ToolCallDelta {
                index: u32::try_from(calls.len()).ok(),
                id: label(block.id),
                name: text(block.name),
                input: arguments(block.input),
            }),
            _ => {}
        }
    }
    let mut tally = Tally::default();
    tally.update(message.usage);
    Ok(Document {
        has_content: content.is_some(),
        chunk: Chunk {
            delta: content.unwrap_or_default().finish(),
            reasoning_delta: reasoning.map(TextBuilder::finish),
            tool_call_deltas: calls,
            usage: tally.usage(),
            finish_reason: finish_reason(message.stop_reason),
        },
    })
}
