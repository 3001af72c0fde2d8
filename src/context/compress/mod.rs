//! When older history gives way to a summary, and which part of it.
//!
//! A prompt that would reach four fifths of the window is made smaller: the oldest units (messages, whole tool groups)
//! go to the compressor together with the summary so far, and what it answers stands in their place. Then about two fifths of
//! the window are in use, so the next time is many turns away, and until then everything before the newest messages stays
//! byte for byte the same, which is what a provider's prompt cache needs.
//!
//! A [`Planner`] is made for each turn; the caller does what [`Planner::step`] says until it says [`Step::Prompt`].

mod plan;

use super::{
    assemble::{Fixed, Part},
    budget::{Calibration, ToolsWeight},
};
use crate::text::Text;

pub use plan::{Known, Planner};

/// What stands for the oldest records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub text: Text,
    /// How many raw records it covers, from the very first.
    pub compressed_count: u64,
}

/// What a handle remembers from turn to turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// Only while the records it covers are still those it was made of; to see to that is the caller's part.
    pub summary: Option<Summary>,
    pub calibration: Calibration,
}

/// What a turn has to put into a prompt.
pub struct Input<'a, H: ?Sized> {
    /// The adapter's `maxContextTokens`; `u64::MAX` where it has no limit.
    pub window_tokens: u64,
    /// The same number for the same adapter.
    pub adapter: u64,
    pub tools: ToolsWeight,
    pub fixed: &'a Fixed,
    pub history: &'a H,
    /// How many raw records lie before the loaded history. Above 0 only where the summary covers exactly those.
    pub base: u64,
    /// The estimated tokens of the new messages.
    pub new_tokens: u32,
    /// How many messages they are.
    pub new_count: u32,
    /// Whether the new messages answer the calls at the end of the history.
    pub answers_pending: bool,
    /// What the compressor adds to what it is given; nothing for a function of the user.
    pub compressor: Overhead,
}

/// What a compressor's request takes besides the messages themselves, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overhead {
    pub request_tokens: u32,
    /// For each message.
    pub message_tokens: u32,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Read the contents of the history, so that its weights are exact, and make a new planner.
    Weigh,
    /// Give these to the compressor, and its answer to [`Planner::finish`]. The summary so far comes first.
    Fold(Vec<Part>),
    /// Send these.
    Prompt(Vec<Part>),
}

#[cfg(any(test, feature = "properties"))]
mod harness;
#[cfg(any(test, feature = "properties"))]
pub mod properties;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
