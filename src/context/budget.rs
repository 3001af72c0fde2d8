//! How many tokens a text will be.

use crate::message::Message;

/// The estimated tokens of one message.
#[must_use]
pub fn weigh(message: &Message) -> u32 {
    u32::try_from(message.json().len().div_ceil(4)).unwrap_or(u32::MAX)
}
