//! What an adapter of this protocol is made with.

use std::fmt;

use crate::{
    error::Result,
    llm::{
        http::{Endpoint, Limits, Secret},
        models,
        options::{Env, Options},
    },
    text::Text,
};

/// Prints its model only: URL and headers may hold keys.
#[derive(Clone)]
pub struct AnthropicConfig {
    pub model: Text,
    pub window_tokens: u64,
    pub base_url: String,
    /// Empty where the server wants none.
    pub api_key: Secret,
    pub headers: Vec<(String, String)>,
    /// The protocol has no request without a limit: 8 192 where nothing is given.
    pub max_output_tokens: Option<u64>,
    pub temperature: Option<f64>,
    /// Whether the stable parts of the prompt are marked for the provider's cache.
    pub prompt_cache: bool,
    pub limits: Limits,
}

const BASE: &str = "https://api.anthropic.com";
/// The version of the protocol: <https://docs.claude.com/en/api/versioning>.
const VERSION: &str = "2023-06-01";

impl fmt::Debug for AnthropicConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicConfig")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl AnthropicConfig {
    pub(super) fn endpoint(&self) -> Result<Endpoint> {
        let base = self.base_url.trim();
        let (before_query, _) = base.split_at(base.find(['?', '#']).unwrap_or(base.len()));
        let path = if before_query.trim_end_matches('/').ends_with("/v1") {
            "/messages"
        } else {
            "/v1/messages"
        };
        let limits = self.limits.clone();
        let mut endpoint = Endpoint::new("anthropic", base, path, &self.api_key, limits)?;
        endpoint.header("anthropic-version", VERSION)?;
        if !self.api_key.is_empty() {
            endpoint.key_header("x-api-key", "", &self.api_key)?;
        }
        for (name, value) in &self.headers {
            endpoint.header(name, value)?;
        }
        Ok(endpoint)
    }
}

/// `createClaude`: a known model, prompt caching on.
pub fn claude(options: Options, env: Env<'_>) -> Result<AnthropicConfig> {
    let model = options.model()?;
    let window = models::window(models::CLAUDE, &model, options.max_context_tokens)?;
    shared(options, env, model, window, true)
}

/// `createAnthropicAdapter`: any model, `maxContextTokens` must be given, prompt caching off.
pub fn adapter(options: Options, env: Env<'_>) -> Result<AnthropicConfig> {
    let model = options.model()?;
    let window = options.window()?;
    shared(options, env, model, window, false)
}

fn shared(
    options: Options,
    env: Env<'_>,
    model: Text,
    window_tokens: u64,
    prompt_cache: bool,
) -> Result<AnthropicConfig> {
    let api_key = options.api_key(env, "ANTHROPIC_API_KEY")?;
    let base_url = options
        .base_url
        .or_else(|| env.get("ANTHROPIC_BASE_URL"))
        .unwrap_or_else(|| BASE.to_owned());
    Ok(AnthropicConfig {
        model,
        window_tokens,
        base_url,
        api_key,
        headers: options.headers,
        max_output_tokens: options.max_output_tokens,
        temperature: options.temperature,
        prompt_cache: options.prompt_cache.unwrap_or(prompt_cache),
        limits: options.limits,
    })
}
