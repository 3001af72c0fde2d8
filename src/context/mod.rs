//! What the model is shown: pure rules, no I/O.
//!
//! - [`history`]: stored messages as these rules see them
//! - [`assemble`]: the order of a prompt's parts
//! - [`tool_groups`]: which records are valid, and which belong together
//! - [`tool_results`]: what a caller answers to tool calls
//! - [`budget`]: how many tokens a text will be
//! - [`compress`]: when older history gives way to a summary
//! - [`compressor`]: the request that has the session's own model write it

pub mod assemble;
pub mod budget;
pub mod compress;
pub mod compressor;
pub mod history;
pub mod tool_groups;
pub mod tool_results;

pub use history::History;

#[cfg(any(test, feature = "properties"))]
mod sample;
