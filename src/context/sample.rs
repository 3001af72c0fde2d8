//! Messages for the tests and properties of this folder.

use crate::{
    choices::Choices,
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

/// A history whole or broken, with few ids, so that they collide.
pub(super) fn history(choices: &mut Choices<'_>, longest: usize) -> Vec<Message> {
    let id = |choices: &mut Choices<'_>| choices.pick(&["x", "y", "z"]);
    let records = 0..choices.below(longest + 1);
    let record = |_| match choices.below(16) {
        0..3 => said(Role::User, &"u".repeat(choices.below(256))),
        3..6 => said(Role::Assistant, &"a".repeat(choices.below(256))),
        6 => said(Role::System, "s"),
        7..10 => {
            let ids: Vec<_> = (0..=choices.below(3)).map(|_| id(choices)).collect();
            called("", &ids)
        }
        _ => answered(id(choices), "ok"),
    };
    records.map(record).collect()
}
