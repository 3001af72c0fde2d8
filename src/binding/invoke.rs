//! Operations on a session that are not turns.

use std::sync::{Arc, OnceLock};

use napi_derive::napi;
use serde::de::DeserializeOwned;

use super::{
    bridge::{Bridge, Inner, Said},
    js_fn::JsFunction,
    js_store::{JsStore, json},
    native_session::SessionHandle,
    native_storage::StorageHandle,
    task::Home,
    text::FromJs,
};
use crate::{
    error::{Error, Result},
    meta::Kind,
    plant,
    session::{
        Cancellation, Registry, Session,
        fork::{self, ForkOptions, Inheritance, Topology},
        lifecycle::{self, CreateOptions},
        main_session,
        session::MetaUpdate,
    },
    storage::Store,
    text::Text,
};

#[napi]
impl Bridge {
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
        self.inner()
            .run_here(operation, cancellation, Home::Runtime, async move {
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
        plant::panic_at("bridge.invoke");
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
