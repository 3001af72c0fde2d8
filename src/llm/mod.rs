//! Model providers: one trait, one transport, one folder per protocol.

pub mod adapter;

pub use adapter::{Adapter, Chunk, ChunkSink, Completion, Request, ToolCallDelta, ToolSpec, Usage};
