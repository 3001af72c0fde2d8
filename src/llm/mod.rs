//! Model providers: one trait, one transport, one folder per protocol.
//!
//! A call goes `Request` → bytes (`request`) → [`http`] → provider event (`wire`) → piece (`stream`, `response`) →
//! [`Chunk`] → [`Joiner`] → [`Completion`].

pub mod adapter;
pub mod anthropic;
mod factory;
mod fragments;
pub mod http;
mod messages;
pub mod models;
pub mod openai;
pub mod options;
#[cfg(any(test, feature = "properties"))]
pub mod properties;
mod reading;
mod script;
mod tool_calls;
mod wire;

pub use adapter::{Adapter, Chunk, ChunkSink, Completion, Request, ToolCallDelta, ToolSpec, Usage};
pub use factory::{Created, Factory, create};
pub use fragments::Fragments;
pub use messages::Messages;
pub use options::{Env, Options};
pub use tool_calls::Joiner;

#[cfg(test)]
mod tests;
