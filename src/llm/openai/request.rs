//! The request body, put together from text that is already escaped.

use super::{MaxTokensField, OpenAiConfig};
use crate::{
    llm::{Request, ToolSpec},
    message::{Message, Role},
    text::{Json, push_escaped},
};

#[derive(Debug, Clone, Copy)]
pub(super) enum Mode {
    Whole,
    Stream { with_usage: bool },
}

/// Whether the user's own fields say what `stream_options` is to be.
pub(super) fn sets_stream_options(config: &OpenAiConfig) -> bool {
    replacement(config, "stream_options").is_some()
}

pub(super) fn body(config: &OpenAiConfig, request: Request<'_>, mode: Mode) -> Vec<u8> {
    let length: usize = request
        .messages
        .iter()
        .map(|message| message.json().len() + 64)
        .sum();
    let mut body = Body {
        config,
        out: String::with_capacity(length + 1_024),
        placed: Vec::new(),
    };
    body.out.push('{');
    body.field("model", |out| config.model.push_json(out));
    let limit = match config.max_tokens_field {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    if let Some(most) = request.max_tokens.or(config.max_output_tokens) {
        body.field(limit, |out| out.push_str(&most.to_string()));
    }
    let temperature = request.temperature.or(config.temperature);
    if let Some(temperature) = temperature.filter(|t| config.sends_temperature && t.is_finite()) {
        body.field("temperature", |out| out.push_str(&temperature.to_string()));
    }
    if !request.tools.is_empty() {
        body.field("tools", |out| push_tools(request.tools, out));
    }
    body.field("messages", |out| {
        push_messages(config, request.messages, out);
    });
    if let Mode::Stream { with_usage: true } = mode {
        body.field("stream_options", |out| {
            out.push_str("{\"include_usage\":true}");
        });
    }
    body.extra();
    let stream = matches!(mode, Mode::Stream { .. });
    body.put("stream", |out| {
        out.push_str(if stream { "true" } else { "false" });
    });
    body.out.push('}');
    body.out.into_bytes()
}

/// What `extraBody` puts in the place of a field; an inner `None` is nothing.
fn replacement<'c>(config: &'c OpenAiConfig, name: &str) -> Option<&'c Option<Json>> {
    config
        .extra_body
        .iter()
        .rev()
        .find(|(key, _)| key.escaped() == name)
        .map(|(_, value)| value)
}

struct Body<'c> {
    config: &'c OpenAiConfig,
    out: String,
    /// The fields that [`Self::field`] has dealt with.
    placed: Vec<&'static str>,
}

impl Body<'_> {
    /// A field that `extraBody` may replace, in its place, or remove.
    fn field(&mut self, name: &'static str, write: impl FnOnce(&mut String)) {
        self.placed.push(name);
        match replacement(self.config, name) {
            None => self.put(name, write),
            Some(Some(value)) => self.put(name, |out| out.push_str(value)),
            Some(None) => {}
        }
    }

    fn put(&mut self, name: &str, write: impl FnOnce(&mut String)) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        write(&mut self.out);
    }

    /// The fields of `extraBody` that have no place of their own yet. `stream` is the adapter's business.
    fn extra(&mut self) {
        for (key, value) in &self.config.extra_body {
            let name = key.escaped();
            if let Some(value) = value
                .as_deref()
                .filter(|_| name != "stream" && !self.placed.contains(&name))
            {
                self.put(name, |out| out.push_str(value));
            }
        }
    }
}

fn push_messages(config: &OpenAiConfig, messages: &[Message], out: &mut String) {
    out.push('[');
    let mut after_system = false;
    for (n, message) in messages.iter().enumerate() {
        let system = message.role() == Role::System;
        if system && after_system {
            // One message, joined by a blank line: take off the end of the one before.
            out.truncate(out.len() - "\"}".len());
            out.push_str("\\n\\n");
            out.push_str(message.content_escaped());
            out.push_str("\"}");
            continue;
        }
        after_system = system;
        if n > 0 {
            out.push(',');
        }
        push_message(config, message, out);
    }
    out.push(']');
}

fn push_message(config: &OpenAiConfig, message: &Message, out: &mut String) {
    out.push_str("{\"role\":\"");
    out.push_str(message.role().as_str());
    if message.role() == Role::Tool {
        out.push_str("\",\"tool_call_id\":\"");
        out.push_str(message.tool_call_id().map_or("", |id| id.escaped()));
    }
    let calls = match message.role() {
        Role::Assistant => message.tool_calls(),
        _ => &[],
    };
    if message.content_escaped().is_empty() && !calls.is_empty() {
        out.push_str("\",\"content\":null");
    } else {
        out.push_str("\",\"content\":\"");
        out.push_str(message.content_escaped());
        out.push('"');
    }
    if config.echo_reasoning
        && message.role() == Role::Assistant
        && let Some(reasoning) = message.reasoning_content()
    {
        out.push_str(",\"reasoning_content\":");
        reasoning.push_json(out);
    }
    if !calls.is_empty() {
        out.push_str(",\"tool_calls\":[");
        for (n, call) in calls.iter().enumerate() {
            out.push_str(if n == 0 { "{\"id\":" } else { ",{\"id\":" });
            call.id.push_json(out);
            out.push_str(",\"type\":\"function\",\"function\":{\"name\":");
            call.name.push_json(out);
            out.push_str(",\"arguments\":\"");
            push_escaped(&call.input, out);
            out.push_str("\"}}");
        }
        out.push(']');
    }
    out.push('}');
}

fn push_tools(tools: &[ToolSpec], out: &mut String) {
    out.push('[');
    for (n, tool) in tools.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push_str("{\"type\":\"function\",\"function\":{\"name\":");
        tool.name.push_json(out);
        out.push_str(",\"description\":");
        tool.description.push_json(out);
        out.push_str(",\"parameters\":");
        out.push_str(&tool.input_schema);
        out.push_str("}}");
    }
    out.push(']');
}

#[cfg(test)]
mod tests;
