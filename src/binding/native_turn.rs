//! Turns: what the facade says to begin one, and its answers on the way.

use std::sync::Arc;

use async_trait::async_trait;
use napi::bindgen_prelude::{Array, Uint32Array};
use napi_derive::napi;

use super::{
    bridge::{Ask, Bridge, Inner, Said},
    js_fn::JsFunction,
    js_llm::JsModel,
    js_records::{JsTurnStorage, LoadAnswer, Mirror},
    js_store::json,
    native_llm::AdapterHandle,
    native_session::SessionHandle,
    native_storage::StorageHandle,
    pieces::Pieces,
    shown::Shown,
    task::Home,
    text::{Arena, FromJs, ToJs},
};
use crate::{
    error::{Error, Result},
    llm::Completion,
    message::push_tool_calls,
    plant,
    session::{
        Cancellation, Compressor, Model, Tools, TurnHost, TurnState, TurnStorage,
        native::{NativeModel, NativeTurnStorage},
        turn::{self, TurnInput, TurnRequest},
    },
    text::Json,
};

/// What the facade says of the moment in which a turn runs: with the call, and again when the turn's place has come.
struct Moment {
    /// The storage, where the turn may use it directly.
    native: Option<Arc<dyn TurnStorage>>,
    /// The native adapter, where the turn may.
    adapter: Option<AdapterHandle>,
    identity: u64,
    window_tokens: u64,
    tools: Option<FromJs>,
    compressor: bool,
}

/// The facade, on behalf of one turn.
struct JsHost {
    bridge: Arc<Inner>,
    operation: u32,
    mirror: Arc<Mirror>,
    shown: Arc<Shown>,
}

#[async_trait]
impl TurnHost for JsHost {
    async fn state(&self) -> Result<TurnState> {
        let moment: Moment = self
            .bridge
            .ask(self.operation, Ask::State, ToJs::Null)
            .await?;
        self.state_of(moment)
    }
}

impl JsHost {
    fn state_of(&self, moment: Moment) -> Result<TurnState> {
        let Self {
            bridge,
            operation,
            mirror,
            shown,
        } = self;
        let (window_tokens, identity) = (moment.window_tokens, moment.identity);
        let storage = moment.native.unwrap_or_else(|| {
            Arc::new(JsTurnStorage::new(
                bridge.clone(),
                *operation,
                mirror.clone(),
            ))
        });
        let model: Arc<dyn Model> = match moment.adapter {
            Some(adapter) => Arc::new(NativeModel {
                adapter: adapter.adapter(),
                window_tokens,
                identity,
            }),
            None => Arc::new(JsModel {
                bridge: bridge.clone(),
                operation: *operation,
                window_tokens,
                identity,
                shown: shown.clone(),
            }),
        };
        let tools = match moment.tools {
            None => Tools::default(),
            Some(text) => {
                let text = text.into_json();
                let specs = serde_json::from_str(&text)
                    .map_err(|error| Error::InvalidArgument(format!("tools: {error}")))?;
                Tools {
                    specs,
                    json: Json::from_trusted(&text),
                }
            }
        };
        let compressor = moment.compressor.then(|| {
            let function = JsFunction {
                bridge: bridge.clone(),
                operation: *operation,
                name: "compressFn",
            };
            Arc::new(function) as Arc<dyn Compressor>
        });
        Ok(TurnState {
            storage,
            model,
            tools,
            compressor,
        })
    }
}

fn moment_of(
    native: Option<&StorageHandle>,
    adapter: Option<&AdapterHandle>,
    identity: u32,
    window_tokens: f64,
    tools: Option<FromJs>,
    compressor: bool,
) -> Moment {
    let native = native.and_then(|storage| storage.native.clone());
    Moment {
        native: native.map(|storage| Arc::new(NativeTurnStorage(storage)) as Arc<dyn TurnStorage>),
        adapter: adapter.cloned(),
        identity: u64::from(identity),
        window_tokens: window(window_tokens),
        tools,
        compressor,
    }
}

/// No window is one that never fills.
fn window(tokens: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be positive; `as` saturates"
    )]
    if tokens.is_finite() && tokens >= 1.0 {
        tokens as u64
    } else {
        u64::MAX
    }
}

#[napi]
impl Bridge {
    /// Starts `send` (or `stream`, with `streaming`). `native` is the storage where the turn may use it directly,
    /// `adapter` the native adapter where the turn may; the rest is asked for through the dispatcher.
    #[napi(catch_unwind)]
    pub fn turn(
        &self,
        operation: u32,
        session: &SessionHandle,
        input: FromJs,
        tool_results: bool,
        streaming: bool,
        native: Option<&StorageHandle>,
        adapter: Option<&AdapterHandle>,
        identity: u32,
        window_tokens: f64,
        tools: Option<FromJs>,
        compressor: bool,
    ) -> napi::Result<Said> {
        let place = session.shared()?.queue().enter();
        plant::panic_at("bridge.turn");
        let without_javascript = native.is_some() && adapter.is_some();
        let home = match adapter {
            Some(_) => Home::Runtime,
            None => Home::JavaScript,
        };
        let moment = moment_of(native, adapter, identity, window_tokens, tools, compressor);
        let (bridge, cell) = (self.inner().clone(), session.cell.clone());
        let host = JsHost {
            bridge: bridge.clone(),
            operation,
            mirror: session.mirror.clone(),
            shown: session.shown.clone(),
        };
        let cancellation = Cancellation::default();
        let pieces = streaming.then(|| Pieces::of_session(&bridge, operation));
        let guard = cancellation.clone();
        let inner = bridge.clone();
        let work = async move {
            let session = cell
                .get()
                .ok_or_else(|| Error::Internal("no session".to_owned()))?;
            let state = host.state_of(moment)?;
            let input = if tool_results {
                TurnInput::ToolResults(input.into_json())
            } else {
                TurnInput::Text(input.to_text())
            };
            let request = TurnRequest {
                session,
                place,
                state,
                host: &host,
                input,
                pieces,
            };
            turn::run(request, &guard)
                .await
                .map(|completion| completion_json(&completion, streaming))
        };
        Ok(if without_javascript {
            inner.run(operation, cancellation, work);
            Said::nothing()
        } else {
            inner.run_here(operation, cancellation, home, work)
        })
    }

    /// Answers [`Ask::State`].
    #[napi(catch_unwind)]
    pub fn answer_state(
        &self,
        question: u32,
        native: Option<&StorageHandle>,
        adapter: Option<&AdapterHandle>,
        identity: u32,
        window_tokens: f64,
        tools: Option<FromJs>,
        compressor: bool,
    ) -> Said {
        let answer = moment_of(native, adapter, identity, window_tokens, tools, compressor);
        self.inner().answer_here(question, Some(Box::new(answer)))
    }

    /// Answers the questions whose answer is JSON.
    #[napi(catch_unwind)]
    pub fn answer(&self, question: u32, json: FromJs) -> Said {
        self.inner().answer_here(question, Some(Box::new(json)))
    }

    /// Answers [`Ask::Load`]: the first `intact` records are the same as in the last answer for this `session`, those of
    /// `columns` and `links` come after them.
    #[napi(catch_unwind)]
    pub fn answer_load(
        &self,
        question: u32,
        session: &SessionHandle,
        system_prompt: Option<FromJs>,
        slot: Option<FromJs>,
        intact: u32,
        columns: Uint32Array,
        links: Option<FromJs>,
        cache: Option<FromJs>,
        keeps_cache: bool,
    ) -> napi::Result<Said> {
        let read = session.mirror.take(intact as usize, &columns, links);
        let read = read.map_err(|error| napi::Error::from_reason(error.to_string()))?;
        let answer = LoadAnswer {
            system_prompt,
            slot,
            cache,
            keeps_cache,
            read,
        };
        Ok(self.inner().answer_here(question, Some(Box::new(answer))))
    }

    /// Answers [`Ask::Contents`]; `units` is the length of all contents together. What is made of many contents is made on
    /// another thread.
    #[napi(catch_unwind)]
    pub fn answer_contents(
        &self,
        question: u32,
        contents: Array<'_>,
        units: u32,
    ) -> napi::Result<()> {
        let arena = Arena::read(&contents, units as usize)?;
        self.inner().answer(question, Some(Box::new(arena)));
        Ok(())
    }
}

/// `SendResult` as JSON. A stream's content is its joined text, never `null`.
pub(super) fn completion_json(completion: &Completion, streamed: bool) -> String {
    let mut out = String::from("{\"content\":");
    match &completion.content {
        Some(content) => content.push_json(&mut out),
        None => out.push_str(if streamed { "\"\"" } else { "null" }),
    }
    if !completion.tool_calls.is_empty() {
        out.push_str(",\"toolCalls\":");
        push_tool_calls(&completion.tool_calls, &mut out);
    }
    if let Some(usage) = &completion.usage {
        out.push_str(",\"usage\":");
        out.push_str(&json(usage));
    }
    if let Some(reason) = &completion.finish_reason {
        out.push_str(",\"finishReason\":");
        reason.push_json(&mut out);
    }
    if let Some(reasoning) = &completion.reasoning_content {
        out.push_str(",\"reasoningContent\":");
        reasoning.push_json(&mut out);
    }
    out.push('}');
    out
}
