//! What the model is shown: pure rules, no I/O.

pub mod budget;
pub mod history;

pub use history::History;
