//! An answer in pieces.

use std::collections::HashMap;

use super::{
    response,
    wire::{Block, Delta, Message, StreamEvent, Tally, finish_reason},
};
use crate::{
    llm::{
        Chunk, ToolCallDelta,
        http::{Event, Fault},
        reading::{Decode, Document, Piece},
        wire::{arguments, index, label, text},
    },
    text::Text,
};

#[derive(Default)]
pub(super) struct Decoder {
    tally: Tally,
    /// The tool calls that are open, by the index of their block, with the arguments that came with their start:
    /// some servers send them there and in no delta.
    tools: HashMap<u32, Option<Text>>,
    /// The block that was opened last, for deltas without an index.
    last: u32,
}

impl Decode for Decoder {
    fn event(&mut self, event: &Event) -> Result<Piece, Fault> {
        let name = event.name.as_deref().filter(|name| *name != "message");
        if name == Some("error") {
            return Err(Fault::reported(&event.data));
        }
        let data: StreamEvent<'_> = match serde_json::from_str(&event.data) {
            Ok(data) => data,
            // A gateway's own event.
            Err(_) if name.is_some_and(|name| !is_known(name)) => return Ok(Piece::default()),
            Err(error) => {
                let message = format!("an event of the stream cannot be read: {error}");
                return Err(Fault::invalid(message));
            }
        };
        let kind = text(data.kind);
        let kind = name.or_else(|| kind.as_ref().map(crate::text::Text::escaped));
        if kind == Some("error") || kind.is_none() && data.error.is_some() {
            return Err(Fault::reported(&event.data));
        }
        let mut piece = Piece::default();
        match kind {
            Some("message_start") => {
                let message: Option<Message<'_>> = data
                    .message
                    .and_then(|raw| serde_json::from_str(raw.get()).ok());
                self.tally.update(message.and_then(|message| message.usage));
            }
            Some("content_block_start") => {
                self.last = index(data.index).unwrap_or(self.last);
                if let Some(block) = &data.content_block {
                    self.start(block, &mut piece.chunk);
                }
            }
            Some("content_block_delta") => {
                let at = index(data.index).unwrap_or(self.last);
                if let Some(delta) = &data.delta {
                    self.delta(at, delta, &mut piece.chunk);
                }
            }
            Some("content_block_stop") => {
                let at = index(data.index).unwrap_or(self.last);
                let kept = self.tools.remove(&at).flatten();
                piece
                    .chunk
                    .tool_call_deltas
                    .extend(kept.map(|input| arguments_at(at, input)));
            }
            Some("message_delta") => {
                self.tally.update(data.usage);
                piece.finish_reason = finish_reason(data.delta.and_then(|delta| delta.stop_reason));
            }
            Some("message_stop") => {
                piece.last = true;
                let mut kept: Vec<_> = self.tools.drain().collect();
                kept.sort_by_key(|(at, _)| *at);
                piece.chunk.tool_call_deltas.extend(
                    kept.into_iter()
                        .filter_map(|(at, input)| Some(arguments_at(at, input?))),
                );
            }
            _ => {}
        }
        piece.usage = self.tally.usage();
        Ok(piece)
    }

    fn document(&mut self, json: &str) -> Result<Document, Fault> {
        response::read(json)
    }
}

impl Decoder {
    fn start(&mut self, block: &Block<'_>, chunk: &mut Chunk) {
        match text(block.kind).as_ref().map(crate::text::Text::escaped) {
            Some("text") => chunk.delta = text(block.text).unwrap_or_default(),
            Some("thinking") => {
                chunk.reasoning_delta = text(block.thinking).filter(|text| !text.is_empty());
            }
            Some("tool_use") => {
                let input = arguments(block.input)
                    .filter(|input| !matches!(input.escaped(), "" | "{}" | "null"));
                self.tools.insert(self.last, input);
                chunk.tool_call_deltas.push(ToolCallDelta {
                    index: Some(self.last),
                    id: label(block.id),
                    name: text(block.name),
                    input: None,
                });
            }
            _ => {}
        }
    }

    fn delta(&mut self, at: u32, delta: &Delta<'_>, chunk: &mut Chunk) {
        match text(delta.kind).as_ref().map(crate::text::Text::escaped) {
            Some("text_delta") => chunk.delta = text(delta.text).unwrap_or_default(),
            Some("thinking_delta") => chunk.reasoning_delta = text(delta.thinking),
            Some("input_json_delta") => {
                // Tools that the provider itself runs have such deltas too.
                if let (Some(kept), Some(input)) =
                    (self.tools.get_mut(&at), text(delta.partial_json))
                {
                    if !input.is_empty() {
                        *kept = None;
                    }
                    chunk.tool_call_deltas.push(arguments_at(at, input));
                }
            }
            _ => {}
        }
    }
}

fn arguments_at(at: u32, input: Text) -> ToolCallDelta {
    ToolCallDelta {
        index: Some(at),
        input: Some(input),
        ..ToolCallDelta::default()
    }
}

fn is_known(name: &str) -> bool {
    matches!(
        name,
        "message_start"
            | "message_delta"
            | "message_stop"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
    )
}
