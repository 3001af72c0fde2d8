//! The stored messages of a session as the rules of this folder see them.

use crate::{
    context::budget,
    message::{Message, Role},
    text::Text,
};

/// A sequence of stored messages, seen without their contents.
///
/// Records of a native storage implement it directly; for a storage written in JavaScript only columns of
/// numbers and the ids of tool calls cross into Rust. Indices are always in range.
pub trait History: Send + Sync {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn role(&self, index: usize) -> Role;

    /// The estimated tokens of a message, tool calls included; an upper bound where the content is not known yet.
    fn weight(&self, index: usize) -> u32;

    /// Whether every weight was taken from the content. A storage written in JavaScript answers false while it
    /// knows lengths alone: as long as they are far below the window, no content needs to be read.
    fn weights_are_exact(&self) -> bool {
        true
    }

    /// How many tools an `assistant` message called; 0 for others.
    fn call_count(&self, index: usize) -> usize;

    /// Id and name of one of those calls.
    fn call(&self, index: usize, call: usize) -> (&Text, &Text);

    /// The call that a `tool` message answers.
    fn answers(&self, index: usize) -> Option<&Text>;
}

impl<T: AsRef<[Message]> + Send + Sync + ?Sized> History for T {
    fn len(&self) -> usize {
        self.as_ref().len()
    }

    fn role(&self, index: usize) -> Role {
        self.as_ref().get(index).map_or(Role::User, Message::role)
    }

    fn weight(&self, index: usize) -> u32 {
        self.as_ref()
            .get(index)
            .map_or(0, |message| message.weight_with(budget::weigh))
    }

    fn call_count(&self, index: usize) -> usize {
        self.as_ref()
            .get(index)
            .map_or(0, |message| message.tool_calls().len())
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the contract of the trait: call < call_count(index)"
    )]
    fn call(&self, index: usize, call: usize) -> (&Text, &Text) {
        let call = &self.as_ref()[index].tool_calls()[call];
        (&call.id, &call.name)
    }

    fn answers(&self, index: usize) -> Option<&Text> {
        self.as_ref().get(index)?.tool_call_id()
    }
}
