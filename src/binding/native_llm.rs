//! Native adapters as JavaScript objects.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use napi::Either;
use napi_derive::napi;
use serde::Deserialize;

use super::{
    bridge::Bridge,
    fault,
    native_turn::completion_json,
    pieces::Pieces,
    text::{FromJs, ToJs},
};
use crate::{
    error::{Error, Result},
    llm::{self, Adapter, Env, Factory, Messages, Options, Request, ToolSpec, http::Http},
    message::Message,
    session::Cancellation,
    text::Json,
};

/// The connections of this process, for all threads and copies of the facade.
static HTTP: LazyLock<Http> = LazyLock::new(Http::new);

/// A native adapter.
#[napi]
#[derive(Clone)]
pub struct AdapterHandle {
    adapter: Arc<dyn Adapter>,
    window_tokens: u64,
}

#[napi]
impl AdapterHandle {
    /// `kind` is the name of the factory, `options` its options as JSON, `env` the environment variables that
    /// count. Answers a fault, as JSON, where they are wrong.
    #[napi(catch_unwind, ts_return_type = "AdapterHandle | string")]
    pub fn create(
        kind: String,
        options: FromJs,
        env: HashMap<String, String>,
    ) -> Either<AdapterHandle, ToJs> {
        match make(&kind, &options.into_json(), &env) {
            Ok(handle) => Either::A(handle),
            Err(error) => Either::B(fault::to_json(&error).into()),
        }
    }

    /// `maxContextTokens`.
    #[napi(catch_unwind)]
    pub fn window_tokens(&self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "JavaScript has no other numbers"
        )]
        let tokens = self.window_tokens as f64;
        tokens
    }
}

impl AdapterHandle {
    pub(super) fn adapter(&self) -> Arc<dyn Adapter> {
        self.adapter.clone()
    }
}

fn make(kind: &str, options: &str, env: &HashMap<String, String>) -> Result<AdapterHandle> {
    let factory = match kind {
        "createGPT" => Factory::Gpt,
        "createOpenAICompatibleAdapter" => Factory::OpenAiCompatible,
        "createClaude" => Factory::Claude,
        "createAnthropicAdapter" => Factory::Anthropic,
        _ => return Err(Error::NotImplemented(kind.to_owned())),
    };
    let options = Options::parse(options)?;
    let get = |name: &str| env.get(name).cloned();
    let created = llm::create(factory, options, Env(&get), &HTTP)?;
    Ok(AdapterHandle {
        adapter: created.adapter,
        window_tokens: created.window_tokens,
    })
}

/// One call of an adapter on its own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    messages: Vec<Json>,
    #[serde(default)]
    tools: Vec<ToolSpec>,
    #[serde(default)]
    max_tokens: Option<u64>,
    #[serde(default)]
    temperature: Option<f64>,
}

impl Call {
    fn read(json: &str) -> Result<(Self, Messages)> {
        let call: Self = serde_json::from_str(json)
            .map_err(|error| Error::InvalidArgument(error.to_string()))?;
        let parse = |(index, message): (usize, &Json)| {
            Message::parse(message)
                .map_err(|error| Error::InvalidArgument(format!("messages[{index}].{error}")))
        };
        let messages = call
            .messages
            .iter()
            .enumerate()
            .map(parse)
            .collect::<Result<Vec<_>>>()?;
        Ok((call, messages.into()))
    }

    fn request<'a>(&'a self, messages: &'a Messages) -> Request<'a> {
        Request {
            messages,
            fragments: None,
            tools: &self.tools,
            max_tokens: self.max_tokens,
            temperature: self.temperature,
        }
    }
}

#[napi]
impl Bridge {
    /// `adapter.complete`; `call` is JSON: `{ messages, tools?, maxTokens?, temperature? }`.
    #[napi(catch_unwind)]
    pub fn adapter_complete(&self, operation: u32, adapter: &AdapterHandle, call: FromJs) {
        let (adapter, cancellation) = (adapter.adapter(), Cancellation::default());
        let guard = cancellation.clone();
        self.inner().run(operation, cancellation, async move {
            let (call, messages) = Call::read(&call.into_json())?;
            let work = async { Ok(adapter.complete(call.request(&messages)).await?) };
            guard
                .guard(work)
                .await
                .map(|completion| completion_json(&completion, false))
        });
    }

    /// `adapter.stream`; the chunks come as pieces.
    #[napi(catch_unwind)]
    pub fn adapter_stream(&self, operation: u32, adapter: &AdapterHandle, call: FromJs) {
        let (adapter, cancellation) = (adapter.adapter(), Cancellation::default());
        let guard = cancellation.clone();
        let mut sink = Pieces::of_adapter(self.inner(), operation);
        self.inner().run(operation, cancellation, async move {
            let (call, messages) = Call::read(&call.into_json())?;
            guard
                .guard(async { Ok(adapter.stream(call.request(&messages), &mut sink).await?) })
                .await?;
            Ok("null".to_owned())
        });
    }
}
