//! Sessions as JavaScript holds them, and the operations on them.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use napi::bindgen_prelude::{Array, Uint32Array};
use napi_derive::napi;
use serde::de::DeserializeOwned;

use super::{
    bridge::{Ask, Bridge, Inner, Said},
    js_fn::JsFunction,
    js_llm::JsModel,
    js_records::{JsTurnStorage, LoadAnswer, SharedLastRead, last_read_number},
    js_store::{JsStore, json},
    native_llm::AdapterHandle,
    native_storage::StorageHandle,
    pieces::Pieces,
    shown::Shown,
    text::{Arena, FromJs, ToJs},
};
use crate::{
    error::{Error, Result},
    llm::Completion,
    message::push_tool_calls,
    meta::{Kind, Status},
    session::{
        Cancellation, Compressor, Model, Registry, Session, Shared, Tools, TurnHost, TurnState,
        TurnStorage,
        fork::{self, ForkOptions, Inheritance, Topology},
        lifecycle::{self, CreateOptions},
        main_session,
        native::{NativeModel, NativeTurnStorage},
        session::MetaUpdate,
        turn::{self, TurnInput, TurnRequest},
    },
    storage::Store,
    text::{Json, Text},
};

/// A handle on one session; empty until the operation that creates or loads it has succeeded.
#[napi]
#[derive(Default)]
pub struct SessionHandle {
    cell: Arc<OnceLock<Session>>,
    last_read: SharedLastRead,
    shown: Arc<Shown>,
}

#[napi]
impl SessionHandle {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// `SessionMeta` as JSON.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn meta(&self) -> napi::Result<ToJs> {
        Ok(json(&*self.shared()?.meta()).into())
    }

    /// The number of the last read of a JavaScript storage that reached a turn of this handle; 0 where none did.
    #[napi(catch_unwind)]
    pub fn last_read(&self) -> u32 {
        last_read_number(&self.last_read)
    }

    /// Changes whenever `meta` does.
    #[napi(catch_unwind)]
    pub fn version(&self) -> napi::Result<u32> {
        Ok(self.shared()?.version())
    }

    #[napi(catch_unwind)]
    pub fn archived(&self) -> napi::Result<bool> {
        Ok(self.shared()?.meta().status == Status::Archived)
    }

    /// The same number for all handles on this session of this storage object.
    #[napi(catch_unwind)]
    pub fn key(&self) -> napi::Result<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "addresses of user space have 48 bits"
        )]
        Ok(Arc::as_ptr(self.shared()?) as usize as f64)
    }
}

impl SessionHandle {
    fn session(&self) -> napi::Result<&Session> {
        self.cell
            .get()
            .ok_or_else(|| napi::Error::from_reason("the session is not there yet"))
    }

    fn shared(&self) -> napi::Result<&Arc<Shared>> {
        self.session().map(Session::shared)
    }
}

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
    last_read: SharedLastRead,
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
            last_read,
            shown,
        } = self;
        let (window_tokens, identity) = (moment.window_tokens, moment.identity);
        let storage = moment.native.unwrap_or_else(|| {
            Arc::new(JsTurnStorage::new(
                bridge.clone(),
                *operation,
                last_read.clone(),
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
        let without_javascript = native.is_some() && adapter.is_some();
        let moment = moment_of(native, adapter, identity, window_tokens, tools, compressor);
        let (bridge, cell) = (self.inner().clone(), session.cell.clone());
        let host = JsHost {
            bridge: bridge.clone(),
            operation,
            last_read: session.last_read.clone(),
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
            inner.run_here(operation, cancellation, work)
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

    /// Answers [`Ask::Load`].
    #[napi(catch_unwind)]
    pub fn answer_load(
        &self,
        question: u32,
        system_prompt: Option<FromJs>,
        slot: Option<FromJs>,
        columns: Uint32Array,
        links: Option<FromJs>,
        cache: Option<FromJs>,
        number: u32,
        intact: u32,
        keeps_cache: bool,
    ) -> Said {
        let columns = columns.to_vec();
        let answer = LoadAnswer {
            system_prompt,
            slot,
            columns,
            links,
            cache,
            number,
            intact,
            keeps_cache,
        };
        self.inner().answer_here(question, Some(Box::new(answer)))
    }

    /// Answers [`Ask::Contents`]. What is made of many contents is made on another thread.
    #[napi(catch_unwind)]
    pub fn answer_contents(&self, question: u32, contents: Array<'_>) -> napi::Result<()> {
        let arena = Arena::read(&contents)?;
        self.inner().answer(question, Some(Box::new(arena)));
        Ok(())
    }

    /// Any operation on a session but a turn. `arguments` is a JSON array; `made` takes the session that it makes.
    #[napi(catch_unwind)]
    pub fn invoke(
        &self,
        operation: u32,
        name: String,
        storage: &StorageHandle,
        direct: bool,
        session: Option<&SessionHandle>,
        made: Option<&SessionHandle>,
        arguments: FromJs,
    ) -> Said {
        let call = Call {
            bridge: self.inner().clone(),
            operation,
            registry: storage.registry.clone(),
            native: storage.native.clone().filter(|_| direct),
            session: session.map(|session| session.cell.clone()),
            made: made.map(|made| made.cell.clone()),
        };
        let cancellation = Cancellation::default();
        self.inner().run_here(operation, cancellation, async move {
            call.run(&name, &arguments.into_json()).await
        })
    }
}

/// An operation that is not a turn.
struct Call {
    bridge: Arc<Inner>,
    operation: u32,
    registry: Arc<Registry>,
    native: Option<Arc<dyn crate::storage::Storage>>,
    session: Option<Arc<OnceLock<Session>>>,
    made: Option<Arc<OnceLock<Session>>>,
}

impl Call {
    async fn run(&self, name: &str, arguments: &str) -> Result<String> {
        match &self.native {
            Some(native) => self.on(&**native, name, arguments).await,
            None => {
                self.on(
                    &JsStore::new(self.bridge.clone(), self.operation),
                    name,
                    arguments,
                )
                .await
            }
        }
    }

    async fn on(&self, store: &dyn Store, name: &str, arguments: &str) -> Result<String> {
        let nothing = "null".to_owned();
        match name {
            "create" => {
                let (kind, options): (Kind, CreateOptions) = read(arguments)?;
                self.made(lifecycle::create(&self.registry, store, kind, options).await?)
            }
            "load" => {
                let (kind, id, system_prompt): (Kind, Text, Option<Text>) = read(arguments)?;
                match lifecycle::load(&self.registry, store, kind, &id, system_prompt).await? {
                    Some(session) => self.made(session),
                    None => Ok(nothing),
                }
            }
            "fork" | "forkSession" => {
                let (options, context): (ForkOptions, ForkContextKind) = read(arguments)?;
                let topology = if name == "fork" {
                    Topology::Unlisted
                } else {
                    Topology::UnderParent
                };
                let function = self.function("options.context");
                let inheritance = match context {
                    ForkContextKind::None => Inheritance::None,
                    ForkContextKind::Inherit => Inheritance::All,
                    ForkContextKind::Function => Inheritance::Chosen(&function),
                };
                self.made(
                    fork::fork(
                        self.session()?,
                        &self.registry,
                        store,
                        options,
                        inheritance,
                        topology,
                    )
                    .await?,
                )
            }
            "listSessionDigests" => {
                let (filter,) = read(arguments)?;
                store
                    .list_session_digests(&filter)
                    .await
                    .map(|digests| json(&digests))
            }
            "systemPrompt" => self
                .session()?
                .system_prompt(store)
                .await
                .map(|text| json(&text)),
            "insight" => self.session()?.insight(store).await.map(|text| json(&text)),
            "memory" | "synthesis" => self.session()?.memory(store).await.map(|text| json(&text)),
            "setSystemPrompt" => {
                let (content,) = read(arguments)?;
                self.session()?
                    .set_system_prompt(store, content)
                    .await
                    .map(|()| nothing)
            }
            "setInsight" => {
                let (content,) = read(arguments)?;
                self.session()?
                    .set_insight(store, content)
                    .await
                    .map(|()| nothing)
            }
            "trimRecords" => {
                let (keep_recent,) = read(arguments)?;
                self.session()?
                    .trim_records(store, keep_recent)
                    .await
                    .map(|()| nothing)
            }
            "updateMeta" => {
                let (update,): (MetaUpdate,) = read(arguments)?;
                self.session()?
                    .update_meta(store, update)
                    .await
                    .map(|()| nothing)
            }
            "archive" => self.session()?.archive(store).await.map(|()| nothing),
            "consolidate" => self
                .session()?
                .consolidate(store, &self.function("consolidateFn"))
                .await
                .map(|()| nothing),
            "integrate" => {
                let function = self.function("integrateFn");
                main_session::integrate(self.session()?, store, &function)
                    .await
                    .map(|kept| json(&kept))
            }
            _ => Err(Error::NotImplemented(name.to_owned())),
        }
    }

    fn session(&self) -> Result<&Session> {
        let session = self.session.as_ref().and_then(|cell| cell.get());
        session.ok_or_else(|| Error::Internal("no session".to_owned()))
    }

    fn made(&self, session: Session) -> Result<String> {
        let cell = self
            .made
            .as_ref()
            .ok_or_else(|| Error::Internal("no place for the session".to_owned()))?;
        cell.set(session)
            .map_err(|_| Error::Internal("the place is taken".to_owned()))?;
        Ok("true".to_owned())
    }

    fn function(&self, name: &'static str) -> JsFunction {
        JsFunction {
            bridge: self.bridge.clone(),
            operation: self.operation,
            name,
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum ForkContextKind {
    None,
    Inherit,
    Function,
}

/// Arguments that the facade has checked: a mistake here is a bug.
fn read<T: DeserializeOwned>(arguments: &str) -> Result<T> {
    serde_json::from_str(arguments).map_err(|error| Error::InvalidArgument(error.to_string()))
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
