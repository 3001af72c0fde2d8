//! An answer in pieces.

use super::{response, wire::Answer};
use crate::llm::{
    Chunk,
    http::{Event, Fault},
    reading::{Decode, Document, Piece},
};

/// Every event stands for itself.
pub(super) struct Decoder;

impl Decode for Decoder {
    fn event(&mut self, event: &Event) -> Result<Piece, Fault> {
        if event.data.starts_with("[DONE]") {
            return Ok(Piece {
                last: true,
                ..Piece::default()
            });
        }
        let name = event.name.as_deref().unwrap_or("message");
        if name == "error" {
            return Err(Fault::reported(&event.data));
        }
        let answer: Answer<'_> = match serde_json::from_str(&event.data) {
            Ok(answer) => answer,
            // A gateway's own event: a ping, a notice.
            Err(_) if name != "message" => return Ok(Piece::default()),
            Err(error) => {
                let message = format!("an event of the stream cannot be read: {error}");
                return Err(Fault::invalid(message));
            }
        };
        if answer.is_error() {
            return Err(Fault::reported(&event.data));
        }
        let choice = answer.choice();
        let said = choice.and_then(|choice| choice.said());
        Ok(Piece {
            chunk: Chunk {
                delta: said
                    .and_then(super::wire::Said::content)
                    .unwrap_or_default(),
                reasoning_delta: said.and_then(super::wire::Said::reasoning),
                tool_call_deltas: said
                    .into_iter()
                    .flat_map(super::wire::Said::tool_calls)
                    .collect(),
                ..Chunk::default()
            },
            usage: answer.usage(),
            finish_reason: choice.and_then(super::wire::Choice::finish_reason),
            last: false,
        })
    }

    fn document(&mut self, json: &str) -> Result<Document, Fault> {
        response::read(json)
    }
}
