//! Messages for the tests of this folder.

use crate::{
    message::{Message, MessageBuilder, Role, ToolCall},
    text::{Json, Text},
};

pub(super) fn said(role: Role, content: &str) -> Message {
    MessageBuilder::new(role, Text::from(content)).build()
}

/// An assistant that calls the tool `t_ID` for each id.
pub(super) fn called(content: &str, ids: &[impl AsRef<str>]) -> Message {
    let calls = ids.iter().map(|id| ToolCall {
        id: Text::from(id.as_ref()),
        name: Text::from(format!("t_{}", id.as_ref())),
        input: Json::from_trusted("{}"),
    });
    MessageBuilder::new(Role::Assistant, Text::from(content))
        .tool_calls(calls.collect())
        .build()
}

pub(super) fn answered(id: &str, content: &str) -> Message {
    MessageBuilder::new(Role::Tool, Text::from(content))
        .tool_call_id(Text::from(id))
        .build()
}
