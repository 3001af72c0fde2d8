//! What a model provider is to the core.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize};

use super::{fragments::Fragments, messages::Messages, tool_calls::Joiner};
use crate::{
    error::LlmError,
    message::ToolCall,
    text::{Json, Text},
};

/// One request, whatever the protocol.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub messages: &'a Messages,
    /// What may be kept of the body, for a conversation whose messages will be there again.
    pub fragments: Option<&'a Arc<Fragments>>,
    /// Empty where the model gets none.
    pub tools: &'a [ToolSpec],
    pub max_tokens: Option<u64>,
    pub temperature: Option<f64>,
}

/// A tool as the model sees it; `input_schema` is a JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    pub name: Text,
    pub description: Text,
    pub input_schema: Json,
}

/// Tokens as the provider counted them; `prompt_tokens` is the whole prompt, cached parts included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub prompt_tokens: f64,
    pub completion_tokens: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_prompt_tokens: Option<f64>,
}

/// The model's whole answer: `LLMResult` of the public API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    pub content: Option<Text>,
    pub tool_calls: Vec<ToolCall>,
    pub usage: Option<Usage>,
    /// `stop`, `length`, `tool_calls`, `content_filter`, or the provider's own word.
    pub finish_reason: Option<Text>,
    pub reasoning_content: Option<Text>,
}

/// A piece of an answer: `LLMChunk` of the public API.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Chunk {
    #[serde(deserialize_with = "or_default")]
    pub delta: Text,
    pub reasoning_delta: Option<Text>,
    #[serde(deserialize_with = "or_default")]
    pub tool_call_deltas: Vec<ToolCallDelta>,
    pub usage: Option<Usage>,
    pub finish_reason: Option<Text>,
}

/// A fragment of a tool call; `input` is a piece of the JSON text of its arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCallDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Text>,
}

/// `null` counts as missing: adapters written in JavaScript pass on what their servers send.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Takes the pieces of a stream as they come. Never blocks: a slow reader is the sink's business.
pub type ChunkSink<'a> = &'a mut (dyn FnMut(Chunk) + Send);

/// A native adapter. A call is cancelled by dropping its future, which closes the connection.
#[async_trait]
pub trait Adapter: Send + Sync {
    async fn complete(&self, request: Request<'_>) -> Result<Completion, LlmError>;

    /// Gives every piece to `sink`; `Ok` means that the stream came to its proper end, and has the pieces joined.
    /// An error of [`Joiner::finish`] is to go through [`Adapter::own`].
    async fn stream(&self, request: Request<'_>, sink: ChunkSink<'_>) -> Result<Joiner, LlmError>;

    /// `error` as one of this adapter's: with its provider's name, and without its secrets.
    fn own(&self, error: LlmError) -> LlmError;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_of_javascript_may_have_nulls_and_gaps() {
        for json in [
            "{}",
            r#"{"delta":null,"toolCallDeltas":null,"reasoningDelta":null,"usage":null,"finishReason":null,"more":1}"#,
        ] {
            let chunk: Chunk = serde_json::from_str(json).unwrap();
            assert_eq!(chunk, Chunk::default());
        }
        let json = r#"{"delta":"a","toolCallDeltas":[{"index":0,"id":null}],"usage":{"promptTokens":1,"completionTokens":2}}"#;
        let chunk: Chunk = serde_json::from_str(json).unwrap();
        assert_eq!(chunk.delta, Text::from("a"));
        assert_eq!(chunk.tool_call_deltas.len(), 1);
        assert!(chunk.usage.is_some());
    }
}
