//! `OpenAI` Chat Completions, and the many servers that speak it.
//!
//! <https://platform.openai.com/docs/api-reference/chat>,
//! <https://platform.openai.com/docs/api-reference/chat-streaming>

mod config;
mod request;
mod response;
mod stream;
mod wire;

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

pub use config::{MaxTokensField, OpenAiConfig, compatible, gpt};

use super::{
    Adapter, ChunkSink, Completion, Joiner, Request,
    http::{Endpoint, Http, Outgoing, Reply},
    reading,
};
use crate::error::{LlmError, Result};

pub struct OpenAi {
    config: OpenAiConfig,
    endpoint: Endpoint,
    http: Http,
    /// Set once the server has refused `stream_options`: it is not asked twice.
    plain_streams: AtomicBool,
}

impl OpenAi {
    /// Fails with `InvalidArgument` where the URL or a header cannot be used.
    pub fn new(config: OpenAiConfig, http: Http) -> Result<Self> {
        Ok(Self {
            endpoint: config.endpoint()?,
            config,
            http,
            plain_streams: AtomicBool::new(false),
        })
    }

    /// `maxContextTokens` of the public API.
    #[must_use]
    pub fn window_tokens(&self) -> u64 {
        self.config.window_tokens
    }

    async fn post(&self, body: Outgoing) -> Result<Reply<'_>, LlmError> {
        self.http.post(&self.endpoint, body).await
    }

    async fn post_stream(&self, request: Request<'_>) -> Result<Reply<'_>, LlmError> {
        let with_usage = !self.plain_streams.load(Ordering::Relaxed);
        let mode = request::Mode::Stream { with_usage };
        let refused = match self.post(request::body(&self.config, request, mode)).await {
            Err(error) if with_usage && refuses_stream_options(&error) => error,
            other => return other,
        };
        if request::sets_stream_options(&self.config) {
            return Err(refused);
        }
        self.plain_streams.store(true, Ordering::Relaxed);
        let mode = request::Mode::Stream { with_usage: false };
        self.post(request::body(&self.config, request, mode)).await
    }
}

#[cfg(any(test, feature = "properties"))]
pub(super) fn decoder() -> impl reading::Decode {
    stream::Decoder
}

/// Strict servers refuse fields that they do not know: with 400, or 422 where `FastAPI` checks the body.
fn refuses_stream_options(error: &LlmError) -> bool {
    matches!(error.status, Some(400 | 422))
        && ["stream_options", "include_usage"]
            .iter()
            .any(|name| error.message.contains(name))
}

#[async_trait]
impl Adapter for OpenAi {
    async fn complete(&self, request: Request<'_>) -> Result<Completion, LlmError> {
        let body = request::body(&self.config, request, request::Mode::Whole);
        let reply = self.post(body).await?;
        reading::whole(&self.endpoint, reply, &mut stream::Decoder).await
    }

    async fn stream(&self, request: Request<'_>, sink: ChunkSink<'_>) -> Result<Joiner, LlmError> {
        let reply = self.post_stream(request).await?;
        reading::streamed(&self.endpoint, reply, &mut stream::Decoder, sink).await
    }

    fn own(&self, error: LlmError) -> LlmError {
        self.endpoint.redacted(error)
    }
}
