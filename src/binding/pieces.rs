//! The pieces of a stream on their way to JavaScript: gathered here, told of once, taken all together.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    bridge::{Ask, Inner},
    js_store::json,
};
use crate::{llm::Chunk, plant, session::PieceSink};

/// A JSON array that is still open, or empty text.
#[derive(Default)]
pub(super) struct Pieces {
    pending: Mutex<String>,
}

impl Pieces {
    /// For a session's stream: JSON strings, the deltas that are not empty.
    pub(super) fn of_session(bridge: &Arc<Inner>, operation: u32) -> PieceSink {
        let (pieces, bridge) = (bridge.open_stream(operation), bridge.clone());
        Arc::new(move |chunk: &Chunk| {
            if !chunk.delta.is_empty() {
                pieces.push(&bridge, operation, |out| chunk.delta.push_json(out));
            }
        })
    }

    /// For an adapter's own stream: the chunks as they are.
    pub(super) fn of_adapter(
        bridge: &Arc<Inner>,
        operation: u32,
    ) -> impl FnMut(Chunk) + Send + use<> {
        let (pieces, bridge) = (bridge.open_stream(operation), bridge.clone());
        move |chunk| pieces.push(&bridge, operation, |out| push_chunk(&chunk, out))
    }

    /// Everything there is, as a JSON array; `None` for nothing.
    pub(super) fn take(&self) -> Option<String> {
        let mut pending =
            std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        (!pending.is_empty()).then(|| {
            pending.push(']');
            pending
        })
    }

    fn push(&self, bridge: &Inner, operation: u32, write: impl FnOnce(&mut String)) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        plant::panic_at("pieces");
        let first = pending.is_empty();
        pending.push(if first { '[' } else { ',' });
        write(&mut pending);
        drop(pending);
        // Whoever was told and has not come yet will take this piece too.
        if first {
            bridge.tell(operation, Ask::Pieces);
        }
    }
}

/// `LLMChunk` as JSON.
fn push_chunk(chunk: &Chunk, out: &mut String) {
    out.push_str("{\"delta\":");
    chunk.delta.push_json(out);
    if let Some(reasoning) = &chunk.reasoning_delta {
        out.push_str(",\"reasoningDelta\":");
        reasoning.push_json(out);
    }
    if !chunk.tool_call_deltas.is_empty() {
        out.push_str(",\"toolCallDeltas\":");
        out.push_str(&json(&chunk.tool_call_deltas));
    }
    if let Some(usage) = &chunk.usage {
        out.push_str(",\"usage\":");
        out.push_str(&json(usage));
    }
    if let Some(reason) = &chunk.finish_reason {
        out.push_str(",\"finishReason\":");
        reason.push_json(out);
    }
    out.push('}');
}
