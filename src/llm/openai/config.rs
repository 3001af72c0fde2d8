//! What an adapter of this protocol is made with.

use std::fmt;

use crate::{
    error::Result,
    llm::{
        http::{Endpoint, Limits, Secret},
        models,
        options::{Env, Options},
    },
    text::{Json, Text},
};

/// The field of the body that carries the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_tokens`, which every compatible server knows.
    MaxTokens,
    /// `max_completion_tokens`: `OpenAI`'s o-series refuses the older name.
    MaxCompletionTokens,
}

/// Prints its model only: URL and headers may hold keys.
#[derive(Clone)]
pub struct OpenAiConfig {
    pub model: Text,
    pub window_tokens: u64,
    pub base_url: String,
    /// Empty where the server wants none.
    pub api_key: Secret,
    /// `openai-organization`, `openai-project` and the user's own, which come last and win.
    pub headers: Vec<(String, String)>,
    /// `None` leaves the limit to the server.
    pub max_output_tokens: Option<u64>,
    pub max_tokens_field: MaxTokensField,
    pub temperature: Option<f64>,
    /// Whether the model takes a `temperature` at all.
    pub sends_temperature: bool,
    /// Fields put over those of the body; `None` removes one.
    pub extra_body: Vec<(Text, Option<Json>)>,
    /// Whether earlier reasoning is sent back as `reasoning_content`.
    pub echo_reasoning: bool,
    pub limits: Limits,
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl OpenAiConfig {
    pub(super) fn endpoint(&self) -> Result<Endpoint> {
        let mut endpoint = Endpoint::new(
            "openai",
            &self.base_url,
            "/chat/completions",
            &self.api_key,
            self.limits.clone(),
        )?;
        if !self.api_key.is_empty() {
            endpoint.key_header("authorization", "Bearer ", &self.api_key)?;
        }
        for (name, value) in &self.headers {
            endpoint.header(name, value)?;
        }
        Ok(endpoint)
    }
}

const BASE: &str = "https://api.openai.com/v1";
/// What compatible servers are asked for where nothing is said.
const COMPATIBLE_OUTPUT: u64 = 4_096;

/// `createGPT`: `OpenAI` itself, unless `baseURL` or `OPENAI_BASE_URL` names another place.
pub fn gpt(options: Options, env: Env<'_>) -> Result<OpenAiConfig> {
    let model = options.model()?;
    let window = models::window(models::GPT, &model, options.max_context_tokens)?;
    let base = options
        .base_url
        .clone()
        .or_else(|| env.get("OPENAI_BASE_URL"))
        .unwrap_or_else(|| BASE.to_owned());
    Ok(OpenAiConfig {
        max_tokens_field: MaxTokensField::MaxCompletionTokens,
        sends_temperature: !models::is_o_series(&model),
        ..shared(options, env, model, window, base)?
    })
}

/// `createOpenAICompatibleAdapter`: `baseURL` and `maxContextTokens` must be given.
pub fn compatible(options: Options, env: Env<'_>) -> Result<OpenAiConfig> {
    let model = options.model()?;
    let window = options.window()?;
    let base = options.base_url()?;
    let config = shared(options, env, model, window, base)?;
    Ok(OpenAiConfig {
        max_output_tokens: config.max_output_tokens.or(Some(COMPATIBLE_OUTPUT)),
        ..config
    })
}

fn shared(
    options: Options,
    env: Env<'_>,
    model: Text,
    window_tokens: u64,
    base_url: String,
) -> Result<OpenAiConfig> {
    let api_key = options.api_key(env, "OPENAI_API_KEY")?;
    let mut headers = Vec::new();
    for (variable, header) in [
        ("OPENAI_ORG_ID", "openai-organization"),
        ("OPENAI_PROJECT_ID", "openai-project"),
    ] {
        headers.extend(env.get(variable).map(|value| (header.to_owned(), value)));
    }
    headers.extend(options.headers);
    Ok(OpenAiConfig {
        model,
        window_tokens,
        base_url,
        api_key,
        headers,
        max_output_tokens: options.max_output_tokens,
        max_tokens_field: MaxTokensField::MaxTokens,
        temperature: options.temperature,
        sends_temperature: true,
        extra_body: options.extra_body,
        echo_reasoning: options.echo_reasoning,
        limits: options.limits,
    })
}
