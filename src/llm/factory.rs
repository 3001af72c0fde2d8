//! The four adapters by the names of the public API.

use std::sync::Arc;

use super::{
    Adapter, Options,
    anthropic::{self, Anthropic},
    http::Http,
    openai::{self, OpenAi},
    options::Env,
};
use crate::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factory {
    /// `createGPT`
    Gpt,
    /// `createOpenAICompatibleAdapter`
    OpenAiCompatible,
    /// `createClaude`
    Claude,
    /// `createAnthropicAdapter`
    Anthropic,
}

/// An adapter and its `maxContextTokens`.
#[derive(Clone)]
pub struct Created {
    pub adapter: Arc<dyn Adapter>,
    pub window_tokens: u64,
}

/// Makes an adapter; `InvalidArgument` where an option is missing or wrong. Nothing is connected yet.
pub fn create(factory: Factory, options: Options, env: Env<'_>, http: &Http) -> Result<Created> {
    let http = http.clone();
    Ok(match factory {
        Factory::Gpt => open_ai(OpenAi::new(openai::gpt(options, env)?, http)?),
        Factory::OpenAiCompatible => open_ai(OpenAi::new(openai::compatible(options, env)?, http)?),
        Factory::Claude => claude(Anthropic::new(anthropic::claude(options, env)?, http)?),
        Factory::Anthropic => claude(Anthropic::new(anthropic::adapter(options, env)?, http)?),
    })
}

fn open_ai(adapter: OpenAi) -> Created {
    Created {
        window_tokens: adapter.window_tokens(),
        adapter: Arc::new(adapter),
    }
}

fn claude(adapter: Anthropic) -> Created {
    Created {
        window_tokens: adapter.window_tokens(),
        adapter: Arc::new(adapter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn each_factory_makes_its_adapter_or_says_what_is_wrong() {
        let create = |factory, json| {
            create(
                factory,
                Options::parse(json).unwrap(),
                Env(&|_| None),
                &Http::new(),
            )
        };
        for (factory, json, window) in [
            (Factory::Gpt, r#"{"model":"gpt-4o","apiKey":"k"}"#, 128_000),
            (
                Factory::Claude,
                r#"{"model":"claude-opus-4-20250514","apiKey":"k"}"#,
                200_000,
            ),
            (
                Factory::OpenAiCompatible,
                r#"{"model":"m","apiKey":"","baseURL":"http://h","maxContextTokens":7}"#,
                7,
            ),
            (
                Factory::Anthropic,
                r#"{"model":"m","apiKey":"k","maxContextTokens":8}"#,
                8,
            ),
        ] {
            assert_eq!(create(factory, json).unwrap().window_tokens, window);
        }
        for json in [
            r#"{"model":"gpt-4o","apiKey":"k","baseURL":"not a url"}"#,
            r#"{"model":"gpt-4o","apiKey":"a\nb"}"#,
            r#"{"model":"gpt-4o","apiKey":"k","headers":{"a b":"c"}}"#,
        ] {
            let error = create(Factory::Gpt, json).err().unwrap();
            assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
        }
    }
}
