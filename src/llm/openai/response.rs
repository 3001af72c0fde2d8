//! A whole answer.

use super::wire::Answer;
use crate::llm::{Chunk, http::Fault, reading::Document};

pub(super) fn read(json: &str) -> Result<Document, Fault> {
    let answer: Answer<'_> = serde_json::from_str(json)
        .map_err(|error| Fault::invalid(format!("the response cannot be read: {error}")))?;
    if answer.is_error() {
        return Err(Fault::reported(json));
    }
    if answer.choices.is_none() {
        return Err(Fault::invalid(
            "the response is no chat completion: it has no choices",
        ));
    }
    let choice = answer.choice();
    let said = choice.and_then(|choice| choice.said());
    let content = said.and_then(super::wire::Said::content);
    // Calls of a whole answer come one by one; whatever index or id they share, they are different calls.
    let calls = said.into_iter().flat_map(super::wire::Said::tool_calls);
    let tool_call_deltas = (0..)
        .zip(calls)
        .map(|(n, mut call)| {
            call.index = Some(n);
            call
        })
        .collect();
    Ok(Document {
        has_content: content.is_some(),
        chunk: Chunk {
            delta: content.unwrap_or_default(),
            reasoning_delta: said.and_then(super::wire::Said::reasoning),
            tool_call_deltas,
            usage: answer.usage(),
            finish_reason: choice.and_then(super::wire::Choice::finish_reason),
        },
    })
}
