//! Conversations with memory: the native core of `@stello-ai/session`.
//!
//! Arrows point one way: `js → binding → session → { context, llm, storage } → vocabulary`.
//!
//! - vocabulary: [`text`], [`message`], [`meta`], [`error`], [`clock`], `trust`
//! - [`context`]: what the model is shown; pure
//! - [`llm`]: the native adapters and their transport
//! - [`storage`]: the native storages and what a storage must do
//! - [`session`]: the turn, and what surrounds it
//! - `binding`: the only place that names napi

#[cfg(feature = "node")]
mod binding;
#[cfg(any(test, feature = "properties"))]
pub mod choices;
pub mod clock;
pub mod context;
pub mod error;
pub mod llm;
pub mod message;
pub mod meta;
mod plant;
pub mod session;
pub mod storage;
pub mod text;
mod trust;
