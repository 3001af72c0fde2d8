//! The pieces of a stream on their way to JavaScript: gathered here, told of once, taken all together.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    bridge::{Ask, Inner},
    js_store::json,
    runtime::runtime,
};
use crate::{llm::Chunk, plant, session::PieceSink};

/// Nobody reads faster than that, and waking a thread costs as much as taking dozens of pieces.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

#[derive(Default)]
pub(super) struct Pieces {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// A JSON array that is still open, or empty text.
    pending: String,
    /// When JavaScript was last told of some.
    told: Option<Instant>,
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
        let mut pending = std::mem::take(&mut self.lock().pending);
        (!pending.is_empty()).then(|| {
            pending.push(']');
            pending
        })
    }

    fn push(
        self: &Arc<Self>,
        bridge: &Arc<Inner>,
        operation: u32,
        write: impl FnOnce(&mut String),
    ) {
        let mut state = self.lock();
        plant::panic_at("pieces");
        let first = state.pending.is_empty();
        state.pending.push(if first { '[' } else { ',' });
        write(&mut state.pending);
        // Whoever was told and has not come yet will take this piece too.
        if !first {
            return;
        }
        let now = Instant::now();
        let next = state.told.map(|told| told + SHORTEST_PAUSE);
        let waits = next.filter(|&next| now < next);
        state.told = Some(waits.unwrap_or(now));
        drop(state);
        match (waits, runtime()) {
            (Some(next), Some(runtime)) => {
                let bridge = bridge.clone();
                runtime.spawn(async move {
                    tokio::time::sleep_until(next).await;
                    bridge.tell(operation, Ask::Pieces);
                });
            }
            _ => {
                bridge.tell(operation, Ask::Pieces);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
