//! Messages of our own.

use std::sync::atomic::AtomicU32;

use super::{Message, Role, ToolCall, ToolPart, is_blank, narrow};
use crate::text::Text;

/// Writes a new message, its keys in the documented order.
#[derive(Debug, Clone)]
pub struct MessageBuilder {
    role: Role,
    content: Text,
    part: ToolPart,
    timestamp: Option<Text>,
}

impl MessageBuilder {
    #[must_use]
    pub fn new(role: Role, content: Text) -> Self {
        Self {
            role,
            content,
            part: ToolPart::default(),
            timestamp: None,
        }
    }

    /// Left out of the message when empty.
    #[must_use]
    pub fn tool_calls(mut self, calls: Vec<ToolCall>) -> Self {
        self.part.calls = calls;
        self
    }

    #[must_use]
    pub fn tool_call_id(mut self, id: Text) -> Self {
        self.part.answers = Some(id);
        self
    }

    /// Left out of the message unless true.
    #[must_use]
    pub fn is_error(mut self, failed: bool) -> Self {
        self.part.is_error = failed;
        self
    }

    #[must_use]
    pub fn reasoning_content(mut self, reasoning: Option<Text>) -> Self {
        self.part.reasoning = reasoning;
        self
    }

    #[must_use]
    pub fn timestamp(mut self, timestamp: Text) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    #[must_use]
    pub fn build(self) -> Message {
        let mut json = String::with_capacity(self.content.escaped().len() + 96);
        json.push_str("{\"role\":\"");
        json.push_str(self.role.as_str());
        json.push_str("\",\"content\":\"");
        let start = json.len();
        json.push_str(self.content.escaped());
        let content = (narrow(start), narrow(json.len()));
        json.push('"');
        if !self.part.calls.is_empty() {
            json.push_str(",\"toolCalls\":");
            push_tool_calls(&self.part.calls, &mut json);
        }
        let mut field = |name: &str, value: &Text| {
            json.push_str(",\"");
            json.push_str(name);
            json.push_str("\":");
            value.push_json(&mut json);
        };
        if let Some(id) = &self.part.answers {
            field("toolCallId", id);
        }
        if let Some(reasoning) = &self.part.reasoning {
            field("reasoningContent", reasoning);
        }
        if let Some(timestamp) = &self.timestamp {
            field("timestamp", timestamp);
        }
        if self.part.is_error {
            json.push_str(",\"isError\":true");
        }
        json.push('}');
        let weight = AtomicU32::new(0);
        Message {
            json: json.into(),
            role: self.role,
            blank: is_blank(self.content.escaped()),
            content,
            tools: self.part.boxed(),
            weight,
        }
    }
}

/// Appends `calls` as a JSON array of `{ id, name, input }`.
pub fn push_tool_calls(calls: &[ToolCall], out: &mut String) {
    out.push('[');
    for (n, call) in calls.iter().enumerate() {
        out.push_str(if n == 0 { "{\"id\":" } else { ",{\"id\":" });
        call.id.push_json(out);
        out.push_str(",\"name\":");
        call.name.push_json(out);
        out.push_str(",\"input\":");
        out.push_str(&call.input);
        out.push('}');
    }
    out.push(']');
}
