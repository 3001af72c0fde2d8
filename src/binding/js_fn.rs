//! The application's own functions: `compressFn`, `consolidateFn`, `integrateFn` and a fork's context.

use std::sync::Arc;

use async_trait::async_trait;
use serde::de::DeserializeOwned;

use super::{
    bridge::{Ask, Inner},
    js_llm::push_stretch,
    js_store::json,
    text::FromJs,
};
use crate::{
    error::{Error, Result},
    message::Message,
    meta::ChildL2Summary,
    session::{
        Compressor, Prompt,
        fork::ForkContext,
        main_session::{Integration, Integrator},
        session::Consolidator,
    },
    text::{Json, Text, excerpt},
};

pub(super) struct JsFunction {
    pub(super) bridge: Arc<Inner>,
    pub(super) operation: u32,
    /// As error messages call it.
    pub(super) name: &'static str,
}

impl JsFunction {
    async fn call<T: DeserializeOwned>(
        &self,
        ask: Ask,
        payload: String,
        expected: &str,
    ) -> Result<T> {
        let answer: FromJs = self.bridge.ask(self.operation, ask, payload).await?;
        let answer = answer.into_json();
        serde_json::from_str(&answer).map_err(|_| {
            Error::InvalidArgument(format!(
                "{} must return {expected}, got {}",
                self.name,
                excerpt(&answer)
            ))
        })
    }
}

#[async_trait]
impl Compressor for JsFunction {
    async fn compress(&self, prompt: &Prompt) -> Result<Text> {
        let mut payload = String::new();
        push_stretch(prompt, &mut payload);
        self.call(Ask::Compress, payload, "a non-empty string")
            .await
    }
}

#[async_trait]
impl Consolidator for JsFunction {
    async fn consolidate(&self, memory: Option<Text>, records: &[Message]) -> Result<Text> {
        let payload = format!("[{},{}]", json(&memory), records_json(records));
        self.call(Ask::Function, payload, "a string").await
    }
}

#[async_trait]
impl Integrator for JsFunction {
    async fn integrate(
        &self,
        children: &[ChildL2Summary],
        synthesis: Option<Text>,
    ) -> Result<Integration> {
        let payload = format!("[{},{}]", json(&children), json(&synthesis));
        self.call(
            Ask::Function,
            payload,
            "{ synthesis: string, insights: { sessionId, content }[] }",
        )
        .await
    }
}

#[async_trait]
impl ForkContext for JsFunction {
    async fn choose(&self, records: &[Message]) -> Result<Vec<Message>> {
        let payload = format!("[{}]", records_json(records));
        let chosen: Vec<Json> = self
            .call(Ask::Function, payload, "an array of messages")
            .await?;
        let parse = |(index, record): (usize, &Json)| {
            Message::parse(record).map_err(|error| {
                Error::InvalidArgument(format!("{}: [{index}].{error}", self.name))
            })
        };
        chosen.iter().enumerate().map(parse).collect()
    }
}

fn records_json(records: &[Message]) -> String {
    let mut out = String::from("[");
    for (n, record) in records.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push_str(record.json());
    }
    out.push(']');
    out
}
