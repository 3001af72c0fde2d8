//! An adapter written in JavaScript.

use std::{fmt::Write as _, ops::Range, sync::Arc};

use async_trait::async_trait;
use serde::Deserialize;

use super::{
    bridge::{Ask, Inner},
    shown::Shown,
    text::FromJs,
};
use crate::{
    context::assemble::Part,
    error::{Error, Result},
    llm::{Chunk, Completion, Joiner, ToolCallDelta, Usage},
    message::{Message, ToolCall},
    session::{Model, PieceSink, Prompt, Tools},
    text::{Json, Text},
};

pub(super) struct JsModel {
    pub(super) bridge: Arc<Inner>,
    pub(super) operation: u32,
    pub(super) window_tokens: u64,
    pub(super) identity: u64,
    /// What the facade holds of a native storage's records.
    pub(super) shown: Arc<Shown>,
}

/// What the facade makes of an answer, or of all chunks of a stream.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    content: Option<Text>,
    #[serde(default)]
    tool_calls: Vec<AnswerCall>,
    /// Given by a stream in place of `tool_calls`: every fragment, in order.
    #[serde(default)]
    tool_call_deltas: Vec<ToolCallDelta>,
    #[serde(default)]
    usage: Option<AnswerUsage>,
    #[serde(default)]
    finish_reason: Option<Text>,
    #[serde(default)]
    reasoning_content: Option<Text>,
}

#[derive(Deserialize)]
struct AnswerCall {
    #[serde(default)]
    id: Option<Text>,
    name: Text,
    #[serde(default)]
    input: Option<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
#[expect(clippy::struct_field_names, reason = "the names of the public API")]
struct AnswerUsage {
    prompt_tokens: Option<f64>,
    completion_tokens: Option<f64>,
    cached_prompt_tokens: Option<f64>,
}

#[async_trait]
impl Model for JsModel {
    fn window_tokens(&self) -> u64 {
        self.window_tokens
    }

    fn identity(&self) -> u64 {
        self.identity
    }

    async fn generate(
        &self,
        prompt: &Prompt,
        tools: &Tools,
        pieces: Option<PieceSink>,
    ) -> Result<Completion> {
        let mut payload = String::from("{");
        let mut start = 0;
        let change = prompt.records.native().map(|records| {
            let range = span(&prompt.parts);
            start = range.start;
            payload.push_str("\"shown\":");
            let change = self.shown.write_change(records, range, &mut payload);
            payload.push(',');
            change
        });
        payload.push_str("\"parts\":");
        push_parts(
            prompt,
            |range, out| push_range(range.start - start..range.end - start, out),
            &mut payload,
        );
        payload.push_str(if pieces.is_some() {
            ",\"stream\":true"
        } else {
            ",\"stream\":false"
        });
        payload.push_str(if tools.json.is_empty() {
            ",\"tools\":false}"
        } else {
            ",\"tools\":true}"
        });
        let answer: FromJs = self
            .bridge
            .ask(self.operation, Ask::Generate, payload)
            .await?;
        if let Some(change) = change {
            self.shown.answered(change);
        }
        let answer: Answer = serde_json::from_str(&answer.into_json()).map_err(|error| {
            Error::InvalidArgument(format!("llm answered the wrong shape: {error}"))
        })?;
        answer.into_completion()
    }
}

impl Answer {
    fn into_completion(self) -> Result<Completion> {
        let tool_calls = if self.tool_call_deltas.is_empty() {
            let calls = self.tool_calls.into_iter().map(|call| ToolCall {
                id: call.id.unwrap_or_default(),
                name: call.name,
                input: call
                    .input
                    .filter(Json::is_object)
                    .unwrap_or_else(crate::meta::empty_object),
            });
            calls.collect()
        } else {
            let mut joiner = Joiner::new("custom");
            joiner.push(&Chunk {
                tool_call_deltas: self.tool_call_deltas,
                finish_reason: self.finish_reason.clone(),
                ..Chunk::default()
            });
            joiner.finish()?.tool_calls
        };
        Ok(Completion {
            content: self.content,
            tool_calls,
            usage: self.usage.map(|usage| Usage {
                prompt_tokens: usage.prompt_tokens.unwrap_or_default(),
                completion_tokens: usage.completion_tokens.unwrap_or_default(),
                cached_prompt_tokens: usage.cached_prompt_tokens,
            }),
            finish_reason: self.finish_reason,
            reasoning_content: self.reasoning_content,
        })
    }
}

/// The parts of a prompt as the facade resolves them: a string is a system message, an object a message as it
/// is, `[start, end]` a range of records that the facade holds itself. `push_records` writes a range as one or more of these.
fn push_parts(
    prompt: &Prompt,
    mut push_records: impl FnMut(&Range<usize>, &mut String),
    out: &mut String,
) {
    out.push('[');
    let empty = out.len();
    for part in &prompt.parts {
        if out.len() > empty {
            out.push(',');
        }
        match part {
            Part::System(text) => text.push_json(out),
            Part::Records(range) => push_records(range, out),
            Part::New => push_messages(&prompt.new, out),
        }
    }
    out.push(']');
}

/// The parts of a stretch that goes to `compressFn`: records of a native storage cross as they are, for the last time.
pub(super) fn push_stretch(stretch: &Prompt, out: &mut String) {
    let native = stretch.records.native();
    let push = |range: &Range<usize>, out: &mut String| match native {
        None => push_range(range.clone(), out),
        Some(records) => push_messages(records.get(range.clone()).unwrap_or_default(), out),
    };
    push_parts(stretch, push, out);
}

fn push_range(range: Range<usize>, out: &mut String) {
    let _ = write!(out, "[{},{}]", range.start, range.end);
}

fn push_messages(messages: &[Message], out: &mut String) {
    for (n, message) in messages.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push_str(message.json());
    }
}

/// From the first record of a prompt to its last.
fn span(parts: &[Part]) -> Range<usize> {
    let ranges = parts.iter().filter_map(|part| match part {
        Part::Records(range) => Some(range),
        _ => None,
    });
    ranges.fold(0..0, |span, range| {
        if span.is_empty() {
            range.clone()
        } else {
            span.start.min(range.start)..span.end.max(range.end)
        }
    })
}
