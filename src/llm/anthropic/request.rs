//! The request body, put together from text that is already escaped.

use super::AnthropicConfig;
use crate::{
    llm::{Request, ToolSpec},
    message::{Message, Role},
};

/// Room for a good answer; the protocol asks for some limit.
const OUTPUT: u64 = 8_192;
const CACHE: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";
/// Content of a message or a result that would be empty, which the API refuses.
const NO_OUTPUT: &str = "(no output)";
/// The conversation must begin with the user.
const OPENING: &str = "{\"role\":\"user\",\"content\":\".\"}";

pub(super) fn output_limit(config: &AnthropicConfig, request: Request<'_>) -> u64 {
    request
        .max_tokens
        .or(config.max_output_tokens)
        .unwrap_or(OUTPUT)
}

pub(super) fn body(config: &AnthropicConfig, request: Request<'_>, stream: bool) -> Vec<u8> {
    let length: usize = request
        .messages
        .iter()
        .map(|message| message.json().len() + 96)
        .sum();
    let mut out = String::with_capacity(length + 1_024);
    out.push_str("{\"model\":");
    config.model.push_json(&mut out);
    out.push_str(",\"max_tokens\":");
    out.push_str(&output_limit(config, request).to_string());
    let temperature = request.temperature.or(config.temperature);
    if let Some(temperature) = temperature.filter(|temperature| temperature.is_finite()) {
        out.push_str(",\"temperature\":");
        out.push_str(&temperature.to_string());
    }
    push_system(config, request.messages, &mut out);
    if !request.tools.is_empty() {
        push_tools(request.tools, &mut out);
    }
    push_messages(config, request.messages, &mut out);
    if stream {
        out.push_str(",\"stream\":true");
    }
    out.push('}');
    out.into_bytes()
}

fn push_system(config: &AnthropicConfig, messages: &[Message], out: &mut String) {
    let texts: Vec<_> = messages
        .iter()
        .filter(|message| message.role() == Role::System)
        .map(Message::content_escaped)
        .filter(|text| !is_blank(text))
        .collect();
    if texts.is_empty() {
        return;
    }
    out.push_str(",\"system\":");
    if config.prompt_cache {
        let last = texts.len() - 1;
        for (n, text) in texts.into_iter().enumerate() {
            out.push(if n == 0 { '[' } else { ',' });
            push_text(text, n == 0 || n == last, out);
        }
        out.push(']');
    } else {
        for (n, text) in texts.into_iter().enumerate() {
            out.push_str(if n == 0 { "\"" } else { "\\n\\n" });
            out.push_str(text);
        }
        out.push('"');
    }
}

/// Messages of this protocol: stored ones that go into one.
enum Turn<'a> {
    /// Answers of tools, and what the user said right after them.
    Results(&'a [&'a Message], Option<&'a Message>),
    User(&'a Message),
    Assistant(&'a Message),
}

fn push_messages(config: &AnthropicConfig, messages: &[Message], out: &mut String) {
    let sent: Vec<&Message> = messages.iter().filter(|message| is_sent(message)).collect();
    let turns = turns(&sent);
    out.push_str(",\"messages\":[");
    let opens = !matches!(turns.first(), Some(Turn::User(_) | Turn::Results(..)));
    if opens {
        out.push_str(OPENING);
    }
    // The last one is new; what is before it will be there again next time.
    let stable = turns.len().checked_sub(2).filter(|_| config.prompt_cache);
    for (n, turn) in turns.iter().enumerate() {
        if n > 0 || opens {
            out.push(',');
        }
        push_turn(turn, stable == Some(n), out);
    }
    out.push(']');
}

fn is_sent(message: &Message) -> bool {
    match message.role() {
        Role::System => false,
        // With neither text nor calls there is nothing that the API would take.
        Role::Assistant => !is_blank(message.content_escaped()) || !message.tool_calls().is_empty(),
        Role::User | Role::Tool => true,
    }
}

fn turns<'a>(sent: &'a [&'a Message]) -> Vec<Turn<'a>> {
    let mut turns = Vec::with_capacity(sent.len());
    let mut rest = sent;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        turns.push(match first.role() {
            Role::Tool => {
                let more = after
                    .iter()
                    .take_while(|message| message.role() == Role::Tool)
                    .count();
                let from = sent.len() - after.len() - 1;
                let results = sent.get(from..=from + more).unwrap_or_default();
                rest = after.get(more..).unwrap_or_default();
                let said = rest.split_first().filter(|(next, _)| {
                    next.role() == Role::User && !is_blank(next.content_escaped())
                });
                if let Some((_, after)) = said {
                    rest = after;
                }
                Turn::Results(results, said.map(|(next, _)| *next))
            }
            Role::Assistant => Turn::Assistant(first),
            Role::User | Role::System => Turn::User(first),
        });
    }
    turns
}

fn push_turn(turn: &Turn<'_>, cached: bool, out: &mut String) {
    match turn {
        Turn::User(message) => {
            let text = message.content_escaped();
            out.push_str("{\"role\":\"user\",\"content\":");
            if cached && !is_blank(text) {
                out.push('[');
                push_text(text, true, out);
                out.push(']');
            } else {
                out.push('"');
                out.push_str(text);
                out.push('"');
            }
        }
        Turn::Assistant(message) => {
            out.push_str("{\"role\":\"assistant\",\"content\":[");
            let text = message.content_escaped();
            let calls = message.tool_calls();
            let has_text = !is_blank(text);
            if has_text {
                push_text(text, cached && calls.is_empty(), out);
            }
            for (n, call) in calls.iter().enumerate() {
                if n > 0 || has_text {
                    out.push(',');
                }
                out.push_str("{\"type\":\"tool_use\",\"id\":");
                call.id.push_json(out);
                out.push_str(",\"name\":");
                call.name.push_json(out);
                out.push_str(",\"input\":");
                out.push_str(&call.input);
                if cached && n + 1 == calls.len() {
                    out.push_str(CACHE);
                }
                out.push('}');
            }
            out.push(']');
        }
        Turn::Results(results, said) => {
            out.push_str("{\"role\":\"user\",\"content\":[");
            for (n, result) in results.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                push_result(
                    result,
                    cached && said.is_none() && n + 1 == results.len(),
                    out,
                );
            }
            if let Some(said) = said {
                out.push(',');
                push_text(said.content_escaped(), cached, out);
            }
            out.push(']');
        }
    }
    out.push('}');
}

fn push_result(result: &Message, cached: bool, out: &mut String) {
    out.push_str("{\"type\":\"tool_result\",\"tool_use_id\":\"");
    out.push_str(result.tool_call_id().map_or("", |id| id.escaped()));
    out.push_str("\",\"content\":\"");
    let text = result.content_escaped();
    out.push_str(if is_blank(text) { NO_OUTPUT } else { text });
    out.push('"');
    if result.is_error() {
        out.push_str(",\"is_error\":true");
    }
    if cached {
        out.push_str(CACHE);
    }
    out.push('}');
}

fn push_text(text: &str, cached: bool, out: &mut String) {
    out.push_str("{\"type\":\"text\",\"text\":\"");
    out.push_str(text);
    out.push('"');
    if cached {
        out.push_str(CACHE);
    }
    out.push('}');
}

fn push_tools(tools: &[ToolSpec], out: &mut String) {
    for (n, tool) in tools.iter().enumerate() {
        out.push_str(if n == 0 {
            ",\"tools\":[{\"name\":"
        } else {
            ",{\"name\":"
        });
        tool.name.push_json(out);
        out.push_str(",\"description\":");
        tool.description.push_json(out);
        out.push_str(",\"input_schema\":");
        out.push_str(&tool.input_schema);
        out.push('}');
    }
    out.push(']');
}

/// Whether an escaped text is white space only: the API refuses such blocks as it refuses empty ones.
fn is_blank(escaped: &str) -> bool {
    let mut rest = escaped;
    loop {
        rest = rest.trim_start();
        match ["\\n", "\\t", "\\r"]
            .iter()
            .find_map(|white| rest.strip_prefix(white))
        {
            Some(after) => rest = after,
            None => return rest.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests;
