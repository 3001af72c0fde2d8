//! Anthropic Messages.
//!
//! <https://docs.claude.com/en/api/messages>, <https://docs.claude.com/en/docs/build-with-claude/streaming>,
//! <https://docs.claude.com/en/docs/build-with-claude/prompt-caching>

mod config;
mod request;
mod response;
mod stream;
mod wire;

use async_trait::async_trait;

pub use config::{AnthropicConfig, adapter, claude};

use super::{
    Adapter, ChunkSink, Completion, Joiner, Request,
    http::{Endpoint, Http, Reply},
    reading,
};
use crate::error::{LlmError, Result};

/// Above this many output tokens an answer may take more than ten minutes, longer than networks keep a silent
/// connection: `(60 min · max_tokens) / 128 000` in the official SDK.
const MOST_UNSTREAMED: u64 = 21_333;

pub struct Anthropic {
    config: AnthropicConfig,
    endpoint: Endpoint,
    http: Http,
}

impl Anthropic {
    /// Fails with `InvalidArgument` where the URL or a header cannot be used.
    pub fn new(config: AnthropicConfig, http: Http) -> Result<Self> {
        Ok(Self {
            endpoint: config.endpoint()?,
            config,
            http,
        })
    }

    /// `maxContextTokens` of the public API.
    #[must_use]
    pub fn window_tokens(&self) -> u64 {
        self.config.window_tokens
    }

    async fn post(&self, request: Request<'_>, stream: bool) -> Result<Reply<'_>, LlmError> {
        let body = request::body(&self.config, request, stream);
        self.http.post(&self.endpoint, body).await
    }

    async fn complete_streamed(&self, request: Request<'_>) -> Result<Completion, LlmError> {
        let joiner = self.stream(request, &mut |_| {}).await?;
        let mut completion = joiner.finish().map_err(|error| self.own(error))?;
        completion.content = completion.content.filter(|content| !content.is_empty());
        Ok(completion)
    }
}

#[cfg(any(test, feature = "properties"))]
pub(super) fn decoder() -> impl reading::Decode {
    stream::Decoder::default()
}

#[async_trait]
impl Adapter for Anthropic {
    async fn complete(&self, request: Request<'_>) -> Result<Completion, LlmError> {
        if request::output_limit(&self.config, request) > MOST_UNSTREAMED {
            return self.complete_streamed(request).await;
        }
        let reply = self.post(request, false).await?;
        reading::whole(&self.endpoint, reply, &mut stream::Decoder::default()).await
    }

    async fn stream(&self, request: Request<'_>, sink: ChunkSink<'_>) -> Result<Joiner, LlmError> {
        let reply = self.post(request, true).await?;
        reading::streamed(&self.endpoint, reply, &mut stream::Decoder::default(), sink).await
    }

    fn own(&self, error: LlmError) -> LlmError {
        self.endpoint.redacted(error)
    }
}
