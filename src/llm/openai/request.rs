//! The request body, put together from text that is already escaped, while it is sent.

use super::{MaxTokensField, OpenAiConfig};
use crate::{
    llm::{Messages, Request, ToolSpec, http::Outgoing, script},
    message::{Message, Role},
    text::{Json, Output, push_escaped},
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

pub(super) fn body(config: &OpenAiConfig, request: Request<'_>, mode: Mode) -> Outgoing {
    let mut body = Fields {
        config,
        out: String::from("{"),
        any: false,
        placed: Vec::new(),
    };
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
    let mut head = None;
    body.field("messages", |out| {
        out.push('[');
        head = Some(std::mem::take(out));
        out.push(']');
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
    match head {
        None => Outgoing::from(body.out),
        Some(head) => {
            let form = Form {
                echo_reasoning: config.echo_reasoning,
            };
            script::body(form, head, request.messages, request.fragments, body.out)
        }
    }
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

struct Fields<'c> {
    config: &'c OpenAiConfig,
    out: String,
    /// Whether there is a field that the next one has to be parted from.
    any: bool,
    /// The fields that [`Self::field`] has dealt with.
    placed: Vec<&'static str>,
}

impl Fields<'_> {
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
        self.out.push_str(if self.any { ",\"" } else { "\"" });
        self.any = true;
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

/// How messages are written.
struct Form {
    echo_reasoning: bool,
}

impl script::Form for Form {
    fn number(&self) -> u8 {
        u8::from(self.echo_reasoning)
    }

    fn push<O: Output>(
        &self,
        messages: &Messages,
        at: usize,
        out: &mut O,
        mut enough: impl FnMut(&O, usize) -> bool,
    ) -> Option<usize> {
        let mut messages = messages.from(at).peekable();
        let mut next = at;
        while let Some(message) = messages.next() {
            if next > at && enough(out, next) {
                return Some(next);
            }
            if next > 0 {
                out.push_str(",");
            }
            next += 1;
            if message.role() != Role::System {
                self.push_message(message, out);
                continue;
            }
            out.push_str("{\"role\":\"system\",\"content\":\"");
            message.push_content(out);
            // Those that follow are one message with it, joined by a blank line.
            while let Some(more) = messages.next_if(|next| next.role() == Role::System) {
                next += 1;
                out.push_str("\\n\\n");
                more.push_content(out);
            }
            out.push_str("\"}");
        }
        None
    }
}

impl Form {
    fn push_message(&self, message: &Message, out: &mut impl Output) {
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
        if message.content_length() == 0 && !calls.is_empty() {
            out.push_str("\",\"content\":null");
        } else {
            out.push_str("\",\"content\":\"");
            message.push_content(out);
            out.push_str("\"");
        }
        if self.echo_reasoning
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
            out.push_str("]");
        }
        out.push_str("}");
    }
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
