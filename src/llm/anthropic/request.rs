//! The request body, put together from text that is already escaped, while it is sent.

use super::AnthropicConfig;
use crate::{
    llm::{Messages, Request, ToolSpec, http::Outgoing, script},
    message::{Message, Role},
    text::Output,
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

pub(super) fn body(config: &AnthropicConfig, request: Request<'_>, stream: bool) -> Outgoing {
    let mut out = String::from("{\"model\":");
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
    out.push_str(",\"messages\":[");
    let mut turns = Turns::from(request.messages, 0).map(|(start, turn)| (start, turn.is_users()));
    let first = turns.next();
    let opens = !first.is_some_and(|(_, is_users)| is_users);
    // The last one is new; what is before it will be there again next time.
    let (mut before_last, mut last) = (None, first);
    for turn in turns.filter(|_| config.prompt_cache) {
        before_last = last.replace(turn);
    }
    if opens {
        out.push_str(OPENING);
    }
    let form = Form {
        opens,
        stable: before_last
            .map(|(start, _)| start)
            .filter(|_| config.prompt_cache),
    };
    let tail = if stream { "],\"stream\":true}" } else { "]}" };
    script::body(
        form,
        out,
        request.messages,
        request.fragments,
        tail.to_owned(),
    )
}

fn push_system(config: &AnthropicConfig, messages: &Messages, out: &mut String) {
    let texts: Vec<_> = messages
        .iter()
        .filter(|message| message.role() == Role::System && !message.is_blank())
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
            text.push_content(out);
        }
        out.push('"');
    }
}

/// How messages are written.
struct Form {
    /// Whether a message stands before them already.
    opens: bool,
    /// Where the turn begins that the provider is asked to remember the prompt up to.
    stable: Option<usize>,
}

impl script::Form for Form {
    fn number(&self) -> u8 {
        2
    }

    fn push<O: Output>(
        &self,
        messages: &Messages,
        at: usize,
        out: &mut O,
        mut enough: impl FnMut(&O, usize) -> bool,
    ) -> Option<usize> {
        let mut any = at > 0 || self.opens;
        let mut more = false;
        for (start, turn) in Turns::from(messages, at) {
            if more && enough(out, start) {
                return Some(start);
            }
            if any {
                out.push_str(",");
            }
            (any, more) = (true, true);
            push_turn(&turn, self.stable == Some(start), out);
        }
        None
    }

    /// The turn with the mark, which will not have it the next time.
    fn limit(&self) -> Option<usize> {
        self.stable
    }
}

/// Messages of this protocol: stored ones that go into one.
enum Turn<'a> {
    /// Answers of tools, and what the user said right after them.
    Results(Vec<&'a Message>, Option<&'a Message>),
    User(&'a Message),
    Assistant(&'a Message),
}

impl Turn<'_> {
    fn is_users(&self) -> bool {
        matches!(self, Self::User(_) | Self::Results(..))
    }
}

/// The turns of a prompt, each with the number of its first message.
struct Turns<'a, I: Iterator<Item = &'a Message>> {
    messages: std::iter::Peekable<I>,
    next: usize,
}

impl<'a> Turns<'a, std::iter::Empty<&'a Message>> {
    /// From message `at` on, which begins one.
    fn from(
        messages: &'a Messages,
        at: usize,
    ) -> Turns<'a, impl Iterator<Item = &'a Message> + use<'a>> {
        Turns {
            messages: messages.from(at).peekable(),
            next: at,
        }
    }
}

impl<'a, I: Iterator<Item = &'a Message>> Turns<'a, I> {
    /// The next message if it is sent and `wanted`; those before it that are not sent are passed over.
    fn take_if(&mut self, wanted: impl Fn(&Message) -> bool) -> Option<&'a Message> {
        while self.messages.next_if(|message| !is_sent(message)).is_some() {
            self.next += 1;
        }
        let taken = self.messages.next_if(|message| wanted(message))?;
        self.next += 1;
        Some(taken)
    }
}

impl<'a, I: Iterator<Item = &'a Message>> Iterator for Turns<'a, I> {
    type Item = (usize, Turn<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.take_if(|_| true)?;
        let start = self.next - 1;
        let turn = match first.role() {
            Role::Tool => {
                let mut results = vec![first];
                results.extend(std::iter::from_fn(|| {
                    self.take_if(|next| next.role() == Role::Tool)
                }));
                let said = self.take_if(|next| next.role() == Role::User && !next.is_blank());
                Turn::Results(results, said)
            }
            Role::Assistant => Turn::Assistant(first),
            Role::User | Role::System => Turn::User(first),
        };
        Some((start, turn))
    }
}

fn is_sent(message: &Message) -> bool {
    match message.role() {
        Role::System => false,
        // With neither text nor calls there is nothing that the API would take.
        Role::Assistant => !message.tool_calls().is_empty() || !message.is_blank(),
        Role::User | Role::Tool => true,
    }
}

fn push_turn(turn: &Turn<'_>, cached: bool, out: &mut impl Output) {
    match turn {
        Turn::User(message) => {
            out.push_str("{\"role\":\"user\",\"content\":");
            if cached && !message.is_blank() {
                out.push_str("[");
                push_text(message, true, out);
                out.push_str("]");
            } else {
                out.push_str("\"");
                message.push_content(out);
                out.push_str("\"");
            }
        }
        Turn::Assistant(message) => {
            out.push_str("{\"role\":\"assistant\",\"content\":[");
            let calls = message.tool_calls();
            let has_text = !message.is_blank();
            if has_text {
                push_text(message, cached && calls.is_empty(), out);
            }
            for (n, call) in calls.iter().enumerate() {
                if n > 0 || has_text {
                    out.push_str(",");
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
                out.push_str("}");
            }
            out.push_str("]");
        }
        Turn::Results(results, said) => {
            out.push_str("{\"role\":\"user\",\"content\":[");
            for (n, result) in results.iter().enumerate() {
                if n > 0 {
                    out.push_str(",");
                }
                push_result(
                    result,
                    cached && said.is_none() && n + 1 == results.len(),
                    out,
                );
            }
            if let Some(said) = said {
                out.push_str(",");
                push_text(said, cached, out);
            }
            out.push_str("]");
        }
    }
    out.push_str("}");
}

fn push_result(result: &Message, cached: bool, out: &mut impl Output) {
    out.push_str("{\"type\":\"tool_result\",\"tool_use_id\":\"");
    out.push_str(result.tool_call_id().map_or("", |id| id.escaped()));
    out.push_str("\",\"content\":\"");
    if result.is_blank() {
        out.push_str(NO_OUTPUT);
    } else {
        result.push_content(out);
    }
    out.push_str("\"");
    if result.is_error() {
        out.push_str(",\"is_error\":true");
    }
    if cached {
        out.push_str(CACHE);
    }
    out.push_str("}");
}

fn push_text(message: &Message, cached: bool, out: &mut impl Output) {
    out.push_str("{\"type\":\"text\",\"text\":\"");
    message.push_content(out);
    out.push_str("\"");
    if cached {
        out.push_str(CACHE);
    }
    out.push_str("}");
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

#[cfg(test)]
mod tests;
